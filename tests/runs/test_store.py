"""The lock file says who writes, and never for longer than that process lives."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import running

from fechner.errors import RunFolderError
from fechner.runs.store import LOCK, Plan, last_writer, only_writer

PLAN = Plan(['a "hostile"\n name', "b"], ["area"], scores_only=True)

PROGRAM = """
import sys
from pathlib import Path
from fechner.runs.store import only_writer
with only_writer(Path(sys.argv[1])):
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_writer_is_known_while_it_writes_and_forgotten_after(tmp_path: Path) -> None:
    with only_writer(tmp_path, PLAN):
        writer = last_writer(tmp_path)
        assert writer is not None
        assert (writer.pid, writer.plan, writer.lives) == (os.getpid(), PLAN, True)
    assert (tmp_path / LOCK).read_bytes() == b""
    assert last_writer(tmp_path) is None


def test_one_that_is_refused_changes_nothing(tmp_path: Path) -> None:
    with only_writer(tmp_path, PLAN):
        before = (tmp_path / LOCK).read_bytes()
        with pytest.raises(RunFolderError, match="another process"), only_writer(tmp_path):
            pass
        assert (tmp_path / LOCK).read_bytes() == before


def test_one_that_gives_up_leaves_its_plan_but_does_not_write(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), only_writer(tmp_path, PLAN):
        raise KeyboardInterrupt
    writer = last_writer(tmp_path)
    assert writer is not None
    assert (writer.plan, writer.lives) == (PLAN, False)
    with only_writer(tmp_path):
        pass
    assert last_writer(tmp_path) is None


def test_killed_process_no_longer_writes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with running(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        writer = last_writer(tmp_path)
        assert writer is not None
        assert (writer.pid, writer.lives) == (process.pid, True)
        process.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and not yet buried
        assert writer.lives is False
    assert last_writer(tmp_path) == writer
    assert writer.lives is False


def test_number_of_another_process_is_not_mistaken(tmp_path: Path) -> None:
    with only_writer(tmp_path):
        content = json.loads((tmp_path / LOCK).read_text())
    for change, lives in (
        ({}, True),
        ({"started": content["started"] - 3600}, False),
        ({"pid": 0}, False),
        ({"pid": -1}, False),
        ({"machine": "another"}, None),
    ):
        (tmp_path / LOCK).write_text(json.dumps(content | change))
        writer = last_writer(tmp_path)
        assert writer is not None
        assert writer.lives is lives


@pytest.mark.parametrize(
    "content",
    [b"", b"1234", b"{}", b"\xff\x00", b'{"pid": "x"}', b"[" * 100_000, b'{"pid": 1, "plan": 3}'],
)
def test_nonsense_is_nobody(tmp_path: Path, content: bytes) -> None:
    (tmp_path / LOCK).write_bytes(content)
    assert last_writer(tmp_path) is None


def test_no_file_is_nobody(tmp_path: Path) -> None:
    assert last_writer(tmp_path) is None
    (tmp_path / LOCK).mkdir()
    assert last_writer(tmp_path) is None
