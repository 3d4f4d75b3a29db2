"""Every address, well-formed or hostile, over a real connection."""

import html
import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from measured import HOSTILE, TESTS, measured

import fechner.report.page
from fechner.errors import FechnerError
from fechner.report.serving.app import Guard
from fechner.report.serving.explorer import Point, picture
from fechner.runs import Run

TRAVERSAL = [
    "/runs/..%2f..%2fetc%2fpasswd",
    "/runs/%2e%2e/%2e%2e/etc/passwd",
    "/runs/..%5c..%5cetc",
    "/runs/../../../../etc/passwd",
    "/runs/%00",
    "/runs/{id}%00",
    "/runs/{id}/",
    "/runs/{id}/manifest.json",
    "/runs/{id}/..",
    "/runs/{id}/results/pixels",
    "/runs/{id}%2fmanifest.json",
    "/runs/{id}/report/../../..",
    "/runs/",
    "/runs",
    "/static/",
    "/static",
    "/static/..%2fapp.py",
    "/static/%2e%2e/app.py",
    "/static/..%5capp.py",
    "/static/style.css%00.png",
    "/static/templates/base.html",
    "//etc/passwd",
    "/%2fetc/passwd",
    "/file:///etc/passwd",
    "/nowhere",
    "/favicon.ico",
    "/%c3%bc",
    "/%ff%fe",
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of every kind."""
    folder = tmp_path_factory.mktemp("served") / "runs"
    shutil.copytree(measured().folder, folder / "small")
    shutil.copytree(measured().folder, folder / "other")
    shutil.copytree(measured().folder, folder / "failed")
    with sqlite3.connect(folder / "failed" / "ledger.sqlite") as connection:
        connection.execute(
            "UPDATE pieces SET status = 'failed', message = '<img src=x onerror=alert(1)>' "
            "WHERE observer = 'pixels' AND piece = 'match'"
        )
    connection.close()
    (folder / "failed" / "log.txt").write_text("a lamp </pre><script>alert(2)</script> broke\n")
    (folder / "bad").mkdir()
    (folder / "bad" / "manifest.json").write_text('{"suite": ')
    (folder / "bad" / ".lock").touch()
    (folder / "half").mkdir()
    (folder / "half" / ".lock").touch()
    shutil.copytree(measured().folder, folder / "strange")
    manifest = json.loads((folder / "strange" / "manifest.json").read_text())
    manifest["observers"] = {
        "half a character \ud800": {"batch_size": 1, "fingerprints": {}, "output": "x"}
    }
    manifest["notes"] = ["<b>note</b> \udfff"]
    (folder / "strange" / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture(scope="module")
def served(serve: Callable[..., object], root: Path) -> object:
    return serve(root)


@pytest.fixture(scope="module")
def ids(served) -> dict[str, str]:
    return dict(
        reversed(pair)
        for pair in re.findall(r'<a href="/runs/([^"/]+)">runs/(\w+)</a>', served.get("/").text)
    )


def test_list_has_every_run_and_its_state(served, ids: dict[str, str]) -> None:
    answer = served.get("/")
    assert answer.status == 200
    assert sorted(ids) == ["bad", "failed", "half", "other", "small", "strange"]
    rows = dict(zip(re.findall(r"runs/(\w+)</a>", answer.text), answer.text.split("<tr>")[2:],
                    strict=True))  # fmt: skip
    assert "finished</span>" in rows["small"]
    assert ">22/22" in rows["small"].replace("\n", "")
    assert "encoders" in rows["small"]
    assert f'href="/runs/{ids["small"]}/report"' in rows["small"]
    assert "1 failed" in rows["failed"]
    assert "runs/bad/manifest.json cannot be read" in rows["bad"]
    assert "if it was stopped, run it again" in rows["half"]
    assert "half a character ?" in rows["strange"]
    for broken in ("bad", "half"):
        assert "/report" not in rows[broken]


def test_no_runs_says_how_to_make_one(serve, tmp_path: Path) -> None:
    answer = serve(tmp_path / "runs").get("/")
    assert answer.status == 200
    assert "fechner run pixels" in answer.text


def test_run_that_appears_later_is_found(serve, tmp_path: Path) -> None:
    served = serve(tmp_path / "runs")
    assert "runs/late" not in served.get("/").text
    shutil.copytree(measured().folder, tmp_path / "runs" / "late")
    assert "runs/late" in served.get("/").text
    shutil.rmtree(tmp_path / "runs" / "late")
    assert "runs/late" not in served.get("/").text


@pytest.mark.parametrize("name", ["small", "failed", "bad", "half", "strange"])
def test_every_run_has_a_page_and_a_state(served, ids: dict[str, str], name: str) -> None:
    page = served.get(f"/runs/{ids[name]}")
    state = served.get(f"/runs/{ids[name]}/state.json")
    assert (page.status, state.status) == (200, 200)
    assert state.headers["content-type"] == "application/json"
    content = json.loads(state.body)
    assert content["run"] == f"runs/{name}"
    assert content["live"] is False
    assert f'data-version="{content["version"]}"' in page.text
    assert f'data-state="/runs/{ids[name]}/state.json"' in page.text


def test_state_of_a_finished_run(served, ids: dict[str, str]) -> None:
    content = json.loads(served.get(f"/runs/{ids['small']}/state.json").body)
    assert content["pieces"] == {"done": 22, "of": 22}
    assert content["tests"] == list(TESTS)
    assert [row["observer"] for row in content["observers"]] == [HOSTILE, "pixels"]
    assert content["seconds_left"] == 0
    assert all(
        cell["state"] == "done" for row in content["observers"] for cell in row["cells"].values()
    )


class Tags(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.scripts: set[str | None] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "script":
            self.scripts.add(dict(attrs).get("src"))


@pytest.mark.parametrize("path", ["/", "/runs/{small}", "/runs/{failed}", "/runs/{strange}"])
def test_hostile_names_stay_text(served, ids: dict[str, str], path: str) -> None:
    found = Tags()
    found.feed(served.get(path.format(**ids)).text)
    assert {"html", "table", "a"} <= found.tags
    assert not found.tags & {"img", "b", "iframe"}
    assert found.scripts <= {"/static/live.js"}
    assert not [name for name in found.attributes if name.startswith("on") or name == "style"]


def test_hostile_names_are_shown(served, ids: dict[str, str]) -> None:
    assert html.escape("<script>alert(1)</script>") in served.get(f"/runs/{ids['small']}").text
    failed = served.get(f"/runs/{ids['failed']}").text
    assert "&lt;img src=x onerror=alert(1)&gt;" in failed
    assert "a lamp &lt;/pre&gt;" in failed


@pytest.mark.parametrize("path", TRAVERSAL)
def test_addresses_never_become_paths(served, ids: dict[str, str], path: str) -> None:
    answer = served.get(path.format(id=ids["small"]))
    assert answer.status == 404
    assert b"root:" not in answer.body
    assert b"Traceback" not in answer.body


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil", "[::2]",
     "localhost:x", "[::1", "a b", "127.0.0.2", "user@localhost", "0.0.0.0", ""],
)  # fmt: skip
def test_other_names_are_refused(served, host: str) -> None:
    for path in ("/", "/stimuli/picture.png", "/static/style.css", "/nowhere"):
        answer = served.get(path, host=host)
        assert answer.status == 400
        assert b"runs/" not in answer.body


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1234", "127.0.0.1", "[::1]", "[::1]:8321", "127.0.0.1:9"]
)
def test_own_names_are_not(served, host: str) -> None:
    assert served.get("/", host=host).status == 200


def test_server_on_another_address_answers_to_it(serve, root: Path) -> None:
    assert serve(root, host="lab.example").get("/", host="lab.example:8321").status == 200
    everywhere = serve(root, host="0.0.0.0")
    assert everywhere.get("/", host="192.168.1.5:8321").status == 200
    assert everywhere.get("/", host="[fe80::1]:8321").status == 200
    assert everywhere.get("/", host="evil.example").status == 400
    six = Guard(lambda *_: None, "2001:db8::1")  # type: ignore[arg-type]
    assert six.is_own("[2001:db8::1]:80")
    assert not six.is_own("[2001:db8::2]:80")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_server_can_only_be_read(served, method: str) -> None:
    answer = served.get("/", method=method)
    assert answer.status == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}


@pytest.mark.parametrize("path", ["/", "/stimuli", "/runs/{small}", "/static/style.css"])
def test_head_is_get_without_a_body(served, ids: dict[str, str], path: str) -> None:
    whole = served.get(path.format(**ids))
    head = served.get(path.format(**ids), method="HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(whole.body))


@pytest.mark.parametrize(
    "path", ["/", "/nowhere", "/stimuli", "/stimuli?size=0", "/runs/{small}/state.json",
             "/static/live.js", "/stimuli/picture.png"],
)  # fmt: skip
def test_headers_let_browsers_load_nothing_from_elsewhere(
    served, ids: dict[str, str], path: str
) -> None:
    headers = served.get(path.format(**ids)).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers or headers["server"] == "uvicorn"


def test_pages_name_no_other_host(served, ids: dict[str, str]) -> None:
    for path in ("/", "/stimuli", f"/runs/{ids['small']}"):
        assert not re.search(r"(src|href|action)=\"(https?:)?//", served.get(path).text)
    for name in ("style.css", "live.js", "explorer.js", "parts.js"):
        assert "://" not in served.get(f"/static/{name}").text


def test_static_files_have_their_types(served) -> None:
    for name, kind in (
        ("style.css", "text/css"), ("live.js", "text/javascript"), ("icon.svg", "image/svg+xml"),
    ):  # fmt: skip
        answer = served.get(f"/static/{name}")
        assert answer.status == 200
        assert answer.headers["content-type"].startswith(kind)


class Stand:
    """Stands in for the report, which takes seconds to make."""

    def __init__(self) -> None:
        self.made: list[list[Run]] = []

    def __call__(self, runs: list[Run]) -> str:
        self.made.append(list(runs))
        pieces = [len(run.entries()) for run in runs]
        return f"<script>report</script> {pieces} {[run.observers for run in runs]}"


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Stand:
    stand = Stand()
    monkeypatch.setattr(fechner.report.page, "make_page", stand)
    return stand


def test_report_is_made_once_per_state_of_the_run(serve, small: Path, stand: Stand) -> None:
    served = serve(small)
    (id,) = re.findall(r'href="/runs/([^"/]+)"', served.get("/").text)
    first = served.get(f"/runs/{id}/report")
    assert first.status == 200
    assert "[22]" in first.text
    assert served.get(f"/runs/{id}/report").body == first.body
    assert served.get(f"/report?run={id}").body == first.body
    assert len(stand.made) == 1
    with sqlite3.connect(small / "ledger.sqlite") as connection:
        connection.execute("DELETE FROM pieces WHERE piece = 'surface-00'")
    connection.close()
    assert "[20]" in served.get(f"/runs/{id}/report").text
    assert len(stand.made) == 2
    (small / "people.csv").write_text("observer\n", "utf-8")
    assert served.get(f"/runs/{id}/report").status == 200
    assert len(stand.made) == 3


def test_reports_may_run_their_own_scripts_and_reach_nothing(
    served, ids: dict[str, str], stand: Stand
) -> None:
    headers = served.get(f"/runs/{ids['other']}/report").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "script-src 'unsafe-inline' blob:" in policy
    assert "'self'" not in policy
    assert headers["x-frame-options"] == "DENY"


def test_report_of_several(served, ids: dict[str, str], stand: Stand) -> None:
    chosen = f"run={ids['small']}&run={ids['other']}&run={ids['small']}"
    assert "[22, 22]" in served.get(f"/report?{chosen}").text
    ((first, second),) = stand.made
    assert (first.folder.name, second.folder.name) == ("small", "other")


@pytest.mark.parametrize(
    ("query", "status", "sentence"),
    [
        ("", 400, "A report is about 1 to 20 runs, not 0."),
        ("?run=nowhere", 404, "There is no such run here."),
        ("?run=../small", 404, "There is no such run here."),
        ("?" + "&".join(f"run={n}" for n in range(21)), 400, "1 to 20 runs, not 21."),
    ],
)
def test_reports_of_nothing(served, query: str, status: int, sentence: str) -> None:
    answer = served.get(f"/report{query}")
    assert answer.status == status
    assert sentence in answer.text


def test_report_that_cannot_be_made_is_one_sentence(
    served, ids: dict[str, str], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = served.get(f"/runs/{ids['bad']}/report")
    assert answer.status == 409
    assert "There is no report yet: runs/bad/manifest.json cannot be read" in answer.text

    def refuse(runs: list[Run]) -> str:
        raise FechnerError(f"{runs[0].folder} is no good.")

    monkeypatch.setattr(fechner.report.page, "make_page", refuse)
    answer = served.get(f"/runs/{ids['failed']}/report")
    assert answer.status == 409
    assert "runs/failed is no good." in answer.text
    assert str(root) not in answer.text


def test_mistakes_of_ours_are_logged_and_not_shown(
    served, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(runs: list[Run]) -> str:
        raise ZeroDivisionError("inner secret")

    monkeypatch.setattr(fechner.report.page, "make_page", fail)
    answer = served.get(f"/runs/{ids['failed']}/report")
    assert answer.status == 500
    assert "secret" not in answer.text
    assert "the terminal that fechner serve runs in says what" in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "inner secret" in caplog.text


def test_explorer_shows_the_point_of_its_address(served) -> None:
    query = "frequency=2&sigma=0.5&luminance=32&mask=grating&mask_contrast=0.0500943&contrast=0.1"
    page = served.get(f"/stimuli?{query}")
    assert page.status == 200
    (threshold,) = re.findall(r'id="threshold" value="([^"]+)"', page.text)
    assert float(threshold) == pytest.approx(0.0334727)  # a point of Foley's
    (ratio,) = re.findall(r'id="ratio" value="([^"]+)"', page.text)
    assert float(ratio) == pytest.approx(0.1 / 0.0334727)
    assert "the data of Foley 1994" in page.text
    (source,) = re.findall(r'id="picture" src="([^"]+)"', page.text)
    drawn = served.get(html.unescape(source))
    assert drawn.status == 200
    assert drawn.headers["content-type"] == "image/png"
    assert drawn.body == served.get(f"/stimuli/picture.png?{query}").body
    for name, value in (("frequency", "2"), ("luminance", "32")):
        assert f'name="{name}" value="{value}"' in page.text
    assert '<option value="grating" selected>grating of the same' in page.text


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("frequency=zero", "frequency must be a number, not 'zero'."),
        ("size=4096", "size must be at least 64 and at most 1024 pixels, not 4096."),
        ("what=1", "there is no setting named 'what'"),
        ("contrast=%00", "contrast must be a number"),
        ("contrast=%ff", "contrast must be a number"),
        ("pattern=noise&frequency=0.1&size=64&ppd=240", "no frequency of a 64 px field"),
        ("pattern=%3Cscript%3E", "not '<script>'"),
    ],
)
def test_nonsense_in_addresses(served, query: str, sentence: str) -> None:
    for path in ("/stimuli", "/stimuli/picture.png"):
        answer = served.get(f"{path}?{query}")
        assert answer.status == 400
        assert sentence.lower() in html.unescape(answer.text).lower()
        assert "<script>alert" not in answer.text
        assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("query", "verdict"),
    [
        ("", "Visible: "),
        ("contrast=0.0005", "Not visible: "),
        ("luminance=1000", "Cannot be shown as meant: as meant, it would be "),
        ("frequency=40", "Cannot be shown as meant: as meant, it would be "),
    ],
)
def test_verdict_begins_with_what_cannot_be_shown(served, query: str, verdict: str) -> None:
    page = served.get(f"/stimuli?{query}").text
    (line,) = re.findall(r'<p class="verdict [^>]*>(.*?)</p>', page, re.DOTALL)
    words = " ".join(re.sub(r"<[^>]+>", "", line).split())
    assert re.fullmatch(re.escape(verdict) + r"[\d.]+ times the human threshold", words)


def test_picture_is_the_explorers(served) -> None:
    asked = {"pattern": "noise", "size": "64"}
    assert served.get("/stimuli/picture.png?pattern=noise&size=64").body == picture(Point.of(asked))
