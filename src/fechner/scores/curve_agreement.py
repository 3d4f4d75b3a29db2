"""How close curves of responses come to people's, in shape and in order (Vila-Tomás et al. 2026).

Pearson's correlation over all curves that people's are known for, with one scale for all of them;
and for each group of curves whether they lie above each other in the right order. One number over
both, their mean, stands for the property.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from fechner.scores.alignment import outputs
from fechner.scores.bootstrap import cluster_counts, interval
from fechner.scores.curve_checks import Check
from fechner.scores.curve_set import CurveSet, curves_of
from fechner.scores.notes import TOO_FEW, UNDEFINED, is_undefined, join_notes, left_out
from fechner.scores.order import Concordance, PooledKendall
from fechner.scores.paired import in_common
from fechner.scores.score import Resampled, Score
from fechner.stimuli.colour import DIRECTION_NAMES

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_agreement = partial(Score, higher_is_better=True, best=1.0, chance=0.0, resampled="abscissae")

#: Abscissae needed to speak of a curve.
_FEWEST_POINTS = 3

#: Why an agreement is 0.
_FLAT = "all curves are the same and flat, which agrees with nothing"


@dataclass(frozen=True)
class CurveAgreement:
    """Agreement of curves with people's: shape, order, and what can be said of them in words.

    Parameters
    ----------
    order
        ``"concordance"``: pairs of curves in the right order, by abscissa; ``"pooled"``: Kendall's
        correlation of places, pooled (Vila-Tomás et al. 2026).
    elevation
        Whether curves are compared as threshold elevations: the response under the first condition
        over that under another, less 1, cut at 0 and divided by its maximum.
    floor
        What elevations of nothing are set to instead of 0 before they are divided.
    checks
        What is asked of the curves in words.
    """

    order: Literal["concordance", "pooled"] = "concordance"
    elevation: bool = False
    floor: float = 0.0
    checks: tuple[Check, ...] = ()

    def __call__(self, data: xr.Dataset, *others: Any) -> Sequence[Score]:
        """Score every layer and read-out, and each read-out at a layer chosen beforehand."""
        found = [
            each
            for layer, readout, part in outputs(data)
            for each in self._all(part, layer, readout)
        ]
        if data.sizes["layer"] > 1:
            found += [self._committed(data.sel(readout=name)) for name in data["readout"].values]
        return found

    def _all(self, data: xr.Dataset, layer: str, readout: str) -> Iterator[Score]:
        main, cells = self._scores(data, layer, readout)
        yield main.score
        # One cell is the main score itself.
        yield from (cell.score for cell in cells if len(cells) > 1)
        for check in self.checks:
            yield replace(check(self.compared(data)), layer=layer, readout=readout)

    def _committed(self, data: xr.Dataset) -> Score:
        """Return the agreement at the layer that is best on the other half of the abscissae.

        The layer is chosen where it is not scored, so that many layers are no advantage (the idea
        of Brain-Score, Schrimpf et al. 2018).
        """
        layers = [str(layer) for layer in data["layer"].values]
        readout = str(data["readout"].values)
        halves = [data.isel(x=slice(start, None, 2)) for start in (0, 1)]
        found = [
            [self._scores(half.sel(layer=layer), layer, readout)[0] for layer in layers]
            for half in halves
        ]
        values = np.array([[each.score.value for each in half] for half in found])
        best = [int(np.argmax(np.nan_to_num(row, nan=-np.inf))) for row in values]
        chosen = [found[0][best[1]], found[1][best[0]]]
        value = float(np.mean([each.score.value for each in chosen]))
        resamples = np.mean([each.values for each in chosen], axis=0)
        low, high = interval(value, resamples, data.sizes["x"], "correlation")
        where = " and ".join(dict.fromkeys(layers[number] for number in best[::-1]))
        return _agreement(
            "agreement-committed",
            value,
            low,
            high,
            n=sum(each.score.n for each in chosen),
            layer=layers[-1],
            readout=readout,
            note=f"at {where}, chosen on the other half of the abscissae",
        )

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the main score of one layer and read-out with its bootstrap over abscissae."""
        return self._scores(data, str(data["layer"].values), str(data["readout"].values))[0]

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the points that both were shown, and the curves that both have."""
        a, b = _same_curves(*in_common(first, second, x="abscissa"))
        either = np.maximum(a["dropped"].values, b["dropped"].values)
        if all(np.array_equal(part["dropped"].values > 0, either > 0) for part in (a, b)):
            return a, b
        flagged = [part.assign(dropped=part["dropped"].copy(data=either)) for part in (a, b)]
        return flagged[0], flagged[1]

    def printed(self, value: float, experiment: Any) -> Score:
        """Return an agreement of which only the value is known."""
        nothing = float("nan")
        return _agreement("agreement", value, nothing, nothing, n=0)

    def compared(self, data: xr.Dataset) -> CurveSet:
        """Return the curves of one layer and read-out as they are compared."""
        return curves_of(data, self.elevation, self.floor)

    def _scores(
        self, data: xr.Dataset, layer: str, readout: str
    ) -> tuple[Resampled, list[Resampled]]:
        curves = self.compared(data)
        counts = cluster_counts(len(curves.abscissae))
        cells = [
            _Cell(name, value, resamples, n)
            for name, value, resamples, n in (
                *_pearson(curves, counts),
                *_orders(curves, counts, pooled=self.order == "pooled"),
            )
        ]
        note = left_out(data["dropped"])
        # A channel that an observer lacks has no answers at all, which is not undefined.
        answered = data.isel(curve=data["response"].notnull().any(("seed", "x")).values)
        if is_undefined(answered if answered.sizes["curve"] else data):
            note, cells = join_notes(note, UNDEFINED), []
        elif len(curves.abscissae) < _FEWEST_POINTS or not cells:
            note = join_notes(note, TOO_FEW)
        elif np.nanmax(curves.response) == np.nanmin(curves.response):
            note = join_notes(note, _FLAT)
        note = join_notes(note, _without_a_point(curves))
        main = _Cell(
            "agreement",
            float(np.mean([cell.value for cell in cells])) if cells else float("nan"),
            np.mean([cell.resamples for cell in cells], axis=0) if cells else np.empty(0),
            max((cell.n for cell in cells), default=0),
        )

        def scored(cell: _Cell, note: str) -> Resampled:
            low, high = interval(cell.value, cell.resamples, len(curves.abscissae), "correlation")
            score = _agreement(
                cell.name,
                cell.value,
                low,
                high,
                n=cell.n,
                layer=layer,
                readout=readout,
                note=note,
            )
            return Resampled(score, cell.resamples, curves.abscissae, "correlation")

        parts = " and ".join(cell.name for cell in cells)
        how = f"mean of {parts}" if len(cells) > 1 else parts
        return scored(main, join_notes(note, how)), [scored(cell, note) for cell in cells]


def _same_curves(first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Leave the curves that both have; where one has no channels, both are read by distance."""
    has = [part["response"].notnull().any(("seed", "x")) for part in (first, second)]
    if bool((has[0] == has[1]).all()):
        return first, second
    both = has[0] & has[1]
    parts = []
    for part in (first, second):
        response = part["response"]
        if "distance" in part:
            response = part["distance"].expand_dims(curve=response.sizes["curve"])
        parts.append(part.assign(response=response.where(both).transpose(*part["response"].dims)))
    return parts[0], parts[1]


def _without_a_point(curves: CurveSet) -> str:
    """Say which curves have no point at all: whole channels, or single conditions."""
    silent: NDArray[np.bool_] = np.asarray(np.isnan(curves.response).all(axis=1))
    if not silent.any() or silent.all():
        return ""
    names: dict[str, None] = {}
    for row in np.flatnonzero(silent):
        channel, group = curves.channel[row], curves.group[row]
        if silent[curves.channel == channel].all():
            names[DIRECTION_NAMES[channel]] = None
            continue
        parts = (DIRECTION_NAMES.get(group, group), curves.condition[row])
        names[" ".join(filter(None, parts))] = None
    return f"no curve of {', '.join(names)}"


class _Cell(NamedTuple):
    name: str
    value: float
    resamples: Floats
    n: int


def _pearson(curves: CurveSet, counts: Floats) -> Iterator[tuple[str, float, Floats, int]]:
    """Yield one correlation over all curves that people's are known for."""
    known = np.isfinite(curves.human)
    if not known.any():
        return
    measured = known & np.isfinite(curves.response)
    x, y = (np.where(measured, each, 0.0) for each in (curves.human, curves.response))
    value = _weighted_pearson(x, y, measured, np.ones((1, counts.shape[1])))
    resamples = _weighted_pearson(x, y, measured, counts)
    yield "pearson", float(value[0]), resamples, int(measured.sum())


def _weighted_pearson(x: Floats, y: Floats, measured: NDArray[Any], counts: Floats) -> Floats:
    """Return Pearson's correlation for each bootstrap sample of abscissae."""
    # Sums over curves first: samples take whole abscissae. Centred, so that nothing cancels.
    x = np.where(measured, x - x[measured].mean() if measured.any() else x, 0.0)
    y = np.where(measured, y - y[measured].mean() if measured.any() else y, 0.0)
    n, sx, sy, xx, yy, xy = (
        counts @ each.sum(axis=0) for each in (measured.astype(float), x, y, x * x, y * y, x * y)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        spread_x, spread_y = n * xx - sx**2, n * yy - sy**2
        found = (n * xy - sx * sy) / np.sqrt(spread_x * spread_y)
    flat = (spread_y <= 1e-12 * np.maximum(n * yy, 1e-300)) | (spread_x <= 0)
    # Curves that do not move follow nothing: no correlation.
    return np.asarray(np.where(flat, 0.0, np.clip(found, -1, 1)))


def _orders(
    curves: CurveSet, counts: Floats, *, pooled: bool
) -> Iterator[tuple[str, float, Floats, int]]:
    """Yield the order of each group of curves."""
    ranked = np.isfinite(curves.ideal).any(axis=1)
    groups = [g for g in dict.fromkeys(curves.group) if (ranked & (curves.group == g)).sum() > 1]
    for group in groups:
        chosen = ranked & (curves.group == group)
        ideal, response = curves.ideal[chosen], curves.response[chosen]
        name = f"order-{group}" if group else "order"
        if pooled:
            whole = np.isfinite(response).all(axis=0) & np.isfinite(ideal).all(axis=0)
            if not whole.any():
                continue
            if np.ptp(response[:, whole]) == 0:
                # Lists of equal curves would be in the order of their numbers.
                yield name, 0.0, np.zeros(len(counts)), int(whole.sum())
                continue
            once = PooledKendall(ideal[:, whole], np.ones((1, whole.sum())))
            many = PooledKendall(ideal[:, whole], counts[:, whole])
            value = float(once(response[:, whole])[0])
            yield name, value, many(response[:, whole]), int(whole.sum())
            continue
        found = Concordance(ideal)(response)
        told = np.isfinite(found)
        if not told.any():
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            resamples = counts[:, told] @ found[told] / counts[:, told].sum(axis=1)
        yield name, float(found[told].mean()), resamples, int(told.sum())
