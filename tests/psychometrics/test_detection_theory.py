"""d' and criterion: closed forms, tabulated values, recovery, and counts of 0 and all."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from fechner.errors import FechnerError
from fechner.psychometrics import (
    Crossing,
    correct_mafc,
    d_prime_2afc,
    d_prime_mafc,
    d_prime_yes_no,
    find_crossing,
    find_least,
)

Z = stats.norm.ppf


def test_yes_no_by_hand() -> None:
    found = d_prime_yes_no(30, 40, 8, 50)
    h, f = (30 + 40 / 90) / (40 + 80 / 90), (8 + 50 / 90) / (50 + 100 / 90)
    assert found.d_prime == pytest.approx(Z(h) - Z(f))
    assert found.criterion == pytest.approx(-(Z(h) + Z(f)) / 2)
    variance = h * (1 - h) / 40 / stats.norm.pdf(Z(h)) ** 2
    variance += f * (1 - f) / 50 / stats.norm.pdf(Z(f)) ** 2
    assert found.d_prime_se == pytest.approx(np.sqrt(variance))
    assert found.criterion_se == pytest.approx(np.sqrt(variance) / 2)
    assert found.d_prime_high - found.d_prime == pytest.approx(1.959964 * found.d_prime_se)


@pytest.mark.parametrize(("d_prime", "criterion"), [(0.0, 0.0), (1.0, -0.5), (2.0, 0.3)])
def test_yes_no_recovers_an_observer(d_prime: float, criterion: float) -> None:
    generator = np.random.default_rng(0)
    hits = generator.binomial(200, stats.norm.sf(criterion - d_prime / 2), 4000)
    alarms = generator.binomial(200, stats.norm.sf(criterion + d_prime / 2), 4000)
    found = d_prime_yes_no(hits, 200, alarms, 200)
    assert found.d_prime.mean() == pytest.approx(d_prime, abs=0.01)
    assert found.criterion.mean() == pytest.approx(criterion, abs=0.01)
    assert found.d_prime.std() == pytest.approx(found.d_prime_se.mean(), rel=0.05)
    inside = (found.d_prime_low < d_prime) & (d_prime < found.d_prime_high)
    assert 0.93 < inside.mean() < 0.97
    inside = (found.criterion_low < criterion) & (criterion < found.criterion_high)
    assert 0.93 < inside.mean() < 0.97


def test_no_count_is_infinite_and_no_trial_is_unknown() -> None:
    found = d_prime_yes_no([10, 0, 0], [10, 10, 0], [0, 10, 3], [10, 10, 10])
    assert found.d_prime[0] == pytest.approx(2 * Z(10.5 / 11))
    assert found.d_prime[1] == pytest.approx(-found.d_prime[0])
    assert np.isnan(found.d_prime[2])
    assert np.isnan(found.d_prime_se[2])


@pytest.mark.parametrize("blanks", [1, 25, 1000])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_same_answer_to_everything_is_no_sensitivity(share: float, blanks: int) -> None:
    """However many trials of each kind there were."""
    found = d_prime_yes_no(share * 40, 40, share * blanks, blanks)
    assert found.d_prime == pytest.approx(0, abs=1e-9)
    assert np.sign(found.criterion) == 1 - 2 * share


def test_two_alternatives_follow_the_square_root_rule() -> None:
    p = np.array([0.5, 0.6, 0.76, 0.9])
    d_prime = np.sqrt(2) * Z(p)
    assert correct_mafc(d_prime, 2) == pytest.approx(p, abs=1e-9)
    big = 10**6
    assert d_prime_mafc(p * big, big, 2).d_prime == pytest.approx(d_prime, abs=1e-3)
    both = d_prime_2afc(p * big, big, p * big, big)
    assert both.d_prime == pytest.approx(d_prime, abs=1e-3)
    assert both.criterion == pytest.approx(np.zeros(4), abs=1e-9)


def test_many_alternatives_by_simulation() -> None:
    generator = np.random.default_rng(1)
    for alternatives, d_prime in ((3, 1.0), (4, 1.5), (8, 2.0)):
        others = generator.standard_normal((400_000, alternatives - 1)).max(axis=1)
        right = np.mean(generator.standard_normal(400_000) + d_prime > others)
        assert correct_mafc(d_prime, alternatives) == pytest.approx(right, abs=0.003)
    assert correct_mafc(0.0, 5) == pytest.approx(0.2)


def test_many_alternatives_recover_an_observer() -> None:
    generator = np.random.default_rng(2)
    correct = generator.binomial(300, correct_mafc(1.2, 4), 3000)
    found = d_prime_mafc(correct, 300, 4)
    assert found.d_prime.mean() == pytest.approx(1.2, abs=0.01)
    assert found.d_prime.std() == pytest.approx(found.d_prime_se.mean(), rel=0.05)
    inside = (found.d_prime_low < 1.2) & (found.d_prime_high > 1.2)
    assert 0.93 < inside.mean() < 0.97
    assert np.isnan(found.criterion).all()


def test_a_preferred_place_is_a_criterion_and_not_a_loss() -> None:
    # Differences of mean d and -d with sd sqrt(2); says first if above c.
    generator = np.random.default_rng(3)
    d_prime, c, n = 1.0, 0.5, 200_000
    difference = generator.standard_normal((2, n)) * np.sqrt(2) + [[d_prime], [-d_prime]]
    first = (difference[0] > c * np.sqrt(2)).sum()
    second = (difference[1] <= c * np.sqrt(2)).sum()
    found = d_prime_2afc(first, n, second, n)
    assert found.d_prime == pytest.approx(d_prime, abs=0.01)
    assert found.criterion == pytest.approx(c, abs=0.01)
    assert d_prime_mafc(first + second, 2 * n, 2).d_prime < 0.95


def test_mistakes_are_told() -> None:
    with pytest.raises(FechnerError, match="between 0 and its number"):
        d_prime_yes_no(11, 10, 0, 10)
    with pytest.raises(FechnerError, match="at least 2"):
        d_prime_mafc(5, 10, 1)
    with pytest.raises(FechnerError, match="coverage"):
        d_prime_mafc(5, 10, 2, coverage=1.0)


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
