"""Batches: every question in one batch only, whatever fails, and wherever a run is killed."""

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from observers.chat.batch_server import BatchServer

from fechner import Run, evaluate
from fechner.errors import UnansweredError
from fechner.observers import Answer, Prompt, Question, resolve
from fechner.observers.chat import batches
from fechner.observers.chat.endpoint import Endpoint
from fechner.stimuli import Frames


@pytest.fixture(autouse=True)
def no_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_FIRST_POLL_S", 0.001)


def decide(picture: np.ndarray, prompt: str, request: dict) -> str:
    return "Yes" if picture.std() > 3 else "No"


SETTINGS = {
    "suite": "verbal",
    "tests": "detection",
    "prompts": ["Is there a pattern?"],
    "trials": 1,
    "threads": 1,
    "progress": False,
}


def asked(server: BatchServer, out: Path, how: str = "batch=true", **more) -> Run:
    name = f"{server.address}#m@{how}"
    return evaluate(name, out=out, **{"adaptive": False, **SETTINGS, **more})


def files(run: Run) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(run.folder.rglob("*.nc"))}


def times(server: BatchServer) -> Counter[str]:
    return Counter(line["custom_id"] for line in server.lines)


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What comes of asking one by one."""
    with BatchServer(decide) as server:
        run = asked(server, tmp_path_factory.mktemp("direct") / "run", "at_once=8")
        assert server.batches == {}
        return files(run)


def test_a_run_by_batches_is_the_same(tmp_path: Path, direct: dict[str, bytes]) -> None:
    with BatchServer(decide, polls=3) as server:
        run = asked(server, tmp_path / "run")
        assert files(run) == direct
        # The first 25 show whether replies can be used, and two questions go before.
        assert len(server.requests) == 25 + 2
        assert len(server.batches) == 1
        assert set(times(server).values()) == {1}
        assert len(server.lines) == run.spent().trials - 25
        asked(server, tmp_path / "run")
        assert len(server.batches) == 1
        assert {row["test"] for row in run.trials()} == {"detection"}


QUESTIONS = [
    Question((row,), Prompt(f"Is there a pattern ({number})?"))
    for row in range(4)
    for number in range(30)
]


def answers(server: BatchServer, frames: Frames, how: str = "batch=true") -> list[Answer]:
    """Ask all at once; every question has one answer, the right one."""
    observer = resolve(f"{server.address}#m@{how}")
    assert isinstance(observer, Endpoint)
    rest = ((frames, question) for question in QUESTIONS)
    found = sorted(observer.stream(lambda: next(rest, None)), key=lambda each: each.question)
    assert [each.question for each in found] == list(range(len(QUESTIONS)))
    contrasts = [question.pictures[0] for question in QUESTIONS]
    assert [each.choice for each in found] == [0 if row > 1 else 1 for row in contrasts]
    return found


def test_chunks(frames: Frames, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_MOST_REQUESTS", 50)
    with BatchServer(decide) as server:
        answers(server, frames, "batch=true,at_once=1")
    assert len(server.batches) == 2
    assert len(server.requests) == 20  # too few for a batch
    assert set(times(server).values()) == {1}


def test_lines_that_fail_go_into_the_next_batch(frames: Frames) -> None:
    with BatchServer(decide) as server:
        server.bad_lines = [60, 30]
        answers(server, frames)
    assert Counter(times(server).values()) == {1: 60, 2: 30, 3: 30}


def test_lines_that_fail_for_good_are_counted(frames: Frames) -> None:
    with BatchServer(decide) as server:
        server.bad_lines = [120] * 3
        with pytest.raises(UnansweredError, match=r"120 questions .*500: busy \(120 times\)"):
            answers(server, frames, "batch=true,tries=3")
    assert len(server.batches) == 3


def test_batches_that_expire_or_fail(frames: Frames) -> None:
    with BatchServer(decide) as server:
        server.ends = ["expired"]
        answers(server, frames)
        assert Counter(times(server).values()) == {1: 60, 2: 60}
        server.ends = ["failed"]
        with pytest.raises(UnansweredError, match="failed: too many"):
            answers(server, frames)


def test_a_lost_reply_does_not_lose_or_double_a_batch(frames: Frames) -> None:
    with BatchServer(decide) as server:
        server.lose_replies = 1
        answers(server, frames)
    assert len(server.batches) == 1


def test_chosen_contrasts_cannot_wait_a_day(tmp_path: Path) -> None:
    with BatchServer(decide) as server:
        run = asked(server, tmp_path / "run", adaptive=True)
        (problem,) = run.assess()[1]
        assert "use --constant" in problem
        assert server.batches == {}


KILLED_ELSEWHERE = ("uploaded", "written down", "being read")
KILLED = """
import os, signal, sys
from fechner import evaluate
from fechner.observers.chat import batches
from fechner.observers.chat.client import Client
from fechner.runs.trials import Trials

batches._FIRST_POLL_S = 0.001
name, out, where = sys.argv[1:4]

def end(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def after(owner, method):
    original = getattr(owner, method)
    def both(*arguments):
        found = original(*arguments)
        end()
        return found
    setattr(owner, method, both)

if where == "submitted":
    after(Client, "create_batch")
elif where == "uploaded":
    after(Client, "upload")
elif where == "written down":
    original = Trials.write_batch
    def write(self, batch):
        original(self, batch)
        if batch.number:
            end()
    Trials.write_batch = write
elif where == "being read":
    original = Trials.record
    count = 0
    def record(self, *arguments):
        global count
        original(self, *arguments)
        count += 1
        if count == 80:
            end()
    Trials.record = record
evaluate(name, out=out, suite="verbal", tests="detection", prompts=["Is there a pattern?"],
         trials=1, threads=1, progress=False, adaptive=False)
"""


@pytest.mark.parametrize(
    "where",
    [
        "submitted",
        *(pytest.param(each, marks=pytest.mark.slow) for each in KILLED_ELSEWHERE),
    ],
)
def test_killed_anywhere_nothing_is_submitted_twice(
    tmp_path: Path, direct: dict[str, bytes], where: str
) -> None:
    with BatchServer(decide) as server:
        name = f"{server.address}#m@batch=true"
        done = subprocess.run(
            [sys.executable, "-c", KILLED, name, str(tmp_path / "run"), where],
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert len(server.batches) == (0 if where == "uploaded" else 1)
        run = asked(server, tmp_path / "run")
        assert files(run) == direct
        assert len(server.batches) == 1
        assert set(times(server).values()) == {1}
