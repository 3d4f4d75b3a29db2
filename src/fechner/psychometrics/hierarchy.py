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

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from fechner.psychometrics.functions import psychometric
from fechner.psychometrics.prior import Prior

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: Standard deviations over prompts that are tried, in decades; the first stands for none.
_SPREADS = np.concatenate([[1e-3], np.geomspace(0.01, 1.0, 17)])

#: How far beyond the tested levels a threshold may lie, and what is held of it beforehand: that it
#: is near where the likelihood of usual slopes and rates is highest, give or take this much. Where
#: all answers are the same, it stays there, beyond the tested levels.
_BEYOND_DECADES = 0.5
_PRIOR_SD_DECADES = 3.0

#: F rises from 0.1 to 0.9 over no less than the distance of two levels: of steeper functions,
#: answers at these levels say nothing.
_RISE = float(np.log(np.log(0.1) / np.log(0.9)))
_FLATTEST = 0.3
_AT_LIMIT = 0.05

_ROUNDS = 30
_STEPS = 8
_DAMPINGS = (0.0, 0.1, 1.0, 10.0, 100.0, 1e4)

#: A change of the curve in decades below which the fit is finished.
_DONE = 1e-5

#: Less than this between guess and lapse rate, and a prompt may not look at all.
_ROOM = 0.05


@dataclass(frozen=True)
class Together:
    """A curve of thresholds over prompts.

    Parameters
    ----------
    log10
        Log10 threshold of the curve, [points].
    covariance
        Of its errors but for a factor common to all points, [points, points].
    freedom
        Degrees of freedom with which that is known; infinite if there is one prompt, whose errors
        are those of its trials.
    offset_variance, offset_freedom
        What the prompts' offsets add to the variance of the mean over points.
    thresholds
        Log10 thresholds of each prompt, [points, prompts].
    slope, guess, lapse
        Of each prompt, [prompts].
    blind
        Prompts whose answers do not depend on the level, [prompts]; they are left out.
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


def fit_together(
    levels: ArrayLike, n: ArrayLike, k: ArrayLike, *, guess: float | None = None
) -> Together:
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
    >>> found = fit_together(levels, n, k)
    >>> (10**found.log10).round(2)
    array([0.1, 0.2])
    """
    levels, n, k = (np.moveaxis(np.asarray(each, dtype=float), 0, 1) for each in (levels, n, k))
    model = _Model.of(levels, n, k, guess)
    blind = np.zeros(len(n), bool)
    while not blind.all():
        state, spreads, curve = model.some(~blind).fit()
        room = (1 - state.rates[:, 1]) * (1 - state.rates[:, 2])
        if (room >= _ROOM).all():
            break
        blind[~blind] = room < _ROOM
    points, prompts = n.shape[1], len(n)
    thresholds = np.full((points, prompts), np.nan)
    rates = np.full((prompts, 3), np.nan)
    if blind.all():
        nan = float("nan")
        empty, nothing = np.full(points, nan), np.full((points, points), nan)
        slope, guesses, lapse = rates.T
        return Together(
            empty, nothing, nan, nan, nan, thresholds, slope, guesses, lapse, blind, nan, nan
        )
    thresholds[:, ~blind], rates[~blind] = state.thresholds.T, state.rates
    count = int((~blind).sum())
    # Levels are the same at all points, and so may be how far a threshold lies between two.
    jump = bool((np.log(rates[~blind, 0]) > model.steepest - _AT_LIMIT).all())
    common = model.gap**2 / 12 if jump else 0.0
    shape = _inverse(curve.precision_without_offsets)
    total = _inverse(curve.precision)
    return Together(
        log10=curve.mean,
        covariance=shape,
        freedom=(points - 1) * (count - 1.0) if count > 1 and points > 1 else np.inf,
        offset_variance=max(float(total.mean() - shape.mean()), 0.0) + common,
        offset_freedom=count - 1.0 if count > 1 else np.inf,
        thresholds=thresholds,
        slope=rates[:, 0],
        guess=rates[:, 1],
        lapse=rates[:, 2] * (1 - rates[:, 1]),
        blind=blind,
        sigma=spreads[0] if spreads[0] > _SPREADS[0] else 0.0,
        tau=spreads[1] if spreads[1] > _SPREADS[0] else 0.0,
    )


class _State(NamedTuple):
    """Log10 thresholds [prompts, points]; slope, guess, and lapse among detected [prompts, 3]."""

    thresholds: Floats
    rates: Floats


class _Curve(NamedTuple):
    """The common curve [points] and its precision, with and without offsets of prompts."""

    mean: Floats
    precision: Floats
    precision_without_offsets: Floats


@dataclass(frozen=True)
class _Model:
    """Answers as [prompts, points, levels], and limits of thresholds and log slopes."""

    x: Floats
    n: Floats
    k: Floats
    guess: float | None
    low: Floats
    high: Floats
    steepest: float

    @property
    def gap(self) -> float:
        """The distance of two levels in decades."""
        return float(_RISE / np.exp(self.steepest) / np.log(10))

    @classmethod
    def of(cls, levels: Floats, n: Floats, k: Floats, guess: float | None) -> _Model:
        with np.errstate(divide="ignore"):
            x = np.log10(levels)
        there = (n > 0) & np.isfinite(x)
        low = np.min(x, axis=(0, 2), initial=np.inf, where=there)
        high = np.max(x, axis=(0, 2), initial=-np.inf, where=there)
        untested = ~there.any(axis=(0, 2))
        low, high = np.where(untested, -1.0, low), np.where(untested, 0.0, high)
        rows = zip(x.reshape(-1, x.shape[2]), there.reshape(-1, x.shape[2]), strict=True)
        gaps = np.concatenate([np.diff(np.unique(row[asked])) for row, asked in rows])
        typical = float(np.median(gaps)) if len(gaps) else 1.0
        steepest = max(_RISE / (typical * np.log(10)), 2 * _FLATTEST)
        return cls(x, n, k, guess, low, high, float(np.log(steepest)))

    def some(self, which: NDArray[np.bool_]) -> _Model:
        parts = (self.x[which], self.n[which], self.k[which])
        return _Model(*parts, self.guess, self.low, self.high, self.steepest)

    def fit(self) -> tuple[_State, tuple[float, float], _Curve]:
        """Fit prompts and what is common to them in turns."""
        prompts, points, _ = self.n.shape
        theta = self._start()
        several = prompts > 1
        spreads = (_SPREADS[9], _SPREADS[9]) if several else (0.0, 0.0)
        mean = theta[:, :points].mean(axis=0)
        middle = mean
        vague = np.full(points, _PRIOR_SD_DECADES**-2.0)
        for _ in range(_ROUNDS):
            if several:
                precision = _inverse(_between(points, *spreads)) + np.diag(vague)
                centre = np.linalg.solve(
                    precision, (precision - np.diag(vague)) @ mean + vague * middle
                )
            else:
                precision, centre = np.diag(vague), middle
            theta = self._climb(theta, centre, precision)
            information, pull = self._marginal(theta, precision)
            if several:
                spreads = _restricted(information, pull, vague, middle)
            curve = _curve(information, pull, spreads, vague, middle)
            change = np.abs(
                np.clip(curve.mean, self.low, self.high) - np.clip(mean, self.low, self.high)
            )
            mean = np.clip(curve.mean, self.low - _BEYOND_DECADES, self.high + _BEYOND_DECADES)
            if change.max() < _DONE:
                break
        rates = np.column_stack([np.exp(theta[:, points]), *self._rates(theta)])
        return _State(theta[:, :points], rates), spreads, curve._replace(mean=mean)

    def _rates(self, theta: Floats) -> tuple[Floats, Floats]:
        points = self.n.shape[1]
        guess = (
            special.expit(theta[:, points + 1])
            if self.guess is None
            else np.full(len(theta), self.guess)
        )
        return guess, special.expit(theta[:, points + 2])

    def _start(self) -> Floats:
        """Return the likeliest thresholds with usual slopes and rates, [prompts, points + 3]."""
        prompts, points, _ = self.n.shape
        blank = ~np.isfinite(self.x) & (self.n > 0)
        alarms = np.where(blank, self.k, 0.0).sum(axis=(1, 2)) + 0.5
        guess = alarms / (np.where(blank, self.n, 0.0).sum(axis=(1, 2)) + 2.0)
        if self.guess is not None:
            guess = np.full(prompts, self.guess)
        places = np.linspace(0, 1, 40)[:, None]
        grid = self.low - 0.2 + places * (self.high - self.low + 0.4)
        heights = np.empty((len(grid), prompts, points))
        for row, thresholds in enumerate(grid):
            p = psychometric(10**self.x, 10 ** thresholds[:, None], 3.0, guess[:, None, None], 0.02)
            p = np.clip(p, 1e-6, 1 - 1e-6)
            heights[row] = (self.k * np.log(p) + (self.n - self.k) * np.log1p(-p)).sum(axis=-1)
        best = np.take_along_axis(
            grid[:, None] + np.zeros_like(heights), heights.argmax(axis=0)[None], 0
        )
        shared = np.column_stack(
            [
                np.full(prompts, np.log(3.0)),
                special.logit(np.clip(guess, 0.01, 0.99)),
                np.full(prompts, -3.0),
            ]
        )
        return np.column_stack([best[0], shared])

    def _parts(self, theta: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return z, F, P and the rates, for all answers."""
        points = self.n.shape[1]
        guess, miss = (each[:, None, None] for each in self._rates(theta))
        distance = np.where(self.n > 0, self.x, 0.0) - theta[:, :points, None]
        z = np.clip(np.exp(theta[:, points])[:, None, None] * np.log(10) * distance, -60, 60)
        f = -np.expm1(-np.log(2) * np.exp(np.minimum(z, 6.0)))
        p = np.clip(guess + (1 - guess) * (1 - miss) * f, 1e-12, 1 - 1e-12)
        return z, f, p, guess, miss

    def _height(self, theta: Floats, centre: Floats, precision: Floats, fitted: Floats) -> Floats:
        """Return log posteriors of prompts, [prompts].

        Parameters
        ----------
        fitted
            Number of thresholds that answers determine, [prompts]. With every threshold that is
            fitted slopes come out steeper, which is taken off (Cox & Reid 1987): information about
            a threshold grows with the square of the slope.
        """
        points = self.n.shape[1]
        _, _, p, guess, miss = self._parts(theta)
        total = (self.k * np.log(p) + (self.n - self.k) * np.log1p(-p)).sum(axis=(1, 2))
        off = theta[:, :points] - centre
        total = total - 0.5 * np.einsum("pf,fg,pg->p", off, precision, off)
        total = total - 0.5 * ((theta[:, points] - _SLOPE[0]) / _SLOPE[1]) ** 2
        total = total - fitted * theta[:, points]
        if self.guess is None:
            total = total + _log_beta(guess[:, 0, 0], _PRIOR.guess)
        return np.asarray(total + _log_beta(miss[:, 0, 0], _PRIOR.lapse))

    def _slopes(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return gradient and expected information of all but the prior of thresholds."""
        prompts, points, _ = self.n.shape
        z, f, p, guess, miss = self._parts(theta)
        room = (1 - guess) * (1 - miss)
        power = np.log(2) * np.exp(np.minimum(z, 6.0))
        steep = room * power * np.exp(-power)
        by_threshold = -steep * np.exp(theta[:, points])[:, None, None] * np.log(10)
        by_guess = guess * (1 - guess) * (1 - (1 - miss) * f)
        shared = [steep * z, by_guess if self.guess is None else 0.0 * f, -miss * room * f]
        by = np.stack([by_threshold, *shared], axis=-1)
        weight = np.where(self.n > 0, self.n / (p * (1 - p)), 0.0)
        residual = np.where(self.n > 0, (self.k - self.n * p) / (p * (1 - p)), 0.0)
        gradients = (residual[..., None] * by).sum(axis=2)
        informations = np.einsum("pfl,pfli,pflj->pfij", weight, by, by)
        gradient = np.concatenate([gradients[..., 0], gradients[..., 1:].sum(axis=1)], axis=1)
        information = np.zeros((prompts, points + 3, points + 3))
        places = np.arange(points)
        information[:, places, places] = informations[..., 0, 0]
        information[:, :points, points:] = informations[..., 0, 1:]
        information[:, points:, :points] = np.swapaxes(informations[..., 0, 1:], 1, 2)
        information[:, points:, points:] = informations[..., 1:, 1:].sum(axis=1)
        gradient[:, points] -= (theta[:, points] - _SLOPE[0]) / _SLOPE[1] ** 2
        information[:, points, points] += _SLOPE[1] ** -2.0
        for axis, rate, (a, b) in (
            (points + 1, guess[:, 0, 0], _PRIOR.guess),
            (points + 2, miss[:, 0, 0], _PRIOR.lapse),
        ):
            gradient[:, axis] += a * (1 - rate) - b * rate
            information[:, axis, axis] += (a + b) * rate * (1 - rate) + 1e-9
        if self.guess is not None:
            gradient[:, points + 1] = 0.0
        return gradient, information

    def _climb(self, theta: Floats, centre: Floats, precision: Floats) -> Floats:
        """Take a few damped steps of Fisher scoring towards the modes."""
        points = self.n.shape[1]
        fitted = self._fitted(theta, precision)
        height = self._height(theta, centre, precision, fitted)
        eye = np.eye(points + 3)
        for _ in range(_STEPS):
            gradient, information = self._slopes(theta)
            gradient[:, :points] -= (theta[:, :points] - centre) @ precision
            gradient[:, points] -= fitted
            self._hold(theta, gradient, information)
            information[:, :points, :points] += precision
            diagonal = np.einsum("pii->pi", information)[:, None] * eye
            best, top = theta, height
            done = np.zeros(len(theta), bool)
            for damping in _DAMPINGS:
                move = np.linalg.solve(information + damping * diagonal, gradient[..., None])[
                    ..., 0
                ]
                move /= np.maximum(np.abs(move / 0.5).max(axis=1, keepdims=True), 1.0)
                trial = self._limited(theta + move)
                reached = self._height(trial, centre, precision, fitted)
                better = ~done & (reached > top)
                best, top = np.where(better[:, None], trial, best), np.where(better, reached, top)
                done |= reached > height
                if done.all():
                    break
            gained = (top - height).max()
            theta, height = best, top
            if gained < 1e-7:
                break
        return theta

    def _hold(self, theta: Floats, gradient: Floats, information: Floats) -> None:
        """Leave out slopes at a limit that the gradient points beyond: they stay there."""
        points = self.n.shape[1]
        slope, steeper = theta[:, points], gradient[:, points] > 0
        held = np.where(steeper, slope >= self.steepest, slope <= np.log(_FLATTEST))
        gradient[held, points] = 0.0
        information[held, points, :] = information[held, :, points] = 0.0
        information[held, points, points] = 1.0

    def _fitted(self, theta: Floats, precision: Floats) -> Floats:
        """Return how many thresholds answers determine, rather than what is held beforehand."""
        points = self.n.shape[1]
        own = np.einsum("pii->pi", self._slopes(theta)[1])[:, :points]
        return np.asarray((own / (own + np.diag(precision))).sum(axis=1))

    def _limited(self, theta: Floats) -> Floats:
        points = self.n.shape[1]
        theta[:, :points] = np.clip(
            theta[:, :points], self.low - _BEYOND_DECADES, self.high + _BEYOND_DECADES
        )
        theta[:, points] = np.clip(theta[:, points], np.log(_FLATTEST), self.steepest)
        theta[:, points + 1 :] = np.clip(theta[:, points + 1 :], -9.0, 9.0)
        return theta

    def _marginal(self, theta: Floats, precision: Floats) -> tuple[Floats, Floats]:
        """Return the information about thresholds alone, and times where the likelihood is highest.

        Slope and rates are summed out: [prompts, points, points] and [prompts, points].
        """
        points = self.n.shape[1]
        gradient, information = self._slopes(theta)
        gradient[:, points] -= self._fitted(theta, precision)
        self._hold(theta, gradient, information)
        across = information[:, :points, points:]
        rest = information[:, points:, points:]
        solved = np.linalg.solve(rest, np.swapaxes(across, 1, 2))
        own = information[:, :points, :points] - across @ solved
        own = (own + np.swapaxes(own, 1, 2)) / 2
        pulled = (
            gradient[:, :points]
            - (across @ np.linalg.solve(rest, gradient[:, points:, None]))[..., 0]
        )
        # Between two levels that are answered no and yes without fail, nothing tells where.
        steep = theta[:, points] > self.steepest - _AT_LIMIT
        if steep.any():
            less = _inverse(np.eye(points) + own[steep] * self.gap**2 / 12)
            blurred = less @ own[steep]
            own[steep] = (blurred + np.swapaxes(blurred, 1, 2)) / 2
            pulled[steep] = (less @ pulled[steep, :, None])[..., 0]
        pull = (own @ theta[:, :points, None])[..., 0] + pulled
        return own, pull


_PRIOR = Prior()
_SLOPE = (float(np.log(3.0)), float(np.log(_PRIOR.slope_factor)))


def _log_beta(rate: Floats, numbers: tuple[float, float]) -> Floats:
    """Return the log density of the logit of a rate."""
    return np.asarray(numbers[0] * np.log(rate) + numbers[1] * np.log1p(-rate))


def _between(points: int, sigma: ArrayLike, tau: ArrayLike) -> Floats:
    """Return the covariance of a prompt's thresholds around the curve, [.., points, points]."""
    sigma, tau = (np.asarray(each)[..., None, None] for each in (sigma, tau))
    return np.asarray(tau**2 * np.eye(points) + sigma**2)


def _inverse(matrix: Floats) -> Floats:
    return np.asarray(np.linalg.inv(matrix), dtype=float)


def _reduced(information: Floats, between: Floats) -> Floats:
    """Return (information^-1 + between)^-1, also of information that is singular."""
    eye = np.eye(information.shape[-1])
    found = np.linalg.solve(eye + information @ between, information)
    return np.asarray((found + np.swapaxes(found, -1, -2)) / 2)


def _curve(
    information: Floats,
    pull: Floats,
    spreads: tuple[float, float],
    vague: Floats,
    middle: Floats,
) -> _Curve:
    """Return the generalised least squares curve given standard deviations over prompts."""
    points = information.shape[-1]
    precisions = []
    for sigma in (spreads[0], 0.0):
        between = _between(points, sigma, spreads[1])
        precisions.append(_reduced(information, between).sum(axis=0) + np.diag(vague))
    between = _between(points, *spreads)
    eye = np.eye(points)
    weighed = np.linalg.solve(eye + information @ between, pull[..., None])[..., 0].sum(axis=0)
    mean = np.linalg.solve(precisions[0], weighed + vague * middle)
    return _Curve(mean, *precisions)


def _restricted(
    information: Floats, pull: Floats, vague: Floats, middle: Floats
) -> tuple[float, float]:
    """Return the standard deviations over prompts of largest restricted likelihood."""
    points = information.shape[-1]
    eye = np.eye(points)
    # The ends of the pull where the likelihood of each prompt is highest; a little is added where
    # a prompt says nothing.
    centre = np.linalg.solve(
        information.sum(axis=0) + np.diag(vague), pull.sum(axis=0) + vague * middle
    )
    pull = pull - (information @ centre)
    sigma, tau = (each.ravel() for each in np.meshgrid(_SPREADS, _SPREADS, indexing="ij"))
    between = _between(points, sigma, tau)[:, None]
    inner = eye + information @ between
    weighed = np.linalg.solve(inner, np.broadcast_to(pull[..., None], (*inner.shape[:-1], 1)))[
        ..., 0
    ]
    reduced = np.linalg.solve(inner, np.broadcast_to(information, inner.shape))
    total = reduced.sum(axis=1) + np.diag(vague)
    mean = np.linalg.solve(total, weighed.sum(axis=1)[..., None])[..., 0]
    # -2 log restricted likelihood, but for what does not depend on the standard deviations.
    determinants = np.linalg.slogdet(inner)[1].sum(axis=1) + np.linalg.slogdet(total)[1]
    explained = np.einsum("spf,sfg,spg->s", pull[None] + 0 * weighed, between[:, 0], weighed)
    explained = explained + np.einsum("sf,sf->s", mean, weighed.sum(axis=1))
    best = int(np.argmin(determinants - explained))
    return float(sigma[best]), float(tau[best])
