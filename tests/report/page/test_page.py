import html.parser
import re
import shutil
from pathlib import Path

import pytest
from oddities import HOSTILE, broken

import fechner
from fechner import FechnerError, Run, observe
from fechner.report.page import make_page, write_page


class Tags(html.parser.HTMLParser):
    """Collects tags, attributes, and the text of leaderboard rows."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] not in (["script"], ["style"]):
            self.text += data


def parsed(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    return tags


@pytest.fixture(scope="module")
def page(shown_run: Run) -> str:
    return make_page([shown_run])


@pytest.fixture(scope="module")
def odd_page(odd_run: Run) -> str:
    return make_page([odd_run])


def test_page_needs_nothing_from_outside(page: str) -> None:
    tags = parsed(page)
    links = [value for name, value in tags.attributes if name in ("src", "href", "data", "action")]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert "@import" not in page
    assert not re.search(r"url\((?!data:)", page)
    assert tags.tags.count("script") == 3  # plotly, data and the page's own


def test_the_same_run_gives_the_same_bytes(shown_run: Run, page: str, tmp_path: Path) -> None:
    size = write_page([shown_run], tmp_path / "deep" / "page.html")
    written = (tmp_path / "deep" / "page.html").read_bytes()
    assert size == len(written)
    assert written.decode() == page


def test_page_says_everything_in_words_and_numbers(page: str, shown_run: Run) -> None:
    text = re.sub(r"\s+", " ", parsed(page).text)
    for expected in (
        "3 observers",
        "Foley JM (1994)",
        "Georgeson MA, Sullivan GD (1975)",
        "A Gabor patch of 2 cycles/degree",
        "seed 0",
        f"torch {shown_run.manifest.versions['torch']}",
        shown_run.manifest.machine["processor"],
        shown_run.manifest.observers["pixels"].fingerprint,
    ):
        assert expected in text
    for result in shown_run.scores():
        if result.last and result.main:
            assert f"{result.score.value:.4f}" in text


def test_names_stay_text(odd_page: str) -> None:
    tags = parsed(odd_page)
    assert tags.tags.count("script") == 3
    assert tags.tags.count("style") == 1
    for name in HOSTILE:
        assert name in tags.text
    assert "<i>too dark</i>" in tags.text


def test_what_could_not_be_measured_is_said(odd_page: str) -> None:
    text = parsed(odd_page).text
    assert "broken was left out" in text
    assert "n/a" in text  # the observer that answers the same to everything
    assert "–" in text  # the test in which an observer failed


def test_several_runs_and_modes_are_chapters(shown_run: Run, tmp_path: Path) -> None:
    other = fechner.evaluate(
        "pixels",
        tests=["masking-coherent"],
        published=True,
        scores_only=True,
        out=tmp_path / "other",
        progress=False,
    )
    text = parsed(make_page([shown_run, other])).text
    assert "encoders, as published" in text
    assert "pixels (shown)" in text
    assert "pixels (other)" in text


def test_an_empty_run_still_gives_a_page(tmp_path: Path) -> None:
    empty = fechner.evaluate(
        observe(broken, name="broken"), tests=["area"], out=tmp_path / "empty", progress=False
    )
    text = parsed(make_page([empty])).text
    assert "broken was left out" in text


def test_damaged_answers_are_named_and_the_rest_is_shown(shown_run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(shown_run.folder, folder)
    next((folder / "results" / "pixels" / "masking-coherent").glob("score-*.nc")).write_bytes(b"?")
    text = parsed(make_page([Run(folder)])).text
    assert "is damaged" in text
    assert "network" in text


def test_report_of_a_run_writes_the_page(shown_run: Run, page: str, tmp_path: Path) -> None:
    path = shown_run.report(tmp_path / "report.html")
    assert path.read_text("utf-8") == page


def test_no_runs_is_a_sentence() -> None:
    with pytest.raises(FechnerError, match="name at least one run folder"):
        make_page([])
