"""Figures of a fit: what stands on them, and what cannot be drawn."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from fechner.errors import FechnerError
from fechner.psychometrics import Fit, fit, psychometric
from fechner.report.figures.fits import draw_function, draw_joint, draw_marginals
from fechner.report.figures.style import save

LEVELS = np.array([0.0, *np.geomspace(0.01, 0.8, 8)])


@pytest.fixture(scope="module")
def found() -> Fit:
    n = np.array([80, *8 * [20]])
    k = np.random.default_rng(0).binomial(n, psychometric(LEVELS, 0.1, 3.0, 0.1, 0.02))
    return fit(LEVELS, n, k)


def test_a_function_with_its_answers(found: Fit, tmp_path: Path) -> None:
    figure = draw_function(found, label="contrast")
    (axes,) = figure.axes
    points = axes.collections[-1]
    np.testing.assert_allclose(points.get_offsets()[:, 1], found.k / found.n)
    # The area is the number of trials.
    assert points.get_sizes()[0] == 4 * points.get_sizes()[1]
    assert axes.get_xlabel() == "contrast"
    curve, *_, interval = axes.lines
    assert np.ptp(curve.get_ydata()) > 0.8
    ends = np.array([found.low.threshold, found.high.threshold])
    np.testing.assert_allclose(np.array(interval.get_xdata(), float), ends)
    assert save(figure, tmp_path / "function.png").stat().st_size > 10_000


def test_falling_and_censored_functions_on_axes_of_ones_own() -> None:
    figure = Figure()
    axes = figure.subplots(1, 2)
    angles = np.linspace(-4, 4, 9)
    how = {"shape": "logistic", "scale": "linear", "falling": True}
    k = 40 * psychometric(angles, 0.0, 2.0, 0.02, 0.02, **how)
    draw_function(fit(angles, 40, k, **how), axes=axes[0])
    curve = axes[0].lines[0].get_ydata()
    assert curve[0] > 0.9 > 0.1 > curve[-1]
    above = fit([0.1, 0.2, 0.4], 20, [10, 9, 11], guess=0.5)
    assert draw_function(above, axes=axes[1]) is figure
    assert axes[1].lines[-1].get_marker() == ">"


def test_marginals_of_what_was_estimated(found: Fit) -> None:
    figure = draw_marginals(found)
    assert [axes.get_xlabel() for axes in figure.axes] == ["level", "slope", "guess", "lapse"]
    equal = fit(LEVELS[1:], 20, np.arange(8) * 2, equal_asymptotes=True, overdispersion=True)
    figure = draw_marginals(equal)
    names = [axes.get_xlabel() for axes in figure.axes]
    assert names == ["level", "slope", "lapse", "overdispersion"]
    for axes in figure.axes:
        posterior, prior = axes.lines[0].get_ydata(), axes.lines[2].get_ydata()
        assert posterior.max() == 1
        # Answers make it narrower, so it is higher than the prior.
        assert prior.min() < 1


def test_joint_posteriors(found: Fit) -> None:
    figure = draw_joint(found, "guess", "lapse")
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("guess", "lapse")
    assert len(axes.collections) == 2


def test_only_one_function_is_drawn(found: Fit) -> None:
    two = fit(LEVELS, 20, np.stack([found.k / 10, found.k / 10]))
    for draw in (draw_function, draw_marginals, draw_joint):
        with pytest.raises(FechnerError, match=r"fit\[i\]"):
            draw(two)
