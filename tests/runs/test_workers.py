"""Several processes: the same bytes as one, and nothing lost but the piece of one that ends."""

import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import following
import psutil
import pytest
import torch
from asking import Simulated, weibull
from following import EACH, NAME, PIECES, SPEC, Squares
from processes import FECHNER, running

from fechner import FechnerError, Run, evaluate, observe
from fechner.errors import WorkerError
from fechner.observers import resolve
from fechner.runs.backends import Outcome, Setup
from fechner.runs.manifest import parameters
from fechner.runs.workers import Payload, WorkerPool, work
from fechner.suites import suites

TESTS = Path(__file__).parents[1]


def quick(*observers: Any, out: Path | None = None, **options: Any) -> Run:
    options = {"suite": SPEC, "progress": False, "threads": 1, **options}
    return evaluate(*observers, out=out, **options)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in [*sorted(folder.rglob("*.nc")), folder / "manifest.json"]
    }


def rows(folder: Path) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(folder / "ledger.sqlite")
    columns = [row[1] for row in connection.execute("PRAGMA table_info(pieces)")]
    kept = ", ".join(column for column in columns if column != "seconds")
    found = connection.execute(f"SELECT {kept} FROM pieces ORDER BY key").fetchall()
    connection.close()
    return found


@pytest.fixture(scope="module")
def threads() -> Iterator[Executor]:
    """An executor that needs no processes, for what is the same in all."""
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run by one process."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    quick("pixels", "standard-observer", out=folder)
    return folder


# The same bytes


def test_threads_of_a_user_give_the_same_bytes(
    alone: Path, tmp_path: Path, threads: Executor
) -> None:
    folder = tmp_path / "run"
    run = quick("pixels", "standard-observer", out=folder, workers=2, executor=threads)
    assert run.assess()[1] == []
    assert files(folder) == files(alone)
    assert rows(folder) == rows(alone)
    assert not list(folder.rglob(".*.tmp"))


STARTED = """
import os, signal, sys
from multiprocessing import active_children
from pathlib import Path

from following import SPEC
from fechner import evaluate
from fechner.runs.store import Ledger

folder, workers, stop = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
record, count = Ledger.record, 0

def counting(self, entry):
    global count
    record(self, entry)
    count += 1
    if count == stop:
        pids = " ".join(str(child.pid) for child in active_children())
        folder.with_name("pids").write_text(pids)
        os.kill(os.getpid(), signal.SIGKILL)

Ledger.record = counting
evaluate("pixels", "standard-observer", suite=SPEC, out=folder, threads=1, workers=workers,
         progress=False)
"""


def start(folder: Path, workers: int, stop: int = 0) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", STARTED, str(folder), str(workers), str(stop)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stderr=subprocess.PIPE,
        check=False,
        timeout=300,
    )


def all_ended(pids: str) -> bool:
    """Wait for processes to end."""
    found = []
    for pid in pids.split():
        try:
            found.append(psutil.Process(int(pid)))
        except psutil.NoSuchProcess:
            continue
    return not psutil.wait_procs(found, timeout=60)[1]


#: In the middle of the first test, and of one that comes after it.
STOPS = (2, PIECES + 2)


@pytest.mark.parametrize("workers", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_killed_in_the_middle_and_resumed_it_is_the_same(
    alone: Path, tmp_path: Path, workers: int
) -> None:
    folder = tmp_path / "run"
    for stop, before in zip(STOPS, (0, STOPS[0]), strict=True):
        killed = start(folder, workers, stop - before)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert all_ended((tmp_path / "pids").read_text())
        assert {entry.observer for entry in Run(folder).entries()} == {"pixels"}
    begun = [entry.test for entry in Run(folder).entries()]
    assert len(begun) == STOPS[1]
    assert len(set(begun)) > 1  # "alone" as well, for those who would have to wait for the first
    assert Run(folder).data("pixels", "second") is None
    ended = start(folder, workers)
    assert ended.returncode == 0, ended.stderr
    assert files(folder) == files(alone)
    assert rows(folder) == rows(alone)
    assert not list(folder.rglob(".*.tmp"))


def test_three_processes_killed_and_resumed_give_the_same_bytes(
    alone: Path, tmp_path: Path
) -> None:
    """Begun by three, in the middle of a test that comes after another; ended by one, and back."""
    folder = tmp_path / "run"
    killed = start(folder, 3, stop=PIECES + 2)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len((tmp_path / "pids").read_text().split()) == 3
    assert all_ended((tmp_path / "pids").read_text())
    run = quick("pixels", "standard-observer", out=folder)
    assert run.assess()[1] == []
    assert files(folder) == files(alone)
    assert rows(folder) == rows(alone)
    assert not list(folder.rglob(".*.tmp"))


# Processes that end

MORTAL = """
import os
import signal
from contextlib import suppress
from multiprocessing import parent_process
from pathlib import Path

def mortal(test, reference):
    if parent_process() is not None:
        with suppress(FileNotFoundError):  # one of two workers takes it
            Path({flag!r}).unlink()
            os.kill(os.getpid(), signal.SIGKILL)
    return (test - reference).square().mean(dim=(1, 2, 3))
"""


def test_a_process_that_ends_loses_its_piece_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(MORTAL.format(flag=str(tmp_path / "flag")))
    name = f"{tmp_path}/mine.py:mortal"
    (tmp_path / "flag").touch()
    folder = tmp_path / "run"
    run = quick(name, out=folder, tests=["second", "alone"], workers=2, progress=True)
    lines = capsys.readouterr().err.splitlines()
    (lost,) = [line for line in lines if "a worker ended" in line]
    assert lost == (
        f"{name} first: a worker ended while it measured it (killed, or out of memory); piece "
        f"{lost.split(' is lost')[0].rpartition(' ')[2]} is lost, and the same command measures it "
        "again."
    )
    assert f"{name} second is not measured: it comes after first, which is not complete." in lines
    assert len(run.entries()) == 2 * PIECES - 1
    assert run.data(name, "alone") is not None
    assert run.assess()[1] == [
        f"{name} second: it comes after first, which is not complete",
        f"{name} first: not finished",
    ]
    run = quick(name, out=folder, tests=["second", "alone"])
    assert run.assess()[1] == []
    whole = quick(name, out=tmp_path / "whole", tests=["second", "alone"])
    assert files(folder) == files(whole.folder)
    assert rows(folder) == rows(whole.folder)


def test_processes_that_end_one_after_the_other_end_the_run(tmp_path: Path) -> None:
    class Broken(ThreadPoolExecutor):
        def submit(self, function, /, *arguments):
            return super().submit(lambda: 1 / 0)

    with Broken(1) as broken, pytest.raises(WorkerError, match="again with fewer --workers"):
        quick("pixels", out=tmp_path / "run", executor=broken)
    assert quick("pixels", out=tmp_path / "run").assess()[1] == []


def test_a_process_that_ends_while_it_has_nothing_to_do_is_replaced() -> None:
    with WorkerPool() as workers:
        first = workers.submit(os.getpid).result()
        process = psutil.Process(first)
        process.kill()
        psutil.wait_procs([process], timeout=60)
        found: Any = first
        while found == first:
            future = workers.submit(os.getpid)  # that it ended may be noticed now, or with this
            found = first if future.exception() else future.result()
    assert found != os.getpid()


UNGUARDED = """
import sys
from fechner import evaluate
from following import SPEC

evaluate("pixels", suite=SPEC, out=sys.argv[1], workers=2, progress=False)
"""


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(UNGUARDED)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "run")],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "worker processes end as soon as they start" in last
    assert "needs the line `if __name__ == '__main__':`" in last


STUCK = """
import signal
from multiprocessing import parent_process
from pathlib import Path

def stuck(test, reference):
    if parent_process() is not None:
        Path({flag!r}).write_text("here")
        signal.pause()
    return (test - reference).square().mean(dim=(1, 2, 3))
"""


def test_an_interrupt_ends_workers_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "flag")
    (tmp_path / "mine.py").write_text(STUCK.format(flag=str(tmp_path / "flag")))
    arguments = [f"{tmp_path}/mine.py:stuck", "--tests", "masking-coherent", "--workers", "2"]
    command = [*FECHNER, "run", *arguments, "--out", str(tmp_path / "run")]
    with running(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        # A worker looks, or both at the same time; and they will not end.
        assert (tmp_path / "flag").read_text().startswith("here")
        workers = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped; run the same command again to go on." in said
    assert "Traceback" not in said
    assert not psutil.wait_procs(workers, timeout=60)[1]
    assert not list((tmp_path / "run").rglob(".*.tmp"))


def test_an_interrupt_while_a_piece_is_handed_out_ends_its_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    submit = ProcessPoolExecutor.submit

    def interrupted(self: ProcessPoolExecutor, function: Any, *arguments: Any) -> Future[Any]:
        future = submit(self, function, *arguments)
        if function is time.sleep:
            raise KeyboardInterrupt
        return future

    monkeypatch.setattr(ProcessPoolExecutor, "submit", interrupted)
    before = active_children()
    with pytest.raises(KeyboardInterrupt), WorkerPool() as workers:
        workers.submit(time.sleep, 3600)
    assert set(active_children()) <= set(before)


# Who can be sent


def test_objects_that_can_be_pickled_are_sent(tmp_path: Path, threads: Executor) -> None:
    folders = [tmp_path / "here", tmp_path / "there"]
    for folder, more in zip(folders, ({}, {"executor": threads, "workers": 2}), strict=True):
        quick(observe(Squares(), name="squares", version="1"), out=folder, **more)
    assert files(folders[0]) == files(folders[1])
    assert rows(folders[0]) == rows(folders[1])


def test_objects_that_cannot_be_pickled_are_measured_by_one_process(
    tmp_path: Path, threads: Executor, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = observe(lambda test, reference: Squares()(test, reference), name="bare")
    run = quick(bare, out=tmp_path, tests="first", executor=threads, progress=True)
    assert run.assess()[1] == []
    said = "bare is measured by one process: it cannot be sent to another ("
    assert [line for line in capsys.readouterr().err.splitlines() if line.startswith(said)]


def test_objects_that_others_cannot_load_are_measured_by_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As classes that were defined in a notebook."""
    notebook = types.ModuleType("a_notebook")
    notebook.Mine = type("Mine", (Squares,), {"__module__": "a_notebook"})
    monkeypatch.setitem(sys.modules, "a_notebook", notebook)
    run = quick(notebook.Mine(), out=tmp_path, tests="first", workers=2, progress=True)
    assert run.assess()[1] == []
    said = "Mine is measured by one process: another cannot load it (ModuleNotFoundError: "
    assert [line for line in capsys.readouterr().err.splitlines() if line.startswith(said)]


def test_who_answers_in_words_is_measured_by_one_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = evaluate(
        Simulated(weibull(0.05, 5.0)),
        suite="verbal",
        tests="detection",
        trials=4,
        prompts=["Is there a pattern?"],
        out=tmp_path / "run",
        workers=2,
        threads=1,
    )
    assert run.spent().trials > 0
    said = "simulated is measured by one process: it answers in words."
    assert said in capsys.readouterr().err.splitlines()
    assert run.assess()[1] == []


@pytest.mark.parametrize("name", sorted(suites()))
def test_every_experiment_can_be_sent(name: str) -> None:
    for mode in ("default", "published"):
        for test in suites()[name].build(published=mode == "published"):
            copy = pickle.loads(pickle.dumps(test.experiment))
            assert parameters(copy) == parameters(test.experiment)


# What observers do there

ODD = """
import torch

def squares(test, reference):
    return (test - reference).square().mean(dim=(1, 2, 3))

def greedy(test, reference):
    if len(test) > 1 and test.shape[-1] == 32:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
    return squares(test, reference)

def fragile(test, reference):
    found = squares(test, reference)
    if test.shape[-1] == 32 and found.max() > {most}:
        raise ValueError("too much")
    return found

def chatty(test, reference):
    if test.shape[-1] == 32:
        print("computing")
    return squares(test, reference)
"""


def both_ways(tmp_path: Path, name: str, threads: Executor, **options: Any) -> tuple[Run, Run]:
    """Return a run by one process, and by workers, of an observer in a file."""
    file = tmp_path / "odd.py"
    file.write_text(ODD.format(most=5e-6))
    ways: list[dict[str, Any]] = [{}, {"workers": 2, "executor": threads}]
    return tuple(
        quick(f"{file}:{name}", out=tmp_path / str(len(way)), **way, **options) for way in ways
    )


def test_batches_that_do_not_fit_are_made_smaller_there(tmp_path: Path, threads: Executor) -> None:
    here, there = both_ways(tmp_path, "greedy", threads, batch_size=8)
    assert [note.partition(";")[0] for note in there.manifest.notes] == [
        f"out of memory at {tmp_path}/odd.py:greedy first: batch size lowered to {size}"
        for size in (4, 2, 1)
    ]
    assert files(here.folder) == files(there.folder)
    assert rows(here.folder) == rows(there.folder)


def test_the_first_failure_of_a_test_is_recorded(tmp_path: Path, threads: Executor) -> None:
    here, there = both_ways(tmp_path, "fragile", threads)
    failed = [[e for e in run.entries() if e.status == "failed"] for run in (here, there)]
    assert failed[0] == failed[1]
    assert [entry.test for entry in failed[0]] == ["alone", "first"]
    assert "raised ValueError: too much (see log.txt)" in failed[0][0].message
    assert here.assess()[1] == there.assess()[1]
    assert (there.folder / "log.txt").read_text().count("ValueError: too much") >= 2
    # What others had under way is kept.
    assert {entry.key for entry in here.entries()} <= {entry.key for entry in there.entries()}


def test_what_is_printed_there_is_in_the_log(tmp_path: Path, threads: Executor) -> None:
    here, there = both_ways(tmp_path, "chatty", threads, tests="first")
    line = f"{tmp_path}/odd.py:chatty: computing\n"
    for run in (here, there):
        assert (run.folder / "log.txt").read_text().count(line) == PIECES
    assert there.manifest.observers == here.manifest.observers
    assert there.warnings == [
        f"{tmp_path}/odd.py:chatty: mind that it prints while it looks; that is in log.txt."
    ]


def test_an_observer_that_has_changed_meanwhile_is_not_measured() -> None:
    setup = Setup("cpu", NAME, False, ("angle",), None, False)
    experiment = following.Gabors("first")
    given, shown = Payload.of("pixels", None), Payload.of(experiment, None)

    def done_by(fingerprint: str) -> Outcome:
        piece = experiment.pieces()[0]
        return work(setup, "someone", given, fingerprint, shown, (), piece, 4, "another process")

    outcome = done_by("another")
    assert outcome.status == "failed"
    assert outcome.message.startswith("someone has changed since the run was started")
    same = setup.lift(resolve("pixels"), "compares").fingerprint
    known = done_by(same)
    assert (known.status, known.images) == ("done", EACH + 1)


def test_threads_are_shared_out(tmp_path: Path, threads: Executor) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(6)
    try:
        shared = quick("pixels", out=tmp_path / "a", threads=None, workers=4, executor=threads)
        alone = quick("pixels", out=tmp_path / "b", threads=None)
    finally:
        torch.set_num_threads(before)
    assert (shared.manifest.threads, alone.manifest.threads) == (1, 6)


def test_there_is_at_least_one_worker() -> None:
    with pytest.raises(FechnerError, match="--workers must be at least 1, not 0"):
        evaluate("pixels", workers=0)
