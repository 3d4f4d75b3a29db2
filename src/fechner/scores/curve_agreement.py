"""How close curves of responses come to people's, in shape and in order (Vila-Tomás et al. 2026).

Pearson's correlation over all curves that people's are known for, with one scale for all of them;
and for each group of curves whether they lie above each other in the right order. One number over
both, their mean, stands for the property; achromatic and chromatic curves have one each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fechner.scores.alignment import outputs
from fechner.scores.bootstrap import Scale, Source, interval
from fechner.scores.curve_cells import Cell, Cells, in_words, mean_of
from fechner.scores.curve_checks import Check
from fechner.scores.curve_set import CurveSet, curves_of, draws_resampled
from fechner.scores.notes import TOO_FEW, UNDEFINED, join_notes, left_out
from fechner.scores.order import EQUAL
from fechner.scores.paired import in_common
from fechner.scores.score import Resampled, Score
from fechner.stimuli.colour import DIRECTION_NAMES

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_agreement = partial(Score, higher_is_better=True, best=1.0, chance=0.0)

#: Abscissae needed to speak of a curve.
_FEWEST_POINTS = 3

#: Why an agreement is 0.
_FLAT = "all curves are the same and flat, which agrees with nothing"


@dataclass(frozen=True)
class CurveAgreement:
    """Agreement of curves with people's: shape, order, and what can be said of them in words.

    Where stimuli are drawn at random, intervals are over abscissae and draws: each is resampled by
    itself, and their variances add up. Elsewhere they are over abscissae.

    Parameters
    ----------
    order
        ``"concordance"``: pairs of curves in the right order, by abscissa; ``"pooled"``: Kendall's
        correlation of places, pooled (Vila-Tomás et al. 2026).
    elevation
        Whether curves are compared as threshold elevations: the response under the first condition
        of a group over that under another, less 1, cut at 0. Their shape is compared, divided by
        the largest value; their size has a score of its own.
    floor
        What elevations of nothing are set to instead of 0 before they are divided.
    least
        The least effect that counts as one: elevations below it are none, and curves of a group
        that all lie within this share of the highest have no order.
    checks
        What is asked of the curves in words.
    """

    order: Literal["concordance", "pooled"] = "concordance"
    elevation: bool = False
    floor: float = 0.0
    least: float = EQUAL
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
        main, *further = self._scores(data, layer, readout)
        yield main.score
        yield from (each.score for each in further)
        others = [*_magnitudes(data)] if self.elevation else []
        others += [check(self.compared(data)) for check in self.checks]
        yield from (replace(each, layer=layer, readout=readout) for each in others)

    def _committed(self, data: xr.Dataset) -> Score:
        """Return the agreement at the layer that is best on the other half of the abscissae.

        The layer is chosen where it is not scored, so that many layers are no advantage (the idea
        of Brain-Score, Schrimpf et al. 2018).
        """
        layers = [str(layer) for layer in data["layer"].values]
        readout = str(data["readout"].values)
        halves = [data.isel(x=slice(start, None, 2)) for start in (0, 1)]
        found = [[self.resample(half.sel(layer=layer)) for layer in layers] for half in halves]
        values = np.array([[each.score.value for each in half] for half in found])
        best = [int(np.argmax(np.nan_to_num(row, nan=-np.inf))) for row in values]
        chosen = [found[0][best[1]], found[1][best[0]]]
        value = float(np.mean([each.score.value for each in chosen]))
        resamples = np.mean([each.values for each in chosen], axis=0)
        further = [
            Source(np.mean([a.values, b.values], axis=0), a.clusters)
            for a, b in zip(*(each.further for each in chosen), strict=True)
        ]
        low, high = interval(value, resamples, data.sizes["x"], "correlation", further=further)
        where = " and ".join(dict.fromkeys(layers[number] for number in best[::-1]))
        return _agreement(
            "agreement-committed",
            value,
            low,
            high,
            n=sum(each.score.n for each in chosen),
            resampled=chosen[0].score.resampled,
            layer=layers[-1],
            readout=readout,
            note=f"at {where}, chosen on the other half of the abscissae",
        )

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the main score of one layer and read-out with its bootstraps."""
        return next(self._scores(data, str(data["layer"].values), str(data["readout"].values)))

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the points that both were shown, and the curves that both have."""
        a, b = _same_curves(*in_common(first, second, x="abscissa"))
        either = np.maximum(a["dropped"].values, b["dropped"].values)
        if all(np.array_equal(part["dropped"].values > 0, either > 0) for part in (a, b)):
            return a, b
        # Runs of earlier versions know fewer reasons.
        reasons = max((part["dropped"].attrs for part in (a, b)), key=lambda r: len(r["meanings"]))
        flags = (a["dropped"].dims, either, reasons)
        return a.assign(dropped=flags), b.assign(dropped=flags)

    def printed(self, value: float, experiment: Any) -> Score:
        """Return an agreement of which only the value is known."""
        nothing = float("nan")
        return _agreement("agreement", value, nothing, nothing, n=0, resampled="abscissae")

    def compared(self, data: xr.Dataset) -> CurveSet:
        """Return the curves of one layer and read-out as they are compared."""
        return self._as_compared(curves_of(data))

    def _as_compared(self, curves: CurveSet) -> CurveSet:
        if not self.elevation:
            return curves
        return curves.elevations(self.floor, self.least).over_largest()

    def _scores(self, data: xr.Dataset, layer: str, readout: str) -> Iterator[Resampled]:
        """Yield the main score first, then its cells, then those of channels and halves."""
        curves = self.compared(data)
        drawn = self._as_compared(draws_resampled(data))
        draws = data.sizes["seed"] if drawn.response.shape[1] else 0

        def cells_of(rows: NDArray[np.bool_]) -> list[Cell]:
            cells = Cells(curves.rows(rows), drawn.rows(rows))
            least = EQUAL if self.elevation else self.least
            return [*cells.pearson(), *cells.orders(pooled=self.order == "pooled", least=least)]

        note = left_out(data["dropped"])
        cells = cells_of(np.ones(len(curves.group), dtype=bool))
        halves = {"ach": curves.channel == "ach", "chromatic": curves.channel != "ach"}
        if _is_undefined(data):
            note, cells, halves = join_notes(note, UNDEFINED), [], {}
        elif len(curves.abscissae) < _FEWEST_POINTS or not cells:
            note = join_notes(note, TOO_FEW)
        elif np.nanmax(curves.response) == np.nanmin(curves.response):
            note = join_notes(note, _FLAT)
        note = join_notes(note, _without_a_point(curves))

        def scored(cell: Cell, note: str) -> Resampled:
            further = (Source(cell.by_draw, draws),) if draws else ()
            at = curves.abscissae[cell.at] if cells else curves.abscissae
            scale: Scale = "concordance" if cell.name.startswith("order") else "correlation"
            low, high = interval(cell.value, cell.by_abscissa, len(at), scale, further=further)
            score = _agreement(
                cell.name,
                cell.value,
                low,
                high,
                n=cell.n,
                resampled="abscissae and draws" if draws else "abscissae",
                layer=layer,
                readout=readout,
                note=note,
            )
            return Resampled(score, cell.by_abscissa, at, scale, further=further)

        main = mean_of("agreement", cells)
        note_of_main = join_notes(note, in_words(cells))
        if draws and cells:
            low, high = interval(main.value, main.by_draw, draws, "correlation")
            note_of_main += f"; over draws alone [{low:.3f}, {high:.3f}]"
        yield scored(main, note_of_main)
        # One cell is the main score itself.
        yield from (scored(cell, note) for cell in cells if len(cells) > 1)
        channels = [c for c in DIRECTION_NAMES if (curves.channel == c).any()] if halves else []
        for channel in channels if len(channels) > 1 else ():
            rows = curves.channel == channel
            for cell in Cells(curves.rows(rows), drawn.rows(rows)).pearson():
                yield scored(cell._replace(name=f"pearson-{channel}"), "")
        if all(rows.any() for rows in halves.values()):
            for name, rows in halves.items():
                if found := cells_of(rows):
                    yield scored(mean_of(f"agreement-{name}", found), in_words(found))


def _is_undefined(data: xr.Dataset) -> bool:
    """Whether answers to what was shown are undefined, in channels that an observer has."""
    shown = data["dropped"].values == 0
    response = data["response"].transpose("curve", "x", "seed").values
    nothing = np.isnan(response).any(axis=-1) & shown
    channel = data["channel"].values
    has_some = np.array([np.isfinite(response[channel == each]).any() for each in channel])
    return bool(nothing[has_some].any() or (nothing.any() and not has_some.any()))


def _magnitudes(data: xr.Dataset) -> Iterator[Score]:
    """Yield for each group how much larger the largest elevations are than people's.

    The factor by which a threshold is raised at most, over people's, in dB, averaged over curves.
    """
    curves = curves_of(data).elevations()
    drawn = draws_resampled(data).elevations()
    for group in dict.fromkeys(curves.group):
        rows = (curves.group == group) & np.isfinite(curves.response).any(axis=1)
        there = np.isfinite(curves.response[rows]) & np.isfinite(curves.human[rows])
        if not there.any():
            continue
        people, own, others = (
            20 * np.log10(1 + np.where(there[:, None], each, 0.0).max(axis=-1))
            for each in (
                curves.human[rows][:, None],
                curves.response[rows][:, None],
                drawn.response[rows],
            )
        )
        value = float((own - people).mean())
        draws = data.sizes["seed"]
        resamples = (others - people).mean(axis=0)
        low, high = interval(value, resamples, draws, "share")
        told = [
            ", ".join(f"{10 ** (each / 20) - 1:.2g}" for each in values.ravel())
            for values in (own, people)
        ]
        yield Score(
            f"magnitude-db-{group}" if group else "magnitude-db",
            value,
            low,
            high,
            higher_is_better=None,
            best=0.0,
            chance=float(-people.mean()),
            resampled="draws",
            n=int(rows.sum()),
            note=f"largest elevations {told[0]}; people's {told[1]}",
        )


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
