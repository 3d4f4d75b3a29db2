"""What every answer passes: who may ask, how, and what browsers may do with what they get."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
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
    """Refuse names that are not this server's, and anything but reading; add the headers.

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
        elif scope["method"] not in ("GET", "HEAD"):
            allowed = {"Allow": "GET, HEAD"}
            app = PlainTextResponse("This server can only be read.\n", 405, allowed)
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
