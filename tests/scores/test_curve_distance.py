"""Correlations and distances of curves that are measured with error, by simulation."""

import numpy as np
import pytest

from fechner.scores.curve_distance import (
    Estimate,
    MeasuredCurve,
    correlation_with,
    gain,
    linear_rms_from,
    rms_from,
)

HUMAN = np.array([20.0, 60.0, 150.0, 180.0, 120.0, 50.0, 15.0, 4.0])
ODD = np.array([0.4, 0.2, 0.1, -0.1, -0.3, -0.2, 0.1, 0.4])

MEASURES = {
    "correlation": lambda curve: correlation_with(curve, HUMAN, linear=True),
    "log": lambda curve: correlation_with(curve, HUMAN, linear=False),
    "gain": lambda curve: gain(curve, HUMAN),
    "rms": lambda curve: rms_from(curve, HUMAN),
    "linear": lambda curve: linear_rms_from(curve, HUMAN),
}


def exact(log10: np.ndarray) -> MeasuredCurve:
    return MeasuredCurve(log10, np.zeros((8, 8)), np.inf, 0.0, np.inf)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("truth", [0 * ODD, ODD, ODD - 0.8], ids=["people", "odd", "less"])
def test_intervals_hold_the_score_of_the_curve_itself(name: str, truth: np.ndarray) -> None:
    """Also where the curve is exactly people's, whose measured correlation is never 1."""
    measure, curve = MEASURES[name], np.log10(HUMAN) + truth
    expected = measure(exact(curve)).value
    generator = np.random.default_rng(0)
    held, values = [], []
    for _ in range(200):
        errors = generator.normal(0, 0.06, 8) + generator.normal(0, 0.05)
        found = measure(MeasuredCurve(curve + errors, np.eye(8) * 0.06**2, np.inf, 0.05**2, np.inf))
        assert found.low <= found.value <= found.high
        held.append(found.low - 1e-9 <= expected <= found.high + 1e-9)
        values.append(found.value)
    assert 0.9 <= np.mean(held) <= 1.0


def test_error_does_not_make_people_less_human() -> None:
    generator = np.random.default_rng(1)
    found = [
        correlation_with(
            MeasuredCurve(
                np.log10(HUMAN) + generator.normal(0, 0.1, 8), np.eye(8) * 0.01, np.inf, 0.0, np.inf
            ),
            HUMAN,
            linear=False,
        )
        for _ in range(100)
    ]
    measured, value = (
        np.mean([getattr(each, name) for each in found]) for name in ("measured", "value")
    )
    assert measured < 0.99
    assert value > measured + 0.005


def test_without_error_values_are_as_measured() -> None:
    curve = exact(np.log10(HUMAN) + ODD)
    for measure in MEASURES.values():
        found = measure(curve)
        assert found.value == pytest.approx(found.measured)
    x = 10**curve.log10
    assert MEASURES["correlation"](curve).value == pytest.approx(np.corrcoef(x, HUMAN)[0, 1])
    assert MEASURES["rms"](curve).value == pytest.approx(np.sqrt(np.mean(ODD**2)))
    assert MEASURES["linear"](curve).value == pytest.approx(np.sqrt(np.mean((x - HUMAN) ** 2)))


def test_unknown_errors_leave_no_interval() -> None:
    unknown = exact(np.log10(HUMAN) + ODD)._replace(covariance=np.full((8, 8), np.nan))
    for name in ("correlation", "log", "rms", "linear"):
        found: Estimate = MEASURES[name](unknown)
        assert found.value == found.measured
        assert np.isnan([found.low, found.high]).all()
