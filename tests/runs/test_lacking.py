"""Observers that lack something are not asked what needs it; metrics that misbehave are told of."""

from pathlib import Path

import pytest
import torch

from fechner import Run, evaluate, observe
from fechner.observers import Wants
from fechner.report.score_tables import format_scores

TESTS = ["masking-coherent", "matching-colour"]


def squares(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    return (test - reference).square().mean(dim=(1, 2, 3))


def quick(*observers, out: Path | None = None, tests=TESTS) -> Run:
    return evaluate(
        *observers, suite="metrics", tests=tests, scores_only=True, progress=False, out=out
    )


def grey(name: str = "grey"):
    return observe(squares, name=name, wants=Wants(colour=False), version="1")


def test_a_test_that_needs_colour_is_left_out_and_named_not_failed(tmp_path: Path) -> None:
    run = quick(grey(), out=tmp_path / "run")
    results, problems = run.assess()
    assert [result.test for result in results if result.main] == ["masking-coherent"]
    assert problems == []
    assert run.not_asked == ["grey was not asked matching-colour: it sees no colour."]
    assert run.data("grey", "matching-colour") is None
    assert run.why_incomplete("grey", "matching-colour") == run.not_asked[0]
    assert run.manifest.observers["grey"].lacks == ["colour", "video"]


def test_others_in_the_same_run_are_asked(tmp_path: Path) -> None:
    both = observe(squares, name="both", version="1")
    run = quick(grey(), both, out=tmp_path / "run")
    asked = {(result.observer, result.test) for result in run.scores()}
    assert asked == {
        ("grey", "masking-coherent"),
        ("both", "masking-coherent"),
        ("both", "matching-colour"),
    }
    assert "both" in format_scores(run.scores())


def test_video_is_left_out_for_observers_of_pictures() -> None:
    run = quick(grey(), "pixels", tests=["masking-coherent", "flicker", "frequency-transient"])
    assert run.not_asked == [
        "grey was not asked frequency-transient, flicker: it takes pictures, not video.",
        "pixels was not asked frequency-transient, flicker: it takes pictures, not video.",
    ]
    assert {result.test for result in run.scores()} == {"masking-coherent"}


def test_a_metric_that_prints_is_told_of_and_its_words_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def chatty(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        print("computing")  # noqa: T201
        return squares(test, reference)

    run = quick(observe(chatty, name="chatty"), out=tmp_path / "run", tests="masking-coherent")
    assert capsys.readouterr().out == ""
    assert run.manifest.observers["chatty"].warnings == [
        "it prints while it looks; that is in log.txt"
    ]
    assert "computing" in (tmp_path / "run" / "log.txt").read_text()
    assert len(run.scores()) == 1


def test_a_metric_that_crashes_for_one_size_goes_on_with_the_others(tmp_path: Path) -> None:
    def picky(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        if test.shape[-1] == 420:
            raise RuntimeError("sides must be even multiples of 32")
        return squares(test, reference)

    run = quick(observe(picky, name="picky"), out=tmp_path / "run")
    results, problems = run.assess()
    assert [result.test for result in results if result.main] == ["matching-colour"]
    (problem,) = problems
    assert "picky masking-coherent: " in problem
    assert "sides must be even multiples of 32" in problem


def test_a_metric_that_is_nan_for_identical_pictures_is_scored(tmp_path: Path) -> None:
    def ratio(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        found = squares(test, reference)
        return torch.where(found > 0, found.sqrt(), torch.nan)

    run = quick(observe(ratio, name="ratio"), out=tmp_path / "run", tests="masking-coherent")
    assert len(run.scores()) == 1
    (warning,) = run.manifest.observers["ratio"].warnings
    assert "compared with itself" in warning
