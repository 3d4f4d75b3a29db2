"""The page as people meet it: opened from a file, in a real browser, without a network."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from fechner import Run
from fechner.report.page import write_page


class Watched:
    """A page that remembers whatever went wrong on it."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.wrong: list[str] = []
        page.on("console", lambda message: self.wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", self._request)
        page.goto(path.as_uri())
        page.wait_for_function(
            "document.documentElement.dataset.ready === 'plots'", timeout=120_000
        )

    def _request(self, request: object) -> None:
        url = str(getattr(request, "url", ""))
        if not url.startswith(("file:", "data:", "blob:")):
            self.wrong.append(f"asked for {url}")

    def draw_all(self) -> int:
        """Scroll to every plot, and return how many were drawn."""
        figures = self.page.locator("figure.plot:visible")
        for number in range(figures.count()):
            figures.nth(number).scroll_into_view_if_needed()
            figures.nth(number).locator(".canvas.drawn .main-svg").first.wait_for()
        return figures.count()

    def column(self, heading: str) -> list[str]:
        """Return a column of the leaderboard as it is seen."""
        names = self.page.locator(".leaderboard thead th").all_text_contents()
        (number,) = (i for i, name in enumerate(names, 1) if name.split("\xa0")[0] == heading)
        return self.page.locator(
            f".leaderboard tbody tr:visible > :nth-child({number})"
        ).all_inner_texts()


@pytest.fixture(scope="module")
def file(shown_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page([shown_run], path)
    return path


@pytest.fixture
def watched(browser: Browser, file: Path) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    found = Watched(context.new_page(), file)
    yield found
    assert found.wrong == []
    context.close()


def test_every_plot_is_drawn(watched: Watched) -> None:
    # The profile; per test three observers by one or two kinds of panel, depth, and read-outs of
    # the two that have layers.
    assert watched.draw_all() == 1 + (3 * 2 + 1 + 2) + (3 + 1 + 2)
    page = watched.page
    assert page.locator(".test .contourlayer .contour").count() > 3
    assert page.locator(".axis-stimuli i").count() >= 6 * 3
    assert page.locator(".infolayer .colorbar:visible").count() >= 6


def test_leaderboard_sorts_both_ways(watched: Watched) -> None:
    name = "masking-coherent"
    heading = watched.page.locator(".leaderboard thead th", has_text=name)
    means = [float(text) for text in watched.column("mean distance")]
    assert means == sorted(means)
    heading.locator("button").click()
    best_first = [float(text) for text in watched.column(name)]
    assert best_first == sorted(best_first, reverse=True)
    assert heading.get_attribute("aria-sort") == "descending"
    heading.locator("button").click()
    assert [float(text) for text in watched.column(name)] == sorted(best_first)
    watched.page.locator(".leaderboard thead th").first.locator("button").click()
    assert watched.column("observer") == sorted(watched.column("observer"))


def test_leaderboard_filters_rows_and_plots(watched: Watched) -> None:
    page = watched.page
    assert len(watched.column("observer")) == 6
    page.locator(".filter").fill("NETWORK l2")
    assert watched.column("observer") == ["network l2"]
    labels = set(page.locator("figure[data-contender]:visible b").all_inner_texts())
    assert labels == {"network"}
    page.locator(".filter").fill("nobody at all")
    assert watched.column("observer") == []
    page.locator(".filter").fill("")
    assert len(watched.column("observer")) == 6


def test_published_rows_can_be_shown(watched: Watched) -> None:
    watched.page.locator(".show-published").check()
    assert len(watched.column("observer")) == 6 + 45
    watched.page.locator(".filter").fill("dinov2 printed")
    assert len(watched.column("observer")) == 8
    watched.page.locator(".show-published").uncheck()
    assert watched.column("observer") == []


def test_a_cell_tells_its_interval(watched: Watched, shown_run: Run) -> None:
    page = watched.page
    row = page.locator(".leaderboard tbody tr", has_text="pixels angle")
    row.locator("td:not(.fact)").nth(1).hover()
    (score,) = [
        result.score
        for result in shown_run.scores()
        if (result.observer, result.test) == ("pixels", "masking-coherent")
        and result.main
        and result.score.readout == "angle"
    ]
    told = page.locator(".detail").inner_text()
    assert f"{score.value:.4f} [{score.low:.4f}, {score.high:.4f}]" in told


def test_another_layer_is_another_plot(watched: Watched) -> None:
    page = watched.page
    card = page.locator("#test-0-masking-coherent figure[data-contender='1']").first
    card.scroll_into_view_if_needed()
    card.locator(".canvas.drawn").wait_for()
    reading = "card => JSON.stringify(card.querySelector('.canvas').data[0].z)"
    before = card.evaluate(reading), card.locator(".score").inner_text()
    card.locator("select").select_option(label="0, angle")
    assert (card.evaluate(reading), card.locator(".score").inner_text()) != before


def test_zoom_is_linked_across_observers(watched: Watched) -> None:
    page = watched.page
    watched.draw_all()
    cards = page.locator("#test-0-masking-coherent figure[data-kind='surface'] .canvas")
    cards.first.evaluate("canvas => Plotly.relayout(canvas, {'xaxis.range': [-2, -1]})")
    page.wait_for_function(
        """() => [...document.querySelectorAll(
            "#test-0-masking-coherent figure[data-kind='surface'] .canvas"
        )].every(canvas => canvas.layout.xaxis.range[0] === -2)"""
    )
    other = page.locator("#test-0-masking-coherent figure[data-kind='responses'] .canvas").first
    assert other.evaluate("canvas => canvas._fullLayout.xaxis.range[0]") != -2


def test_dark_and_light(browser: Browser, file: Path) -> None:
    context = browser.new_context(color_scheme="dark")
    watched = Watched(context.new_page(), file)
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = watched.page.evaluate(ground)
    watched.page.locator("#theme").click()
    assert watched.page.evaluate(ground) != dark
    assert watched.draw_all() == 16
    assert watched.wrong == []
    context.close()


def test_on_a_phone_only_tables_scroll_sideways(browser: Browser, file: Path) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    watched = Watched(context.new_page(), file)
    watched.draw_all()
    assert watched.page.evaluate("document.documentElement.scrollWidth") == 390
    assert watched.wrong == []
    context.close()


def test_a_stimulus_opens_one_pixel_on_one_pixel(watched: Watched) -> None:
    watched.page.locator(".stimulus").first.click()
    box = watched.page.locator("dialog div").bounding_box()
    assert box is not None
    assert (box["width"], box["height"]) == (224, 224)


def test_the_printed_page_holds_every_plot(watched: Watched, tmp_path: Path) -> None:
    watched.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    watched.page.wait_for_function(
        "[...document.querySelectorAll('figure.plot:not([hidden]) .canvas')]"
        ".every(canvas => canvas.classList.contains('drawn'))"
    )
    assert watched.page.locator("details:not([open]):not(details details)").count() == 0
    watched.page.pdf(path=tmp_path / "page.pdf", format="A4", print_background=True)
    assert (tmp_path / "page.pdf").stat().st_size > 100_000


def test_odd_names_and_missing_parts_give_a_sane_page(
    browser: Browser, odd_run: Run, tmp_path: Path
) -> None:
    write_page([odd_run], tmp_path / "odd.html")
    context = browser.new_context()
    watched = Watched(context.new_page(), tmp_path / "odd.html")
    assert watched.page.title().startswith("fechner")
    assert "<script>document.title = 'taken'</script>" in watched.column("observer")
    assert watched.draw_all() > 8
    legend = watched.page.locator("figure[data-plot='profile'] .legendtext").all_text_contents()
    assert any("<script>" in text for text in legend)
    heading = watched.page.locator(".leaderboard thead th", has_text="area")
    for _ in range(2):  # what has no number stays below
        heading.locator("button").click()
        assert watched.column("area")[-1] == "n/a"
    assert watched.wrong == []
    context.close()
