"""The local web page: its routes, who may ask, and reports made beside the server."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import re
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from fechner.errors import FechnerError
from fechner.report.html import templates
from fechner.report.serving import explorer
from fechner.report.serving.runs import Found, find_runs, size_and_change
from fechner.report.serving.state import FILTERS, read_state
from fechner.runs import Run
from fechner.suites.options import options_of

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

#: Files of ours that pages load, by name: nothing else of the disk can be asked for.
_STATIC = {file.name: file for file in (Path(__file__).parent / "static").iterdir()}
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

#: What Starlette says, and what we say.
_SAID = {
    "Not Found": "There is no such page here.",
    "Method Not Allowed": "This server can only be read.",
}

_MOST_RUNS_IN_A_REPORT = 20

#: Reports that are kept, of a few megabytes each.
_KEPT = 4


def make_app(roots: Sequence[Path], host: str = "127.0.0.1") -> ASGIApp:
    """Return the application: a page about the runs in some folders, for a server on a host."""
    pages = _Pages(tuple(roots))
    app = Starlette(
        routes=[
            Route("/", pages.index),
            Route("/runs/{id}", pages.run),
            Route("/runs/{id}/state.json", pages.state),
            Route("/runs/{id}/report", pages.report),
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
        self.making = threading.Lock()
        self.made = lru_cache(_KEPT)(_make_report)
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
        """List the runs, those that are being written first and the others by age."""
        entries = [(read_state(run), *size_and_change(run.folder)) for run in find_runs(self.roots)]
        entries.sort(key=lambda entry: (not entry[0]["live"], -entry[2]))
        return self._page("index.html", entries=entries)

    def run(self, request: Request) -> Response:
        """Show one run, live."""
        state = read_state(self._found(request.path_params["id"]))
        return self._page("run.html", state=state)

    def state(self, request: Request) -> Response:
        """Say how far a run is, for programs."""
        state = read_state(self._found(request.path_params["id"]))
        return Response(json.dumps(state), media_type="application/json")

    async def report(self, request: Request) -> Response:
        """Show the report of one run or several; the server goes on answering meanwhile."""
        named = request.path_params.values() or request.query_params.getlist("run")
        chosen = list(dict.fromkeys(named))
        if not 1 <= len(chosen) <= _MOST_RUNS_IN_A_REPORT:
            raise HTTPException(
                400, f"A report is about 1 to {_MOST_RUNS_IN_A_REPORT} runs, not {len(chosen)}."
            )
        made: Future[bytes] = Future()
        made.set_running_or_notify_cancel()

        def work() -> None:
            try:
                runs = tuple(map(self._found, chosen))
                with self.making:  # whoever waits for the same page finds it made
                    made.set_result(self.made(runs, tuple(run.version for run in runs)))
            except Exception as error:
                made.set_exception(error)

        # Of all threads, this kind does not keep the server from ending.
        threading.Thread(target=work, daemon=True).start()
        page = await asyncio.wrap_future(made)
        return HTMLResponse(page, headers={"content-security-policy": REPORT_POLICY})

    def stimuli(self, request: Request) -> Response:
        """Show a stimulus and what people would see of it."""
        point = explorer.Point.of(dict(request.query_params))
        verdict = explorer.judge(point)
        return self._page(
            "stimuli.html",
            point=point,
            settings=options_of(explorer.Point),
            words=explorer.WORDS,
            verdict=verdict,
            warning=explorer.limits(point),
            plot=explorer.plot(verdict),
            presets=explorer.PRESETS,
        )

    def picture(self, request: Request) -> Response:
        """Draw a stimulus."""
        picture = explorer.picture(explorer.Point.of(dict(request.query_params)))
        kept = {"cache-control": "private, max-age=600"}
        return Response(picture, media_type="image/png", headers=kept)

    def static(self, request: Request) -> Response:
        """Hand out one of our own files."""
        file = _STATIC.get(request.path_params["name"])
        if file is None:
            raise HTTPException(404, "There is no such file here.")
        return Response(file.read_bytes(), media_type=_TYPES[file.suffix])

    def refused(self, request: Request, error: Exception) -> Response:
        """Say in one sentence why there is no answer."""
        status, sentence, headers = 400, str(error), None
        if isinstance(error, HTTPException):
            status, headers = error.status_code, error.headers
            sentence = _SAID.get(error.detail, error.detail)
        if request.url.path.endswith((".json", ".png")):
            return PlainTextResponse(sentence + "\n", status, headers)
        sentence = sentence[:1].upper() + sentence[1:]
        page = self._page("refused.html", status, sentence=sentence)
        page.headers.update(headers or {})
        return page

    def broken(self, request: Request, error: Exception) -> Response:
        """Say that something went wrong; what it was stands in the terminal."""
        logging.getLogger("fechner.serve").error("%s", request.url.path, exc_info=error)
        sentence = "Something went wrong; the terminal that fechner serve runs in says what."
        return self._page("refused.html", 500, sentence=sentence)


def _make_report(runs: Sequence[Found], version: object) -> bytes:
    """Return the report of some runs, of a version that tells it from later ones."""
    from fechner.report.page import make_page

    try:
        page = make_page([Run(run.folder) for run in runs])
    except FechnerError as error:
        sentence = f"There is no report yet: {error}"
        for run in runs:
            sentence = run.without_path(sentence)
        raise HTTPException(409, sentence) from error
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
        self.names = {"localhost", "127.0.0.1", "::1", host.lower()}
        address = _address(host)
        self.everywhere = address is not None and address.is_unspecified
        if self.everywhere:
            self.names.add(socket.gethostname().lower())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        app = self.app
        if not self.is_own(Headers(scope=scope).get("host", "")):
            app = PlainTextResponse("This server does not go by that name.\n", 400)
        await app(scope, receive, send_with_headers)

    def is_own(self, header: str) -> bool:
        """Whether a header names this server, with or without a port."""
        found = _HOST.fullmatch(header)
        name = found[1].strip("[]").lower() if found else ""
        return name in self.names or (self.everywhere and _address(name) is not None)
