"""Where a response over contrast reaches a criterion, or a difference is least."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Crossing(NamedTuple):
    """The contrast at which a criterion is reached, and how many such contrasts there are."""

    contrast: float
    candidates: int


def find_crossing(
    contrasts: NDArray[np.float64],
    responses: NDArray[np.float64],
    criterion: float,
    near: float,
) -> Crossing:
    """Find where responses over contrast cross a criterion.

    Between grid points the response is a power law (a straight line in log-log). Of several
    crossings the one nearest to ``near`` in log contrast is taken. Without any, the answer is the
    end of the range on the side where the criterion must lie, with no candidate.

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


def find_least(contrasts: NDArray[np.float64], differences: NDArray[np.float64]) -> Crossing:
    """Find the contrast at which a difference is least.

    It lies on the parabola through the least difference and its neighbours, over the logarithm of
    contrasts that are equally spaced there. At an end of the range the answer is that end, with no
    candidate. Undefined differences (NaN) are never the least.

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


def _roots(
    log_contrasts: NDArray[np.float64], responses: NDArray[np.float64], criterion: float
) -> NDArray[np.float64]:
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
