"""Observers that misbehave, and run folders that are not as they should be."""

import errno
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from fechner import FechnerError, Run, evaluate, observe
from fechner.errors import RunFolderError, UnknownNameError
from fechner.observers import Wants
from fechner.runs import store

TESTS = ["masking-coherent"]


def quick(*observers, out, **options):
    options = {"tests": TESTS, "scores_only": True, "progress": False, **options}
    return evaluate(*observers, out=out, **options)


def brightness(pictures: torch.Tensor) -> torch.Tensor:
    return pictures.flatten(1)[:, ::97]


#: Batches that a model is shown before a run.
LOOKED_OVER = 13


class Halfway(torch.nn.Module):
    """Answers a number of batches, then raises."""

    def __init__(self, batches: int, error: Exception) -> None:
        super().__init__()
        self.batches, self.error = batches, error

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        self.batches -= 1
        if self.batches < 0:
            raise self.error
        return brightness(pictures)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda p: brightness(p) * torch.nan, "answered NaN or infinity"),
        (lambda p: (brightness(p), brightness(p)), "returned a tuple of 2"),
        (lambda p: brightness(p)[:-1], "the first dimension must be the batch"),
        (lambda p: brightness(p).sum(), "the first dimension must be the batch"),
        (lambda p: brightness(p).to(torch.int64), "features must be floating point"),
        (lambda p: {"features": brightness(p)}, "returned a dict of 1"),
        (lambda p: None, "returned a NoneType"),
    ],
)
def test_bad_answers_get_a_sentence_and_others_go_on(tmp_path: Path, answer, sentence) -> None:
    run = quick(observe(answer, name="bad"), "pixels", out=tmp_path / "run")
    results, problems = run.assess()
    assert {result.observer for result in results} == {"pixels"}
    (problem,) = problems
    assert problem.startswith("bad was left out: ")
    assert sentence in problem
    assert "\n" not in problem


def test_constant_observer_is_not_computable_rather_than_zero(tmp_path: Path) -> None:
    run = quick(
        observe(lambda p: torch.ones(len(p), 3), name="blind"),
        out=tmp_path / "run",
        tests=[*TESTS, "matching-frequency"],
    )
    for result in run.scores():
        assert np.isnan(result.score.value)
        assert "answered the same to every stimulus" in result.score.note


def test_raising_halfway_keeps_what_was_measured(tmp_path: Path) -> None:
    tests = ["masking-coherent", "masking-incoherent", "area"]
    model = Halfway(LOOKED_OVER + 30, ValueError("boom"))
    run = quick(observe(model, name="fragile", version="1"), out=tmp_path / "run", tests=tests)
    results, problems = run.assess()
    assert [result.test for result in results] == ["area"]
    assert "raised ValueError: boom (see log.txt)" in problems[0]
    assert "boom" in (tmp_path / "run" / "log.txt").read_text()
    # Mended, it goes on where it was.
    model.batches = 10**6
    run = quick(observe(model, name="fragile", version="1"), out=tmp_path / "run", tests=tests)
    results, problems = run.assess()
    assert not problems
    assert {result.test for result in results} == set(tests)


def test_interrupt_keeps_finished_pieces(tmp_path: Path) -> None:
    model = Halfway(LOOKED_OVER + 20, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        quick(observe(model, name="m", version="1"), out=tmp_path / "run", tests=["area"])
    assert [entry.piece for entry in Run(tmp_path / "run").entries()] == ["score-00"]


def test_out_of_memory_lowers_the_batch_and_says_so(tmp_path: Path) -> None:
    def greedy(pictures: torch.Tensor) -> torch.Tensor:
        if len(pictures) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return brightness(pictures)

    run = quick(observe(greedy, name="greedy"), out=tmp_path / "run", batch_size=8)
    assert run.manifest.observers["greedy"]["batch_size"] == 2
    assert "batch size lowered to 2" in run.manifest.notes[-1]
    assert "no longer the same to the bit" in run.manifest.notes[-1]
    alone = quick(observe(brightness, name="modest"), out=tmp_path / "other")
    assert run.scores()[0].score.value == pytest.approx(alone.scores()[0].score.value, abs=1e-3)


def test_batch_size_and_threads_hardly_matter(tmp_path: Path) -> None:
    runs = [
        quick("pixels", out=tmp_path / f"{batch}-{threads}", batch_size=batch, threads=threads)
        for batch, threads in ((8, 1), (3, 1), (32, 2))
    ]
    first, *others = [run.data("pixels", TESTS[0])["response"].values for run in runs]
    for other in others:
        assert np.abs(other - first).max() <= 1e-5 * first.max()
    values = [run.scores()[0].score.value for run in runs]
    assert np.ptp(values) <= 1e-3


def test_stdout_of_a_model_goes_to_the_log(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    def chatty(pictures: torch.Tensor) -> torch.Tensor:
        print("loading", "weights...")  # noqa: T201
        return brightness(pictures)

    quick(observe(chatty, name="chatty"), out=tmp_path / "run")
    assert capsys.readouterr().out == ""
    assert "chatty: loading weights...\n" in (tmp_path / "run" / "log.txt").read_text()


def test_bare_objects_are_measured_anew(tmp_path: Path) -> None:
    calls = []

    def counting(pictures: torch.Tensor) -> torch.Tensor:
        calls.append(len(pictures))
        return brightness(pictures)

    quick(observe(counting, name="mine"), out=tmp_path / "run")
    once = len(calls)
    quick(observe(counting, name="mine"), out=tmp_path / "run")
    assert len(calls) == 2 * once
    quick(observe(counting, name="named", version="1"), out=tmp_path / "run")
    quick(observe(counting, name="named", version="1"), out=tmp_path / "run")
    assert len(calls) == 3 * once


def test_changed_file_is_measured_anew(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    text = "def features(pictures):\n    return pictures.mean(dim={})\n"
    file.write_text(text.format("(2, 3)"))
    spec = f"{file}:features"
    first = quick(spec, out=tmp_path / "run").data(spec, TESTS[0])
    file.write_text(text.format("1"))
    run = quick(spec, out=tmp_path / "run")
    assert not run.data(spec, TESTS[0]).equals(first)
    assert len(run.entries()) == 1


def test_a_changed_model_is_announced(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = tmp_path / "mine.py"
    for dims in ("(2, 3)", "1"):
        file.write_text(f"def features(pictures):\n    return pictures.mean(dim={dims})\n")
        quick(f"{file}:features", out=tmp_path / "run", progress=True)
    assert capsys.readouterr().err.count("has changed since it was measured here") == 1


def test_names_may_stand_alone(tmp_path: Path) -> None:
    run = quick("pixels", out=tmp_path / "run", tests="masking-coherent", readouts="l2")
    assert [result.score.readout for result in run.scores()] == ["l2"]
    with pytest.raises(UnknownNameError, match="did you mean 'pixels'"):
        run.data("pixel", "masking-coherent")


def test_model_that_ends_the_process_does_not(tmp_path: Path) -> None:
    def leaving(pictures: torch.Tensor) -> torch.Tensor:
        raise SystemExit("bye")

    run = quick(observe(leaving, name="leaving"), "pixels", out=tmp_path / "run")
    results, (problem,) = run.assess()
    assert {result.observer for result in results} == {"pixels"}
    assert "raised SystemExit: bye" in problem


def test_observers_and_tests_can_be_added(tmp_path: Path) -> None:
    quick("pixels", out=tmp_path / "run")
    run = quick("standard-observer", out=tmp_path / "run", tests=["masking-incoherent"])
    assert run.observers == ["pixels", "standard-observer"]
    assert {result.observer for result in run.scores()} == {"pixels", "standard-observer"}


def test_two_objects_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    run = quick(brightness, brightness, out=tmp_path / "run")
    assert run.observers == ["brightness", "brightness-2"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"seed": 4}, "holds another run (seed 0, not 4)"),
        ({"published": True}, "holds another run (mode default, not published)"),
        ({"readouts": ["l2"]}, "holds another run (readouts"),
        ({"batch_size": 5}, "was started with batch size left open, not 5"),
    ],
)
def test_folder_of_another_run_is_refused(tmp_path: Path, options, sentence) -> None:
    before = quick("pixels", out=tmp_path / "run").scores()
    with pytest.raises(RunFolderError, match=r"choose another folder with --out\.") as error:
        quick("pixels", out=tmp_path / "run", **options)
    assert sentence in str(error.value)
    assert Run(tmp_path / "run").scores() == before


def test_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("important")
    with pytest.raises(RunFolderError, match="is not a run folder"):
        quick("pixels", out=tmp_path)


@pytest.mark.parametrize("damage", ["truncate", "flip", "delete"])
def test_damaged_file_is_named_and_measured_anew(tmp_path: Path, damage: str) -> None:
    run = quick("pixels", out=tmp_path / "run", tests=[*TESTS, "masking-incoherent"])
    (file,) = (tmp_path / "run").rglob("masking-coherent/score-00.nc")
    whole = file.read_bytes()
    if damage == "delete":
        file.unlink()
    else:
        file.write_bytes(whole[:100] if damage == "truncate" else whole[:-1] + b"\x07")
    results, problems = run.assess()
    assert [result.test for result in results] == ["masking-incoherent"]
    assert "masking-coherent" in problems[0]
    assert "run the same command again to measure it anew" in problems[0]
    run = quick("pixels", out=tmp_path / "run")
    assert file.read_bytes() == whole
    assert len(run.scores()) == 2


def test_full_disk_keeps_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick("pixels", out=tmp_path / "run")
    real = store.os.fsync

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store.os, "fsync", full)
    with pytest.raises(RunFolderError, match="free some space and run the same command again"):
        quick("standard-observer", out=tmp_path / "run")
    monkeypatch.setattr(store.os, "fsync", real)
    assert not list((tmp_path / "run").rglob("*.tmp"))
    assert Run(tmp_path / "run").observers[0] == "pixels"
    assert len(Run(tmp_path / "run").scores()) == 1
    assert len(quick("standard-observer", out=tmp_path / "run").scores()) == 2


def test_damaged_ledger_and_manifest_get_a_sentence(tmp_path: Path) -> None:
    run = quick("pixels", out=tmp_path / "run")
    ledger = tmp_path / "run" / "ledger.sqlite"
    ledger.write_bytes(b"not a database, but long enough to look like one" * 10)
    with pytest.raises(RunFolderError, match="delete that file and run the same command again"):
        run.scores()
    (tmp_path / "run" / "manifest.json").write_text("{")
    with pytest.raises(RunFolderError, match="cannot be read"):
        Run(tmp_path / "run")


def test_changed_experiment_is_not_mixed_with_old_answers(tmp_path: Path) -> None:
    quick("pixels", out=tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["tests"][TESTS[0]]["version"] = 0
    path.write_text(json.dumps(manifest))
    _, problems = Run(tmp_path / "run").assess()
    assert "has changed since" in problems[0]


def test_names_are_checked_before_anything_is_computed(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'pixels'"):
        quick("pixels", "pixel", out=tmp_path / "run")
    with pytest.raises(UnknownNameError, match="did you mean 'area'"):
        quick("pixels", out=tmp_path / "run", tests=["aria"])
    with pytest.raises(UnknownNameError, match="there is no read-out named 'l3'"):
        quick("pixels", out=tmp_path / "other", readouts=["l3"])
    with pytest.raises(FechnerError, match="at least one observer"):
        quick(out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert not (tmp_path / "other").exists()


def test_observer_that_cannot_be_made_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("def make():\n    raise RuntimeError('no weights')\n")
    run = quick(f"{file}:make", "pixels", out=tmp_path / "run")
    results, problems = run.assess()
    assert {result.observer for result in results} == {"pixels"}
    assert "was left out" in problems[0]
    assert "RuntimeError: no weights" in problems[0]


def test_input_size_is_drawn_or_resampled(tmp_path: Path) -> None:
    seen = []

    def small(pictures: torch.Tensor) -> torch.Tensor:
        seen.append(tuple(pictures.shape[2:]))
        return brightness(pictures)

    observer = observe(small, name="small", wants=Wants(size_px=(96, 128)), version="1")
    drawn = quick(observer, out=tmp_path / "drawn").data("small", TESTS[0])
    assert (drawn.attrs["seen_height_px"], drawn.attrs["seen_width_px"]) == (96, 128)
    assert drawn.attrs["seen_ppd"] == drawn.attrs["drawn_ppd"] == 60
    resampled = quick(observer, out=tmp_path / "resampled", resize=True).data("small", TESTS[0])
    assert resampled.attrs["drawn_width_px"] == 224
    assert resampled.attrs["seen_ppd"] == pytest.approx(60 * 128 / 224)
    assert set(seen) == {(96, 128)}
    assert not np.allclose(drawn["response"], resampled["response"])
