"""A page of curves over levels: reversed axes, rows of stimuli, fans, galleries, many classes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from levels import LEVEL, LEVELS, ORIGINAL, RIGHT, SHARE, Grey, curve
from playwright.sync_api import Browser, Locator, Page

import fechner
from fechner import Run, suites
from fechner.experiments import Sample
from fechner.report import page as made
from fechner.report.contenders import Group, groups
from fechner.report.page import write_page
from fechner.scores.panels import Axis, Gallery, Item, Line, Panel, Points, Surface, Vertical

SHOWN = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
CLASSES = 300


def panels(self: suites.Test, data: Any, others: Sequence[Any] = ()) -> list[Panel]:
    people = Points(
        np.array([2.5]),
        np.array([0.8]),
        "people",
        low=np.array([0.7]),
        high=np.array([0.9]),
        human=True,
        names=("24 people",),
    )
    marks = (
        Line(LEVELS, RIGHT + 0.01, "seed 1", style="fan"),
        Line(LEVELS[[0, -1]], np.full(2, 0.1), "chance", style="guide"),
        Vertical(2.0, "threshold", 1.5, np.inf),
        people,
    )
    names = Axis("class", ticks=tuple(f"class {k}" for k in range(CLASSES)), reversed=True)
    share = np.random.default_rng(0).random((len(LEVELS), CLASSES))
    cells = Surface(LEVELS, np.arange(float(CLASSES)), share, "share right", low=0, high=1)
    three = ("pixels", "people", "network")
    kappa = Surface(np.arange(3.0), np.arange(3.0), np.eye(3) - 0.25, "kappa", diverging=True)
    line = (Line(LEVELS, RIGHT, "net"),)
    items = (Item(Grey(0.5), "tench", "lost at 0.4 px"), Item(Grey(-1.0), "cock", "lost at 2 px"))
    bare = (Axis(""), Axis(""))
    return [
        curve(*marks, rows=(0, 1)),
        Panel("classes", "Class by class", LEVEL, names, (cells,), stimuli=False),
        Panel(
            "kappa", "Who errs with whom", *(Axis("", ticks=three),) * 2, (kappa,), stimuli=False
        ),
        *(
            Panel("by class", "Classes", LEVEL, SHARE, line, stimuli=False, name=f"class {k}")
            for k in range(8)
        ),
        Panel("lost", "What is lost first", *bare, (Gallery(items),), stimuli=False),
    ]


def samples(self: Any) -> list[list[Sample]]:
    # The second row is not where the first is.
    return [
        [Sample(Grey(0.9 - 0.05 * level), f"{level:g}", name, level * far) for level in SHOWN]
        for name, far in (("increased", 1.0), ("decreased", 0.5))
    ]


def recognition(runs: Sequence[Run]) -> list[Group]:
    """Return groups of a suite in which being right is best."""
    return [replace(each, suite=replace(each.suite, best="no error")) for each in groups(runs)]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = fechner.evaluate(
        "pixels",
        tests=["area"],
        scores_only=True,
        out=tmp_path_factory.mktemp("levels") / "run",
        progress=False,
    )
    path: Path = tmp_path_factory.mktemp("page") / "report.html"
    (group,) = groups([run])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suites.Test, "panels", panels)
        patch.setattr(type(group.tests[0].experiment), "samples", samples)
        patch.setattr(made, "groups", recognition)
        write_page([run], path)
    return path


def opened(browser: Browser, file: Path, **how: Any) -> tuple[Page, list[str]]:
    page, wrong = browser.new_context(**how).new_page(), []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_function("document.documentElement.dataset.ready === 'plots'", timeout=120_000)
    return page, wrong


@pytest.fixture(scope="module")
def page(browser: Browser, file: Path) -> Iterator[Page]:
    page, wrong = opened(browser, file, viewport={"width": 1400, "height": 1000})
    yield page
    assert wrong == []
    page.context.close()


def card(page: Page, kind: str) -> Locator:
    """Return the first plot of a kind, drawn."""
    figure = page.locator(f"figure[data-kind='{kind}']").first
    figure.scroll_into_view_if_needed()
    figure.locator(".canvas.drawn .main-svg").first.wait_for()
    return figure


def test_the_original_is_at_the_right_with_its_name(page: Page) -> None:
    figure = card(page, "levels")
    low, high = figure.evaluate("f => f.querySelector('.canvas')._fullLayout.xaxis.range")
    assert low > np.log10(20)
    assert high < np.log10(ORIGINAL)
    labels = [text for text in figure.locator(".xtick text").all_text_contents() if text]
    assert "original" in labels
    assert {"1", "10"} <= set(labels)
    limits = figure.evaluate("f => f.querySelector('.canvas')._fullLayout.yaxis.range")
    assert limits == pytest.approx([-0.02, 1.02])


def test_rows_of_stimuli_stand_under_their_own_levels(page: Page) -> None:
    figure = card(page, "levels")
    strips = figure.locator(".axis-stimuli")
    assert strips.locator("span").all_inner_texts() == ["increased", "decreased"]
    places = [
        strips.nth(row).locator("i").evaluate_all("all => all.map(i => parseFloat(i.style.left))")
        for row in range(2)
    ]
    original = figure.evaluate(
        """(f, at) => { const {xaxis, _size} = f.querySelector('.canvas')._fullLayout;
        return _size.l + xaxis.l2p(Math.log10(at)); }""",
        ORIGINAL,
    )
    for row in places:
        assert len(row) >= 4
        assert max(row) == pytest.approx(original, abs=1)
        assert min(a - b for a, b in pairwise(row)) >= 37.9
    assert places[0] != places[1]


def test_fans_guides_thresholds_and_people_are_explained(page: Page) -> None:
    line = page.locator("h4", has_text="Share right by level")
    text = line.inner_text()
    assert "Thin lines: single runs." in text
    assert "seed 1" not in text
    chips = line.locator(".chips span").all_inner_texts()
    assert chips == ["blur", "chance", "threshold", "people"]
    assert line.locator("i.people").count() == line.locator("i.place").count() == 1
    figure = card(page, "levels")
    traces = figure.evaluate(
        "f => f.querySelector('.canvas').data.map(t => [t.hovertemplate || '', t.line?.width])"
    )
    widths = [width for _, width in traces if width]
    assert min(widths) < 1 < max(widths)
    assert any("threshold: 2 [1.5, open]" in words for words, _ in traces)
    names = figure.evaluate("f => f.querySelector('.canvas').data.flatMap(t => t.customdata || [])")
    assert "original" in names  # rather than the made-up number


def test_many_rows_are_named_as_far_as_there_is_room_and_more_when_nearer(page: Page) -> None:
    figure = card(page, "classes")
    canvas = figure.locator(".canvas")
    assert canvas.evaluate("c => c.clientHeight") <= 620
    reading = "c => c._fullLayout.yaxis.ticktext"
    names = canvas.evaluate(reading)
    assert names[0] == "class 0"
    assert 10 < len(names) < 60
    trace = canvas.evaluate("c => [c.data[0].zmin, c.data[0].zmax, c.data[0].customdata[7][3]]")
    assert trace == [0, 1, "class 7"]
    canvas.evaluate("c => Plotly.relayout(c, {'yaxis.range': [12.5, -0.5]})")
    page.wait_for_function(
        "document.querySelector(\"figure[data-kind='classes'] .canvas\")"
        "._fullLayout.yaxis.ticktext.length === 13"
    )
    assert canvas.evaluate(reading)[1] == "class 1"


def test_agreement_has_numbers_and_colours_around_zero(page: Page) -> None:
    figure = card(page, "kappa")
    mark = figure.evaluate(
        """f => { const t = f.querySelector('.canvas').data[0];
        return [t.zmin, t.zmax, t.text[0][0], t.text[0][1], t.colorscale[5][1]]; }"""
    )
    assert mark == [-1, 1, "0.75", "\N{MINUS SIGN}0.25", "#f7f7f7"]


def test_many_panels_of_one_kind_are_small_ones_under_one_heading(page: Page) -> None:
    block = page.locator(".multiples")
    assert block.locator("figure.small").count() == 8
    assert block.locator("header b").all_inner_texts() == ["pixels"]
    assert block.locator("figcaption b").all_inner_texts() == [f"class {k}" for k in range(8)]
    assert page.locator("h4", has_text="Classes").count() == 1
    assert "original" in card(page, "by class").locator(".xtick text").all_text_contents()
    page.locator(".filter").fill("nobody")
    assert block.is_hidden()
    page.locator(".filter").fill("")


def test_a_gallery_says_which_picture_is_gone(page: Page) -> None:
    figure = page.locator("figure.gallery")
    figure.scroll_into_view_if_needed()
    figure.locator("img").first.wait_for()
    assert figure.locator("figcaption b").all_inner_texts()[1:] == ["tench", "cock"]
    assert figure.locator("img").count() == 1
    width = figure.locator("img").evaluate("img => img.decode().then(() => img.naturalWidth)")
    assert width == 160
    box = figure.locator("img").bounding_box()
    assert box is not None
    assert 100 <= box["width"] <= 160
    assert figure.locator(".gone").inner_text() == "picture cannot be drawn any more"


def test_what_is_best_is_the_suites_word(page: Page) -> None:
    text = page.locator("body").inner_text()
    assert "closeness to no error" in text
    assert "distance from no error" in text
    above = page.locator("body > header").inner_text() + page.locator(".first").inner_text()
    assert "human" not in above
    assert "people" not in above


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_on_a_phone_nothing_is_too_wide(browser: Browser, file: Path, scheme: str) -> None:
    size = {"width": 390, "height": 844}
    page, wrong = opened(browser, file, viewport=size, color_scheme=scheme)
    for kind in ("levels", "classes", "kappa", "by class"):
        card(page, kind)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert wrong == []
    page.context.close()
