"""The pages in a real browser: they follow, they draw, and they speak to this server only."""

import math
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from measured import HOSTILE, TESTS
from playwright.sync_api import Browser, Page, expect

from fechner.report.serving.explorer import Point, judge
from fechner.runs.store import Plan, only_writer


@contextmanager
def opened(
    browser: Browser, served, *, allowed: str = "400 (Bad Request)", **context: object
) -> Iterator[Page]:
    """Open a page that must not complain, but for what is allowed, or ask anybody else."""
    complaints: list[str] = []
    asked: list[str] = []
    with browser.new_context(**context) as made:
        page = made.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        yield page
    assert [text for text in complaints if allowed not in text] == []
    places = {urlsplit(url).netloc for url in asked if not url.startswith(("blob:", "data:"))}
    assert places == {f"127.0.0.1:{served.port}"}


#: Keeps how long the page means to wait each time, in milliseconds.
KEEP_WAITS = """
window.waits = [];
const setTimeoutOfClock = window.setTimeout;
window.setTimeout = (call, wait) => { waits.push(wait); return setTimeoutOfClock(call, wait); };
"""


def only_run(served) -> str:
    (id,) = re.findall(r'<a href="/runs/([^"/]+)"', served.get("/").text)
    return id


def test_live_page_follows_rests_and_follows_again(browser: Browser, serve, small: Path) -> None:
    connection = sqlite3.connect(small / "ledger.sqlite")
    with connection:
        rows = connection.execute("SELECT * FROM pieces WHERE observer = 'pixels'").fetchall()
        connection.execute("DELETE FROM pieces WHERE observer = 'pixels'")

    def record(some: list[tuple[object, ...]]) -> None:
        with connection:
            marks = ",".join("?" * len(some[0]))
            connection.executemany(f"INSERT INTO pieces VALUES ({marks})", some)

    served = serve(small)
    with opened(browser, served) as page:
        page.clock.install()
        page.add_init_script(KEEP_WAITS)
        with only_writer(small, Plan([HOSTILE, "pixels"], list(TESTS), scores_only=False)):
            page.goto(f"{served.address}/runs/{only_run(served)}")
            cells = page.locator(".grid tbody tr").nth(1).locator("td")
            expect(page.locator(".badge")).to_have_text("being written now")
            expect(cells.nth(0)).to_have_text("now")
            expect(page.locator(".facts")).to_contain_text("11 of 22")
            record(rows[:3])
            page.clock.run_for(2000)
            expect(page.locator(".facts")).to_contain_text("14 of 22")
            record(rows[3:])
            (small / "log.txt").write_text("<b>done</b>\n")
            page.clock.run_for(2000)
            expect(page.locator(".log")).to_have_text("<b>done</b>")
        page.clock.run_for(2000)
        expect(page.locator(".badge")).to_have_text("finished")
        expect(cells.nth(0)).to_have_class("done")
        expect(page.locator("#live")).to_have_attribute("data-live", "no")
        # It may be resumed while somebody looks.
        assert page.evaluate("waits.at(-1)") == 10_000
        with only_writer(small, Plan([HOSTILE, "pixels"], list(TESTS), scores_only=False)):
            page.clock.run_for(10_000)
            expect(page.locator(".badge")).to_have_text("being written now")
            expect(page.locator("#live")).to_have_attribute("data-live", "yes")
            assert page.evaluate("waits.at(-1)") == 1500
    connection.close()


def test_run_that_was_stopped_before_it_began_is_followed_again(
    browser: Browser, serve, small: Path
) -> None:
    manifest = (small / "manifest.json").read_bytes()
    (small / "manifest.json").unlink()
    served = serve(small)
    with opened(browser, served) as page:
        page.clock.install()
        page.add_init_script(KEEP_WAITS)
        page.goto(f"{served.address}/runs/{only_run(served)}")
        expect(
            page.locator("p.problem", has_text="if it was stopped, run it again")
        ).to_be_visible()
        expect(page.locator(".grid")).to_have_count(0)
        assert page.evaluate("waits") == [10_000]
        with only_writer(small, Plan([HOSTILE, "pixels"], list(TESTS), scores_only=False)):
            (small / "manifest.json").write_bytes(manifest)
            page.clock.run_for(10_000)
            expect(page.locator(".badge")).to_have_text("being written now")
            expect(page.locator(".grid tbody tr")).to_have_count(2)


def test_server_that_goes_away_is_named(browser: Browser, serve, small: Path) -> None:
    served = serve(small)
    with only_writer(small), opened(browser, served, allowed="ERR_INTERNET_DISCONNECTED") as page:
        page.clock.install()
        page.goto(f"{served.address}/runs/{only_run(served)}")
        expect(page.locator("#silence")).to_be_hidden()
        page.context.set_offline(True)
        page.clock.run_for(2000)
        expect(page.locator("#silence")).to_be_visible()
        page.context.set_offline(False)
        page.clock.run_for(6000)
        expect(page.locator("#silence")).to_be_hidden()


def test_pages_fit_a_phone_and_lead_to_each_other(browser: Browser, serve, small: Path) -> None:
    served = serve(small.parent)
    phone = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 3}
    with opened(browser, served, **phone) as page:

        def width() -> object:
            page.wait_for_load_state()  # style sheets included
            return page.evaluate("document.documentElement.scrollWidth")

        page.goto(served.address)
        assert width() == 390
        page.get_by_role("link", name="runs/small").click()
        expect(page.locator("h1")).to_have_text("runs/small")
        assert width() == 390
        page.get_by_role("link", name="Stimuli").click()
        expect(page.locator("#picture")).to_be_visible()
        assert width() == 390


def test_middle_of_a_picture_is_in_sight_where_there_is_no_room(
    browser: Browser, serve, small: Path
) -> None:
    served = serve(small)
    with opened(browser, served, viewport={"width": 390, "height": 844}) as page:

        def off_centre() -> list[float]:
            return page.evaluate("""() => {
                const picture = document.getElementById("picture").getBoundingClientRect();
                const stage = document.querySelector(".stage");
                const box = stage.getBoundingClientRect();
                return [picture.x + picture.width / 2 - box.x - stage.clientWidth / 2,
                        picture.y + picture.height / 2 - box.y - stage.clientHeight / 2];
            }""")

        page.goto(f"{served.address}/stimuli")
        assert off_centre() == pytest.approx([0, 0], abs=1)
        stage = page.locator(".stage")
        assert stage.evaluate("each => each.clientWidth < each.scrollWidth")
        # Whoever looks at another part of it goes on looking there until the size changes.
        stage.evaluate("each => each.scrollTo(0, 0)")
        page.locator("#contrast").fill("0.2")
        page.wait_for_url("**contrast=0.2*")
        expect(stage).to_have_js_property("scrollLeft", 0)
        page.locator("#size").fill("800")
        page.wait_for_url("**size=800*")
        expect(stage).not_to_have_js_property("scrollLeft", 0)
        assert off_centre() == pytest.approx([0, 0], abs=1)


def test_report_runs_under_its_policy(browser: Browser, serve, small: Path) -> None:
    """The real report: its scripts run, and it can reach nothing."""
    served = serve(small)
    with opened(browser, served, allowed="Content Security Policy") as page:
        page.goto(f"{served.address}/runs/{only_run(served)}/report", timeout=120_000)
        expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=60_000)
        assert page.evaluate("fetch('/').then(() => 'reached', () => 'refused')") == "refused"


def threshold(page: Page) -> float:
    return float(page.locator("#threshold").get_attribute("value") or "nan")


def state(page: Page) -> dict[str, str]:
    return {name: value for name, (value,) in parse_qs(urlsplit(page.url).query).items()}


def test_sliders_move_picture_threshold_and_address(browser: Browser, serve, small: Path) -> None:
    served = serve(small)
    with opened(browser, served, viewport={"width": 1280, "height": 900}) as page:
        page.goto(f"{served.address}/stimuli")
        assert threshold(page) == pytest.approx(judge(Point.of({})).threshold)
        before = page.locator("#picture").get_attribute("src") or ""
        page.locator("[data-slides=frequency]").fill("0.8")
        frequency = 0.1 * 600**0.8
        expect(page.locator("#frequency")).to_have_value(f"{frequency:.3g}")
        expect(page.locator("#picture")).not_to_have_attribute("src", before)
        asked = state(page)
        assert float(asked["frequency"]) == pytest.approx(frequency, rel=0.01)
        expected = judge(Point.of(asked))
        assert threshold(page) == pytest.approx(expected.threshold)
        assert float(page.locator("#ratio").get_attribute("value") or "nan") == pytest.approx(
            expected.ratio
        )
        # The address holds it all.
        page.reload()
        assert threshold(page) == pytest.approx(expected.threshold)
        place = float(page.locator("[data-slides=frequency]").input_value())
        assert place == pytest.approx(0.8, abs=0.01)


def test_settings_that_a_pattern_lacks_are_put_away(browser: Browser, serve, small: Path) -> None:
    served = serve(small)
    with opened(browser, served) as page:
        page.goto(f"{served.address}/stimuli?direction=rg")
        expect(page.locator("#mask_contrast")).to_be_hidden()
        page.get_by_label("Pattern").select_option("noise")
        for name in ("direction", "sigma", "phase", "orientation"):
            expect(page.locator(f"#{name}")).to_be_hidden()
        expect(page.locator("[data-part=reasons]")).to_contain_text("RMS contrast")
        assert state(page)["direction"] == "ach"
        page.locator("#mask").select_option("grating")
        for name in ("mask_contrast", "phase"):
            expect(page.locator(f"#{name}")).to_be_visible()
        expect(page.locator(".caveat")).to_contain_text("Foley 1994 measured")


def test_mistake_is_told_and_mended(browser: Browser, serve, small: Path) -> None:
    served = serve(small)
    with opened(browser, served) as page:
        page.goto(f"{served.address}/stimuli")
        page.locator("#contrast").fill("7")
        expect(page.locator("#mistake")).to_contain_text(
            "Contrast must be at least 0.0005 and at most 1"
        )
        about = [page.locator(each) for each in (".verdict", "#threshold", "#sizes", ".plot")]
        for each in about:
            expect(each).to_be_hidden()
        expect(page.locator(".stage")).to_have_css("opacity", "0.25")
        page.locator("#contrast").fill("0.2")
        expect(page.locator("#mistake")).to_be_hidden()
        for each in about:
            expect(each).to_be_visible()
        expect(page.locator(".stage")).to_have_css("opacity", "1")
        assert state(page)["contrast"] == "0.2"


@pytest.mark.parametrize("ratio", [1, 1.5, 3])
def test_picture_is_shown_pixel_for_pixel(
    browser: Browser, serve, small: Path, ratio: float
) -> None:
    served = serve(small)
    with opened(browser, served, device_scale_factor=ratio) as page:
        page.goto(f"{served.address}/stimuli?size=300")
        box = page.locator("#picture").bounding_box()
        assert box is not None
        assert box["width"] * ratio == pytest.approx(300, abs=0.1)
        assert box["height"] * ratio == pytest.approx(300, abs=0.1)
        style = "getComputedStyle(document.getElementById('picture')).imageRendering"
        assert page.evaluate(style) == "pixelated"
        page.locator("#size").fill("200")
        expect(page.locator("#picture")).to_have_js_property("naturalWidth", 200)
        box = page.locator("#picture").bounding_box()
        assert box is not None
        assert box["width"] * ratio == pytest.approx(200, abs=0.1)


def test_picture_can_be_drawn_for_the_viewers_screen(browser: Browser, serve, small: Path) -> None:
    served = serve(small)
    with opened(browser, served, screen={"width": 1600, "height": 1200}) as page:
        page.goto(f"{served.address}/stimuli?size=400")
        expect(page.locator("#screen-px")).to_have_value("1600")
        page.locator("#screen-cm").fill("40")
        page.locator("#screen-distance").fill("57.29")
        # 40 pixels per cm, and 1 cm is 1 degree at 57.29 cm.
        expect(page.locator("#screen-ppd")).to_have_text(
            "At 57.29 cm your screen has 40.0 pixels per degree."
        )
        expect(page.locator("#screen-size")).to_contain_text("drawn to fill 6.67 degrees")
        degrees = math.degrees(2 * math.atan(5 / 57.29))
        expect(page.locator("#screen-size")).to_contain_text(
            f"it is 10.0 cm wide and fills {degrees:.3g} degrees"
        )
        page.get_by_role("button", name="Draw for my screen").click()
        expect(page.locator("#ppd")).to_have_value("40")
        page.wait_for_url("**ppd=40*")
        expect(page.locator("#screen-size")).to_contain_text("drawn to fill 10.0 degrees")
        # A diagonal of 50 cm is a width of 40 cm here.
        page.locator("#screen-side").select_option("diagonal")
        page.locator("#screen-cm").fill("50")
        expect(page.locator("#screen-ppd")).to_contain_text("40.0 pixels per degree")
        page.reload()
        expect(page.locator("#screen-cm")).to_have_value("50")


def test_explorer_works_without_scripts(browser: Browser, serve, small: Path) -> None:
    served = serve(small)
    with opened(browser, served, java_script_enabled=False) as page:
        page.goto(f"{served.address}/stimuli")
        page.locator("#frequency").fill("8")
        page.get_by_role("button", name="Show").click()
        page.wait_for_url("**frequency=8*")
        assert threshold(page) == pytest.approx(judge(Point.of({"frequency": "8"})).threshold)
