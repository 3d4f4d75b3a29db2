"""A page about metrics: what they lack, what is known of them, quarters and clips."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from clips import TESTS, measure, small_metrics
from playwright.sync_api import Browser, Page

from fechner import Run
from fechner.report.contenders import groups
from fechner.report.page import make_page
from fechner.report.page.chapter import Chapter, chapter
from fechner.report.page.panels import drawn


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with small_metrics():
        yield measure(tmp_path_factory.mktemp("runs") / "clips")


@pytest.fixture(scope="module")
def found(run: Run) -> Chapter:
    (group,) = groups([run])
    return chapter(group)


@pytest.fixture(scope="module")
def file(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(make_page([run]), "utf-8")
    return path


@pytest.fixture
def page(browser: Browser, file: Path) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.goto(file.as_uri())
    opened.wait_for_function("document.documentElement.dataset.ready === 'plots'", timeout=120_000)
    yield opened
    assert wrong == []
    context.close()


# What it holds


def test_what_was_not_asked_is_no_problem(found: Chapter, run: Run) -> None:
    assert found.problems == []
    assert found.not_asked == run.not_asked != []
    tests = {test.id: test for test in found.tests}
    assert found.group.contenders[0].why_not_asked(tests["flicker"]) == ""
    assert (
        found.group.contenders[1].why_not_asked(tests["flicker"]) == "it takes pictures, not video"
    )
    assert found.group.contenders[2].why_not_asked(tests["matching-colour"]) == "it sees no colour"


def test_means_are_over_what_was_asked(found: Chapter) -> None:
    assert {each.label: each.mean.n for each in found.standings} == {
        "watcher": 3,
        "hyab": 2,
        "psnr-y": 1,
    }


def test_facts_are_those_that_observers_declare_and_tables_print(found: Chapter) -> None:
    assert found.facts == {"family": False, "csf_based": False}
    known = {each.label: (each.family, each.csf_based) for each in found.standings}
    assert known == {
        "watcher": ("", ""),
        "hyab": ("colour difference", "no"),
        "psnr-y": ("traditional", "no"),
    }
    printed = {each.row.observer: each for each in found.published}
    assert (printed["cvvdp"].row.family, printed["cvvdp"].row.csf_based) == (
        "visual difference predictor",
        "yes",
    )
    assert list(printed["psnr-y"].distances) == ["area"]


def test_facts_that_only_tables_have_say_so(shown_run: Run) -> None:
    (group,) = groups([shown_run])
    assert chapter(group).facts == {"family": False}
    alone = Chapter(group, [], [], chapter(group).published, [], [])
    assert alone.facts == {"family": True}


def test_a_test_without_scores_still_has_a_direction(found: Chapter) -> None:
    empty = Chapter(found.group, [], [], [], [], [])
    better = {test.id: empty.example(test).higher_is_better for test in found.tests}
    assert better == {"area": True, "flicker": True, "matching-colour": False}
    assert all(math.isnan(empty.example(test).value) for test in found.tests)


def test_panels_of_directions_are_plain_values(found: Chapter) -> None:
    matches, panel = drawn(found)["panels"]["matching-colour"][0][0]
    assert matches["kind"] == "matches"
    assert panel["kind"] == "directions"
    assert panel["x"]["ticks"] == ("achromatic", "red-green", "yellow-violet")
    assert drawn(found)["panels"]["matching-colour"][2] == []


# What is seen


def cells(page: Page, row: str) -> dict[str, str]:
    """Return the cells of a row by their headings."""
    headings = page.locator(".leaderboard thead th").all_text_contents()
    line = page.locator(f".leaderboard tr[data-label^='{row}']:visible").first
    names = [name.split("\xa0")[0] for name in headings]
    return dict(zip(names, line.locator("th, td").all_inner_texts(), strict=True))


def test_dashes_tell_their_reason(page: Page) -> None:
    seen = cells(page, "psnr-y")
    assert (seen["flicker"], seen["matching-colour"]) == ("–", "–")
    assert seen["mean distance"].startswith("1/3 ")
    assert (seen["family"], seen["CSF"]) == ("traditional", "no")
    cell = page.locator(".leaderboard tr[data-label^='psnr-y'] td.missing").first
    cell.focus()
    told = page.locator(".detail").inner_text()
    assert told == "psnr-y: flicker: not asked, since it takes pictures, not video"
    below = page.locator(".not-asked li").all_inner_texts()
    assert "psnr-y was not asked matching-colour: it sees no colour." in below
    page.locator(".show-published").check()
    page.locator(".leaderboard tr.printed td.missing").first.hover()
    assert page.locator(".detail").inner_text().endswith(": nothing was printed")


def test_families_sort_and_filter(page: Page) -> None:
    page.locator(".leaderboard thead th", has_text="family").locator("button").click()
    names = page.locator(".leaderboard tbody tr:visible th").all_inner_texts()
    assert names == ["hyab", "psnr-y", "watcher"]  # what has none comes last
    page.locator(".filter").fill("colour difference")
    assert page.locator(".leaderboard tbody tr:visible th").all_inner_texts() == ["hyab"]


def test_quarters_are_of_the_rows_shown(page: Page) -> None:
    reading = """heading => {
        const at = [...document.querySelectorAll('.leaderboard thead th')]
            .find((each) => each.textContent.startsWith(heading)).cellIndex;
        return [...document.querySelectorAll('.leaderboard tbody tr')]
            .filter((row) => !row.hidden && row.cells[at].dataset.value !== 'nan')
            .map((row) => [Number(row.cells[at].dataset.value),
                           Number(row.cells[at].dataset.quartile || 0)]);
    }"""
    assert {quarter for _, quarter in page.evaluate(reading, "area")} == {0}
    page.locator(".colour-by").select_option("quartile")
    assert page.locator(".by-quartile").is_visible()
    assert not page.locator(".by-distance").is_visible()
    few = sorted(page.evaluate(reading, "area"), reverse=True)
    assert [quarter for _, quarter in few] == [1, 2, 3]  # there is no fourth
    page.locator(".show-published").check()
    many = page.evaluate(reading, "area")
    assert len(many) == 3 + 33
    for value, quarter in many:
        assert quarter == 1 + 4 * sum(other > value for other, _ in many) // len(many)
    errors = page.evaluate(reading, "matching-colour")  # in dB, which no paper printed
    assert len(errors) == 2
    assert min(errors)[1] == 1
    for look in (
        "getComputedStyle(cell).backgroundColor",
        "getComputedStyle(cell, '::before').content",
    ):
        looks = {
            page.locator(f"td[data-quartile='{quarter}']").first.evaluate(f"cell => {look}")
            for quarter in (1, 2, 3, 4)
        }
        assert len(looks) == 4
    page.locator(".colour-by").select_option("distance")
    assert page.locator("td[data-quartile]").count() == 0


def test_clips_play_when_asked_to_and_pause(page: Page) -> None:
    section = page.locator("#test-0-flicker")
    canvases = section.locator(".stimulus canvas")
    assert canvases.count() == 0  # nothing flickers by itself
    assert "do not play them" in section.locator(".clips").inner_text()
    assert "50 Hz at 12.5 Hz" in section.locator(".clips").inner_text()
    play = section.locator(".play")
    play.click()
    assert play.get_attribute("aria-pressed") == "true"
    page.wait_for_function(
        """() => {
            window.seen = (window.seen || new Set());
            const canvas = document.querySelectorAll('#test-0-flicker .stimulus canvas')[1];
            if (canvas && canvas.dataset.tile) window.seen.add(canvas.dataset.tile);
            return window.seen.size >= 5;
        }"""
    )
    assert canvases.count() == 9
    # What is on the canvas is the tile that it says.
    assert page.evaluate(
        """async () => {
            const canvas = document.querySelector('#test-0-flicker .stimulus canvas');
            const tile = canvas.parentElement;
            const picture = new Image();
            picture.src = getComputedStyle(tile).backgroundImage.slice(5, -2);
            await picture.decode();
            const copy = document.createElement('canvas');
            [copy.width, copy.height] = [canvas.width, canvas.height];
            const [number, across] = [Number(canvas.dataset.tile), Number(tile.dataset.across)];
            const [w, h] = [copy.width, copy.height];
            copy.getContext('2d').drawImage(
                picture, (number % across) * w, Math.floor(number / across) * h, w, h, 0, 0, w, h);
            return copy.toDataURL() === canvas.toDataURL();
        }"""
    )
    play.click()
    assert (canvases.count(), play.get_attribute("aria-pressed")) == (0, "false")


def test_a_clip_plays_one_pixel_on_one_pixel(page: Page) -> None:
    page.locator("#test-0-flicker .stimulus").nth(1).click()
    page.locator("dialog .play").click()
    page.locator("dialog canvas").wait_for()
    box = page.locator("dialog canvas").bounding_box()
    assert box is not None
    assert (box["width"], box["height"]) == (48, 36)
    page.keyboard.press("Escape")
    assert page.locator("dialog canvas").count() == 0
    page.locator("#test-0-area .stimulus").first.click()
    assert not page.locator("dialog .play").is_visible()


def test_asking_for_less_motion_pauses(page: Page) -> None:
    page.locator("#test-0-flicker .play").click()
    page.locator("#test-0-flicker canvas").first.wait_for()
    page.emulate_media(reduced_motion="reduce")
    page.locator("#test-0-flicker canvas").first.wait_for(state="detached")


def test_without_scripts_the_peak_is_seen(browser: Browser, file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert not page.locator("#test-0-flicker .play").is_visible()
    places = [
        tile.get_attribute("style") or ""
        for tile in page.locator("#test-0-flicker .stimulus").all()[:2]
    ]
    assert all("background-position: 0% 0%" not in place for place in places)  # nothing's tile
    assert all("aspect-ratio: 48 / 36" in place for place in places)
    context.close()


def test_directions_are_drawn_with_their_names(page: Page) -> None:
    card = page.locator("#test-0-matching-colour figure[data-kind='directions']")
    card.first.scroll_into_view_if_needed()
    card.first.locator(".canvas.drawn .main-svg").first.wait_for()
    assert card.count() == 2  # psnr-y was not asked
    assert card.first.locator(".xtick text").all_text_contents() == [
        "achromatic",
        "red-green",
        "yellow-violet",
    ]
    dashes = card.first.evaluate(
        "card => card.querySelector('.canvas').data.map((trace) => trace.line.dash)"
    )
    assert dashes == ["dash", "solid"] * (len(dashes) // 2)


def test_published_clips_and_axes_from_0_hz(tmp_path: Path) -> None:
    with small_metrics():
        published = measure(tmp_path / "published", published=True)
        (group,) = groups([published])
        content = drawn(chapter(group))
        surface, responses = content["panels"]["flicker"][0][0]
        assert (surface["x"]["log"], surface["marks"][0]["x"][0]) == (False, 0.0)
        assert responses["marks"][0]["colourAxis"]["log"] is False
        assert "60 Hz at 15 Hz" in make_page([published])
    assert set(TESTS) == set(content["panels"])
