"""Rates, with intervals."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.scores.bootstrap import cluster_counts, spread
from fechner.scores.score import Score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def wilson(k: float, n: float, z: float = 1.959964) -> tuple[float, float]:
    """Return Wilson's (1927) 95 % interval of a rate.

    ``k`` may be fractional, as the sum of graded answers is; SciPy's takes whole numbers only.

    Examples
    --------
    >>> [round(end, 4) for end in wilson(1, 10)]
    [0.0179, 0.4042]
    """
    centre = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * np.sqrt(k * (n - k) / n + z * z / 4)
    return float(centre - half), float(centre + half)


def rate_score(
    name: str, by_prompt: Floats, words: str, chance: float, place: dict[str, Any]
) -> Score:
    """Return a rate with its interval: Wilson's over trials, and over prompts if that is wider.

    Parameters
    ----------
    by_prompt
        How often, and of how many, [2, prompts].
    words
        What was counted.
    place
        Layer and read-out.
    """
    yes, asked = by_prompt.sum(axis=1)
    value = float(yes / asked) if asked else float("nan")
    make = partial(Score, name, value, higher_is_better=False, best=0.0, chance=chance, **place)
    if not asked:
        nothing = float("nan")
        return make(low=nothing, high=nothing, resampled="trials", n=0, note="nothing was asked")
    low, high = wilson(yes, asked)
    resampled = "trials"
    if by_prompt.shape[1] > 1:
        counts = cluster_counts(by_prompt.shape[1])
        between = spread((counts @ by_prompt[0]) / np.maximum(counts @ by_prompt[1], 1))
        # Prompts that agree do not make a rate of nothing certain.
        low, high = min(low, between[0]), max(high, between[1])
        resampled = "prompts"
    return make(
        low=min(max(low, 0.0), value),
        high=max(high, value),
        resampled=resampled,
        n=int(asked),
        note=f"{words}: {yes:g} of {asked:g}",
    )
