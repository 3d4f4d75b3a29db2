"""Observers that misbehave, and run folders that are not as they should be."""

import errno
import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from oddities import broken

from fechner import FechnerError, Run, evaluate, observe
from fechner.errors import RunFolderError, UnknownNameError
from fechner.observers import Wants, devices
from fechner.observers.devices import free_memory
from fechner.observers.torchvision_fix import import_torchvision
from fechner.runs import engine, store

TESTS = ["masking-coherent"]


def quick(*observers, out, **options):
    options = {"tests": TESTS, "scores_only": True, "progress": False, **options}
    return evaluate(*observers, out=out, **options)


def brightness(pictures: torch.Tensor) -> torch.Tensor:
    return pictures.flatten(1)[:, ::97]


#: Batches that a model is shown before a run.
LOOKED_OVER = 27


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
    assert run.manifest.observers["greedy"].batch_size == 2
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
        ({"seed": 4}, "holds another run (--seed 0, not --seed 4)"),
        ({"published": True}, "holds another run (without --published, not --published)"),
        ({"readouts": ["l2"]}, "holds another run (--readout angle, not --readout l2)"),
        (
            {"seed": 4, "ppd": 30},
            "holds another run (--seed 0, not --seed 4; without --ppd, not --ppd 30)",
        ),
        ({"batch_size": 5}, "holds another run (without --batch-size, not --batch-size 5)"),
    ],
)
def test_folder_of_another_run_is_refused(tmp_path: Path, options, sentence) -> None:
    before = quick("pixels", out=tmp_path / "run").scores()
    with pytest.raises(RunFolderError, match=r"choose another folder with --out\.") as error:
        quick("pixels", out=tmp_path / "run", **options)
    assert sentence in str(error.value)
    assert Run(tmp_path / "run").scores() == before


def test_folder_of_a_run_without_answers_may_hold_another(tmp_path: Path) -> None:
    calls: list[int] = []

    def fails_late(pictures: torch.Tensor) -> torch.Tensor:
        calls.append(len(pictures))
        if len(calls) > 30:  # the first look is over
            raise ValueError("no more")
        return pictures.flatten(1)

    first = quick(observe(fails_late, name="mine", version="1"), out=tmp_path / "run")
    assert first.assess()[1]
    assert [entry.status for entry in first.entries()] == ["failed"]
    run = quick("pixels", out=tmp_path / "run", seed=4)
    assert run.observers == ["pixels"]
    assert run.scores()
    assert not run.assess()[1]


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


def test_mistakes_leave_no_temporary_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for mistake in ({"tests": "aria"}, {"readouts": "l3"}, {"device": "cuda:99"}):
        with pytest.raises(FechnerError):
            evaluate("pixels", progress=False, **mistake)
    with pytest.raises(UnknownNameError):
        evaluate("pixls", progress=False)
    assert list(tmp_path.iterdir()) == []


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


def test_pixels_per_degree_are_the_observers_own_unless_a_user_says_otherwise(
    tmp_path: Path,
) -> None:
    observer = observe(brightness, name="near", wants=Wants(ppd=30.0), version="1")
    own = quick(observer, "pixels", out=tmp_path / "own")
    assert own.data("near", TESTS[0]).attrs["seen_ppd"] == 30
    assert own.data("pixels", TESTS[0]).attrs["seen_ppd"] == 60
    assert own.manifest.observers["near"].ppd == 30
    words = "near is made for 30 pixels per degree, and was shown stimuli at"
    assert own.warnings == [f"{words} 30."]
    told = quick(observer, out=tmp_path / "told", ppd=40)
    assert told.data("near", TESTS[0]).attrs["seen_ppd"] == 40
    assert told.warnings == [f"{words} 40."]


# Before anything is measured


def test_an_observer_that_raises_is_left_out_before_anything_is_measured(tmp_path: Path) -> None:
    shown = []

    def raising(pictures: torch.Tensor) -> torch.Tensor:
        shown.append(len(pictures))
        raise ValueError("boom")

    folder = tmp_path / "run"
    run = quick(observe(raising, name="raising", version="1"), "pixels", out=folder)
    assert len(shown) == 1
    (line,) = run.left_out
    assert line.startswith("raising was left out: it raised ValueError: boom, when called with")
    assert run.assess()[1] == run.left_out
    assert run.observers == ["pixels"]
    assert {entry.observer for entry in run.entries()} == {"pixels"}
    assert [path.name for path in (folder / "results").iterdir()] == ["pixels"]


def test_warnings_are_told_and_stored(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    def centred(pictures: torch.Tensor) -> torch.Tensor:
        features = brightness(pictures)
        return features - features.mean(dim=0) + len(features)

    folder = tmp_path / "run"
    run = quick(observe(centred, name="centred"), "pixels", out=folder, progress=True)
    (warning,) = Run(folder).manifest.observers["centred"].warnings
    assert warning.startswith("its answers depend on the batch (")
    assert Run(folder).manifest.observers["pixels"].warnings == []
    told = f"centred can be run, but mind: {warning}."
    assert told in run.told
    assert capsys.readouterr().err.count(told) == 1
    assert {result.observer for result in run.scores()} == {"centred", "pixels"}
    assert not run.left_out


def test_an_observer_that_keeps_gradients_is_measured(tmp_path: Path) -> None:
    class KeepsGradients:
        name, wants, fingerprint = "keeps", Wants(dtype="float64"), None
        layers, readouts = ("output",), ("difference",)

        def remember(self, reference):
            return reference.pixels

        def difference(self, test, memory, which):
            with torch.enable_grad():
                found = (test.pixels.requires_grad_() - memory[which]).abs().mean(dim=(1, 2, 3))
                return found[:, None, None]

    run = quick(KeepsGradients(), out=tmp_path / "run")
    (warning,) = run.manifest.observers["keeps"].warnings
    assert "gradients" in warning
    results, problems = run.assess()
    assert problems == []
    assert len(results) == 1


def test_a_module_comes_back_in_the_mode_it_came_in(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 32, stride=32), torch.nn.Dropout())
    model[1].eval()
    quick(model, out=tmp_path / "run")
    assert [part.training for part in model.modules()] == [True, True, False]


# Batches and memory


def counting(batches: list[int]):
    """Return an encoder that writes down how many pictures it was shown at a time."""

    def encoder(pictures: torch.Tensor) -> torch.Tensor:
        batches.append(len(pictures))
        return brightness(pictures)

    return observe(encoder, name="counting", version="1")


def test_the_batch_size_is_what_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(name: str) -> tuple[int, int]:
        batches: list[int] = []
        found = quick(counting(batches), out=tmp_path / name)
        assert found.manifest.batch_size is None
        return found.manifest.observers["counting"].batch_size, max(batches[LOOKED_OVER:])

    assert run("plenty") == (8, 8)
    monkeypatch.setattr(engine, "free_memory", lambda device: 0)
    assert run("nothing") == (1, 1)


def test_every_observer_has_a_batch_size_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def large(pictures: torch.Tensor) -> torch.Tensor:
        # So much that the C library hands it back each time, whatever it kept of other tests.
        return brightness(pictures) * torch.ones(len(pictures), 20_000_000)[:, :1]

    monkeypatch.setattr(engine, "free_memory", lambda device: 440_000_000)
    run = quick("pixels", observe(large, name="large"), out=tmp_path / "run")
    found = {name: record.batch_size for name, record in run.manifest.observers.items()}
    assert found["pixels"] == 8
    assert found["large"] in (1, 2)


def test_the_batch_size_is_reused_on_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(engine, "free_memory", lambda device: 0)
        quick(counting([]), out=folder)
    batches: list[int] = []
    run = quick(counting(batches), out=folder, tests=[*TESTS, "masking-incoherent"])
    # It was looked over at the first start.
    assert set(batches) == {1}
    assert run.manifest.observers["counting"].batch_size == 1
    assert len(run.scores()) == 2


def test_a_batch_size_that_was_asked_for_is_kept(tmp_path: Path) -> None:
    batches: list[int] = []
    run = quick(counting(batches), out=tmp_path / "run", batch_size=5)
    assert run.manifest.batch_size == 5
    assert run.manifest.observers["counting"].batch_size == 5
    assert max(batches[LOOKED_OVER:]) == 5


def test_a_lowered_batch_size_is_kept_on_resume(tmp_path: Path) -> None:
    batches: list[int] = []

    def greedy(pictures: torch.Tensor) -> torch.Tensor:
        batches.append(len(pictures))
        if len(pictures) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return brightness(pictures)

    observer = observe(greedy, name="greedy", version="1")
    quick(observer, out=tmp_path / "run", batch_size=8)
    assert max(batches) == 8
    batches.clear()
    run = quick(observer, out=tmp_path / "run", batch_size=8, tests=["masking-incoherent"])
    assert max(batches) == 2
    assert len(run.manifest.notes) == 2  # to 4, and to 2; nothing new
    assert not run.assess()[1]


def test_real_memory_that_runs_out_lowers_the_batch(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    # Two pictures take six tenths of what is free, eight more than twice as much as there is. What
    # is never touched costs nothing.
    each = int(0.3 * free_memory() / 4)

    def greedy(pictures: torch.Tensor) -> torch.Tensor:
        torch.empty(len(pictures), each)
        return brightness(pictures)

    observer = observe(greedy, name="greedy")
    run = quick(observer, out=tmp_path / "run", batch_size=8, progress=True)
    results, problems = run.assess()
    assert problems == []
    assert run.manifest.observers["greedy"].batch_size in (1, 2, 4)
    assert run.manifest.batch_size == 8
    assert (
        "out of memory at greedy masking-coherent: batch size lowered to 4"
        in (run.manifest.notes[0])
    )
    assert run.manifest.notes[-1] in capsys.readouterr().err
    modest = quick(observe(brightness, name="modest"), out=tmp_path / "other")
    assert results[0].score.value == pytest.approx(modest.scores()[0].score.value, abs=1e-3)


def test_an_observer_too_large_for_memory_is_left_out_and_others_go_on(tmp_path: Path) -> None:
    def huge(pictures: torch.Tensor) -> torch.Tensor:
        return torch.empty(len(pictures), free_memory())

    run = quick(observe(huge, name="huge"), "pixels", out=tmp_path / "run")
    results, (problem,) = run.assess()
    assert {result.observer for result in results} == {"pixels"}
    assert problem.startswith("huge was left out: one picture needs more than the ")


def test_running_out_of_memory_at_one_picture_is_a_failure_and_others_go_on(
    tmp_path: Path,
) -> None:
    model = Halfway(LOOKED_OVER + 4, torch.OutOfMemoryError("CUDA out of memory."))
    run = quick(observe(model, name="late"), "pixels", out=tmp_path / "run", batch_size=4)
    results, (problem,) = run.assess()
    assert {result.observer for result in results} == {"pixels"}
    assert "CUDA out of memory" in problem
    assert run.manifest.observers["late"].batch_size == 1


# Weights and precision of observers by name

VIT = "timm/vit_tiny_patch16_224@size=32"


@pytest.fixture(scope="module")
def random_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import_torchvision()
    import timm

    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "random.pt"
    torch.save(timm.create_model("vit_tiny_patch16_224").state_dict(), path)
    return path


def test_weights_of_a_file_make_a_network_of_its_own_name(
    tmp_path: Path, random_weights: Path
) -> None:
    run = quick(VIT, out=tmp_path / "run", weights=random_weights, layers="output", ppd=10.0)
    name = f"{VIT},weights={random_weights}"
    (result,) = run.scores()
    assert run.observers == [name]
    assert (result.observer, result.score.layer, result.score.readout) == (name, "output", "angle")
    assert np.isfinite(result.score.value)
    same = quick(name, out=tmp_path / "same", layers="output", ppd=10.0)
    assert same.data(name, TESTS[0]).equals(run.data(name, TESTS[0]))


def test_weights_in_a_folder_with_a_mark_in_its_name_are_found(
    tmp_path: Path, random_weights: Path
) -> None:
    odd = tmp_path / "run@3"
    odd.mkdir()
    path = random_weights.rename(odd / "random.pt")
    try:
        run = quick(VIT, out=tmp_path / "run", weights=path, layers="output")
    finally:
        path.rename(random_weights)
    assert run.left_out == []
    assert len(run.scores()) == 1


def test_half_precision_is_warned_of(
    tmp_path: Path, random_weights: Path, capsys: pytest.CaptureFixture
) -> None:
    run = quick(
        f"{VIT},weights={random_weights}", "pixels", out=tmp_path / "run", dtype="bfloat16",
        layers="output", progress=True, ppd=10.0,
    )  # fmt: skip
    name = f"{VIT},weights={random_weights},dtype=bfloat16"
    assert run.observers == [name, "pixels"]  # which has no precision to set
    (warning,) = run.manifest.observers[name].warnings
    assert warning == "it computes in half precision, and differences near threshold need float32"
    assert f"{name} can be run, but mind: {warning}." in capsys.readouterr().err
    assert run.manifest.observers["pixels"].warnings == []
    assert {result.observer for result in run.scores()} == {"pixels", name}


class Malice:
    """Runs code when it is read from a pickle."""

    def __init__(self, victim: Path) -> None:
        self.victim = victim

    def __reduce__(self):
        return Path.touch, (self.victim,)


def test_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    path = tmp_path / "evil.pt"
    torch.save({"state_dict": Malice(tmp_path / "victim")}, path)
    run = quick(VIT, out=tmp_path / "run", weights=path)
    (problem,) = run.assess()[1]
    assert problem.startswith(f"{VIT},weights={path} was left out: ")
    assert "holds more than tensors" in problem
    assert "fechner runs no code from a pickle" in problem
    assert not (tmp_path / "victim").exists()


def test_weights_that_are_not_there_leave_the_observer_out(tmp_path: Path) -> None:
    run = quick(VIT, out=tmp_path / "run", weights=tmp_path / "nowhere.pt")
    assert f"there is no weights file '{tmp_path / 'nowhere.pt'}'" in run.left_out[0]


@pytest.mark.parametrize(
    ("observers", "sentence"),
    [
        ((VIT, "pixels"), "--weights belongs to one observer; with several, write NAME@weights="),
        (("@cai2025",), "--weights belongs to one observer"),
        (("pixels",), "observer 'pixels' takes no weights"),
        (("efficientnet_lite0",), "observer 'efficientnet_lite0' takes no weights"),
        ((observe(brightness, name="mine"),), "observer 'mine' takes no weights"),
    ],
    ids=["several", "preset", "pixels", "efficientnet_lite0", "object"],
)
def test_weights_for_whom_they_are_not(tmp_path: Path, observers, sentence: str) -> None:
    with pytest.raises(FechnerError, match=sentence):
        quick(*observers, out=tmp_path / "run", weights=tmp_path / "some.pt")
    assert not (tmp_path / "run").exists()


def test_code_that_comes_with_weights_is_run_when_it_is_trusted(tmp_path: Path) -> None:
    import_torchvision()
    code = tmp_path / "mine"
    code.mkdir()
    (code / "hubconf.py").write_text(
        "import torch\n"
        "dependencies = ['torch']\n"
        "def tiny():\n"
        "    torch.manual_seed(0)\n"
        "    return torch.nn.Conv2d(3, 2, 32, stride=32)\n"
    )
    name = f"torch_hub/{code}/tiny"
    refused = quick(name, out=tmp_path / "run")
    assert "--trust-remote-code" in refused.left_out[0]
    run = quick(name, out=tmp_path / "run", trust_remote_code=True)
    assert run.left_out == []
    assert [result.observer for result in run.scores()] == [name]


# Where to compute


def test_an_accelerator_is_used_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert devices.best_device() == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert devices.best_device() == "cuda"


def test_a_device_without_double_precision_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def apple(*shape: int, device: str, dtype: torch.dtype) -> None:
        if dtype == torch.float64:
            raise TypeError(
                "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support "
                "float64. Please use float32 instead."
            )

    monkeypatch.setattr(torch, "empty", apple)
    with pytest.raises(FechnerError, match=r"device 'mps' cannot be used here \(Cannot convert"):
        quick("pixels", out=tmp_path / "run", device="mps")
    assert not (tmp_path / "run").exists()


def test_the_processor_by_another_name_has_the_same_batches(tmp_path: Path) -> None:
    run = quick("pixels", out=tmp_path / "run", device="cpu:0")
    assert run.manifest.observers["pixels"].batch_size == 8


def test_precision_is_for_networks_given_by_name(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def model(x):\n    return x\n")
    for thing in (f"{tmp_path}/mine.py:model", observe(brightness, name="mine")):
        with pytest.raises(FechnerError, match=r"set the precision of '.*' where it is made"):
            quick(thing, out=None, dtype="bfloat16")


def test_observers_that_an_interrupted_run_did_not_reach_are_named(tmp_path: Path) -> None:
    def stops(pixels: torch.Tensor) -> torch.Tensor:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick("pixels", observe(stops, name="second"), "standard-observer", out=tmp_path)
    stopped = Run(tmp_path)
    assert stopped.observers == ["pixels"]
    again = "not measured yet; run the same command again to go on."
    assert stopped.assess()[1] == [f"second: {again}", f"standard-observer: {again}"]
    assert quick("pixels", "standard-observer", out=tmp_path).left_out == []


def test_what_went_wrong_is_said_without_a_bar(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    run = quick(observe(broken, name="broken"), "pixels", out=tmp_path / "run", progress=False)
    (line,) = run.told
    assert line.startswith("broken was left out: it raised RuntimeError: never, when called with")
    assert capsys.readouterr().err == f"{line}\n"
