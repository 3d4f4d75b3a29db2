"""Adaptive placement: the level of the next trial by expected information.

In the manner of QUEST+ (Watson 2017): a posterior on a fixed grid of threshold, slope, guess and
lapse rate, and for every level the information that its answer is expected to give. The other
three parameters are summed out (Prins 2013), so that trials are spent on the threshold.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from fechner.arrays import Floats
from fechner.errors import FechnerError
from fechner.psychometrics import functions
from fechner.psychometrics.fitting import fit
from fechner.psychometrics.functions import Prior, Scale, Shape
from fechner.psychometrics.result import Fit

#: Cells of the grid: thresholds, slopes, guess rates, lapse rates.
_CELLS = (64, 7, 7, 5)

#: A level with this share of the most information is as good.
_NEARLY = 0.98


class Adaptive:
    """One psychometric function, asked trial by trial.

    Parameters
    ----------
    levels
        Levels that can be shown, [L].
    shape, scale, prior, guess, lapse
        As for `fit`; the prior of the threshold covers the range of all levels that can be shown.
    stop_trials
        Trials after which it is finished.
    stop_width
        Width of the threshold's 95 % interval at which it is finished, too: in log10 on the log
        scale.
    seed
        Chooses among levels that are nearly equally good.

    Examples
    --------
    >>> from fechner.psychometrics import psychometric
    >>> run = Adaptive(np.geomspace(0.001, 1, 40), stop_trials=60)
    >>> generator = np.random.default_rng(1)
    >>> while not run.finished:
    ...     i = run.next()
    ...     run.update(i, generator.random() < psychometric(run.levels[i], 0.03, 3.0, 0.05, 0.02))
    >>> found = run.estimate()
    >>> bool(found.low.threshold < 0.03 < found.high.threshold)
    True
    """

    def __init__(
        self,
        levels: ArrayLike,
        *,
        shape: Shape = "weibull",
        scale: Scale = "log",
        prior: Prior | None = None,
        guess: float | None = None,
        lapse: float | None = None,
        stop_trials: int = 64,
        stop_width: float | None = None,
        seed: int = 0,
    ) -> None:
        functions.check_shape(shape, scale)
        functions.check_rates(guess, lapse)
        self.levels = functions.checked_answers(levels, 1.0, 0.0, scale)[0]
        if self.levels.ndim != 1:
            raise FechnerError(f"levels must be one row of numbers, not {self.levels.shape}.")
        if stop_trials < 1 or (stop_width is not None and not stop_width > 0):
            raise FechnerError(
                f"stop_trials must be at least 1 and stop_width above 0, "
                f"not {stop_trials} and {stop_width}."
            )
        self.shape, self.scale, self.guess, self.lapse = shape, scale, guess, lapse
        self.prior = (prior or Prior()).for_levels(self.levels, shape, scale)
        self.stop_trials, self.stop_width, self.seed = stop_trials, stop_width, seed
        self.n = np.zeros(len(self.levels))
        self.k = np.zeros(len(self.levels))
        self._table = _table(tuple(self.levels), shape, scale, self.prior, guess, lapse)
        self._log_posterior = self._table.log_prior.copy()

    @property
    def trials(self) -> int:
        """Trials answered so far."""
        return round(float(self.n.sum()))

    @property
    def finished(self) -> bool:
        """Whether there were enough trials, or the interval is narrow enough."""
        if self.trials >= self.stop_trials:
            return True
        if self.stop_width is None or self.trials == 0:
            return False
        # The fixed grid is quick but coarse: it says when a look at the fit is worth while.
        weight = _normalised(self._log_posterior).sum(axis=1)
        at = self._table.thresholds
        mean = weight @ at
        if 3 * np.sqrt(weight @ (at - mean) ** 2) > self.stop_width + 2 * (at[1] - at[0]):
            return False
        found = self.estimate()
        low, high = (found.quantile(each).threshold for each in (0.025, 0.975))
        width = np.log10(high / low) if self.scale == "log" else high - low
        return bool(width <= self.stop_width)

    def information(self) -> Floats:
        """Return the information about the threshold expected from each level, in bits."""
        posterior = _normalised(self._log_posterior)
        threshold = posterior.sum(axis=1)
        # Yes answers with each threshold, [thresholds, L].
        yes = (self._table.chance @ posterior[..., None].astype(np.float32))[..., 0].astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            given = np.where(threshold[:, None] > 0, yes / threshold[:, None], 0.0)
        return np.asarray(_entropy(yes.sum(axis=0)) - threshold @ _entropy(given))

    def next(self) -> int:
        """Return the index of the level to show next; it only depends on the answers so far."""
        information = self.information()
        good = np.flatnonzero(information >= _NEARLY * information.max())
        return int(np.random.default_rng([self.seed, self.trials]).choice(good))

    def update(self, index: int, k: float, n: int = 1) -> None:
        """Take in the answer at a level: yes or correct (1), no (0) or in between if graded.

        Several trials at once are ``k`` yes answers of ``n``.
        """
        if index not in range(len(self.levels)):
            raise FechnerError(f"index must lie between 0 and {len(self.levels) - 1}, not {index}.")
        if not 0 <= k <= n:
            raise FechnerError(f"k must lie between 0 (no) and {n} (yes), not {k}.")
        self.n[index] += n
        self.k[index] += k
        chance = self._table.chance[:, index].astype(float)
        self._log_posterior += special.xlogy(k, chance) + special.xlog1py(n - k, -chance)

    def estimate(self) -> Fit:
        """Fit the answers so far, like any others."""
        return fit(
            self.levels,
            self.n,
            self.k,
            shape=self.shape,
            scale=self.scale,
            guess=self.guess,
            lapse=self.lapse,
            prior=self.prior,
        )


class _Table(NamedTuple):
    """Chances of a yes, [thresholds, L, others], and the log prior, [thresholds, others]."""

    thresholds: Floats
    chance: NDArray[np.float32]
    log_prior: Floats


@lru_cache(maxsize=8)
def _table(
    levels: tuple[float, ...],
    shape: Shape,
    scale: Scale,
    prior: Prior,
    guess: float | None,
    lapse: float | None,
) -> _Table:
    ends = prior.ends(levels, shape, scale)
    thresholds, log_slopes = (
        low + (np.arange(count) + 0.5) * (high - low) / count
        for (low, high), count in zip(ends[:2], _CELLS[:2], strict=True)
    )
    guesses, guess_mass = _rates(prior.guess, _CELLS[2], guess)
    lapses, lapse_mass = _rates(prior.lapse, _CELLS[3], lapse)
    slope_mass = prior.log_density(1, log_slopes, levels, shape, scale)
    slope, g, miss = (each.ravel() for each in np.meshgrid(np.exp(log_slopes), guesses, lapses))
    masses = np.meshgrid(slope_mass, guess_mass, lapse_mass)
    mass = np.sum(masses, axis=0).ravel()
    possible = g + miss < 1
    slope, g, miss, mass = (each[possible] for each in (slope, g, miss, mass))
    chance = functions.psychometric(
        np.array(levels)[None, :, None],
        functions.from_axis(thresholds, scale)[:, None, None],
        slope,
        g,
        miss,
        shape=shape,
        scale=scale,
    )
    # An answer that a cell holds impossible may still come.
    possible_chance = np.clip(chance, 1e-6, 1 - 1e-6).astype(np.float32)
    return _Table(thresholds, possible_chance, np.tile(mass, (len(thresholds), 1)))


def _rates(beta: tuple[float, float], count: int, fixed: float | None) -> tuple[Floats, Floats]:
    """Return rates, closer together near 0, and the log of their share of a Beta density."""
    if fixed is not None:
        return np.array([fixed]), np.zeros(1)
    largest = special.betaincinv(*beta, 0.999)
    edges = largest * np.linspace(0, 1, count + 1) ** 2
    middles = largest * ((np.arange(count) + 0.5) / count) ** 2
    return middles, np.log(np.diff(special.betainc(*beta, edges)))


def _normalised(log_density: Floats) -> Floats:
    density = np.exp(log_density - log_density.max())
    return np.asarray(density / density.sum())


def _entropy(p: Floats) -> Floats:
    """Return the entropy of a yes or no in bits."""
    return np.asarray((special.entr(p) + special.entr(1 - np.minimum(p, 1.0))) / np.log(2))
