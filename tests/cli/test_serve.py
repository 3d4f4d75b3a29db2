"""``fechner serve`` as a person meets it."""

import signal
import socket
import subprocess
import urllib.request
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from processes import FECHNER, running


def start(*arguments: str, cwd: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return running([*FECHNER, "serve", *arguments], cwd=cwd, text=True, **pipes)


@pytest.mark.parametrize(
    ("arguments", "name", "warns"),
    [
        ([], "127.0.0.1", False),
        (["--host", "localhost"], "localhost", False),
        (["--host", "0.0.0.0", "later"], "127.0.0.1", True),
    ],
)
def test_serves_until_interrupted(
    tmp_path: Path, arguments: list[str], name: str, warns: bool
) -> None:
    with start("--port", "0", *arguments, cwd=tmp_path) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        port = int(line.rpartition(":")[2].split("/")[0])
        with urllib.request.urlopen(f"http://{name}:{port}/", timeout=60) as answer:
            assert b"There are no runs here yet" in answer.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert ("Anyone who reaches this machine at 0.0.0.0 can read these runs" in err) == warns
    assert ("later is not there yet" in err) == warns
    if not warns:
        assert err == ""
    assert not list(tmp_path.iterdir())


def test_file_in_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("no run")
    with start("--port", "0", "file.txt", cwd=tmp_path) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2].split("/")[0])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
            assert b"There are no runs here yet" in answer.read()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert err.startswith("file.txt is not a folder, so it holds no runs; ")
    assert err.count("\n") == 1


def test_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with start("--port", str(port), cwd=tmp_path) as process:
            out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err.startswith(f"fechner: port {port} is taken")
    assert f"--port {port + 1}" in err
    assert err.count("\n") == 1


def test_host_that_is_not_ours_is_one_line(tmp_path: Path) -> None:
    with start("--host", "192.0.2.1", "--port", "0", cwd=tmp_path) as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err.startswith("fechner: cannot listen at 192.0.2.1, port 0: ")
    assert err.count("\n") == 1
