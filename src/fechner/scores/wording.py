"""How much answers depend on the wording of the question.

All measures compare answers to different prompts about the same picture: by how much they scatter
(entropy) and how often two of them agree (consistency), after Errica et al. (2024).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fechner.scores.bootstrap import cluster_counts, interval
from fechner.scores.score import Score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Pictures count as near threshold where their contrast is within this factor of it.
NEAR = 4.0


def entropy(yes: Floats) -> Floats:
    """Return the entropy of yes and no over prompts (first axis), over that of a coin; NaN-safe.

    Examples
    --------
    >>> entropy(np.array([[1.0, 1.0], [1.0, 0.0]])).tolist()
    [0.0, 1.0]
    """
    return _entropy(*_counted(yes))


def consistency(yes: Floats) -> Floats:
    """Return the share of pairs of prompts (first axis) that agree, for each picture.

    With k of Q prompts answered yes: (k (k - 1) + (Q - k)(Q - k - 1)) / (Q (Q - 1)).

    Examples
    --------
    >>> consistency(np.array([[1.0], [1.0], [0.0]])).round(3).tolist()
    [0.333]
    """
    return _consistency(*_counted(yes))


def consistency_of_draws(yes: Floats) -> Floats:
    """Return 1 minus the mean distance between the answers to two draws of the same stimulus.

    The answers to a draw are their distribution over prompts (first axis), and the distance is that
    in total variation, averaged over pairs of draws (last axis): the consistency of Errica et al.
    (2024), whose classes are stimuli here.

    Examples
    --------
    >>> consistency_of_draws(np.array([[1.0, 0.0], [1.0, 1.0]])).tolist()
    0.5
    """
    return _consistency_of_draws(*_counted(yes))


# The same, of how many prompts were answered yes, and how many were answered.


def _counted(yes: Floats, weights: Floats | None = None) -> tuple[Floats, Floats]:
    """Count yes and answers over prompts (first axis), each of which occurs so often."""
    weights = np.ones(len(yes)) if weights is None else weights
    answered = np.isfinite(yes)
    return (
        np.asarray(np.tensordot(weights, np.where(answered, yes, 0.0), 1)),
        np.asarray(np.tensordot(weights, answered.astype(float), 1)),
    )


def _share(k: Floats, asked: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(k / asked)


def _entropy(k: Floats, asked: Floats) -> Floats:
    p = _share(k, asked)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [np.where(q > 0, -q * np.log2(q), 0.0) for q in (p, 1 - p)]
    return np.where(np.isnan(p), np.nan, terms[0] + terms[1])


def _consistency(k: Floats, asked: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        agree = (k * (k - 1) + (asked - k) * (asked - k - 1)) / (asked * (asked - 1))
    return np.where(asked > 1, agree, np.nan)


def _consistency_of_draws(k: Floats, asked: Floats) -> Floats:
    p = _share(k, asked)
    gaps = np.abs(p[..., :, None] - p[..., None, :])
    known = np.isfinite(p).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - np.nansum(gaps, axis=(-1, -2)) / (known * (known - 1)))


@dataclass(frozen=True)
class Asked:
    """Answers of one layer and read-out to the same pictures.

    Parameters
    ----------
    yes
        [points, prompts, levels, draws]; NaN for replies that were neither.
    contrast
        [points, levels], as they were shown.
    threshold
        [points]; NaN where there is none.
    """

    yes: Floats
    contrast: Floats
    threshold: Floats

    @property
    def near(self) -> NDArray[np.bool_]:
        """Which points and levels are near threshold."""
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.abs(np.log(self.contrast / self.threshold[:, None]))
        return np.asarray(apart <= np.log(NEAR))


def wording_scores(asked: Asked, layer: str, readout: str) -> Iterator[Score]:
    """Return entropy and consistency over prompts, everywhere and near threshold."""
    prompts = asked.yes.shape[1]
    if prompts < 2:
        return
    by_prompt = np.moveaxis(asked.yes, 1, 0)  # [prompts, points, levels, draws]
    counted = _counted(by_prompt)
    resampled_counts = [_counted(by_prompt, row) for row in cluster_counts(prompts, 200)]

    def score(
        name: str,
        chosen: NDArray[np.bool_] | None,
        function: Callable[[Floats, Floats], Floats],
        better: bool = True,
    ) -> Score:

        def mean(k: Floats, asked_of: Floats) -> float:
            values = function(k, asked_of)
            values = values if chosen is None else values[chosen]
            known = values[np.isfinite(values)]
            return float(known.mean()) if len(known) else float("nan")

        value = mean(*counted)
        resampled = np.array([mean(*each) for each in resampled_counts])
        low, high = interval(value, resampled, prompts, "share")
        return Score(
            name,
            value,
            max(low, 0.0),
            min(high, 1.0),
            higher_is_better=better,
            best=1.0 if better else 0.0,
            chance=0.5 if better else 1.0,
            resampled="prompts",
            n=int(np.isfinite(asked.yes).sum()),
            layer=layer,
            readout=readout,
        )

    yield score("prompt-entropy", None, _entropy, better=False)
    yield score("prompt-consistency", None, _consistency)
    if asked.near.any():
        yield score("prompt-entropy-near", asked.near, _entropy, better=False)
        yield score("prompt-consistency-near", asked.near, _consistency)
    if asked.yes.shape[-1] > 1:
        yield score("draw-consistency", None, _consistency_of_draws)
