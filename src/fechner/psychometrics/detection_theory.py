"""Sensitivity and bias from counts (signal detection theory), and contrasts that meet a criterion.

Yes/no: d' = z(H) - z(F) and c = -(z(H) + z(F)) / 2 (Macmillan & Creelman 2005), with one yes and
one no added, shared between signals and blanks by their numbers, so that no rate is 0 or 1 and who
gives the same answer to everything has a d' of 0 (where there are as many of both, the log-linear
rule of Hautus 1995). Forced choice between m alternatives: the d' at which the largest of m unit
normals, one shifted by d', is the shifted one that often; for m = 2 that is sqrt(2) z(p).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fechner.arrays import Floats
from fechner.errors import FechnerError
from fechner.psychometrics.functions import check_coverage

#: Largest d' that is told from a larger one in forced choice.
_LARGEST = 10.0


class Sensitivity(NamedTuple):
    """A d' with its standard error and the ends of its normal interval; a criterion likewise.

    The criterion is 0 without bias, positive for an observer that says no too often (or, in forced
    choice between two, prefers the second alternative). NaN if it cannot be known.
    """

    d_prime: Floats
    d_prime_se: Floats
    d_prime_low: Floats
    d_prime_high: Floats
    criterion: Floats
    criterion_se: Floats
    criterion_low: Floats
    criterion_high: Floats


def d_prime_yes_no(
    hits: ArrayLike,
    signals: ArrayLike,
    false_alarms: ArrayLike,
    blanks: ArrayLike,
    *,
    coverage: float = 0.95,
) -> Sensitivity:
    """Return d' and criterion of yes/no answers: yes to signals, and yes to blanks.

    Standard errors follow from binomial ones by the delta method (Gourevitch & Galanter 1967).
    Arguments broadcast.

    Examples
    --------
    >>> found = d_prime_yes_no(hits=69, signals=100, false_alarms=31, blanks=100)
    >>> print(f"{found.d_prime:.3f} +- {found.d_prime_se:.3f}, criterion {found.criterion:.3f}")
    0.981 +- 0.185, criterion 0.000
    >>> print(f"{d_prime_yes_no(hits=0, signals=100, false_alarms=0, blanks=3).d_prime:.3f}")
    0.000
    """
    total = np.maximum(np.add(signals, blanks, dtype=float), 1.0)
    h, h_se = _z_rate(hits, signals, np.asarray(signals) / total)
    f, f_se = _z_rate(false_alarms, blanks, np.asarray(blanks) / total)
    se = np.hypot(h_se, f_se)
    return _with_intervals(h - f, se, -(h + f) / 2, se / 2, coverage)


def d_prime_2afc(
    correct_first: ArrayLike,
    first: ArrayLike,
    correct_second: ArrayLike,
    second: ArrayLike,
    *,
    coverage: float = 0.95,
) -> Sensitivity:
    """Return d' and criterion of choices between two, which may prefer one place.

    The counts are trials with the signal in the first and in the second place, and correct answers
    to each. With z of both rates of correct answers, d' = (z1 + z2) / sqrt(2): an even observer's
    sqrt(2) z(p). The criterion is (z2 - z1) / 2.

    Examples
    --------
    >>> found = d_prime_2afc(76, 100, 76, 100)
    >>> print(f"{found.d_prime:.3f} +- {found.d_prime_se:.3f}")
    0.987 +- 0.137
    """
    one, one_se = _z_rate(correct_first, first)
    two, two_se = _z_rate(correct_second, second)
    se = np.hypot(one_se, two_se)
    return _with_intervals(
        (one + two) / np.sqrt(2), se / np.sqrt(2), (two - one) / 2, se / 2, coverage
    )


def d_prime_mafc(
    correct: ArrayLike, n: ArrayLike, alternatives: int, *, coverage: float = 0.95
) -> Sensitivity:
    """Return d' of choices among m alternatives, of an observer that prefers none.

    Half an answer is added to the correct ones and one to the trials. The criterion is NaN.

    Examples
    --------
    >>> found = d_prime_mafc(correct=60, n=100, alternatives=4)
    >>> print(f"{found.d_prime:.2f} [{found.d_prime_low:.2f}, {found.d_prime_high:.2f}]")
    1.15 [0.84, 1.46]
    """
    if alternatives < 2:
        raise FechnerError(f"a choice needs at least 2 alternatives, not {alternatives}.")
    rate, se = _rate(correct, n)
    grid, right = _right_over_d_prime(alternatives)
    d_prime = np.interp(rate, right, grid)
    steepness = np.interp(d_prime, grid, np.gradient(right, grid))
    nothing = np.full(np.shape(rate), np.nan)
    return _with_intervals(d_prime, se / steepness, nothing, nothing, coverage)


def correct_mafc(d_prime: ArrayLike, alternatives: int) -> Floats:
    """Return the rate of correct answers among m alternatives.

    The integral of phi(x - d') Phi(x)^(m - 1) over x.

    Examples
    --------
    >>> correct_mafc([0.0, 1.0, 2.0], alternatives=2).round(4)
    array([0.5   , 0.7602, 0.9214])
    >>> print(f"{correct_mafc(1.0, alternatives=4):.4f}")
    0.5520
    """
    d_prime = np.asarray(d_prime, dtype=float)
    x = np.linspace(-9.0, 9.0, 721)
    weight = np.exp(-0.5 * x**2) * (x[1] - x[0]) / np.sqrt(2 * np.pi)
    return np.asarray(special.ndtr(x + d_prime[..., None]) ** (alternatives - 1) @ weight)


@lru_cache
def _right_over_d_prime(alternatives: int) -> tuple[Floats, Floats]:
    d_prime = np.linspace(-_LARGEST, _LARGEST, 4001)
    right = correct_mafc(d_prime, alternatives)
    # Rounding must not make the function fall where it is flat.
    return d_prime, np.maximum.accumulate(right)


def _rate(k: ArrayLike, n: ArrayLike, added: ArrayLike = 0.5) -> tuple[Floats, Floats]:
    """Return the rate with something added to each count, and its error; NaN without trials."""
    k, n = np.asarray(k, dtype=float), np.asarray(n, dtype=float)
    if not ((k >= 0) & (k <= n)).all():
        raise FechnerError("every count must lie between 0 and its number of trials.")
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = (k + added) / (n + 2 * np.asarray(added))
        se = np.where(n > 0, np.sqrt(rate * (1 - rate) / n), np.nan)
    return np.where(n > 0, rate, np.nan), se


def _z_rate(k: ArrayLike, n: ArrayLike, added: ArrayLike = 0.5) -> tuple[Floats, Floats]:
    rate, se = _rate(k, n, added)
    z = special.ndtri(rate)
    return z, np.asarray(se * np.sqrt(2 * np.pi) * np.exp(0.5 * z**2))


def _with_intervals(
    d_prime: Floats,
    d_prime_se: Floats,
    criterion: Floats,
    criterion_se: Floats,
    coverage: float,
) -> Sensitivity:
    check_coverage(coverage)
    z = special.ndtri((1 + coverage) / 2)
    return Sensitivity(
        d_prime,
        d_prime_se,
        d_prime - z * d_prime_se,
        d_prime + z * d_prime_se,
        criterion,
        criterion_se,
        criterion - z * criterion_se,
        criterion + z * criterion_se,
    )


class Crossing(NamedTuple):
    """The contrast at which a criterion is reached, and how many such contrasts there are."""

    contrast: float
    candidates: int


def find_crossing(contrasts: Floats, responses: Floats, criterion: float, near: float) -> Crossing:
    """Find where responses over contrast cross a criterion.

    Between grid points the response is a power law. Of several crossings the one nearest to
    ``near`` in log contrast is taken. Without any, the answer is the end of the range on the side
    where the criterion must lie, with no candidate.

    Examples
    --------
    >>> grid = np.geomspace(0.001, 1, 31)
    >>> find_crossing(grid, grid**2, 0.01, near=0.1)
    Crossing(contrast=0.1..., candidates=1)
    >>> find_crossing(grid, grid**2, 2.0, near=0.1)
    Crossing(contrast=1.0, candidates=0)
    """
    above = responses - criterion
    roots = _roots(np.log(contrasts), responses, criterion)
    if len(roots) == 0:
        # All responses on one side: too weak everywhere means that more contrast is needed.
        end = contrasts[-1] if above[np.argmin(np.abs(above))] < 0 else contrasts[0]
        return Crossing(float(end), 0)
    best = roots[np.argmin(np.abs(roots - np.log(near)))]
    return Crossing(float(np.exp(best)), len(roots))


def find_least(contrasts: Floats, differences: Floats) -> Crossing:
    """Find the contrast at which a difference is least, by a parabola over log contrast.

    At an end of the range the answer is that end, with no candidate. Undefined differences (NaN)
    are never the least.

    Examples
    --------
    >>> grid = np.geomspace(0.001, 1, 31)
    >>> round(find_least(grid, np.log(grid / 0.03) ** 2).contrast, 9)
    0.03
    >>> find_least(grid, grid)
    Crossing(contrast=0.001, candidates=0)
    """
    known = np.where(np.isnan(differences), np.inf, differences)
    best = int(known.argmin())
    if best in (0, len(contrasts) - 1):
        return Crossing(float(contrasts[best]), 0)
    before, least, after = known[best - 1 : best + 2]
    bend = before - 2 * least + after
    steps = (before - after) / (2 * bend) if 0 < bend < np.inf else 0.0
    step = np.log(contrasts[best + 1] / contrasts[best])
    return Crossing(float(contrasts[best] * np.exp(steps * step)), 1)


def _roots(log_contrasts: Floats, responses: Floats, criterion: float) -> Floats:
    above = responses - criterion
    exact = np.flatnonzero(above == 0)
    step = np.flatnonzero(above[:-1] * above[1:] < 0)
    left, right = responses[step], responses[step + 1]
    positive = (left > 0) & (right > 0) & (criterion > 0)
    # Logarithms where they exist, straight lines where a response is 0.
    share = np.divide(criterion - left, right - left)
    with np.errstate(divide="ignore", invalid="ignore"):
        share_log = np.log(criterion / left) / np.log(right / left)
    share = np.where(positive, share_log, share)
    between = log_contrasts[step] + share * (log_contrasts[step + 1] - log_contrasts[step])
    return np.sort(np.concatenate([log_contrasts[exact], between]))
