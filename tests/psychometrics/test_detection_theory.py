"""d' and criterion: closed forms, tabulated values, recovery, and counts of 0 and all."""

import numpy as np
import pytest
from scipy import stats

from fechner.errors import FechnerError
from fechner.psychometrics import correct_mafc, d_prime_2afc, d_prime_mafc, d_prime_yes_no

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
