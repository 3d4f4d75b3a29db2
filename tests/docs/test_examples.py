"""What pages show is run: Python blocks in one namespace per page, `fechner` lines in order.

A block of Python or text whose first line is the name of a file is written to that file. Text right
after a block that was run is its output; numbers may differ a little, ``...`` is anything.
``<!-- not run: why -->`` before a shell block leaves it out; no Python block is left out.
"""

import contextlib
import io
import math
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from fechner.cli.app import app

DOCS = Path(__file__).parents[2] / "docs"
FENCE = re.compile(
    r"(?P<skip><!-- not run: [^>]+ -->\n+)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")


class Block(NamedTuple):
    kind: str
    text: str
    skip: bool
    follows: bool


def blocks(page: str) -> Iterator[Block]:
    end = 0
    for found in FENCE.finditer(page):
        between = page[end : found.start()]
        yield Block(found["kind"], found["text"], bool(found["skip"]), not between.strip())
        end = found.end()


def examples(page: Path) -> list[Block]:
    return [each for each in blocks(page.read_text("utf-8")) if each.kind in ("python", "sh")]


PAGES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if "_build" not in page.parts and any(not each.skip for each in examples(page))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_what_a_page_shows_can_be_done(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    output = None
    for block in blocks(page.read_text("utf-8")):
        if block.kind == "python":
            assert not block.skip, f"{page.name} leaves out Python:\n{block.text}"
            output = _python(block.text, namespace)
        elif block.kind == "text" and (file := re.match(r"# (\w+\.csv)", block.text)):
            Path(file[1]).write_text(block.text, "utf-8")
        elif block.kind == "sh":
            output = None if block.skip else _shell(block.text)
        elif block.kind == "text" and block.follows and output is not None:
            assert _alike(output, block.text), f"{page.name} shows\n{block.text}\nnot\n{output}"
            output = None
        else:
            output = None


def _python(text: str, namespace: dict[str, object]) -> str:
    first = re.match(r"# (\w+\.py)\n", text)
    if first:
        Path(first[1]).write_text(text, "utf-8")
        return ""
    with contextlib.redirect_stdout(io.StringIO()) as written:
        exec(compile(text, "<page>", "exec"), namespace)
    return written.getvalue()


def _shell(text: str) -> str:
    """Run the lines that call fechner, and return what they print."""
    written = ""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] != ["fechner"]:
            continue
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception}"
        written += done.stdout
    return written


def _alike(got: str, shown: str) -> bool:
    """Compare line by line without trailing space and blank lines; ``...`` is any number of them.

    Numbers may differ by a hundredth of their size, since machines round differently.
    """
    lines = [line.rstrip() for line in got.splitlines() if line.strip()]
    parts = [
        [line.rstrip() for line in part.splitlines() if line.strip()]
        for part in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)
    ]
    if len(parts) == 1 and len(parts[0]) != len(lines):
        return False
    start = 0
    for number, part in enumerate(parts):
        last = len(lines) - len(part)
        places = [last] if number and number == len(parts) - 1 else range(start, last + 1)
        places = places if number else [0]
        at = next((i for i in places if i >= start and _same(lines[i:], part)), None)
        if at is None:
            return False
        start = at + len(part)
    return True


def _same(lines: list[str], part: list[str]) -> bool:
    return len(lines) >= len(part) and all(
        NUMBER.sub("#", a).split() == NUMBER.sub("#", b).split()
        and all(
            math.isclose(float(x), float(y), rel_tol=0.01, abs_tol=0.005)
            for x, y in zip(NUMBER.findall(a), NUMBER.findall(b), strict=True)
        )
        for a, b in zip(lines, part, strict=False)
    )


@pytest.mark.parametrize(
    ("got", "shown", "alike"),
    [
        ("a 0.501\nb\n", "a 0.502\nb\n", True),
        ("a 0.501\nb\n", "a 0.602\nb\n", False),
        ("a\nb\nc\nd\n", "a\n...\nd\n", True),
        ("a\nb\nc\nd\n", "a\n...\nc\n", False),
        ("a\nb\n", "a\n", False),
        ("a\nb\n", "a\n...\n", True),
    ],
)
def test_outputs_are_compared(got: str, shown: str, alike: bool) -> None:
    assert _alike(got, shown) is alike
