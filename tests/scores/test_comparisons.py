"""Corrections for many comparisons and the test over tests: by hand, and by simulation."""

import itertools

import numpy as np
import pytest

from fechner.scores.comparisons import NAMES, alike, corrected

# Corrections


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
