"""Comparisons of two observers, over tests, and of many at once."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from fechner.scores import Score, distance
from fechner.scores.comparisons import (
    FEWEST,
    NAMES,
    alike,
    corrected,
    mean_difference,
    mean_distance,
    regress,
)


def holm_by_definition(p: list[float]) -> list[float]:
    """Every set of hypotheses is tested by Bonferroni; one is rejected if all sets with it are."""
    n = len(p)
    found = []
    for i in range(n):
        sets = (s for r in range(1, n + 1) for s in itertools.combinations(range(n), r) if i in s)
        found.append(max(min(1.0, len(s) * min(p[k] for k in s)) for s in sets))
    return found


def benjamini_hochberg_by_definition(p: list[float]) -> list[float]:
    n = len(p)
    ranks = {value: sum(other <= value for other in p) for value in p}
    return [min(min(1.0, q * n / ranks[q]) for q in p if q >= value) for value in p]


@pytest.mark.parametrize("seed", range(5))
def test_corrections_follow_their_definitions(seed: int) -> None:
    p = (np.random.default_rng(seed).uniform(0, 1, 8) ** 3).tolist()
    assert corrected(p, "holm").tolist() == pytest.approx(holm_by_definition(p))
    assert corrected(p, "bh").tolist() == pytest.approx(benjamini_hochberg_by_definition(p))
    assert corrected(p, "none").tolist() == p


def test_a_hand_made_family() -> None:
    p = [0.005, 0.011, 0.02, 0.04, 0.13]
    assert corrected(p, "holm").tolist() == pytest.approx([0.025, 0.044, 0.06, 0.08, 0.13])
    assert corrected(p, "bh").tolist() == pytest.approx([0.025, 0.0275, 1 / 30, 0.05, 0.13])


@pytest.mark.parametrize("correction", NAMES)
def test_order_and_what_could_not_be_tested_do_not_matter(correction: str) -> None:
    p = np.array([0.2, 0.001, 0.04, 0.04, 0.9])
    found = corrected(p.tolist(), correction)
    order = [3, 0, 4, 1, 2]
    assert corrected(p[order].tolist(), correction).tolist() == found[order].tolist()
    holed = corrected([np.nan, *p.tolist(), np.nan], correction)
    assert np.isnan(holed[[0, -1]]).all()
    assert holed[1:-1].tolist() == found.tolist()
    assert (found >= p).all()
    assert found.max() <= 1


def test_families_without_members() -> None:
    for correction in NAMES:
        assert corrected([], correction).tolist() == []
        assert np.isnan(corrected([np.nan], correction)).all()
        assert corrected([0.03], correction).tolist() == [0.03]


def test_false_findings_are_as_rare_as_promised() -> None:
    # 20 comparisons, of which 15 have nothing to find; related, as those of one observer are.
    generator = np.random.default_rng(0)
    any_false, share_false = [], []
    for _ in range(2000):
        z = generator.standard_normal(20) * np.sqrt(0.7) + generator.standard_normal() * np.sqrt(
            0.3
        )
        z[15:] += 3.0
        p = 2 * _tail(np.abs(z))
        any_false.append((corrected(p.tolist(), "holm")[:15] < 0.05).any())
        found = corrected(p.tolist(), "bh") < 0.05
        share_false.append(found[:15].sum() / max(found.sum(), 1))
    assert 0.005 < np.mean(any_false) <= 0.055
    assert 0.01 < np.mean(share_false) <= 0.055


def _tail(z: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return ndtr(-z)


# Over tests


def gap(first: list[float], second: list[float]) -> float:
    """The largest difference between the shares at or below any value."""
    return max(
        abs(np.mean([v <= x for v in first]) - np.mean([v <= x for v in second]))
        for x in (*first, *second)
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_test_is_exact(seed: int) -> None:
    # All ways to deal nine values into four and five.
    values = np.random.default_rng(seed).standard_normal(9).tolist()
    first, second = values[:4], values[4:]
    observed = gap(first, second)
    every = []
    for chosen in itertools.combinations(range(9), 4):
        a = [values[k] for k in chosen]
        b = [values[k] for k in range(9) if k not in chosen]
        every.append(gap(a, b) >= observed - 1e-12)
    found = alike(first, second)
    assert found.statistic == pytest.approx(observed)
    assert found.p == pytest.approx(np.mean(every))
    assert found.n == (4, 5)


#: Pearson and Kendall scores of three models over the properties of early vision, as printed in
#: Figure 13 of Vila-Tomás et al. (2026): the last layer of BioMultiLayer, PerceptNet, Bio-UNet.
FIGURE_13 = np.array(
    [
        [0.73, 0.65, 0.64, 1.0, 0.95, 0.85, 0.61, 0.83, 0.36, 0.52, 0.57, 0.86, 0.22, 0.81, 0.80,
         0.92, 1.0, 1.0, 0.41, 0.52, 0.16, 0.24],
        [0.16, 0.31, 0.69, 0.68, 0.49, 1.0, 1.0, 0.49, 0.12, -0.29, -0.47, 0.54, -0.24, 0.44, 0.43,
         0.64, -0.90, -0.66, 0.01, 0.18, -0.06, 0.11],
        [0.62, 0.36, 0.49, 0.38, -0.42, 0.69, 0.90, -0.42, -0.19, -0.44, -0.57, 0.51, 0.29, 0.29,
         0.39, 0.91, 0.35, -0.35, -0.03, -0.14, -0.01, 0.10],
    ]
)  # fmt: skip


def test_the_conclusion_of_the_turing_test_paper() -> None:
    # Printed p-values: .008, .007 and .26, over cells and weights that the paper does not name.
    bio, perceptnet, unet = (1 - FIGURE_13).tolist()
    assert alike(bio, perceptnet).p == pytest.approx(0.0073, abs=5e-5)
    assert alike(bio, unet).p < 0.01
    assert alike(perceptnet, unet).p > 0.25


def test_what_is_nan_does_not_count() -> None:
    assert alike([0.1, np.nan, 0.3], [0.2, 0.5]) == alike([0.1, 0.3], [0.2, 0.5])
    nothing = alike([np.nan], [0.2])
    assert np.isnan([nothing.statistic, nothing.p]).all()
    assert nothing.n == (0, 1)


def test_equal_samples_are_alike() -> None:
    found = alike([0.1, 0.2, 0.2], [0.1, 0.2, 0.2])
    assert (found.statistic, found.p) == (0.0, 1.0)


@pytest.mark.parametrize("n", [4, 12, 43])
def test_numbers_are_those_of_scipy(n: int) -> None:
    generator = np.random.default_rng(n)
    x = generator.uniform(60, 90, n)
    y = 0.01 * x + generator.normal(0, 0.1, n)
    found, line = regress(x.tolist(), y.tolist()), stats.linregress(x, y)
    assert found.r == pytest.approx(line.rvalue)
    assert found.p == pytest.approx(line.pvalue)
    assert found.slope == pytest.approx(line.slope)
    half = stats.t.ppf(0.975, n - 2) * line.stderr
    assert (found.slope_low, found.slope_high) == pytest.approx(
        (line.slope - half, line.slope + half)
    )
    # Fisher's interval, but for the few points for which it disagrees with p.
    fisher = stats.pearsonr(x, y).confidence_interval(0.95)
    assert np.arctanh([found.low, found.high]) == pytest.approx(
        np.arctanh([*fisher]), abs={4: 0.13, 12: 0.01, 43: 0.001}[n]
    )
    assert (found.n, found.note) == (n, "")
    at = np.array([0.0, 75.0])
    assert found.line(at)[0] == pytest.approx(line.intercept + line.slope * at)


@pytest.mark.parametrize("n", [4, 5, 6, 10, 43])
def test_intervals_agree_with_p(n: int) -> None:
    generator = np.random.default_rng(n)
    critical = stats.t.ppf(0.975, n - 2)
    x = generator.standard_normal(n)
    noise = generator.standard_normal(n)
    dx, left = x - x.mean(), noise - np.polyval(np.polyfit(x, noise, 1), x)
    for t in critical * np.array([-1.001, -0.999, 0.5, 0.999, 1.001, 3]):
        # Points with just this t.
        slope = t * math.sqrt(left @ left / (n - 2) / (dx @ dx))
        found = regress(x.tolist(), (slope * x + left).tolist())
        known = abs(t) > critical
        assert (found.p < 0.05) == known
        assert (found.low * found.high > 0) == known
        assert (found.slope_low * found.slope_high > 0) == known


@pytest.mark.parametrize("n", [4, 5, 10, 43])
@pytest.mark.parametrize("r", [0.0, 0.6])
def test_true_values_are_held(n: int, r: float) -> None:
    generator = np.random.default_rng(n)
    held = np.zeros(4)
    for _ in range(1000):
        x = generator.standard_normal(n)
        y = r * x + math.sqrt(1 - r * r) * generator.standard_normal(n)
        found = regress(x.tolist(), y.tolist())
        _, low, high = found.line(np.array([1.0]))
        held += [
            found.low <= r <= found.high,
            found.slope_low <= r <= found.slope_high,
            low[0] <= r <= high[0],
            found.p >= 0.05,
        ]
    assert (held[:3] / 1000 >= 0.93).all()
    assert (held[:3] / 1000 <= 0.97).all()
    if r == 0:
        assert 0.93 <= held[3] / 1000 <= 0.97


def test_too_few_points_for_an_interval() -> None:
    found = regress([1, 2, 3], [1, 3, 2])
    assert FEWEST == 4
    assert (found.r, found.slope) == pytest.approx((0.5, 0.5))
    assert np.isnan([found.low, found.high, found.p, found.slope_low, found.slope_high]).all()
    assert found.note == "3 observers are too few for an interval"
    y, low, high = found.line(np.array([2.0]))
    assert y == pytest.approx(2)
    assert np.isnan([low, high]).all()


@pytest.mark.parametrize(
    ("x", "y", "note"),
    [
        ([], [], "not computable: fewer than 2 observers"),
        ([1], [2], "not computable: fewer than 2 observers"),
        ([5, 5, 5, 5], [1, 2, 3, 4], "not computable: the figure is the same for all 4 observers"),
        ([1, 2, 3], [5, 5, 5], "not computable: the score is the same for all 3 observers"),
    ],
)
def test_what_cannot_be_computed(x: list[float], y: list[float], note: str) -> None:
    found = regress(x, y)
    assert np.isnan([found.r, found.p, found.slope]).all()
    assert found.note == note
    assert found.n == len(x)


def test_points_that_lack_a_number_do_not_count() -> None:
    x, y = [1.0, 2.0, math.nan, 4.0, 5.0, 6.0], [2.0, 1.0, 3.0, math.nan, 5.0, 7.0]
    found = regress(x, y)
    assert found.n == 4
    assert found.r == regress([1, 2, 5, 6], [2, 1, 5, 7]).r
    assert found.x.tolist() == [1, 2, 5, 6]


def test_points_on_a_line() -> None:
    found = regress([1, 2, 3, 4, 5], [10, 8, 6, 4, 2])
    assert (found.r, found.low, found.high) == pytest.approx((-1, -1, -1), abs=1e-5)
    assert (found.slope, found.slope_low, found.slope_high) == pytest.approx((-2, -2, -2), abs=1e-5)
    assert found.p < 1e-6


ALIGNMENT = Score("alignment", 0.5, 0.4, 0.6, True, best=1.0, chance=0.0, resampled="x", n=9)
ERROR = Score("matching-error", 0.2, 0.1, 0.3, False, best=0.0, chance=0.8, resampled="x", n=9)


def test_distance_is_0_for_people_and_1_at_chance_whichever_way_is_better() -> None:
    assert distance(replace(ALIGNMENT, value=1.0)) == distance(replace(ERROR, value=0.0)) == 0
    assert distance(replace(ALIGNMENT, value=0.0)) == distance(replace(ERROR, value=0.8)) == 1
    assert distance(replace(ALIGNMENT, value=-0.5)) == 1.5
    assert distance(ERROR) == pytest.approx(0.25)


def test_what_could_not_be_scored_does_not_count() -> None:
    nothing = replace(ALIGNMENT, value=math.nan)
    assert mean_distance([ALIGNMENT, ERROR, nothing])[:1] == pytest.approx((0.375,))
    assert mean_distance([ALIGNMENT, ERROR, nothing]).n == 2
    assert mean_distance([nothing]).n == 0
    assert math.isnan(mean_distance([nothing]).value)
    alone = mean_distance([ALIGNMENT])
    assert (alone.value, alone.n) == (0.5, 1)
    assert math.isnan(alone.low)


def test_the_interval_holds_the_true_mean_in_95_percent_of_simulations() -> None:
    generator = np.random.default_rng(4)
    simulations = 2000
    held = 0
    for distances in generator.normal(0.4, 0.2, size=(simulations, 9)):
        found = mean_distance([replace(ALIGNMENT, value=1 - each) for each in distances])
        held += found.low <= 0.4 <= found.high
    assert 0.935 <= held / simulations <= 0.965


def test_paired_means_hold_the_difference() -> None:
    """Tests differ more than observers do: pairing takes that out."""
    generator = np.random.default_rng(0)
    inside, significant = 0, 0
    for _ in range(400):
        common = generator.normal(0.5, 0.3, 8)
        first, second = (common + shift + generator.normal(0, 0.05, 8) for shift in (0.1, 0.0))
        found = mean_difference(
            [replace(ALIGNMENT, value=value) for value in first],
            [replace(ALIGNMENT, value=value) for value in second],
        )
        inside += found.low <= -0.1 <= found.high
        significant += found.p < 0.05
    assert 0.92 < inside / 400 < 0.98
    assert significant / 400 > 0.8


def test_few_tests_have_no_interval() -> None:
    found = mean_difference(
        [replace(ALIGNMENT, value=0.5)] * 3, [replace(ALIGNMENT, value=0.4)] * 3
    )
    assert found.value == pytest.approx(-0.1)
    assert np.isnan([found.low, found.high, found.p]).all()
    assert np.isnan(mean_difference([], []).value)
    same = mean_difference([replace(ALIGNMENT, value=0.5)] * 5, [replace(ALIGNMENT, value=0.5)] * 5)
    assert (same.value, same.p) == (0, 1)
