"""The posterior of one psychometric function, summed over a grid of its four or five parameters.

The likelihood needs the levels only through u = logit F, and log P at any u is, for all guess and
lapse rates, the same combination of log P at a few nodes. So for every threshold and slope the
answers at all levels are spread over these nodes, and one matrix product with log P and log(1 - P)
there gives all rates at once. The grid starts as wide as the prior and is narrowed to where the
mass is until every step is at most half the posterior standard deviation.

With overdispersion the answers of a block are beta-binomial, and the grid has a fifth axis, eta.
Their log likelihood is a sum of terms log((P + j / nu) / (1 + j / nu)), each of which is log P with
other rates, so the same nodes serve; and since it hardly depends on k beyond a few of its values,
the answers of all blocks are spread over these as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from fechner.arrays import Floats
from fechner.errors import FechnerError
from fechner.psychometrics import functions
from fechner.psychometrics.functions import Prior, Scale, Shape

#: Largest step of the grid, in posterior standard deviations.
LARGEST_STEP = 0.5

#: The smallest overdispersion that is told from none, and the largest.
_SMALLEST_ETA, _LARGEST_ETA = 1e-3, 0.95

#: Values at which a marginal density is kept.
FINE = 128

#: Draws of the joint posterior that are kept.
DRAWS = 200

# Beyond this logit F is 0 or 1. With so many nodes, and entries in the tables, the log likelihood
# is off by less than 0.01: the tests compare with exact sums.
_REACH = 18.0
_NODES = 20
_LOGITS, _TABLE = 4001, 65537

#: Entries while the grid is coarse, so few that they stay in the processor's cache.
_ROUGH_TABLE = 4097

#: Pairs of threshold and slope for which the tables are read at once, to bound memory.
_ROWS = 512

#: A density is followed down to this many nats below its peak (3.5 sd of a normal one), and must
#: not be cut where it is higher than the second (3.1 sd).
_DEPTH, _CUT = 6.0, 4.8

#: Cells along each axis of the first grid; limits for the later ones.
_FIRST = (16, 10, 8, 8, 8)
_FEWEST, _MOST = 12, 48

#: Counts k over which those of overdispersed blocks are spread: off by less than 0.001 up to 100
#: trials in a block, by 0.01 up to 400. Logits of P at which their likelihood is tabulated.
_COUNTS, _CHANCES = 8, 1025

#: Steps, in posterior standard deviations, from which a grid only knows the place to a cell or so.
_COARSE = 2.5

#: Passes in which a grid that is too coarse stays small, and passes in all.
_QUICK, _PASSES = 6, 40

#: Groups of levels while the grid is coarse.
_POOLS = 32


@dataclass(frozen=True)
class Answers:
    """The answers to one function, and its prior.

    Positions are those of the levels on the axis, where ``slope * distance / unit`` is z. The ends
    [4, 2] of the prior are equal where a rate is fixed; fifth ends are those of overdispersion.
    ``log_prior`` takes the number of an axis and values along it. With ``equal_rates`` the guess
    rate is the lapse rate. ``entries`` is the length of the tables that the likelihood is read
    from.
    """

    positions: Floats
    yes: Floats
    no: Floats
    shape: Shape
    unit: float
    ends: Floats
    log_prior: Callable[[int, Floats], Floats]
    equal_rates: bool = False
    entries: int = _TABLE

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which parameters are estimated."""
        return np.asarray(self.ends[:, 1] > self.ends[:, 0])


class Model(NamedTuple):
    """What is fitted, as of `fit`; `rising` is the same for the answers that become more."""

    shape: Shape
    scale: Scale
    guess: float | None
    lapse: float | None
    prior: Prior
    equal_asymptotes: bool
    overdispersion: bool
    falling: bool

    @property
    def order(self) -> list[int]:
        """Which axes of the grid threshold, slope, guess rate, lapse rate and eta have.

        Equal rates share that of the lapse rate; of a function that falls the rate of other
        answers was fitted.
        """
        rates = [3, 3] if self.equal_asymptotes else [3, 2] if self.falling else [2, 3]
        return [0, 1, *rates, *([4] if self.overdispersion else [])]

    def rising(self) -> Model:
        """Return the model of answers that were no, if the function falls."""
        if not self.falling:
            return self
        prior = self.prior
        if not self.equal_asymptotes:
            prior = replace(prior, guess=prior.lapse, lapse=prior.guess)
        return self._replace(guess=self.lapse, lapse=self.guess, prior=prior, falling=False)

    def answers(self, levels: Floats, n: Floats, k: Floats) -> Answers | None:
        """Return the answers to one function for the grid; None where nothing was asked."""
        asked = n > 0
        levels, n, k = levels[asked], n[asked], k[asked]
        if len(levels) == 0 or (self.scale == "log" and not (levels > 0).any()):
            return None
        rising, shape, scale = self.rising(), self.shape, self.scale
        ends = rising.prior.ends(levels, shape, scale)
        for axis, rate in ((2, rising.guess), (3, rising.lapse)):
            if rate is not None:
                ends[axis] = rate
        if self.equal_asymptotes:
            ends[2:] = (0.0, 0.0), (0.0, 0.5)
        if self.overdispersion:
            ends = np.concatenate([ends, [(_SMALLEST_ETA, _LARGEST_ETA)]])
        yes, no = (n - k, k) if self.falling else (k, n - k)
        log_prior = partial(rising.prior.log_density, levels=levels, shape=shape, scale=scale)
        x, unit = functions.to_axis(levels, scale), functions.unit_of_z(shape, scale)
        return Answers(x, yes, no, shape, unit, ends, log_prior, self.equal_asymptotes)


class Posterior(NamedTuple):
    """Marginal log densities [4, FINE] between ends [4, 2], and draws [draws, 4] of all four.

    ``limits`` [4, 2] are the ends of the prior, ``top`` [4] is the middle of the highest cell, and
    ``steps`` [4] are those of the last grid in posterior standard deviations, 0 for fixed rates.
    With overdispersion all have a fifth. With equal rates the guess rate has nothing of its own.
    """

    limits: Floats
    top: Floats
    ends: Floats
    log_density: Floats
    draws: Floats
    steps: Floats


def posterior(answers: Answers, draws: int = DRAWS) -> Posterior:
    """Narrow the grid to where the mass is until it is fine enough, and sum over it."""
    free, limits = answers.free, answers.ends
    ends, counts = limits, np.where(free, _FIRST[: len(free)], 1)
    pooled, rough = _pool(answers), True
    for number in range(_PASSES):
        weights = grid_weights(pooled if rough else answers, ends, counts)
        log_density = _marginals(weights, free)
        density = np.exp(log_density)
        density /= density.sum(axis=1, keepdims=True)
        middles = np.arange(FINE) + 0.5
        sd = np.sqrt(np.maximum(density @ middles**2 - (density @ middles) ** 2, 1e-12))
        steps = np.where(free, FINE / counts / sd, 0.0)
        # Where the mass goes on beyond the grid, though the prior would allow it.
        leaks = (log_density[:, [0, -1]] > -_CUT) & (ends != limits)
        width = ends[:, 1] - ends[:, 0]
        if not rough and (steps <= LARGEST_STEP).all() and not leaks.any():
            highest = np.array(np.unravel_index(weights.argmax(), weights.shape))
            top = ends[:, 0] + (highest + 0.5) / counts * width
            drawn = _draw(weights, ends, draws)
            return Posterior(limits, top, ends, log_density, drawn, steps)
        coarse = steps > _COARSE
        rough = bool(coarse.any())
        most = _FEWEST if number < _QUICK and rough else _MOST
        # The next grid is around the mass, and goes farther out where that leaks.
        high_enough = log_density > -_DEPTH
        first, last = high_enough.argmax(axis=1), FINE - high_enough[:, ::-1].argmax(axis=1)
        spans = ends[:, :1] + np.stack([first, last], axis=1) / FINE * width[:, None]
        cell = width / counts
        margin = np.where(coarse, cell, 0.2 * cell)[:, None]
        margin = margin + leaks * 0.5 * (spans[:, 1] - spans[:, 0])[:, None]
        ends = np.clip(spans + margin * [-1, 1], limits[:, :1], limits[:, 1:])
        # Aiming lower every time, a grid cannot go on missing by a little.
        aim = 0.92 * LARGEST_STEP * 0.98**number
        cell = np.where(free, aim * cell / np.where(free, steps, 1.0), 1.0)
        wanted = np.ceil((ends[:, 1] - ends[:, 0]) / cell)
        counts = np.where(free, np.clip(wanted, _FEWEST, most), 1).astype(np.intp)
    raise FechnerError(
        f"the grid was not fine enough after {_PASSES} passes: its largest step is "
        f"{steps.max():.2g} posterior standard deviations. Check the levels and the prior."
    )


def _pool(answers: Answers) -> Answers:
    """Bring neighbouring levels together, which is good enough for finding the place."""
    finite = np.isfinite(answers.positions)
    x = answers.positions[finite]
    if len(x) <= _POOLS or len(answers.ends) == 5:
        return replace(answers, entries=_ROUGH_TABLE)
    pool = ((x - x.min()) / (np.ptp(x) or 1.0) * (_POOLS - 1)).astype(np.intp)
    pool = np.unique(pool, return_inverse=True)[1]
    positions, yes, no = (
        # Level 0 has no neighbours on the log scale.
        np.concatenate([each[~finite], np.bincount(pool, each[finite]) / size])
        for each, size in (
            (answers.positions, np.bincount(pool)),
            (answers.yes, 1),
            (answers.no, 1),
        )
    )
    return replace(answers, positions=positions, yes=yes, no=no, entries=_ROUGH_TABLE)


def grid_weights(answers: Answers, ends: Floats, counts: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return the posterior on the grid, [threshold, slope, guess, lapse(, eta)], 1 at the top."""
    axes = [
        low + (np.arange(count) + 0.5) * (high - low) / count
        for (low, high), count in zip(ends, counts, strict=True)
    ]
    threshold, slope, guess, lapse, *eta = (
        answers.log_prior(i, axis) if answers.free[i] else np.zeros(1)
        for i, axis in enumerate(axes)
    )
    rates = guess[:, None] + lapse[None, :]
    rates = np.where(axes[2][:, None] + axes[3][None, :] < 1, rates, -np.inf)
    if eta:
        rates = rates[..., None] + eta[0]
    joint = log_likelihood(answers, *axes)
    joint += (threshold[:, None] + slope[None, :]).reshape(-1, 1).astype(np.float32)
    joint += rates.reshape(1, -1).astype(np.float32)
    joint -= joint.max()
    return np.asarray(np.exp(joint, out=joint).reshape(counts))


def _marginals(weights: NDArray[np.float32], free: NDArray[np.bool_]) -> Floats:
    """Return the log of each marginal density, [4, FINE], 0 at its highest."""
    upper = weights.sum(axis=tuple(range(2, weights.ndim)))
    lower = weights.sum(axis=(0, 1))
    sums = [upper.sum(axis=1), upper.sum(axis=0)]
    for own in range(lower.ndim):
        sums.append(lower.sum(axis=tuple(other for other in range(lower.ndim) if other != own)))
    fine = np.zeros((len(free), FINE))
    for axis in np.flatnonzero(free):
        # Logarithms of densities are nearly parabolas, which cubic interpolation keeps.
        coarse = np.log(np.maximum(sums[axis] / sums[axis].max(), 1e-18))
        fine[axis] = _interpolation(len(coarse)) @ coarse
        fine[axis] -= fine[axis].max()
    return fine


def _draw(weights: NDArray[np.float32], ends: Floats, draws: int) -> Floats:
    """Draw from the grid, one in each of as many equal shares, anywhere within its cell."""
    counts = weights.shape
    dice = np.random.default_rng(0).uniform(size=(draws, 2 + len(counts)))
    rows = weights.reshape(counts[0] * counts[1], -1)
    # First threshold and slope, then the rates: quicker than one sum over all cells.
    total = np.cumsum(rows.sum(axis=1, dtype=np.float64))
    row = np.searchsorted(total, (np.arange(draws) + dice[:, 0]) / draws * total[-1])
    within = np.cumsum(rows[row], axis=1)
    column = (within < dice[:, 1:2] * within[:, -1:]).sum(axis=1)
    pairs = (np.unravel_index(row, counts[:2]), np.unravel_index(column, counts[2:]))
    cells = np.stack([*pairs[0], *pairs[1]], axis=1)
    return np.asarray(ends[:, 0] + (cells + dice[:, 2:]) / counts * (ends[:, 1] - ends[:, 0]))


@lru_cache(maxsize=64)
def _interpolation(count: int) -> Floats:
    """Return the matrix from `count` cells to FINE cells of the same range, cubic Lagrange."""
    at = (np.arange(FINE) + 0.5) * count / FINE - 0.5
    first = np.clip(np.floor(at).astype(int) - 1, 0, count - 4)
    f = at - first
    matrix = np.zeros((FINE, count))
    for node in range(4):
        others = [other for other in range(4) if other != node]
        value = np.prod([(f - other) / (node - other) for other in others], axis=0)
        matrix[np.arange(FINE), first + node] = value
    return matrix


def log_likelihood(
    answers: Answers,
    threshold: Floats,
    log_slope: Floats,
    guess: Floats,
    lapse: Floats,
    eta: Floats | None = None,
) -> NDArray[np.float32]:
    """Return the log likelihood on a grid, [threshold x slope, guess x lapse (x eta)]."""
    slope = np.exp(log_slope) / answers.unit
    number = [each[None].astype(np.float32) for each in (answers.yes, answers.no)]
    if eta is not None:
        counts, coefficients = zip(
            *(_count_nodes(tuple(each)) for each in (answers.yes, answers.no)), strict=True
        )
        number = list(coefficients)
    # z is extreme at the corners of the grid: where these agree, at levels that all thresholds and
    # slopes put in one entry of the tables, one look is enough.
    corners = _entry(answers, answers.positions, threshold[[0, -1]], slope[[0, -1]])
    entry = corners[:, 0, 0]
    varies = (corners != entry[:, None, None]).any(axis=(1, 2))
    cell = _entry(answers, answers.positions[varies], threshold, slope)
    cell = cell.reshape(varies.sum(), -1)
    size = cell.shape[1]
    spread = []
    for each, table in zip(number, _shares(answers.shape, answers.entries)[2], strict=True):
        columns = np.empty((size, len(each), _NODES), np.float32)
        for start in range(0, size, _ROWS):
            part = cell[:, start : start + _ROWS]
            gathered = table.take(part, axis=0).reshape(len(part), -1)
            for q, row in enumerate(each[:, varies]):
                columns[start : start + _ROWS, q] = (row @ gathered).reshape(-1, _NODES)
        for q, row in enumerate(each[:, ~varies]):
            columns[:, q] += row @ table[entry[~varies]]
        spread.append(columns.reshape(size, -1))
    if answers.equal_rates:
        guess = lapse
    else:
        guess, lapse = (each.ravel() for each in np.meshgrid(guess, lapse, indexing="ij"))
    room = np.maximum((1 - guess - lapse).astype(np.float32), np.float32(1e-6))
    rise = special.expit(_nodes()[0]).astype(np.float32)[:, None]
    # 1 - P at u is P at -u with the rates exchanged.
    chances = [rate.astype(np.float32) + room * rise for rate in (guess, lapse)]
    if eta is None:
        return np.asarray(np.concatenate(spread, axis=1) @ np.log(np.concatenate(chances)))
    terms = [_block_terms(each, c, eta) for each, c in zip(chances, counts, strict=True)]
    joint = np.concatenate(spread, axis=1) @ np.concatenate(terms)
    joint = joint.reshape(size, -1, len(eta))
    # The part that does not depend on P.
    yes, no, both = (
        functions.log_rising(each, 1.0, eta[:, None])
        for each in (answers.yes, answers.no, answers.yes + answers.no)
    )
    joint += (yes + no - both).sum(axis=1).astype(np.float32)
    return np.asarray(joint.reshape(size, -1))


def _entry(
    answers: Answers, positions: Floats, threshold: Floats, slope: Floats
) -> NDArray[np.intp]:
    """Return the entries of the tables, [levels, thresholds, slopes]."""
    start, per_unit, _ = _shares(answers.shape, answers.entries)
    z = slope * (positions[:, None, None] - threshold[None, :, None])
    if answers.shape == "tdist":
        z = np.arcsinh(z)
    return np.asarray(np.clip((z - start) * per_unit, 0, answers.entries - 1).astype(np.intp))


@lru_cache(maxsize=1)
def _nodes() -> tuple[Floats, Floats]:
    """Choose logits from which log P at every other logit follows, and say how.

    Whatever the two rates, log P(u) is a combination of its values at a few nodes: the columns that
    a pivoted QR factorisation takes first. Returns the nodes [NODES] and the cardinal functions
    [NODES, u] on the fine axis of logits.
    """
    u = np.linspace(-_REACH, _REACH, _LOGITS)
    rates = np.concatenate([[0.0], np.geomspace(1e-5, 0.999, 45)])
    guess, lapse = (each.reshape(-1, 1) for each in np.meshgrid(rates, rates))
    possible = (guess + lapse < 1)[:, 0]
    guess, room = guess[possible], (1 - guess - lapse)[possible]
    sample = u[:: (_LOGITS - 1) // 400]
    order = linalg.qr(np.log(guess + room * special.expit(sample)), mode="r", pivoting=True)[1]
    nodes = np.sort(sample[order[:_NODES]])
    at_nodes, everywhere = (np.log(guess + room * special.expit(each)) for each in (nodes, u))
    return nodes, np.asarray(np.linalg.lstsq(at_nodes, everywhere, rcond=None)[0])


@lru_cache
def _shares(shape: Shape, entries: int) -> tuple[float, float, NDArray[np.float32]]:
    """Tabulate over z what one yes, and one no, gives to each node.

    Returns the lowest z, entries per unit of z, and the two tables, [2, z, nodes]. The tails of a t
    distribution are long: its tables are over the inverse hyperbolic sine of z.
    """
    low, high = {"normal": (-6.0, 6.0), "gumbel_r": (-3.4, _REACH)}.get(
        shape, (-_REACH, 3.4 if shape in ("weibull", "gumbel_l") else _REACH)
    )
    z = np.linspace(low, high, entries)
    at = np.sinh(z) if shape == "tdist" else z
    at = (
        (np.clip(functions.logit_share(at, shape), -_REACH, _REACH) + _REACH)
        * (_LOGITS - 1)
        / (2 * _REACH)
    )
    cardinal = _nodes()[1]
    axis = np.arange(_LOGITS)
    yes = [np.interp(at, axis, row) for row in cardinal]
    no = [np.interp(_LOGITS - 1 - at, axis, row) for row in cardinal]
    per_unit = (entries - 1) / (high - low)
    # Half an entry, so that dropping the fraction takes the nearest.
    tables = np.stack([np.stack(yes, axis=1), np.stack(no, axis=1)]).astype(np.float32)
    return low - 0.5 / per_unit, per_unit, tables


@lru_cache(maxsize=256)
def _count_nodes(k: tuple[float, ...]) -> tuple[Floats, NDArray[np.float32]]:
    """Choose counts from which the terms of all others follow, and say how, [counts, blocks].

    As `_nodes` does for logits: log G(P nu + k) - log G(P nu) - log G(nu + k) + log G(nu), with G
    the gamma function, hardly depends on k otherwise, whatever P and nu.
    """
    values, which = np.unique(k, return_inverse=True)
    if not values.any():
        return np.ones(1), np.zeros((1, len(k)), np.float32)
    asked = values[values > 0]
    few = np.concatenate([np.geomspace(1e-7, 0.5, 25), 1 - np.geomspace(1e-7, 0.4, 15)])
    etas = np.concatenate([np.geomspace(_SMALLEST_ETA, 0.05, 6), np.linspace(0.06, 0.97, 20)])
    chance, eta = (each.reshape(-1, 1) for each in np.meshgrid(few, etas))
    sample = functions.log_rising(asked, chance, eta) - functions.log_rising(asked, 1.0, eta)
    chosen = np.sort(linalg.qr(sample, mode="r", pivoting=True)[1][:_COUNTS])
    matrix = np.zeros((len(chosen), len(values)), np.float32)
    matrix[:, values > 0] = np.linalg.lstsq(sample[:, chosen], sample, rcond=None)[0]
    return asked[chosen], matrix[:, which]


def _block_terms(chance: NDArray[np.float32], counts: Floats, eta: Floats) -> NDArray[np.float32]:
    """Return what each of a few counts gives at chances [nodes, pairs], by interpolation.

    [counts x nodes, pairs x eta]
    """
    logits = np.linspace(-_REACH, _REACH, _CHANCES)
    k = counts[:, None, None]
    table = functions.log_rising(k, special.expit(logits), eta[:, None]) - functions.log_rising(
        k, 1.0, eta[:, None]
    )
    table = np.ascontiguousarray(np.moveaxis(table, 1, 2), dtype=np.float32)
    at = (special.logit(chance) + _REACH) * ((_CHANCES - 1) / (2 * _REACH))
    cell = np.clip(at, 0, _CHANCES - 2).astype(np.intp)
    part = np.clip(at - cell, 0.0, 1.0).astype(np.float32)[..., None]
    found = [each[cell] * (1 - part) + each[cell + 1] * part for each in table]
    return np.stack(found).reshape(len(counts) * len(chance), -1)
