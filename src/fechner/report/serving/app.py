"""The local web page: its routes, who may ask, and reports made beside the server."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import re
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from fechner.errors import FechnerError
from fechner.report.html import templates
from fechner.report.serving import explorer
from fechner.report.serving.runs import (
    LEDGER,
    Found,
    Snapshot,
    find_runs,
    last_changed,
    last_lines,
    size_bytes,
    without_path,
)
from fechner.report.serving.state import FILTERS, as_json, read_state, state_version
from fechner.runs.manifest import FILE
from fechner.runs.people import FILE as PEOPLE

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Pages of ours: files of this server only, nothing inline.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

#: Reports hold everything inline and may reach nothing, this server included.
REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; connect-src 'none'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'"
)

_HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-cache",
}

#: A host with an optional port; an IPv6 address stands in brackets.
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[0-9a-z._-]+)(?::[0-9]{1,5})?", re.IGNORECASE)

_OWN_NAMES = ("localhost", "127.0.0.1", "[::1]")

#: Pages of a few megabytes each.
_KEPT = 4

_Key: TypeAlias = tuple[tuple[str | tuple[int, int], ...], ...]

#: Files of ours that pages load, by name: nothing else of the disk can be asked for.
_STATIC = {
    "style.css": "text/css",
    "explorer.js": "text/javascript",
    "live.js": "text/javascript",
    "parts.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}

#: What Starlette says, and what we say.
_SAID = {
    "Not Found": "There is no such page here.",
    "Method Not Allowed": "This server can only be read.",
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


class _Pages:
    """The pages, over the folders that were given."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = roots
        self.reports = _Reports()
        self.painters = anyio.CapacityLimiter(_PAINTERS)
        self.files = resources.files("fechner.report.serving") / "static"
        self.templates = templates("serving/templates")
        self.templates.filters |= FILTERS

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
        entries: list[dict[str, Any]] = [
            {
                "state": read_state(run),
                "size": size_bytes(run.folder),
                "changed": last_changed(run.folder),
            }
            for run in find_runs(self.roots)
        ]
        entries.sort(key=lambda each: (not each["state"].live, -(each["changed"] or 0)))
        return self._page("index.html", entries=entries)

    def run(self, request: Request) -> Response:
        """Show one run, live."""
        found = self._found(request.path_params["id"])
        state = read_state(found)
        log = last_lines(found.folder)
        version = state_version(state, log)
        return self._page("run.html", state=state, log=log, version=version)

    def state(self, request: Request) -> Response:
        """Say how far a run is, for programs."""
        found = self._found(request.path_params["id"])
        state = read_state(found)
        log = last_lines(found.folder)
        content = {**as_json(state), "log": log, "version": state_version(state, log)}
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
            verdict = explorer.judge(point)
            return self._page(
                "stimuli.html",
                point=point,
                settings=explorer.SETTINGS,
                is_number=lambda setting: isinstance(setting, explorer.Number),
                verdict=verdict,
                warning=explorer.limits(point),
                plot=explorer.plot(verdict),
                presets=explorer.PRESETS,
            )

        return await self._drawn(page)

    async def picture(self, request: Request) -> Response:
        """Draw a stimulus."""
        point = _point(request)

        def drawn() -> Response:
            cached = {"cache-control": "private, max-age=600"}
            return Response(explorer.picture(point), media_type="image/png", headers=cached)

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
        if sentence in _SAID:
            sentence = _SAID[sentence]
        if request.url.path.endswith((".json", ".png")):
            return PlainTextResponse(sentence + "\n", status, headers)
        page = self._page("refused.html", status, sentence=_sentence(sentence))
        page.headers.update(headers or {})
        return page

    def broken(self, request: Request, error: Exception) -> Response:
        """Say that something went wrong; what it was stands in the terminal."""
        logging.getLogger("fechner.serve").error("%s", request.url.path, exc_info=error)
        sentence = "Something went wrong; the terminal that fechner serve runs in says what."
        return self._page("refused.html", 500, sentence=sentence)


def _point(request: Request) -> explorer.Point:
    pairs = request.query_params.multi_items()
    values = dict(pairs)
    if len(values) != len(pairs):
        raise HTTPException(400, "Every setting stands in an address once.")
    return explorer.Point.of(values)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


# Reports


class _Reports:
    """The reports made last, by the state of the runs they are about."""

    def __init__(self) -> None:
        self._pages: dict[_Key, bytes] = {}
        self._making = asyncio.Lock()

    async def page(self, runs: Sequence[Found]) -> bytes:
        """Return the report of some runs as HTML; the server goes on answering meanwhile."""
        key: _Key = tuple(
            (run.id, *(_changed(run.folder / file) for file in (LEDGER, FILE, PEOPLE)))
            for run in runs
        )
        if key not in self._pages:
            # Whoever waits for the same page finds it made.
            async with self._making:
                if key not in self._pages:
                    self._pages[key] = await _beside(lambda: _make(runs))
        page = self._pages.pop(key)
        self._pages[key] = page  # the last one used
        while len(self._pages) > _KEPT:
            del self._pages[next(iter(self._pages))]
        return page


def _changed(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


async def _beside(make: Callable[[], bytes]) -> bytes:
    """Make a page in a thread that does not keep the server from ending."""
    made: Future[bytes] = Future()

    def work() -> None:
        made.set_running_or_notify_cancel()
        try:
            made.set_result(make())
        except BaseException as error:
            made.set_exception(error)

    threading.Thread(target=work, name="report", daemon=True).start()
    return await asyncio.wrap_future(made)


def _make(runs: Sequence[Found]) -> bytes:
    from fechner.report.page import make_page

    try:
        page = make_page([Snapshot(run) for run in runs])
    except FechnerError as error:
        sentence = str(error)
        for run in runs:
            sentence = without_path(sentence, run)
        raise FechnerError(sentence) from error
    return page.encode("utf-8", "replace")


# Who may ask, and what browsers may do with what they get


def is_loopback(host: str) -> bool:
    """Whether a server on a host is reached from its own machine only.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


class Guard:
    """Refuse names that are not this server's, and add the headers.

    A page elsewhere can make its own name point at this machine; asking for the name that the
    browser used tells such a request from an honest one. A server on all addresses (``0.0.0.0``)
    also answers to any number, since only names can be made to point elsewhere, and to the name of
    its machine. Ports are left alone: tunnels change them.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        self.app = app
        self.names = {*_OWN_NAMES, f"[{host}]" if ":" in host else host.lower()}
        address = _address(host)
        self.everywhere = address is not None and address.is_unspecified
        if self.everywhere:
            self.names.add(socket.gethostname().lower())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        app = self.app
        if not self._is_own(Headers(scope=scope).get("host", "")):
            app = PlainTextResponse("This server does not go by that name.\n", 400)
        try:
            await app(scope, receive, send_with_headers)
        except asyncio.CancelledError:
            # The server ends, and does not wait for what takes long.
            if begun:
                raise
            gone = PlainTextResponse("This server is ending.\n", 503)
            await gone(scope, receive, send_with_headers)

    def _is_own(self, header: str) -> bool:
        found = _HOST.fullmatch(header)
        if found is None:
            return False
        name = found[1].lower()
        return name in self.names or (self.everywhere and _address(name.strip("[]")) is not None)
