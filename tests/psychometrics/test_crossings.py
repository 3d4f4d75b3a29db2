"""Where responses reach a criterion: known functions, several crossings, none at all."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from fechner.psychometrics import Crossing, find_crossing, find_least

GRID = np.geomspace(0.001, 1, 33)


@pytest.mark.parametrize("exponent", [0.3, 1.0, 2.4, -1.5])
@pytest.mark.parametrize("contrast", [0.00123, 0.05, 0.77])
def test_power_laws_are_exact(exponent: float, contrast: float) -> None:
    found = find_crossing(GRID, 7 * GRID**exponent, 7 * contrast**exponent, near=0.5)
    assert found == Crossing(pytest.approx(contrast, rel=1e-12), 1)


@pytest.mark.parametrize("criterion", [0.02, 0.5, 0.93])
def test_a_saturating_response_converges_with_the_grid(criterion: float) -> None:
    def naka_rushton(contrast: float) -> float:
        return contrast**2 / (contrast**2 + 0.1**2)

    truth = brentq(lambda c: naka_rushton(c) - criterion, 0.001, 1)
    errors = []
    for points in (33, 257):
        grid = np.geomspace(0.001, 1, points)
        found = find_crossing(grid, np.array([naka_rushton(c) for c in grid]), criterion, near=0.1)
        assert found.candidates == 1
        errors.append(abs(math.log10(found.contrast / truth)))
    assert errors[0] < 0.005  # a twentieth of a step, which is 0.094 in log10
    assert errors[1] < 0.005 / 20


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
def test_the_unit_of_responses_does_not_matter(scale: float) -> None:
    generator = np.random.default_rng(0)
    responses = np.cumsum(generator.uniform(0, 1, len(GRID)))
    criterion = float(responses.mean())
    base = find_crossing(GRID, responses, criterion, near=0.1)
    assert find_crossing(GRID, scale * responses, scale * criterion, near=0.1) == Crossing(
        pytest.approx(base.contrast, rel=1e-9), base.candidates
    )


def test_a_criterion_that_is_met_on_the_grid() -> None:
    for index in (0, 7, 32):
        found = find_crossing(GRID, GRID**2, float(GRID[index] ** 2), near=0.1)
        assert found == Crossing(pytest.approx(GRID[index]), 1)


def test_between_zero_and_a_response_the_line_is_straight() -> None:
    # No power law starts at 0: half of the response is half of the log step.
    found = find_crossing(np.array([0.01, 0.1]), np.array([0.0, 1.0]), 0.5, near=0.1)
    assert found == Crossing(pytest.approx(10**-1.5), 1)


def test_negative_responses() -> None:
    # Signed read-outs: a straight line over log contrast.
    responses = np.log10(GRID) + 1.25
    found = find_crossing(GRID, responses, 0.0, near=0.1)
    assert found == Crossing(pytest.approx(10**-1.25), 1)


@pytest.mark.parametrize(("near", "root"), [(0.002, 0.01), (0.04, 0.1), (0.9, 0.5)])
def test_of_several_crossings_the_nearest_in_log_contrast(near: float, root: float) -> None:
    roots = np.log(np.array([0.01, 0.1, 0.5]))
    x = np.log(GRID)
    responses = 100 + (x - roots[0]) * (x - roots[1]) * (x - roots[2])
    found = find_crossing(GRID, responses, 100.0, near=near)
    assert found.candidates == 3
    assert found.contrast == pytest.approx(root, rel=0.02)


def test_a_plateau_on_the_criterion_takes_its_nearest_point() -> None:
    responses = np.array([0.1, 0.5, 0.5, 0.5, 0.9])
    grid = np.array([0.01, 0.02, 0.04, 0.08, 0.16])
    assert find_crossing(grid, responses, 0.5, near=0.05) == Crossing(pytest.approx(0.04), 3)
    assert find_crossing(grid, responses, 0.5, near=1.0) == Crossing(pytest.approx(0.08), 3)


@pytest.mark.parametrize("responses", [GRID**2, np.full(33, 0.5), 1e-6 + 0 * GRID])
def test_out_of_range_is_the_end_where_the_criterion_must_lie(responses: np.ndarray) -> None:
    assert find_crossing(GRID, responses, 2.0, near=0.1) == Crossing(1.0, 0)
    assert find_crossing(GRID, responses, 1e-7, near=0.1) == Crossing(pytest.approx(0.001), 0)


def test_a_constant_response_on_the_criterion_is_ambiguous_everywhere() -> None:
    found = find_crossing(GRID, np.full(33, 0.5), 0.5, near=0.1)
    assert found == Crossing(pytest.approx(0.1, rel=0.12), 33)


def test_recovery_of_thresholds_under_noise() -> None:
    # Responses with 2 % noise; a slope of 1 makes that 2 % in contrast.
    generator = np.random.default_rng(1)
    errors = []
    for _ in range(200):
        threshold = 10 ** generator.uniform(-2.5, -0.5)
        noisy = GRID / threshold * (1 + 0.02 * generator.standard_normal(len(GRID)))
        errors.append(
            math.log(find_crossing(GRID, noisy, 1.0, near=threshold).contrast / threshold)
        )
    assert abs(np.mean(errors)) < 0.004
    assert np.std(errors) < 0.022


@pytest.mark.parametrize("contrast", [0.0123, 0.05, 0.077, 0.3])
def test_the_least_of_a_parabola_is_exact(contrast: float) -> None:
    found = find_least(GRID, 0.3 + np.log(GRID / contrast) ** 2)
    assert found == Crossing(pytest.approx(contrast, rel=1e-9), 1)


def test_a_sharp_least_lies_within_a_tenth_of_a_step() -> None:
    step = np.log(GRID[1] / GRID[0])
    for contrast in np.geomspace(0.01, 0.3, 41):
        found = find_least(GRID, np.abs(np.log(GRID / contrast)))
        assert abs(np.log(found.contrast / contrast)) < 0.1 * step


def test_a_least_at_an_end_or_beside_nothing() -> None:
    assert find_least(GRID, 1 / GRID) == Crossing(1.0, 0)
    assert find_least(GRID, np.full(len(GRID), np.nan)) == Crossing(0.001, 0)
    differences = np.full(len(GRID), np.nan)
    differences[7] = 1.0
    assert find_least(GRID, differences) == Crossing(GRID[7], 1)
    flat = find_least(GRID, np.where(np.arange(33) == 5, 0.0, 1.0))
    assert flat == Crossing(pytest.approx(GRID[5]), 1)
