"""A test with nobody to compare with: measured, shown, and left out wherever scores are."""

from pathlib import Path

import pytest
import torch

import fechner
from fechner import Run, observe, suites
from fechner.errors import FechnerError
from fechner.experiments import Detection, NearThreshold, Scene
from fechner.report.comparing.comparison import compare
from fechner.scores import Alignment, threshold_panels
from fechner.stimuli import OPPONENT, Field, Gabor, display
from fechner.suites import Suite

SCENE = Scene(Field(32, 32, 16.0), display("encoders"), OPPONENT)


def saturating(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    contrast = (test / reference - 1).abs().flatten(1).mean(dim=1)
    return contrast / (contrast + 0.05)


def _test(name: str, task: Detection) -> suites.Test:
    experiment = NearThreshold(name, name, task, SCENE, (0.5, 1.0, 2.0))
    return suites.Test(experiment, Alignment(), threshold_panels)


def _tests(options: object) -> list[suites.Test]:
    gabor, contrasts = Gabor(2.0, 0.3), (0.01, 0.1, 1.0)
    return [
        _test("phase", Detection("phase_deg", (0.0, 45.0, 90.0), contrasts, gabor, human=None)),
        _test("frequency", Detection("frequency_cpd", (1.0, 2.0, 4.0), contrasts, gabor)),
    ]


@pytest.fixture
def measure(tmp_path: Path):
    mine = Suite("mine", "Mine", "cai2025", _tests)

    def measured(*tests: str) -> Run:
        observer = observe(saturating, name="saturating", version="1")
        out = tmp_path / "-".join(tests)
        return fechner.evaluate(
            observer, "pixels", suite=mine, tests=list(tests), out=out, progress=False
        )

    return measured


def test_it_stands_beside_tests_that_are_scored(measure, tmp_path: Path) -> None:
    run = measure("phase", "frequency")
    results, problems = run.assess()
    assert {result.test for result in results} == {"frequency"}
    assert problems == []
    assert "frequency" in run.table()
    assert "phase" not in run.table()
    assert set(run.to_dataframe()["test"]) == {"frequency"}
    page = run.report(tmp_path / "page.html").read_text("utf-8")
    assert "No human reference: nothing is scored." in page
    assert "phase (degrees)" in page
    comparison = compare(run)
    assert comparison.problems == ()
    (pair,) = comparison.pairs
    assert [finding.test for finding in pair.findings] == ["frequency"]


def test_it_may_be_all_that_there_is(measure, tmp_path: Path) -> None:
    run = measure("phase")
    assert run.assess() == ([], [])
    assert run.data("saturating", "phase")["surface"].shape[:2] == (3, 3)
    assert run.table().startswith("test")
    assert run.to_dataframe().empty
    page = run.report(tmp_path / "page.html").read_text("utf-8")
    assert "There are no human thresholds to compare with" in page
    assert "Nothing is scored" in page
    assert page.count("<tr data-label=") == 2  # cards are drawn for the observers of the table
    assert 'data-plot="profile"' not in page
    with pytest.raises(FechnerError):
        compare(run)
