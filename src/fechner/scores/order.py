"""Whether curves lie above each other in the order they should.

At every abscissa the curves of a group have an ideal order, in which some may be tied. Two ways to
score it: pairs of curves that lie the right way round, and the rank correlation of Vila-Tomás et
al. (2026), which pools the places of curves over all abscissae.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


#: Responses that differ by less, relatively, are equal: rounding in single precision is no order.
EQUAL = 1e-6

#: The same for whole pictures on backgrounds of other luminances, in which rounding differs.
_LISTED_AS_EQUAL = 4e-6


def above(first: Floats, second: Floats, equal: float = EQUAL) -> Floats:
    """Return 1 where the first lies above the second, -1 where below, 0 where they are equal.

    Examples
    --------
    >>> above(np.array([1.0, 1.0, 2.0]), np.array([1.0 + 1e-7, 2.0, 1.0])).tolist()
    [0.0, -1.0, 1.0]
    """
    apart = first - second
    size = np.maximum(np.abs(first), np.abs(second))
    return np.where(np.abs(apart) <= equal * size, 0.0, np.sign(apart))


class Concordance:
    """Pairs of curves in the right order less those in the wrong one (Somers' d), by abscissa.

    Pairs that are tied in the ideal order do not count; curves that are equal count as neither. A
    perfect order is 1, a reversed one -1; tau b could not reach 1 where the ideal order has ties.

    Parameters
    ----------
    ideal
        [curves, abscissae]; NaN for points that have no place.
    least
        Curves that all lie within this share of the highest have no order.

    Examples
    --------
    >>> ideal = np.array([[3.0, 3.0], [2.0, 2.0], [2.0, 2.0]])
    >>> order = Concordance(ideal)
    >>> order(np.array([[9.0, 1.0], [5.0, 5.0], [7.0, 5.0]]))
    array([ 1., -1.])
    """

    def __init__(self, ideal: Floats, least: float = EQUAL) -> None:
        self.least = least
        first, second = np.triu_indices(len(ideal), 1)
        self.pairs = first, second
        with np.errstate(invalid="ignore"):
            wanted = np.sign(ideal[first] - ideal[second])
        self.wanted = np.where(np.isnan(wanted), 0.0, wanted)

    def __call__(self, responses: Floats) -> Floats:
        """Return the concordance at each abscissa; NaN where no pair is left to order.

        Parameters
        ----------
        responses
            [curves, abscissae]; NaN where nothing was shown.
        """
        first, second = self.pairs
        found = above(responses[first], responses[second])
        counts = (self.wanted != 0) & np.isfinite(found)
        agreement = np.where(counts, found * self.wanted, 0.0).sum(axis=0)
        pairs = counts.sum(axis=0)
        highest, lowest = (
            extreme(np.where(np.isfinite(responses), responses, other), axis=0)
            for extreme, other in ((np.max, -np.inf), (np.min, np.inf))
        )
        apart = highest - lowest > self.least * np.abs(highest)
        return np.where(pairs > 0, apart * agreement / np.maximum(pairs, 1), np.nan)


class PooledKendall:
    """Kendall's tau b between the places of curves, all abscissae pooled.

    At each abscissa curves are listed from the highest to the lowest; the lists of all abscissae
    are compared with the ideal ones number by number, as in the public code of Vila-Tomás et al.
    (2026). What is listed is which curve has a place, not which place a curve has. Curves that are
    equal are listed by their numbers.

    An ideal order with ties, of masks on either side of a test, is taken apart where it turns. Each
    part, of neighbours that rise or fall, is correlated on its own, and the mean is weighted by the
    number of curves in a part; the curve where the order turns is in both.

    Parameters
    ----------
    ideal
        [curves, abscissae].
    counts
        How often each abscissa occurs in each bootstrap sample, [resamples, abscissae].

    Examples
    --------
    >>> ideal = np.array([[3.0, 3.0], [2.0, 2.0], [1.0, 1.0]])
    >>> PooledKendall(ideal, np.ones((1, 2)))(ideal)
    array([1.])
    """

    def __init__(self, ideal: Floats, counts: Floats) -> None:
        self.counts = counts
        self.parts = [(part, _places(ideal[part])) for part in monotone_parts(ideal)]

    def __call__(self, responses: Floats) -> Floats:
        """Return tau b for each bootstrap sample."""
        found = [self._tau(x, _places(responses[part])) for part, x in self.parts]
        weights = [part.stop - part.start for part, _ in self.parts]
        return np.asarray(np.average(found, axis=0, weights=weights))

    def _tau(self, x: Floats, y: Floats) -> Floats:
        # Signs of all pairs, summed over the curves of two abscissae: [abscissae, abscissae].
        sign_x, sign_y = (
            np.sign(places[:, :, None, None] - places[None, None]) for places in (x, y)
        )
        product, own_x, own_y = (
            signs.sum(axis=(0, 2)) for signs in (sign_x * sign_y, sign_x**2, sign_y**2)
        )
        top, left, right = (
            np.einsum("ra,ab,rb->r", self.counts, each, self.counts)
            for each in (product, own_x, own_y)
        )
        with np.errstate(invalid="ignore"):
            return np.asarray(top / np.sqrt(left * right))


def monotone_parts(ideal: Floats) -> list[slice]:
    """Return the parts of a tied order in which neighbours rise or fall.

    An order without ties, or one that changes over abscissae, is one part.

    Examples
    --------
    >>> monotone_parts(np.array([[1.0], [0.0], [1.0], [2.0]]))
    [slice(0, 2, None), slice(1, 4, None)]
    >>> monotone_parts(np.array([[1.0], [0.0], [3.0], [2.0]]))
    [slice(0, 4, None)]
    """
    first = ideal[:, 0]
    if len(np.unique(first)) == len(first) or (ideal != first[:, None]).any():
        return [slice(0, len(first))]
    turns = np.flatnonzero(np.diff(np.sign(np.diff(first)))) + 1
    ends = [0, *turns.tolist(), len(first) - 1]
    return [slice(start, stop + 1) for start, stop in pairwise(ends)]


def _places(values: Floats) -> Floats:
    """Return the curves from the highest to the lowest at each abscissa, equal ones as listed.

    Examples
    --------
    >>> _places(np.array([[1.0, 1.0], [1.0 + 1e-9, 2.0]])).T.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    order = np.argsort(-values, axis=0, kind="stable")
    listed = np.take_along_axis(values, order, axis=0)
    steps = above(listed[:-1], listed[1:], _LISTED_AS_EQUAL)
    rank = np.concatenate([np.zeros_like(steps[:1]), np.cumsum(steps, axis=0)])
    return np.take_along_axis(order, np.lexsort((order, rank), axis=0), axis=0).astype(float)
