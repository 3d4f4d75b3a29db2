"""Psychometric functions from answers, many at once: arrays, blocks of trials, data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fechner.arrays import Floats, pd
from fechner.errors import FechnerError
from fechner.psychometrics import functions
from fechner.psychometrics.functions import Parameters, Prior, Scale, Shape
from fechner.psychometrics.grid import DRAWS, FINE, Model, Posterior, posterior
from fechner.psychometrics.optimisation import SMALLEST_RATE, Likelihood, fisher_scoring
from fechner.psychometrics.result import Estimate, Fit, in_units, moments, quantiles, tested_ends

#: Less than this between guess and lapse rate, and an observer may not look at all.
_ROOM = 0.05


def fit(
    levels: ArrayLike,
    n: ArrayLike,
    k: ArrayLike,
    *,
    shape: Shape = "weibull",
    scale: Scale = "log",
    guess: float | None = None,
    lapse: float | None = None,
    equal_asymptotes: bool = False,
    overdispersion: bool = False,
    falling: bool = False,
    prior: Prior | None = None,
    coverage: float = 0.95,
    draws: int = DRAWS,
) -> Fit:
    """Fit psychometric functions P = g + (1 - g - l) F by their posterior on a grid.

    Parameters
    ----------
    levels
        Levels of the stimulus, [L] or [.., L]; leading axes are functions of their own.
    n, k
        Trials at each level, and answers that were yes, or correct, [.., L]. Graded answers
        (probabilities of a yes) are added up, so ``k`` need not be whole.
    shape
        As of `psychometric`: F = 0.5 at the threshold.
    scale
        ``log`` for quantities like contrast, ``linear`` for those that may be negative.
    guess, lapse
        Rates that are known; None to estimate them. Forced choice between m pictures has a guess
        rate of 1/m. On the log scale with a guess rate of 0 answers at level 0 are left out.
    equal_asymptotes
        Estimate one rate for both guesses and lapses, as for answers left or right of a standard.
    overdispersion
        Whether answers vary more from block to block than binomial ones: a beta-binomial model with
        eta as a fifth parameter (Schütt et al. 2016). Each level is then one block; see
        `pool_blocks`.
    falling
        Whether the function falls as the level rises. The guess rate is still the lower asymptote.
    coverage
        Probability of the credible intervals.
    draws
        Draws of the joint posterior to keep, for bands and `Fit.threshold_at`.

    Examples
    --------
    >>> levels = [0, 0.025, 0.05, 0.1, 0.2, 0.4]
    >>> result = fit(levels, n=[40] * 6, k=[4, 5, 10, 24, 37, 39])
    >>> print(f"{result.threshold:.3f} [{result.low.threshold:.3f}, {result.high.threshold:.3f}]")
    0.094 [0.075, 0.115]
    """
    functions.check_shape(shape, scale)
    prior = prior or Prior()
    levels, n, k = functions.checked_answers(levels, n, k, scale)
    functions.check_rates(guess, lapse)
    functions.check_coverage(coverage)
    if equal_asymptotes and not guess is lapse is None:
        raise FechnerError("equal asymptotes are estimated: give no guess or lapse rate.")
    if draws < 1:
        raise FechnerError(f"draws must be at least 1, not {draws}.")
    model = Model(shape, scale, guess, lapse, prior, equal_asymptotes, overdispersion, falling)
    if scale == "log" and (lapse if falling else guess) == 0:
        n, k = (np.where(levels > 0, each, 0.0) for each in (n, k))
    flat = [each.reshape(-1, each.shape[-1]) for each in (levels, n, k)]
    order = model.order
    a = len(order)
    shapes = ((a, 2), (a,), (a, 2), (a, FINE), (draws, a), (a,))
    nothing = Posterior(*(np.full(each, np.nan) for each in shapes))
    found = []
    for row in zip(*flat, strict=True):
        answers = model.answers(*row)
        found.append(nothing if answers is None else posterior(answers, draws))
    every = Posterior(*(np.stack(part) for part in zip(*found, strict=True)))
    mode, ends, log_density, drawn, steps = (
        each.reshape(*n.shape[:-1], *each.shape[1:])
        for each in (_mode(every, *flat, model=model), *every[2:])
    )
    mode, drawn, steps = (each[..., order] for each in (mode, drawn, steps))
    ends, log_density = (each[..., order, :] for each in (ends, log_density))
    sd = moments(ends, log_density)[1]
    tail = (1 - coverage) / 2
    low, high = (quantiles(ends, log_density, p) for p in (tail, 1 - tail))
    estimate, lowest, highest = (in_units(each, scale) for each in (mode, low, high))
    # Which thresholds lie outside the tested levels, and their bounds.
    median, at_least, at_most = (
        in_units(quantiles(ends, log_density, p), scale).threshold
        for p in (0.5, 2 * tail, 1 - 2 * tail)
    )
    room = np.quantile(1 - drawn[..., 2] - drawn[..., 3], tail, axis=-1)
    first, last = tested_ends(levels, n, scale)
    below, above = median < first, median > last
    unknown = ((lowest.threshold < first) & (highest.threshold > last)) | np.isnan(median)
    unknown |= (below | above) & (room < _ROOM)
    censored = np.select([unknown, below, above], ["unknown", "below", "above"], default="")
    bound = np.select([censored == "below", censored == "above"], [at_most, at_least], np.nan)
    none = np.where(np.isnan(mode[..., 0]), np.nan, 0.0)
    eta = Estimate(*(each[..., 4] if overdispersion else none for each in (mode, low, high)))
    return Fit(
        threshold=np.where(censored == "", estimate.threshold, np.nan),
        slope=estimate.slope,
        guess=estimate.guess,
        lapse=estimate.lapse,
        low=lowest,
        high=highest,
        sd=Parameters(sd[..., 0], sd[..., 1] / np.log(10), sd[..., 2], sd[..., 3]),
        overdispersion=eta,
        censored=censored,
        bound=bound,
        coverage=coverage,
        levels=levels,
        n=n,
        k=k,
        shape=shape,
        scale=scale,
        falling=falling,
        equal_asymptotes=equal_asymptotes,
        prior=prior,
        mode=mode,
        ends=ends,
        log_density=log_density,
        draws=drawn,
        steps=steps,
    )


def _mode(found: Posterior, levels: Floats, n: Floats, k: Floats, *, model: Model) -> Floats:
    """Go from the highest cells [F, 4] to where the joint posteriors are highest."""
    known = np.isfinite(found.top).all(axis=1)
    mode = np.full(found.top.shape, np.nan)
    limits = found.limits[known, :4]
    free = limits[..., 1] > limits[..., 0]
    inner = limits.copy()
    inner[:, 2:, 0] = np.where(free[:, 2:], SMALLEST_RATE, limits[:, 2:, 0])
    inner[:, 2:, 1] = np.where(free[:, 2:], 1 - 2 * SMALLEST_RATE, limits[:, 2:, 1])
    if model.equal_asymptotes:
        inner[:, 3, 1] = 0.5 - SMALLEST_RATE
    prior = model.rising().prior
    yes, no = (n - k, k) if model.falling else (k, n - k)
    # The joint posterior is often highest without any overdispersion, though most of it has some.
    eta = moments(found.ends, found.log_density)[0][known, 4:]
    likelihood = Likelihood(
        positions=functions.to_axis(levels[known], model.scale),
        yes=yes[known],
        no=no[known],
        shape=model.shape,
        unit=functions.unit_of_z(model.shape, model.scale),
        log_slope=(limits[:, 1].mean(axis=1), float(np.log(prior.slope_factor))),
        guess=prior.guess if free[:, 2].any() else (1.0, 1.0),
        lapse=prior.lapse if free[:, 3].any() else (1.0, 1.0),
        equal_rates=model.equal_asymptotes,
        eta=eta[:, 0] if model.overdispersion else None,
    )
    longest = 0.1 * (limits[..., 1] - limits[..., 0])
    top = fisher_scoring(likelihood, found.top[known, :4], inner, longest)[0]
    # The smallest rate stands for 0.
    top = np.where(free & (top <= 2 * SMALLEST_RATE) & [False, False, True, True], 0.0, top)
    mode[known] = np.concatenate([top, eta], axis=1)
    return mode


class Blocks(NamedTuple):
    """Blocks of trials: levels, trials and yes answers, [B]."""

    levels: Floats
    n: Floats
    k: Floats


def pool_blocks(
    levels: ArrayLike,
    n: ArrayLike,
    k: ArrayLike,
    *,
    tolerance: float = 0.0,
    gap: float = np.inf,
    trials: float = np.inf,
) -> Blocks:
    """Put blocks of nearly the same level together, as `pool_blocks` of psignifit 4 does.

    Overdispersion is the variance between blocks, so what counts as a block matters.

    Parameters
    ----------
    levels, n, k
        Blocks, or single trials, in the order in which they were shown, [B].
    tolerance
        Largest difference between the level of a block and that of the first one in its pool.
    gap
        Most trials at other levels between two blocks of a pool.
    trials
        Most trials between the first and the last one of a pool, both included.

    Examples
    --------
    >>> pooled = pool_blocks([1, 2, 1, 2, 1], n=10, k=[2, 7, 4, 8, 3], trials=30)
    >>> [each.tolist() for each in pooled]
    [[1.0, 2.0, 1.0], [20.0, 20.0, 10.0], [6.0, 15.0, 3.0]]
    """
    levels, n, k = functions.checked_answers(levels, n, k, "linear")
    if n.ndim != 1:
        raise FechnerError(f"levels, n and k of blocks must be one-dimensional, not {n.shape}.")
    last = np.cumsum(n)
    first = last - n
    left = n > 0
    pools = []
    while left.any():
        start = int(left.argmax())
        pool: list[int] = []
        between = 0.0
        for i in range(start, len(n)):
            if last[i] - first[start] > trials or between > gap:
                break
            if left[i] and abs(levels[i] - levels[start]) <= tolerance:
                pool.append(i)
                between = 0.0
            else:
                between += n[i]
        # A block longer than the limit is a pool of its own.
        pool = pool or [start]
        left[pool] = False
        pools.append((np.average(levels[pool], weights=n[pool]), n[pool].sum(), k[pool].sum()))
    return Blocks(*np.array(pools).reshape(-1, 3).T)


def fit_table(
    frame: pd.DataFrame,
    *,
    levels: str,
    n: str | None = None,
    k: str | None = None,
    answer: str | None = None,
    by: str | Sequence[str] = (),
    block: str | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Fit a function to each group of rows of a data frame, and return a row for each.

    Rows are in the order of first appearance and have the columns of ``by``, every estimate with
    its interval (``threshold``, ``threshold_low``, ``threshold_high`` ...), ``censored``,
    ``bound``, ``blocks`` and ``trials``.

    Parameters
    ----------
    frame
        A `pandas.DataFrame`, or what has ``to_dataframe`` (an `xarray.Dataset`).
    levels, n, k
        Columns of levels, trials and yes, or correct, answers, where a row is a block of trials.
    answer
        Column of answers from 0 (no, wrong) to 1 (yes, right), or bool, where a row is a trial.
        Trials of one level are counted; those without an answer (NaN) are left out.
    by
        Columns whose values together name a function.
    block
        Column that tells blocks of single trials apart, for overdispersion.
    **options
        As for `fit`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"eye": 4 * ["left"] + 4 * ["right"], "contrast": 2 * [1, 2, 4, 8],
    ...                       "n": 40, "right": [21, 26, 38, 40, 19, 22, 27, 39]})
    >>> table = fit_table(frame, levels="contrast", n="n", k="right", by="eye", guess=0.5)
    >>> table[["eye", "threshold", "trials"]].round(2).values.tolist()
    [['left', 2.58, 160.0], ['right', 4.73, 160.0]]
    """
    if not isinstance(frame, pd.DataFrame):
        frame = frame.to_dataframe().reset_index()
    names = [by] if isinstance(by, str) else list(by)
    counted = {"n": n, "k": k} if answer is None else {"answer": answer}
    columns = [*names, levels, *counted.values(), *([block] if block else [])]
    if None in columns:
        raise FechnerError("name either the columns n and k, or the column of each trial's answer.")
    missing = [name for name in columns if name not in frame]
    if missing or frame.empty:
        lacks = f"lacks {', '.join(map(str, missing))}" if missing else "is empty"
        raise FechnerError(f"the table {lacks}; its columns are {', '.join(map(str, frame))}.")
    rows = frame[columns].copy()
    if answer is not None:
        try:
            said = rows[answer].replace({"yes": 1.0, "no": 0.0}).astype(float)
        except (TypeError, ValueError):
            raise FechnerError(
                f"column '{answer}' has answers other than numbers from 0 to 1, yes and no; leave "
                "the others out, or empty."
            ) from None
        rows = rows.assign(_n=1.0, _k=said).dropna(subset=["_k"])
        keys = [*names, levels, *([block] if block else [])]
        rows = rows.groupby(keys, sort=False, dropna=False)[["_n", "_k"]].sum().reset_index()
        n, k = "_n", "_k"
    groups = list(rows.groupby(names, sort=False, dropna=False)) if names else [((), rows)]
    if not groups:
        raise FechnerError(f"no row has an answer in column '{answer}'.")
    most = max(len(group) for _, group in groups)
    padded = np.zeros((3, len(groups), most))
    for i, (_, group) in enumerate(groups):
        padded[:, i, : len(group)] = group[[levels, n, k]].to_numpy(float).T
    found = fit(*padded, **options)
    table = pd.DataFrame([key for key, _ in groups], columns=names, index=range(len(groups)))
    for name, values in found.estimates.items():
        for suffix, value in zip(("", "_low", "_high"), values, strict=True):
            table[name + suffix] = value
    table["censored"], table["bound"] = found.censored, found.bound
    table["blocks"], table["trials"] = (padded[1] > 0).sum(axis=1), padded[1].sum(axis=1)
    return table
