"""The site builds without a warning, its links lead somewhere, and it asks no other host."""

import importlib
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

DOCS = Path(__file__).parents[2] / "docs"
ROOMS = {
    file.parent.name: "__all__" in file.read_text("utf-8")
    for file in sorted((DOCS.parent / "src" / "fechner").glob("*/__init__.py"))
}


class Page(HTMLParser):
    """What a page links to, what it loads, and where it can be linked to."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag != "a":
            self.loads += [values[name] for name in ("href", "src", "data") if name in values]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    command += ["-d", str(folder / "doctrees"), str(DOCS), str(folder / "html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {file.resolve(): Page(file) for file in site.rglob("*.html")}


def test_every_page_is_there(pages: dict[Path, Page], site: Path) -> None:
    written = {page.relative_to(DOCS).with_suffix(".html") for page in DOCS.rglob("*.md")}
    written = {page for page in written if page.parts[0] != "_build"}
    assert written <= {file.relative_to(site.resolve()) for file in pages}


def test_links_lead_somewhere(pages: dict[Path, Page]) -> None:
    broken = []
    for file, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            there = target.exists()
            if there and parts.fragment and target in pages:
                there = unquote(parts.fragment) in pages[target].ids
            if not there:
                broken.append(f"{file.name}: {link}")
    assert not broken


def test_nothing_is_loaded_from_other_hosts(pages: dict[Path, Page], site: Path) -> None:
    for file, page in pages.items():
        elsewhere = [each for each in page.loads if urlsplit(each).netloc]
        assert not elsewhere, f"{file.name} loads {elsewhere}"
    for sheet in site.rglob("*.css"):
        text = sheet.read_text("utf-8")
        assert not re.search(r"@import|url\(\s*['\"]?(https?:)?//", text), sheet
    for script in site.rglob("*.js"):
        text = script.read_text("utf-8")
        assert not re.search(r"(import\(|fetch\(|\.src\s*=)\s*['\"](https?:)?//", text), script


@pytest.mark.parametrize("room", [room for room, exports in ROOMS.items() if exports])
def test_everything_exported_is_documented(site: Path, room: str) -> None:
    module = importlib.import_module(f"fechner.{room}")
    packed = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    known = {line.split(" ")[0] for line in zlib.decompress(packed).decode().splitlines()}
    missing = [name for name in module.__all__ if f"{module.__name__}.{name}" not in known]
    assert not missing


def test_every_room_has_a_page() -> None:
    documented = {page.stem for page in (DOCS / "api").glob("*.md")}
    assert set(ROOMS) - documented == {"cli"}  # which has a page of another kind


def test_formulas_are_mathml(site: Path) -> None:
    page = (site / "encoders.html").read_text("utf-8")
    formulas = (DOCS / "encoders.md").read_text("utf-8").count("$$") / 2
    assert page.count('display="block"') == formulas
    assert "<mfrac>" in page
    assert "<merror" not in page
    assert "$" not in re.sub(r"<(script|pre|style).*?</\1>", "", page, flags=re.DOTALL)
