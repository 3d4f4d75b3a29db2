"""``fechner serve``: runs in the browser, as they go on."""

from __future__ import annotations

import errno
import socket
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from fechner.cli.options import info, quick_imports
from fechner.errors import FechnerError


def serve(
    runs: Annotated[list[Path] | None, typer.Argument()] = None,
    host: str = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8321,
    open: Annotated[bool, typer.Option("--open/--no-open")] = False,
) -> None:
    """Show runs, reports and stimuli as a local web page; Ctrl-C ends it.

    Parameters
    ----------
    runs
        Run folders, or folders that hold some; searched again each time. Default: runs.
    host
        Address to listen on; by default, this machine only.
    port
        Port; 0 takes a free one.
    open
        Open it in the web browser.
    """
    with quick_imports():
        import uvicorn

        from fechner.report.serving.app import is_loopback, make_app

    folders = runs or [Path("runs")]
    for folder in runs or ():
        if not folder.exists():
            info(f"{folder} is not there yet; it is looked for each time.")
        elif not folder.is_dir():
            info(
                f"{folder} is not a folder, so it holds no runs; give a run folder, or its parent."
            )
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise FechnerError(
                f"port {port} is taken, perhaps by another fechner serve; choose another, as in "
                f"--port {port + 1 if port < 65535 else 8321}."
            ) from error
        why = error.strerror or str(error)
        raise FechnerError(f"cannot listen at {host}, port {port}: {why}.") from error
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listening.getsockname()[1]}/"
    if not is_loopback(host):
        info(
            f"Anyone who reaches this machine at {host} can read these runs; leave --host out to "
            "keep them to this machine.",
        )
    typer.echo(f"fechner shows {', '.join(map(str, folders))} at {address} (Ctrl-C ends it)")
    if open:
        import webbrowser

        webbrowser.open(address)
    server = uvicorn.Server(
        uvicorn.Config(
            make_app(folders, host),
            log_level="critical",  # mistakes of ours are logged where they are caught
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            limit_concurrency=100,
            timeout_graceful_shutdown=1,
        )
    )
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
