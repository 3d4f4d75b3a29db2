"""What an agreement of curves is made of: their correlation with people's, and their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fechner.scores.bootstrap import cluster_counts
from fechner.scores.curve_set import CurveSet
from fechner.scores.order import EQUAL, Concordance, PooledKendall

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Cell(NamedTuple):
    """A number, also on bootstrap samples of abscissae and of draws, and the abscissae it is of."""

    name: str
    value: float
    by_abscissa: Floats
    by_draw: Floats
    n: int
    at: NDArray[np.bool_]


def mean_of(name: str, cells: Sequence[Cell]) -> Cell:
    """Return the plain mean of cells."""
    if not cells:
        return Cell(name, float("nan"), np.empty(0), np.empty(0), 0, np.zeros(0, dtype=bool))
    by_abscissa, by_draw = (
        np.mean([getattr(cell, each) for cell in cells], axis=0) for each in Cell._fields[2:4]
    )
    value = float(np.mean([cell.value for cell in cells]))
    fewest = min((cell.at for cell in cells), key=np.count_nonzero)
    return Cell(name, value, by_abscissa, by_draw, max(cell.n for cell in cells), fewest)


def in_words(cells: Sequence[Cell]) -> str:
    """Say which cells a mean is of."""
    parts = " and ".join(cell.name for cell in cells)
    return f"mean of {parts}" if len(cells) > 1 else parts


class Cells(NamedTuple):
    """Some curves, and the same ones on bootstrap samples of the draws."""

    curves: CurveSet
    drawn: CurveSet

    def pearson(self) -> Iterator[Cell]:
        """Yield one correlation over all curves that people's are known for."""
        human, response = self.curves.human, self.curves.response
        measured = np.isfinite(human) & np.isfinite(response)
        if not measured.any():
            return
        # Sums over curves first: samples take whole abscissae. Centred, so that nothing cancels.
        middles = [each[measured].mean() for each in (human, response)]

        def sums(responses: Floats) -> Floats:
            """Return what a correlation is made of at each abscissa, [6, samples, abscissae]."""
            x = np.where(measured, human - middles[0], 0.0)[:, None]
            y = np.where(measured[:, None], responses - middles[1], 0.0)
            each = (measured[:, None].astype(float), x, y, x * x, y * y, x * y)
            return np.stack([np.broadcast_to(part, y.shape).sum(axis=0) for part in each])

        once = sums(response[:, None])
        counts = cluster_counts(human.shape[1])
        yield Cell(
            "pearson",
            float(_correlation(once.sum(axis=-1))[0]),
            _correlation(once[:, 0] @ counts.T),
            _correlation(sums(self.drawn.response).sum(axis=-1)),
            int(measured.sum()),
            np.asarray(measured.any(axis=0)),
        )

    def orders(self, *, pooled: bool, least: float = EQUAL) -> Iterator[Cell]:
        """Yield the order of each group of curves."""
        ranked = np.isfinite(self.curves.ideal).any(axis=1)
        for group in dict.fromkeys(self.curves.group):
            chosen = ranked & (self.curves.group == group)
            if chosen.sum() < 2:
                continue
            order = _pooled_order if pooled else partial(_order, least=least)
            found = order(*(each.rows(chosen) for each in self))
            if found is not None:
                yield found._replace(name=f"order-{group}" if group else "order")


def _correlation(sums: Floats) -> Floats:
    """Return Pearson's correlation from the sums it is made of, for each sample."""
    n, sx, sy, xx, yy, xy = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        spread_x, spread_y = n * xx - sx**2, n * yy - sy**2
        found = (n * xy - sx * sy) / np.sqrt(spread_x * spread_y)
    flat = (spread_y <= 1e-12 * np.maximum(n * yy, 1e-300)) | (spread_x <= 0)
    # Curves that do not move follow nothing: no correlation.
    return np.asarray(np.where(flat, 0.0, np.clip(found, -1, 1)))


def _order(curves: CurveSet, drawn: CurveSet, least: float) -> Cell | None:
    """Return the concordance of one group, averaged over abscissae."""
    found = Concordance(curves.ideal, least)(curves.response)
    told = np.isfinite(found)
    if not told.any():
        return None
    counts = cluster_counts(len(found))[:, told]
    with np.errstate(invalid="ignore", divide="ignore"):
        by_abscissa = counts @ found[told] / counts.sum(axis=1)
    by_draw = Concordance(drawn.ideal[:, None], least)(drawn.response)[:, told].mean(axis=1)
    n = int(told.sum())
    value = float(found[told].mean())
    return Cell("order", value, _with_an_abscissa(by_abscissa, n), by_draw, n, told)


def _with_an_abscissa(by_abscissa: Floats, n: int) -> Floats:
    """Let one abscissa more be without an order in half of the samples.

    Where all abscissae have the same order, resamples do not vary, although another grid might find
    one that has another. As Agresti and Min (2005) add half an observation to either side, the
    standard error of this is added: 1 / (n + 2).
    """
    without = np.arange(len(by_abscissa)) % 2
    return np.asarray(by_abscissa - np.sign(by_abscissa) * without * 2 / (n + 2))


def _pooled_order(curves: CurveSet, drawn: CurveSet) -> Cell | None:
    """Return the pooled rank correlation of one group."""
    whole: NDArray[np.bool_] = np.asarray(
        np.isfinite(curves.response).all(axis=0) & np.isfinite(curves.ideal).all(axis=0)
    )
    if not whole.any():
        return None
    n = int(whole.sum())
    ideal, response = curves.ideal[:, whole], curves.response[:, whole]
    samples = drawn.response[..., whole].swapaxes(0, 1)
    counts = cluster_counts(len(whole))
    if np.ptp(response) == 0:
        # Lists of equal curves would be in the order of their numbers.
        return Cell("order", 0.0, np.zeros(len(counts)), np.zeros(len(samples)), n, whole)
    once = PooledKendall(ideal, np.ones((1, n)))
    # Of few draws there are few different samples.
    different, which = np.unique(samples, axis=0, return_inverse=True)
    return Cell(
        "order",
        float(once(response)[0]),
        PooledKendall(ideal, counts[:, whole])(response),
        np.array([once(each)[0] for each in different])[which.ravel()],
        n,
        whole,
    )
