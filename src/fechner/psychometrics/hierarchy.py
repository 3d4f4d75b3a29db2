"""Thresholds of several prompts at several abscissae, fitted together.

The log10 threshold of a prompt at an abscissa is a curve common to all prompts, plus an offset of
the prompt (normal over prompts, sd sigma), plus what is left over (normal, sd tau). Every prompt
has one slope, guess rate and lapse rate. A prompt that never sees an abscissa, or always does,
enters through its likelihood, which is flat beyond the tested levels; nothing is left out.

Prompts are fitted by their posterior mode. Around it the likelihood is taken as normal (Laplace),
and the two standard deviations are those of largest restricted likelihood (Patterson & Thompson
1971), in turns until nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from fechner.arrays import Floats
from fechner.psychometrics.functions import Prior, psychometric, unit_of_z
from fechner.psychometrics.optimisation import Likelihood, fisher_scoring

_PRIOR = Prior()

#: Prior mean and standard deviation of log slopes.
_SLOPE = (float(np.log(3.0)), float(np.log(_PRIOR.slope_factor)))

#: Standard deviations over prompts that are tried, in decades; the first stands for none.
_SPREADS = np.concatenate([[1e-3], np.geomspace(0.01, 1.0, 17)])

#: How far beyond the tested levels a threshold may lie, and the standard deviation of its prior
#: around where the likelihood of usual slopes and rates is highest. Where all answers are the same,
#: it stays there, beyond the tested levels.
_BEYOND_DECADES = 0.5
_PRIOR_SD_DECADES = 3.0

#: F rises from 0.1 to 0.9 over no less than the distance of two levels: of steeper functions,
#: answers at these levels say nothing.
_RISE = float(np.log(np.log(0.1) / np.log(0.9)))
_FLATTEST = 0.3
_AT_LIMIT = 0.05

#: Turns, steps of Fisher scoring in each, the longest step of any parameter, nats worth a step.
_ROUNDS, _STEPS, _LONGEST, _GAIN = 30, 8, 0.5, 1e-7

#: A change of the curve in decades below which the fit is finished.
_DONE = 1e-5

#: Less than this between guess and lapse rate, and a prompt may not look at all.
_ROOM = 0.05


@dataclass(frozen=True)
class HierarchicalFit:
    """A curve of thresholds over prompts.

    Parameters
    ----------
    log10, covariance
        Log10 threshold of the curve, [points], and the covariance of its errors but for a factor
        common to all points.
    freedom
        Degrees of freedom with which that is known; infinite if there is one prompt, whose errors
        are those of its trials.
    offset_variance, offset_freedom
        What the prompts' offsets add to the variance of the mean over points.
    thresholds, slope, guess, lapse
        Of each prompt: log10 thresholds [points, prompts], slope and rates.
    blind
        Prompts whose answers do not depend on the level; they are left out.
    sigma, tau
        Standard deviations over prompts in decades: of offsets, and of what is left over.
    """

    log10: Floats
    covariance: Floats
    freedom: float
    offset_variance: float
    offset_freedom: float
    thresholds: Floats
    slope: Floats
    guess: Floats
    lapse: Floats
    blind: NDArray[np.bool_]
    sigma: float
    tau: float


def fit_hierarchical(
    levels: ArrayLike, n: ArrayLike, k: ArrayLike, *, guess: float | None = None
) -> HierarchicalFit:
    """Fit Weibull functions of log level to the answers of all prompts at all points.

    Parameters
    ----------
    levels, n, k
        Levels, trials and yes (or right) answers, [points, prompts, levels].
    guess
        Rate of right answers by chance if it is known; None to estimate one for each prompt.

    Examples
    --------
    >>> levels = np.geomspace(0.01, 1, 9) * np.ones((2, 3, 1))
    >>> n = np.full((2, 3, 9), 20)
    >>> k = np.round(20 * psychometric(levels, [[[0.1]], [[0.2]]], 3.0, guess=0.05))
    >>> found = fit_hierarchical(levels, n, k)
    >>> (10**found.log10).round(2)
    array([0.1, 0.2])
    """
    levels, n, k = (np.moveaxis(np.asarray(each, dtype=float), 0, 1) for each in (levels, n, k))
    model = _Prompts.of(levels, n, k, guess)
    prompts, points, _ = n.shape
    blind = np.zeros(prompts, bool)
    while not blind.all():
        seeing = np.flatnonzero(~blind)
        theta, sigma, tau, curve = model.some(seeing).fit()
        guesses, misses = model.rates(theta)
        room = (1 - guesses) * (1 - misses)
        if (room >= _ROOM).all():
            break
        blind[seeing] = room < _ROOM
    thresholds = np.full((points, prompts), np.nan)
    slope, guessed, lapse = np.full((3, prompts), np.nan)
    count = len(blind) - int(blind.sum())
    if not count:
        unknown = np.full((points, points), np.nan)
        own = (thresholds, slope, guessed, lapse, blind)
        return HierarchicalFit(unknown[0], unknown, *(np.nan,) * 3, *own, np.nan, np.nan)
    thresholds[:, seeing] = theta[:, :points].T
    slope[seeing], guessed[seeing] = np.exp(theta[:, points]), guesses
    lapse[seeing] = misses * (1 - guesses)
    mean, shape, total = curve
    # Levels are the same at all points, and so may be how far a threshold lies between two.
    jump = bool((theta[:, points] > model.steepest - _AT_LIMIT).all())
    common = model.gap**2 / 12 if jump else 0.0
    return HierarchicalFit(
        log10=mean,
        covariance=shape,
        freedom=(points - 1) * (count - 1) if count > 1 and points > 1 else np.inf,
        offset_variance=float(np.maximum(total.mean() - shape.mean(), 0.0) + common),
        offset_freedom=count - 1 if count > 1 else np.inf,
        thresholds=thresholds,
        slope=slope,
        guess=guessed,
        lapse=lapse,
        blind=blind,
        sigma=sigma if sigma != _SPREADS[0] else 0.0,
        tau=tau if tau != _SPREADS[0] else 0.0,
    )


@dataclass(frozen=True)
class _Prompts:
    """Answers of prompts and the prior of their thresholds: an objective to maximise.

    Parameters of a prompt, theta, are its log10 thresholds at all points, log slope, and the logits
    of guess rate and of lapse rate among detected ones. ``likelihood`` has the answers as functions
    of their own, [prompts x points, levels]; ``low`` and ``high`` are the tested range, [points],
    and ``steepest`` the largest log slope. The prior of thresholds has a mean, ``centre``, and a
    precision.

    ``fitted`` is the number of thresholds that answers determine, [prompts]. With every threshold
    that is fitted slopes come out steeper, which is taken off (Cox & Reid 1987): information about
    a threshold grows with the square of the slope.
    """

    likelihood: Likelihood
    guess: float | None
    low: Floats
    high: Floats
    steepest: float
    centre: Floats
    precision: Floats
    fitted: Floats

    @classmethod
    def of(cls, levels: Floats, n: Floats, k: Floats, guess: float | None) -> _Prompts:
        prompts, points, count = n.shape
        with np.errstate(divide="ignore"):
            x = np.log10(levels)
        there = (n > 0) & np.isfinite(x)
        untested = ~there.any(axis=(0, 2))
        low = np.where(untested, -1.0, np.min(x, axis=(0, 2), initial=np.inf, where=there))
        high = np.where(untested, 0.0, np.max(x, axis=(0, 2), initial=-np.inf, where=there))
        rows = zip(x.reshape(-1, count), there.reshape(-1, count), strict=True)
        gaps = np.concatenate([np.diff(np.unique(row[asked])) for row, asked in rows])
        typical = float(np.median(gaps)) if len(gaps) else 1.0
        steepest = max(_RISE / (typical * np.log(10)), 2 * _FLATTEST)
        x, yes, no = (each.reshape(-1, count) for each in (x, k, n - k))
        likelihood = Likelihood(x, yes, no, "weibull", unit_of_z("weibull", "log"))
        vague = np.eye(points) * _PRIOR_SD_DECADES**-2.0
        held = (np.zeros(points), vague, np.zeros(prompts))
        return cls(likelihood, guess, low, high, float(np.log(steepest)), *held)

    @property
    def gap(self) -> float:
        """The distance of two levels in decades."""
        return float(_RISE / np.exp(self.steepest) / np.log(10))

    @property
    def points(self) -> int:
        """At how many abscissae prompts were asked."""
        return len(self.low)

    def some(self, which: NDArray[np.intp]) -> _Prompts:
        """Return some of the prompts."""
        rows = (which[:, None] * self.points + np.arange(self.points)).ravel()
        return replace(self, likelihood=self.likelihood.some(rows), fitted=self.fitted[which])

    def rates(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return guess rates, and lapse rates among detected ones, [prompts]."""
        guess, miss = special.expit(theta[:, self.points + 1 :]).T
        return guess if self.guess is None else np.full(len(theta), self.guess), miss

    def value(self, theta: Floats) -> Floats:
        """Return log posteriors, [prompts]."""
        own = theta[:, : self.points]
        guess, miss = self.rates(theta)
        total = self.likelihood.value(self._functions(theta)).reshape(own.shape).sum(axis=1)
        off, log_slope = own - self.centre, theta[:, self.points]
        total = total - 0.5 * np.einsum("pf,fg,pg->p", off, self.precision, off)
        total = total - 0.5 * ((log_slope - _SLOPE[0]) / _SLOPE[1]) ** 2 - self.fitted * log_slope
        # Densities of logits.
        for rate, (a, b) in ((guess, _PRIOR.guess), (miss, _PRIOR.lapse)):
            total = total + special.xlogy(a, rate) + special.xlog1py(b, -rate)
        return np.asarray(total)

    def derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return gradient and expected information."""
        gradient, information = self._without_prior(theta)
        gradient[:, : self.points] -= (theta[:, : self.points] - self.centre) @ self.precision
        information[:, : self.points, : self.points] += self.precision
        return gradient, information

    def _functions(self, theta: Floats) -> Floats:
        """Return threshold, log slope, guess and lapse rate of every function."""
        guess, miss = self.rates(theta)
        shared = np.stack([theta[:, self.points], guess, miss * (1 - guess)], axis=1)
        own = theta[:, : self.points].reshape(-1, 1)
        return np.concatenate([own, np.repeat(shared, self.points, axis=0)], axis=1)

    def _without_prior(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return gradient and information of all but the prior of thresholds."""
        points, prompts = self.points, len(theta)
        guess, miss = self.rates(theta)
        # From rates to their logits.
        change = np.tile(np.eye(4), (prompts, 1, 1))
        change[:, 2, 2] = guess * (1 - guess) if self.guess is None else 0.0
        change[:, 3, 2] = -miss * change[:, 2, 2]
        change[:, 3, 3] = (1 - guess) * miss * (1 - miss)
        slopes, bends = self.likelihood.derivatives(self._functions(theta))
        slopes = slopes.reshape(prompts, points, 4) @ change
        bends = bends.reshape(prompts, points, 4, 4)
        bends = np.swapaxes(change, 1, 2)[:, None] @ bends @ change[:, None]
        gradient = np.concatenate([slopes[..., 0], slopes[..., 1:].sum(axis=1)], axis=1)
        information = np.zeros((prompts, points + 3, points + 3))
        places = np.arange(points)
        information[:, places, places] = bends[..., 0, 0]
        information[:, :points, points:] = bends[..., 0, 1:]
        information[:, points:, :points] = np.swapaxes(bends[..., 0, 1:], 1, 2)
        information[:, points:, points:] = bends[..., 1:, 1:].sum(axis=1)
        gradient[:, points] -= (theta[:, points] - _SLOPE[0]) / _SLOPE[1] ** 2 + self.fitted
        information[:, points, points] += _SLOPE[1] ** -2.0
        rates = ((guess, _PRIOR.guess), (miss, _PRIOR.lapse))
        for axis, (rate, (a, b)) in enumerate(rates, points + 1):
            gradient[:, axis] += a * (1 - rate) - b * rate
            information[:, axis, axis] += (a + b) * rate * (1 - rate) + 1e-9
        if self.guess is not None:
            gradient[:, points + 1] = 0.0
        return gradient, information

    def fit(self) -> tuple[Floats, float, float, tuple[Floats, Floats, Floats]]:
        """Fit prompts and what is common to them in turns.

        Returns theta, the standard deviations of offsets and of what is left over, and the common
        curve with its covariance without and with offsets of prompts.
        """
        theta = self._start()
        prompts, points = len(theta), self.points
        limits = np.tile([-9.0, 9.0], (prompts, points + 3, 1))
        ends = self.low - _BEYOND_DECADES, self.high + _BEYOND_DECADES
        limits[:, :points] = np.stack(ends, axis=1)
        limits[:, points] = np.log(_FLATTEST), self.steepest
        if self.guess is not None:
            limits[:, points + 1] = theta[:, points + 1, None]
        longest = np.full(theta.shape, _LONGEST)
        sigma, tau = (_SPREADS[9], _SPREADS[9]) if prompts > 1 else (0.0, 0.0)
        mean = middle = theta[:, :points].mean(axis=0)
        vague = np.eye(points) * _PRIOR_SD_DECADES**-2.0
        objective = replace(self, centre=middle)
        own = np.einsum("pii->pi", self._without_prior(theta)[1])[:, :points]
        for _ in range(_ROUNDS):
            if prompts > 1:
                tight = np.linalg.inv(_between(points, sigma, tau))
                centre = np.linalg.solve(tight + vague, tight @ mean + vague @ middle)
                objective = replace(objective, centre=centre, precision=tight + vague)
            objective = replace(objective, fitted=objective._determined(own))
            theta = fisher_scoring(objective, theta, limits, longest, _GAIN, _STEPS)[0]
            own, information, pull = objective._marginal(theta)
            if prompts > 1:
                sigma, tau = _restricted(information, pull, vague, middle)
            _, weighed, each = _pooled(information, pull, _between(points, sigma, tau))
            precision = _even(each.sum(axis=0)) + vague
            found = np.linalg.solve(precision, weighed.sum(axis=0) + vague @ middle)
            change = np.abs(
                np.clip(found, self.low, self.high) - np.clip(mean, self.low, self.high)
            )
            mean = np.clip(found, *ends)
            if change.max() < _DONE:
                break
        alone = _pooled(information, pull, _between(points, 0.0, tau))[2].sum(axis=0)
        shape, total = np.linalg.inv(_even(alone) + vague), np.linalg.inv(precision)
        return theta, sigma, tau, (mean, shape, total)

    def _start(self) -> Floats:
        """Return the likeliest thresholds with usual slopes and rates."""
        answers = (self.likelihood.positions, self.likelihood.yes, self.likelihood.no)
        x, yes, no = (each.reshape(-1, self.points, each.shape[-1]) for each in answers)
        blank = ~np.isfinite(x)
        alarms, quiet = (np.where(blank, each, 0.0).sum(axis=(1, 2)) for each in (yes, no))
        guess = (alarms + 0.5) / (alarms + quiet + 2.0)
        if self.guess is not None:
            guess = np.full(len(x), self.guess)
        grid = self.low - 0.2 + np.linspace(0, 1, 40)[:, None] * (self.high - self.low + 0.4)
        heights = []
        for thresholds in grid:
            p = psychometric(10**x, 10 ** thresholds[:, None], 3.0, guess[:, None, None], 0.02)
            p = np.clip(p, 1e-6, 1 - 1e-6)
            heights.append((yes * np.log(p) + no * np.log1p(-p)).sum(axis=-1))
        best = grid[np.argmax(heights, axis=0), np.arange(self.points)]
        logit = special.logit(np.clip(guess, 0.01, 0.99))
        slope, miss = np.full(len(x), np.log(3.0)), np.full(len(x), -3.0)
        return np.column_stack([best, slope, logit, miss])

    def _determined(self, own: Floats) -> Floats:
        """Return how many thresholds answers determine, rather than the prior."""
        return np.asarray((own / (own + np.diag(self.precision))).sum(axis=1))

    def _marginal(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the information about thresholds alone, and times where the likelihood is highest.

        Slope and rates are summed out: [prompts, points, points] and [prompts, points]. The first
        of three is the information of every threshold by itself, [prompts, points].
        """
        points = self.points
        gradient, information = self._without_prior(theta)
        each = np.einsum("pii->pi", information)[:, :points].copy()
        gradient[:, points] += self.fitted - self._determined(each)
        # Slopes at a limit that the gradient points beyond stay there.
        slope, steeper = theta[:, points], gradient[:, points] > 0
        held = np.where(steeper, slope >= self.steepest, slope <= np.log(_FLATTEST))
        gradient[held, points] = 0.0
        information[held, points, :] = information[held, :, points] = 0.0
        information[held, points, points] = 1.0
        across, rest = information[:, :points, points:], information[:, points:, points:]
        own = information[:, :points, :points]
        own = _even(own - across @ np.linalg.solve(rest, np.swapaxes(across, 1, 2)))
        pulled = gradient[:, :points, None] - across @ np.linalg.solve(
            rest, gradient[:, points:, None]
        )
        # Between two levels that are answered no and yes without fail, nothing tells where.
        steep = slope > self.steepest - _AT_LIMIT
        less = np.linalg.inv(np.eye(points) + own[steep] * self.gap**2 / 12)
        own[steep], pulled[steep] = _even(less @ own[steep]), less @ pulled[steep]
        return each, own, (own @ theta[:, :points, None] + pulled)[..., 0]


def _even(matrix: NDArray[Any]) -> Floats:
    """Return the symmetric part of matrices, which rounding may have left."""
    return np.asarray((matrix + np.swapaxes(matrix, -1, -2)) / 2)


def _between(points: int, sigma: ArrayLike, tau: ArrayLike) -> Floats:
    """Return the covariance of a prompt's thresholds around the curve, [.., points, points]."""
    sigma, tau = (np.asarray(each)[..., None, None] for each in (sigma, tau))
    return np.asarray(tau**2 * np.eye(points) + sigma**2)


def _pooled(information: Floats, pull: Floats, between: Floats) -> tuple[Floats, Floats, Floats]:
    """Weigh prompts [P] by how well their thresholds are known, given what is between prompts.

    Returns 1 + information x between, that inverted times the pull, and the precision
    (information^-1 + between)^-1, also where information is singular: [.., P, points, points],
    [.., P, points] and as the first.
    """
    inner = np.eye(information.shape[-1]) + information @ between[..., None, :, :]
    both = np.concatenate([information, pull[..., None]], axis=-1)
    solved = np.linalg.solve(inner, np.broadcast_to(both, (*inner.shape[:-1], both.shape[-1])))
    return inner, np.asarray(solved[..., -1], float), np.asarray(solved[..., :-1], float)


def _restricted(
    information: Floats, pull: Floats, vague: Floats, middle: Floats
) -> tuple[float, float]:
    """Return the standard deviations over prompts of largest restricted likelihood."""
    # The pull from where the likelihood of all prompts is highest.
    centre = np.linalg.solve(information.sum(axis=0) + vague, pull.sum(axis=0) + vague @ middle)
    pull = pull - information @ centre
    sigma, tau = (each.ravel() for each in np.meshgrid(_SPREADS, _SPREADS, indexing="ij"))
    between = _between(information.shape[-1], sigma, tau)
    inner, weighed, precision = _pooled(information, pull, between)
    total = precision.sum(axis=1) + vague
    mean = np.linalg.solve(total, weighed.sum(axis=1)[..., None])[..., 0]
    # -2 log restricted likelihood, but for what does not depend on the standard deviations.
    determinants = np.linalg.slogdet(inner)[1].sum(axis=1) + np.linalg.slogdet(total)[1]
    explained = np.einsum("pf,sfg,spg->s", pull, between, weighed)
    explained = explained + np.einsum("sf,sf->s", mean, weighed.sum(axis=1))
    best = int(np.argmin(determinants - explained))
    return float(sigma[best]), float(tau[best])
