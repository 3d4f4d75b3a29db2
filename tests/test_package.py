"""The public face: what is exported, and what the README promises."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fechner

ROOT = Path(__file__).parents[1]

ROOMS = [
    "stimuli",
    "human",
    "observers",
    "physiology",
    "psychometrics",
    "experiments",
    "scores",
    "suites",
    "runs",
    "report",
    "cli",
]


@pytest.mark.parametrize("module", ["fechner", *(f"fechner.{room}" for room in ROOMS[:9])])
def test_what_is_exported_exists_and_is_sorted(module: str) -> None:
    loaded = importlib.import_module(module)
    assert list(loaded.__all__) == sorted(loaded.__all__)
    for name in loaded.__all__:
        assert getattr(loaded, name) is not None


def test_the_names_to_learn_have_an_example() -> None:
    names = [
        "evaluate",
        "observe",
        "Run",
        "Suite",
        "Test",
        "Stimulus",
        "Field",
        "Display",
        "compare",
        "figure",
        "fit",
    ]
    for name in names:
        assert ">>>" in (getattr(fechner, name).__doc__ or ""), name
    for room in ROOMS[:8] + ["report"]:
        assert getattr(fechner, room).__doc__


def test_importing_loads_nothing_yet() -> None:
    code = "import fechner, sys; print(sorted(m for m in sys.modules if m.startswith('fechner.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_run_imports_what_it_uses(tmp_path: Path) -> None:
    """A run of one suite leaves the others, their experiments and all reports alone."""
    code = (
        "import sys; sys.argv[1:] = 'run pixels --tests area --scores-only --out run'.split()\n"
        "from fechner.cli.app import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(len([m for m in sys.modules if m.split('.')[0] == 'fechner']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert int(done.stdout.splitlines()[-1]) <= 130


def test_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="attribute nothing"):
        fechner.nothing  # noqa: B018


def test_no_room_imports_a_later_one() -> None:
    """Data flow one way; imports inside functions count too."""
    for number, room in enumerate(ROOMS):
        later = "|".join(ROOMS[number + 1 :])
        pattern = re.compile(rf"^\s*(?:from|import) fechner\.({later})\b", re.MULTILINE)
        for file in (ROOT / "src" / "fechner" / room).rglob("*.py"):
            found = pattern.findall(file.read_text("utf-8")) if later else []
            # A run prints its own table.
            if (room, file.name) == ("runs", "run.py"):
                found = [name for name in found if name != "report"]
            assert not found, f"{file} imports {found}"


def test_nobody_asks_for_names() -> None:
    """No branch on the name of an observer or a test outside the lists that define them."""
    names = ["pixels", "standard-observer", "cvvdp", "masking-coherent", "matching-frequency"]
    pattern = re.compile(r"(==|!=| in \(|startswith\()\s*[\"'](" + "|".join(names) + r")[\"']")
    for file in (ROOT / "src" / "fechner").rglob("*.py"):
        assert not pattern.search(file.read_text("utf-8")), file


def test_readme_example_runs(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    (example,) = re.findall(r"```python\n(import torch\nimport fechner.*?)```", readme, re.DOTALL)
    assert len([line for line in example.splitlines() if line.strip()]) <= 8
    quick = example.replace("scores_only=True", 'scores_only=True, tests=["masking-coherent"]')
    done = subprocess.run(
        [sys.executable, "-c", quick], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "Conv2d" in done.stdout
    assert "masking-coherent" in done.stdout
    assert "Conv2d" in (tmp_path / "report.html").read_text("utf-8")
