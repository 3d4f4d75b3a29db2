"""Answers as they come: blocks of trials to pool, and data frames with functions in groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fechner.errors import FechnerError
from fechner.psychometrics.functions import Parameters, checked_answers

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray


class Blocks(NamedTuple):
    """Blocks of trials: levels, trials and yes answers, [B]."""

    levels: NDArray[np.float64]
    n: NDArray[np.float64]
    k: NDArray[np.float64]


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

    Overdispersion is the variance between blocks, so what counts as a block matters: single trials
    of a staircase tell nothing of it, and trials far apart in time are not one block.

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
    levels, n, k = checked_answers(levels, n, k, "linear")
    if n.ndim != 1:
        raise FechnerError(f"blocks are pooled along one row, not an array of shape {n.shape}.")
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

    Rows are in the order of first appearance and have the columns of ``by``, then ``threshold``,
    ``threshold_low``, ``threshold_high`` and the same for slope, guess and lapse rate (and
    overdispersion), ``censored``, ``bound``, ``blocks`` and ``trials``.

    Parameters
    ----------
    frame
        A `pandas.DataFrame`, or what has ``to_dataframe`` (an `xarray.Dataset`).
    levels
        Column of the levels.
    n, k
        Columns of trials and of yes, or correct, answers, where a row is a block of trials.
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
    import pandas as pd

    from fechner.psychometrics.fitting import fit

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
    own = Parameters(found.threshold, found.slope, found.guess, found.lapse)
    estimates = dict(zip(own._fields, zip(own, found.low, found.high, strict=True), strict=True))
    if found.overdispersed:
        estimates["overdispersion"] = found.overdispersion
    for name, values in estimates.items():
        for suffix, value in zip(("", "_low", "_high"), values, strict=True):
            table[name + suffix] = value
    table["censored"], table["bound"] = found.censored, found.bound
    table["blocks"], table["trials"] = (padded[1] > 0).sum(axis=1), padded[1].sum(axis=1)
    return table
