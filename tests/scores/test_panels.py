"""Panels show what was measured: checked against the stored answers they are made from."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import fechner
from fechner import Run
from fechner.scores import MatchingError
from fechner.scores.matching import matches
from fechner.scores.panels import Line, Panel, Points, Surface, spans_decades


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder: Path = tmp_path_factory.mktemp("panels") / "run"
    tests = ["frequency-yv", "masking-coherent", "matching-frequency"]
    return fechner.evaluate("pixels", tests=tests, out=folder, progress=False)


def panels_of(run: Run, name: str) -> tuple[xr.Dataset, dict[str, Panel]]:
    (test,) = [test for test in run.tests if test.id == name]
    data = run.data("pixels", name)
    assert data is not None
    part = data.isel(layer=0, readout=0)
    return part, {panel.kind: panel for panel in test.panels(part)}


def test_detection_is_seen_as_sensitivity_with_the_human_curve_on_it(run: Run) -> None:
    data, panels = panels_of(run, "frequency-yv")
    surface, human = panels["surface"].marks
    assert isinstance(surface, Surface)
    assert isinstance(human, Line)
    assert human.human
    np.testing.assert_allclose(surface.y, 1 / data["surface_contrast"].values)
    np.testing.assert_allclose(human.y, 1 / data["human_threshold"].values)
    np.testing.assert_array_equal(surface.z, data["surface"].values)
    assert panels["surface"].y.label == "sensitivity (1 / DKL contrast)"
    # 32 cpd cannot be held by 60 pixels per degree.
    assert surface.doubtful is not None
    assert surface.doubtful[-1].all()
    assert not surface.doubtful[0, 0]


def test_masking_is_seen_as_contrast(run: Run) -> None:
    data, panels = panels_of(run, "masking-coherent")
    surface, human = panels["surface"].marks
    assert isinstance(surface, Surface)
    assert isinstance(human, Line)
    np.testing.assert_array_equal(surface.y, data["surface_contrast"].values)
    np.testing.assert_array_equal(human.y, data["human_threshold"].values)
    assert panels["surface"].y.label == "contrast (Michelson)"


def test_the_criterion_is_the_response_at_the_lowest_human_threshold(run: Run) -> None:
    data, panels = panels_of(run, "masking-coherent")
    (surface, _) = panels["surface"].marks
    assert isinstance(surface, Surface)
    lowest = data.isel(point=int(np.argmin(data["human_threshold"].values)))
    between = np.interp(0.0, np.log(lowest["ratio"]), lowest["response"])
    assert surface.criterion == pytest.approx(float(between))


def test_responses_hold_the_points_that_are_scored_and_no_others(run: Run) -> None:
    data, panels = panels_of(run, "frequency-yv")
    (points,) = panels["responses"].marks
    assert isinstance(points, Points)
    kept = data["dropped"].values == 0
    assert 0 < len(points.x) == kept.sum() < kept.size
    np.testing.assert_array_equal(np.sort(points.y), np.sort(data["response"].values[kept]))
    (score,) = [r.score for r in run.scores() if r.test == "frequency-yv" and r.main]
    assert len(points.x) == score.n


def test_without_a_surface_there_is_no_panel_of_it(run: Run) -> None:
    (test,) = [test for test in run.tests if test.id == "masking-coherent"]
    data, _ = panels_of(run, "masking-coherent")
    score_only = data.drop_dims(["x", "y"])
    assert [panel.kind for panel in test.panels(score_only)] == ["responses"]


def test_matching_has_a_human_line_and_an_own_one_per_reference(run: Run) -> None:
    data, panels = panels_of(run, "matching-frequency")
    lines = panels["matches"].marks
    found, _ = matches(data)
    assert len(lines) == 2 * len(found)
    for number, own in enumerate(found):
        human, observer = [
            line for line in lines if isinstance(line, Line) and line.group == number
        ]
        assert human.human
        assert not observer.human
        np.testing.assert_array_equal(observer.y[observer.marked], own)
        assert len(observer.x) == 9 + 25
        np.testing.assert_array_equal(human.y, data["human_matched"].values[number])
    score = MatchingError(0.8)(data.expand_dims(["layer", "readout"], axis=[-2, -1]))[0]
    observers = np.array(
        [line.y[line.marked] for line in lines if isinstance(line, Line) and not line.human]
    )
    people = np.array([line.y for line in lines if isinstance(line, Line) and line.human])
    squares = np.square(np.log10(observers / people)).mean(axis=0)
    assert score.value == pytest.approx(np.sqrt(squares).mean())


def test_an_observer_that_answers_nothing_has_a_linear_scale() -> None:
    assert not spans_decades(np.zeros(3))
    assert not spans_decades(np.array([np.nan]))
    assert not spans_decades(np.array([1.0, 2.0]))
