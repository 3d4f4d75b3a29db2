"""The routes of the local web page."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import jinja2
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from fechner.errors import FechnerError
from fechner.report.serving import words
from fechner.report.serving.explorer import SETTINGS, Number, Point, limits, picture
from fechner.report.serving.guard import REPORT_POLICY, Guard
from fechner.report.serving.plot import plot
from fechner.report.serving.reports import Reports
from fechner.report.serving.runs import Found, find_runs, last_changed, last_lines, size_bytes
from fechner.report.serving.state import State, read_state
from fechner.report.serving.thresholds import PRESETS, judge

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

#: Files of ours that pages load, by name: nothing else of the disk can be asked for.
_STATIC = {
    "style.css": "text/css",
    "explorer.js": "text/javascript",
    "live.js": "text/javascript",
    "parts.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}

_MOST_RUNS_IN_A_REPORT = 20

#: Pictures drawn at a time.
_PAINTERS = 2


def make_app(roots: Sequence[Path], host: str = "127.0.0.1") -> ASGIApp:
    """Return the application: a page about the runs in some folders, for a server on a host."""
    pages = _Pages(tuple(roots))
    app = Starlette(
        routes=[
            Route("/", pages.index),
            Route("/runs/{id}", pages.run),
            Route("/runs/{id}/state.json", pages.state),
            Route("/runs/{id}/report", pages.report_of_one),
            Route("/report", pages.report),
            Route("/stimuli", pages.stimuli),
            Route("/stimuli/picture.png", pages.picture),
            Route("/static/{name}", pages.static),
        ],
        exception_handlers={
            HTTPException: pages.refused,
            FechnerError: pages.refused,
            Exception: pages.broken,
        },
    )
    # A slash too many is another address; answering with where to go would repeat the asker's.
    app.router.redirect_slashes = False
    return Guard(app, host)


@dataclass(frozen=True)
class _Entry:
    """A line of the list of runs."""

    state: State
    size: int
    changed: float | None


class _Pages:
    """The pages, over the folders that were given."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = roots
        self.reports = Reports()
        self.painters = anyio.CapacityLimiter(_PAINTERS)
        self.files = resources.files("fechner.report.serving") / "static"
        self.templates = jinja2.Environment(
            loader=jinja2.PackageLoader("fechner.report.serving"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        self.templates.filters |= words.FILTERS

    def _page(self, template: str, status: int = 200, **values: Any) -> Response:
        html = self.templates.get_template(template).render(**values)
        # Names from files may hold halves of characters.
        return HTMLResponse(html.encode("utf-8", "replace"), status)

    def _found(self, id: str) -> Found:
        """Look a run up among those found: what was asked for never becomes a path."""
        for run in find_runs(self.roots):
            if run.id == id:
                return run
        raise HTTPException(404, "There is no such run here.")

    def index(self, request: Request) -> Response:
        """List the runs."""
        entries = [
            _Entry(read_state(run), size_bytes(run.folder), last_changed(run.folder))
            for run in find_runs(self.roots)
        ]
        entries.sort(key=lambda each: (not each.state.live, -(each.changed or 0)))
        return self._page("index.html", entries=entries)

    def run(self, request: Request) -> Response:
        """Show one run, live."""
        found = self._found(request.path_params["id"])
        state = read_state(found)
        log = last_lines(found.folder)
        version = words.version(state, log)
        return self._page("run.html", state=state, log=log, version=version)

    def state(self, request: Request) -> Response:
        """Say how far a run is, for programs."""
        found = self._found(request.path_params["id"])
        state = read_state(found)
        log = last_lines(found.folder)
        content = {**words.as_json(state), "log": log, "version": words.version(state, log)}
        return Response(json.dumps(content), media_type="application/json")

    async def report_of_one(self, request: Request) -> Response:
        """Show the report of one run."""
        return await self._report([request.path_params["id"]])

    async def report(self, request: Request) -> Response:
        """Show the report of several runs."""
        chosen = list(dict.fromkeys(request.query_params.getlist("run")))
        if not 1 <= len(chosen) <= _MOST_RUNS_IN_A_REPORT:
            raise HTTPException(
                400, f"A report is about 1 to {_MOST_RUNS_IN_A_REPORT} runs, not {len(chosen)}."
            )
        return await self._report(chosen)

    async def _report(self, ids: Sequence[str]) -> Response:
        runs = [await anyio.to_thread.run_sync(self._found, id) for id in ids]
        try:
            page = await self.reports.page(runs)
        except FechnerError as error:
            raise HTTPException(409, f"There is no report yet: {error}") from error
        return HTMLResponse(page, headers={"content-security-policy": REPORT_POLICY})

    async def stimuli(self, request: Request) -> Response:
        """Show a stimulus and what people would see of it."""
        point = _point(request)

        def page() -> Response:
            verdict = judge(point)
            return self._page(
                "stimuli.html",
                point=point,
                settings=SETTINGS,
                is_number=lambda setting: isinstance(setting, Number),
                verdict=verdict,
                warning=limits(point),
                plot=plot(verdict.curve),
                presets=PRESETS,
            )

        return await self._drawn(page)

    async def picture(self, request: Request) -> Response:
        """Draw a stimulus."""
        point = _point(request)

        def drawn() -> Response:
            cached = {"cache-control": "private, max-age=600"}
            return Response(picture(point), media_type="image/png", headers=cached)

        return await self._drawn(drawn)

    async def _drawn(self, make: Callable[[], Response]) -> Response:
        """Draw in a thread, a few at a time; what cannot be drawn is the asker's mistake."""
        try:
            return await anyio.to_thread.run_sync(make, limiter=self.painters)
        except ValueError as error:
            raise HTTPException(400, _sentence(str(error))) from error

    def static(self, request: Request) -> Response:
        """Hand out one of our own files."""
        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404, "There is no such file here.")
        return Response((self.files / name).read_bytes(), media_type=_STATIC[name])

    def refused(self, request: Request, error: Exception) -> Response:
        """Say in one sentence why there is no answer."""
        status, sentence, headers = 400, str(error), None
        if isinstance(error, HTTPException):
            status, sentence, headers = error.status_code, error.detail, error.headers
        if status == 404 and sentence == "Not Found":
            sentence = "There is no such page here."
        if request.url.path.endswith((".json", ".png")):
            return PlainTextResponse(sentence + "\n", status, headers)
        return self._page("refused.html", status, sentence=_sentence(sentence))

    def broken(self, request: Request, error: Exception) -> Response:
        """Say that something went wrong; what it was stands in the terminal."""
        logging.getLogger("fechner.serve").error("%s", request.url.path, exc_info=error)
        sentence = "Something went wrong; the terminal that fechner serve runs in says what."
        return self._page("refused.html", 500, sentence=sentence)


def _point(request: Request) -> Point:
    pairs = request.query_params.multi_items()
    values = dict(pairs)
    if len(values) != len(pairs):
        raise HTTPException(400, "Every setting stands in an address once.")
    return Point.of(values)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
