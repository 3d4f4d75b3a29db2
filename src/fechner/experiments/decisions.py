"""Decisions in match-to-sample: which of two pictures is the sample, by two differences.

By name, so that a published protocol is another name of the same test. Differences are those of a
read-out; r = 1 - difference is Pearson's correlation where that is ``correlation``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from fechner.errors import UnknownNameError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]


class Decision(NamedTuple):
    """What was decided.

    Parameters
    ----------
    right
        1 or 0.
    score
        The decision score; NaN where a difference is undefined.
    undefined
        Whether it is, as correlations of constant features are; such a decision is wrong.
    """

    right: Floats
    score: Floats
    undefined: NDArray[np.bool_]


def _smaller(positive: Floats, negative: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    score = negative - positive
    return score, score > 0


def _signed(positive: Floats, negative: Floats) -> Floats:
    """Return r_p where it exceeds r_q, else -r_q (RichardWebster et al. 2018, Algorithm 4)."""
    r_p, r_q = 1 - positive, 1 - negative
    return np.where(r_p > r_q, r_p, -r_q)


def _as_printed(positive: Floats, negative: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    score = _signed(positive, negative)
    return score, score > 0


def _as_coded(positive: Floats, negative: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    score = _signed(positive, negative)
    return score, score >= 0


#: Of the difference to the same picture and to another. ``2afc`` takes the more similar one.
#: ``2afc-paper`` and ``2afc-published`` are as printed and as in the authors' code: where both
#: correlations are negative, a wrong choice counts as right, and a right one as wrong.
DECISIONS: dict[str, Callable[[Floats, Floats], tuple[Floats, NDArray[np.bool_]]]] = {
    "2afc": _smaller,
    "2afc-paper": _as_printed,
    "2afc-published": _as_coded,
}


def decide(name: str, positive: Floats, negative: Floats) -> Decision:
    """Decide which of two pictures a sample is.

    Parameters
    ----------
    positive, negative
        Differences of samples to the same picture, and to another.

    Examples
    --------
    >>> both_negative = np.array([1.2]), np.array([1.4])  # r = -.2 and -.4
    >>> [decide(name, *both_negative).right.item() for name in DECISIONS]
    [1.0, 0.0, 0.0]
    """
    if name not in DECISIONS:
        raise UnknownNameError("decision", name, DECISIONS, f"there are {', '.join(DECISIONS)}")
    undefined = np.isnan(positive) | np.isnan(negative)
    with np.errstate(invalid="ignore"):
        score, right = DECISIONS[name](positive, negative)
    return Decision(np.where(undefined, 0.0, right), np.where(undefined, np.nan, score), undefined)
