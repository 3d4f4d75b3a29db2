"""A real server on a free port of this machine, in a thread."""

import http.client
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn
from measured import measured

from fechner.report.serving.app import make_app


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True)
class Served:
    """Where a server is, and a way to ask it for anything, well-formed or not."""

    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, *, host: str | None = None, method: str = "GET") -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            if host != "":
                connection.putheader("Host", host or f"127.0.0.1:{self.port}")
            connection.endheaders()
            answer = connection.getresponse()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, headers, answer.read())
        finally:
            connection.close()


@contextmanager
def _serving(roots: list[Path], host: str) -> Iterator[Served]:
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        make_app(roots, host), log_level="critical", lifespan="off", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield Served(listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[..., Served]]:
    """Start servers over folders; they end with the module."""
    with ExitStack() as stack:

        def start(*roots: Path, host: str = "127.0.0.1") -> Served:
            return stack.enter_context(_serving(list(roots), host))

        yield start


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A finished run of two observers and two tests, to do anything with."""
    folder = tmp_path / "runs" / "small"
    shutil.copytree(measured().folder, folder)
    return folder
