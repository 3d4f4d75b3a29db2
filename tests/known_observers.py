"""Observers whose accuracy over the level is known: what simulations are compared with."""

import numpy as np
from numpy.typing import NDArray
from scipy import special

#: The original and 40 levels; accuracy is half-way between its top and chance at 3.
LEVELS = np.concatenate([[0.0], np.geomspace(0.1, 100, 40)])
TRUE = 3.0


def steps(
    generator: np.random.Generator, classes: int, *, chance: float, top: float = 1.0
) -> NDArray[np.float64]:
    """Return one answer for each class and level: right up to a level of its own, then guesses.

    Levels of classes spread log-normally by 0.3 decades; with a top below 1 some classes guess
    from the start.
    """
    own = TRUE * 10 ** (0.3 * generator.standard_normal((classes, 1)))
    seen = generator.random((classes, 1)) >= (1 - top) / (1 - chance)
    known = (own > LEVELS) & seen
    return (known | (generator.random(known.shape) < chance)).astype(float)


def trials(
    generator: np.random.Generator, classes: int, *, chance: float, top: float = 1.0
) -> NDArray[np.float64]:
    """Return one answer for each class and level, all independent, along a logistic."""
    with np.errstate(divide="ignore"):
        fallen = special.expit(6 * np.log10(LEVELS / TRUE))
    p = chance + (top - chance) * (1 - fallen)
    return (generator.random((classes, len(LEVELS))) < p).astype(float)
