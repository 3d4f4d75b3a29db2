"""A page of curves: a check list, panels of several groups, colours that stand for something."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import fechner
from fechner import Run
from fechner.report.contenders import groups
from fechner.report.page import write_page
from fechner.report.page.chapter import Chapter, chapter
from fechner.report.page.panels import drawn


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return fechner.evaluate(
        "pixels",
        "standard-observer",
        suite="decalogue",
        tests=["spectral", "brightness", "colour"],
        out=tmp_path_factory.mktemp("curves") / "run",
        progress=False,
    )


@pytest.fixture(scope="module")
def shown(run: Run) -> Chapter:
    (group,) = groups([run])
    return chapter(group)


@pytest.fixture(scope="module")
def page(browser: Browser, run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path: Path = tmp_path_factory.mktemp("page") / "report.html"
    write_page([run], path)
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, color_scheme="light")
    wrong: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_function("document.documentElement.dataset.ready === 'plots'", timeout=120_000)
    yield page
    assert wrong == []
    context.close()


def test_checks_are_rows_with_an_answer_of_everybody(shown: Chapter) -> None:
    rows = {(test.id, check.claim): (check, scores) for test, check, scores in shown.checks}
    assert list(rows) == [
        ("spectral", "opponent"),
        ("brightness", "saturates"),
        ("brightness", "crispens"),
        ("brightness", "ordered"),
        ("colour", "saturates"),
        ("colour", "ordered"),
    ]
    assert all(len(scores) == len(shown.standings) == 2 for _, scores in rows.values())
    # Of the same name, another rule.
    assert rows["brightness", "saturates"][0].rule != rows["colour", "saturates"][0].rule
    pixels = [standing.contender for standing in shown.standings].index(0)
    verdicts = {key: scores[pixels] for key, (_, scores) in rows.items()}
    assert verdicts["brightness", "saturates"].verdict == "yes"
    assert verdicts["brightness", "ordered"].verdict == "no"
    assert verdicts["spectral", "opponent"].verdict == "unknown"


def test_tests_without_checks_have_no_list(shown_run: Run) -> None:
    (group,) = groups([shown_run])
    assert chapter(group).checks == []


def test_colours_are_there_for_both_grounds(shown: Chapter) -> None:
    content = drawn(shown)
    ((panel,),) = content["panels"]["brightness"][0]
    light, dark = panel["colours"]
    assert len(light) == len(dark) == 5
    assert not set(light) & set(dark)


def test_the_check_list_is_seen_and_not_among_the_numbers(page: Page) -> None:
    table = page.locator(".checklist")
    assert table.locator("tbody tr").count() == 6
    assert "a curve is steepest, over log luminance" in table.inner_text()
    words = table.locator("td").all_inner_texts()
    assert set(words) <= {"yes", "partly", "no", "unknown"}
    assert "of 5 pass" in (table.locator("td.yes").first.get_attribute("title") or "")
    numbers = page.locator(".numbers tbody").all_text_contents()
    assert not any("check-" in text for text in numbers)
    assert any("order-rg" in text for text in numbers)


def test_groups_of_curves_stand_below_each_other_with_their_own_stimuli(page: Page) -> None:
    section = page.locator("#test-0-colour")
    headings = section.locator(".panels h4").all_inner_texts()
    assert [text.split(" People")[0].strip() for text in headings] == [
        "Response, red-green",
        "Response, yellow-blue",
    ]
    cards = section.locator("figure[data-contender]")
    assert cards.count() == 4
    icons = []
    for number in range(4):
        cards.nth(number).scroll_into_view_if_needed()
        cards.nth(number).locator(".canvas.drawn .main-svg").first.wait_for()
        icon = cards.nth(number).locator(".axis-stimuli i").first
        icons.append(icon.evaluate("icon => icon.style.backgroundPosition"))
    assert icons[0] == icons[1] != icons[2] == icons[3]


def test_colours_change_with_the_ground(page: Page) -> None:
    chips = page.locator("#test-0-brightness .chips i")
    assert chips.count() == 5
    before = chips.evaluate_all("all => all.map(chip => chip.style.background)")
    assert before[0] == "rgb(0, 114, 178)"
    page.locator("#theme").click()
    after = page.locator("#test-0-brightness .chips i").evaluate_all(
        "all => all.map(chip => chip.style.background)"
    )
    page.locator("#theme").click()
    assert not set(before) & set(after)


def test_channels_that_nobody_is_compared_by_are_not_named(page: Page) -> None:
    key = page.locator("#test-0-spectral .chips").inner_text()
    assert "achromatic" in key
    assert "red-green" not in key


def test_a_score_of_several_panels_is_said_once(page: Page) -> None:
    cards = page.locator("#test-0-colour figure[data-contender]")
    for number in range(4):
        cards.nth(number).scroll_into_view_if_needed()
        cards.nth(number).locator(".canvas.drawn .main-svg").first.wait_for()
    scores = [cards.nth(number).locator(".score") for number in range(4)]
    assert [score.count() for score in scores] == [1, 1, 0, 0]
    assert all("[" in score.inner_text() for score in scores[:2])
