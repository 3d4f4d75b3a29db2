"""How close curves of responses come to people's, in shape and in order (Vila-Tomás et al. 2026).

Pearson's correlation over all curves that people's are known for, with one scale for all of them;
and for each group of curves whether they lie above each other in the right order. One number over
both, their mean, stands for the property; achromatic and chromatic curves have one each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Floats, xr
from fechner.scores import notes
from fechner.scores.curve_checks import EQUAL, Check, CurveSet, concordance, pooled_kendall
from fechner.scores.panels import Axis, Line, Palette, Panel
from fechner.scores.score import Resampled, Score, Scorer, unmeasured
from fechner.scores.statistics import Scale, Source, cluster_counts, interval, student
from fechner.stimuli.colour import DIRECTION_NAMES

if TYPE_CHECKING:
    from fechner.experiments import Curves

#: Abscissae needed to speak of a curve.
_FEWEST_POINTS = 3

#: Why an agreement is 0.
_FLAT = "all curves are the same and flat, which agrees with nothing"


@dataclass(frozen=True)
class CurveAgreement(Scorer):
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

    kind = unmeasured("agreement", "abscissae")
    along: ClassVar = {"x": "abscissa"}

    def __call__(self, data: xr.Dataset, *others: Any) -> Sequence[Score]:
        """Score every layer and read-out, and each read-out at a layer chosen beforehand."""
        found = [*super().__call__(data)]
        if data.sizes["layer"] > 1:
            found += [self._committed(data.sel(readout=name)) for name in data["readout"].values]
        return found

    def scores(self, data: xr.Dataset, *others: Any) -> Iterator[Score | Resampled]:
        """Yield the agreement, its parts, magnitudes of elevations, and checks."""
        curves = own = CurveSet.of(data)
        if self.elevation:
            curves = own.elevations(self.floor, self.least).over_largest()
        yield from self._agreements(data, curves)
        yield from _magnitudes(own.elevations()) if self.elevation else ()
        yield from (check(curves) for check in self.checks)

    def _committed(self, data: xr.Dataset) -> Score:
        """Return the agreement at the layer that is best on the other half of the abscissae.

        The layer is chosen where it is not scored, so that many layers are no advantage (the idea
        of Brain-Score, Schrimpf et al. 2018).
        """
        layers = [str(layer) for layer in data["layer"].values]
        halves = [data.isel(x=slice(start, None, 2)) for start in (0, 1)]
        found = [[self.resample(half.sel(layer=layer)) for layer in layers] for half in halves]
        values = np.array([[each.score.value for each in half] for half in found])
        best = [int(np.argmax(np.nan_to_num(row, nan=-np.inf))) for row in values]
        chosen = found[0][best[1]], found[1][best[0]]
        mean = replace(mean_of("agreement-committed", chosen), clusters=data["abscissa"].values)
        where = " and ".join(dict.fromkeys(layers[number] for number in best[::-1]))
        note = f"at {where}, chosen on the other half of the abscissae"
        n = sum(each.score.n for each in chosen)
        return replace(mean.with_interval().score, n=n, note=note, layer=layers[-1])

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the points that both were shown, and the curves that both have."""
        a, b = _same_curves(*super().shared(first, second))
        either = np.maximum(a["dropped"].values, b["dropped"].values)
        if all(np.array_equal(part["dropped"].values > 0, either > 0) for part in (a, b)):
            return a, b
        # Runs of earlier versions know fewer reasons.
        reasons = max((part["dropped"].attrs for part in (a, b)), key=lambda r: len(r["meanings"]))
        flags = (a["dropped"].dims, either, reasons)
        return a.assign(dropped=flags), b.assign(dropped=flags)

    def _agreements(self, data: xr.Dataset, curves: CurveSet) -> Iterator[Resampled]:
        """Yield the main score first, then its cells, then those of channels and halves."""
        note = notes.left_out(data["dropped"])
        cells = self._cells(curves)
        if _is_undefined(data):
            note, cells = notes.join(note, notes.UNDEFINED), []
        elif len(curves.abscissae) < _FEWEST_POINTS or not cells:
            note = notes.join(note, notes.TOO_FEW)
        elif np.nanmax(curves.response) == np.nanmin(curves.response):
            note = notes.join(note, _FLAT)
        note = notes.join(note, _without_a_point(curves))
        if not cells:
            nothing = np.empty(0)
            yield _score(curves, "agreement", np.nan, nothing, nothing, 0, ...).noted(note)
            return
        main = mean_of("agreement", cells)
        note_of_main = notes.join(note, _names(cells))
        for by_draw, draws in main.further:
            low, high = interval(main.score.value, by_draw, draws, "correlation")
            note_of_main += f"; over draws alone [{low:.3f}, {high:.3f}]"
        yield main.noted(note_of_main)
        # One cell is the main score itself.
        yield from (cell.noted(note) for cell in cells if len(cells) > 1)
        channels = [c for c in DIRECTION_NAMES if (curves.channel == c).any()]
        if len(channels) < 2:
            return
        for channel in channels:
            cell = _pearson(curves.rows(curves.channel == channel), f"pearson-{channel}")
            if cell is not None:
                yield cell.noted("")
        if "ach" in channels:
            achromatic = curves.channel == "ach"
            for name, rows in (("ach", achromatic), ("chromatic", ~achromatic)):
                if found := self._cells(curves.rows(rows)):
                    yield mean_of(f"agreement-{name}", found).noted(_names(found))

    def _cells(self, curves: CurveSet) -> list[Resampled]:
        """Return the correlation of all curves, and the order of each group with several."""
        cells = [_pearson(curves, "pearson")]
        ranked = np.any(np.isfinite(curves.ideal), axis=1)
        for group in curves.groups:
            own = curves.rows(ranked & (curves.group == group))
            name = f"order-{group}" if group else "order"
            if len(own.group) > 1 and self.order == "pooled":
                cells.append(_pooled_order(own, name))
            elif len(own.group) > 1:
                cells.append(_order(own, name, EQUAL if self.elevation else self.least))
        return [cell for cell in cells if cell is not None]


def _is_undefined(data: xr.Dataset) -> bool:
    """Whether answers to what was shown are undefined, in channels that an observer has."""
    response = data["response"].transpose("curve", "x", "seed").values
    nothing = np.isnan(response).any(axis=-1) & (data["dropped"].values == 0)
    channel = data["channel"].values
    has_some = np.array([np.isfinite(response[channel == each]).any() for each in channel])
    return bool(nothing[has_some].any() or (nothing.any() and not has_some.any()))


def _score(
    curves: CurveSet, name: str, value: float, by_abscissa: Floats, by_draw: Floats, n: int, at: Any
) -> Resampled:
    """Return a number with its bootstraps, and the abscissae that it is of."""
    is_drawn = curves.draws > 1
    of = unmeasured(name, "abscissae and draws" if is_drawn else "abscissae")
    scale: Scale = "concordance" if name.startswith("order") else "correlation"
    further = (Source(by_draw, curves.draws),) if is_drawn else ()
    places = curves.abscissae[at]
    return Resampled(of.with_value(value, n=n), by_abscissa, places, scale, further=further)


def mean_of(name: str, cells: Sequence[Resampled]) -> Resampled:
    """Return the plain mean of scores that are resampled together."""
    value = float(np.mean([cell.score.value for cell in cells]))
    n = max(cell.score.n for cell in cells)
    further = tuple(
        Source(np.mean([each.values for each in sources], axis=0), sources[0].clusters)
        for sources in zip(*(cell.further for cell in cells), strict=True)
    )
    fewest = min((cell.clusters for cell in cells), key=len)
    score = replace(cells[0].score, name=name, value=value, n=n)
    values = np.mean([cell.values for cell in cells], axis=0)
    return Resampled(score, values, fewest, "correlation", further=further)


def _names(cells: Sequence[Resampled]) -> str:
    parts = " and ".join(cell.score.name for cell in cells)
    return f"mean of {parts}" if len(cells) > 1 else parts


def _pearson(curves: CurveSet, name: str) -> Resampled | None:
    """Return the correlation over all curves that people's are known for."""
    human, response = curves.human, curves.response
    measured = np.isfinite(human) & np.isfinite(response)
    if not measured.any():
        return None
    # Sums over curves first: samples take whole abscissae. Centred, so that nothing cancels.
    x = np.where(measured, human - human[measured].mean(), 0.0)[:, None]
    middle = response[measured].mean()

    def sums(responses: Floats) -> Floats:
        """Return what a correlation is made of at each abscissa, [6, samples, abscissae]."""
        y = np.where(measured[:, None], responses - middle, 0.0)
        each = (measured[:, None], x, y, x * x, y * y, x * y)
        return np.stack([np.broadcast_to(part, y.shape).sum(axis=0) for part in each])

    once = sums(response[:, None])
    value = float(_correlation(once.sum(axis=-1))[0])
    by_abscissa = _correlation(once[:, 0] @ cluster_counts(human.shape[1]).T)
    by_draw = _correlation(sums(curves.resampled).sum(axis=-1))
    at = measured.any(axis=0)
    return _score(curves, name, value, by_abscissa, by_draw, int(measured.sum()), at)


def _correlation(sums: Floats) -> Floats:
    """Return Pearson's correlation from the sums it is made of, for each sample."""
    n, sx, sy, xx, yy, xy = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        spread_x, spread_y = n * xx - sx**2, n * yy - sy**2
        found = (n * xy - sx * sy) / np.sqrt(spread_x * spread_y)
    flat = (spread_y <= 1e-12 * np.maximum(n * yy, 1e-300)) | (spread_x <= 0)
    # Curves that do not move follow nothing: no correlation.
    return np.asarray(np.where(flat, 0.0, np.clip(found, -1, 1)))


def _order(curves: CurveSet, name: str, least: float) -> Resampled | None:
    """Return the concordance of one group, averaged over abscissae."""
    found = concordance(curves.ideal, curves.response, least)
    known = np.isfinite(found)
    if not known.any():
        return None
    n, counts = int(known.sum()), cluster_counts(len(found))[:, known]
    with np.errstate(invalid="ignore", divide="ignore"):
        by_abscissa = counts @ found[known] / counts.sum(axis=1)
    # Where all abscissae have the same order, resamples do not vary, although another grid might
    # find one that has another. As Agresti and Min (2005) add half an observation to either side,
    # one abscissa more is without an order in half of the samples: a standard error of 1 / (n + 2).
    without = np.arange(len(by_abscissa)) % 2
    by_abscissa = by_abscissa - np.sign(by_abscissa) * without * 2 / (n + 2)
    by_draw = concordance(curves.ideal[:, None], curves.resampled, least)[:, known].mean(axis=1)
    return _score(curves, name, float(found[known].mean()), by_abscissa, by_draw, n, known)


def _pooled_order(curves: CurveSet, name: str) -> Resampled | None:
    """Return the pooled rank correlation of one group."""
    whole = np.all(np.isfinite(curves.response + curves.ideal), axis=0)
    if not whole.any():
        return None
    n, counts = int(whole.sum()), cluster_counts(len(whole))
    ideal, response = curves.ideal[:, whole], curves.response[:, whole]
    samples = curves.resampled[..., whole].swapaxes(0, 1)
    if np.ptp(response) == 0:
        # Lists of equal curves would be in the order of their numbers.
        return _score(curves, name, 0.0, np.zeros(len(counts)), np.zeros(len(samples)), n, whole)

    def once(responses: Floats) -> float:
        return float(pooled_kendall(ideal, responses, np.ones((1, n)))[0])

    # Of few draws there are few different samples.
    different, which = np.unique(samples, axis=0, return_inverse=True)
    by_draw = np.array([once(each) for each in different])[which.ravel()]
    by_abscissa = pooled_kendall(ideal, response, counts[:, whole])
    return _score(curves, name, once(response), by_abscissa, by_draw, n, whole)


def _magnitudes(elevations: CurveSet) -> Iterator[Score]:
    """Yield for each group how much larger the largest elevations are than people's.

    The factor by which a threshold is raised at most, over people's, in dB, averaged over curves.
    """
    for group in elevations.groups:
        own = elevations.rows(elevations.group == group)
        own = own.rows(np.any(np.isfinite(own.response), axis=1))
        there = np.isfinite(own.response) & np.isfinite(own.human)
        if not there.any():
            continue
        people, observed, resampled = (
            20 * np.log10(1 + np.where(there[:, None], each, 0.0).max(axis=-1))
            for each in (own.human[:, None], own.response[:, None], own.resampled)
        )
        value = float((observed - people).mean())
        ends = interval(value, (resampled - people).mean(axis=0), own.draws, "share")
        largest, human = (
            ", ".join(f"{10 ** (each / 20) - 1:.2g}" for each in values.ravel())
            for values in (observed, people)
        )
        name = f"magnitude-db-{group}" if group else "magnitude-db"
        of = unmeasured(name, "draws", None, best=0.0, chance=float(-people.mean()))
        note = f"largest elevations {largest}; people's {human}"
        yield of.with_value(value, ends, len(own.group), note)


def _same_curves(first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Leave the curves that both have; where one has no channels, both are read by distance."""
    has = [part["response"].notnull().any(("seed", "x")) for part in (first, second)]
    if bool((has[0] == has[1]).all()):
        return first, second
    parts = []
    for part in (first, second):
        response = part["response"]
        if "distance" in part:
            response = part["distance"].expand_dims(curve=response.sizes["curve"])
        kept = response.where(has[0] & has[1]).transpose(*part["response"].dims)
        parts.append(part.assign(response=kept))
    return parts[0], parts[1]


def _without_a_point(curves: CurveSet) -> str:
    """Say which curves have no point at all: whole channels, or single conditions."""
    silent = np.all(np.isnan(curves.response), axis=1)
    if not silent.any() or silent.all():
        return ""
    names: dict[str, None] = {}
    for row in np.flatnonzero(silent):
        channel, group = curves.channel[row], curves.group[row]
        name = f"{DIRECTION_NAMES.get(group, group)} {curves.condition[row]}".strip()
        names[DIRECTION_NAMES[channel] if silent[curves.channel == channel].all() else name] = None
    return f"no curve of {', '.join(names)}"


#: Channels in the order of their colours.
_CHANNELS = ("ach", "rg", "yb")


@dataclass(frozen=True)
class CurvePanels:
    """Makes a panel for each group of curves: people's dashed, on one scale for all.

    Where stimuli are drawn at random, bands are 95 % intervals of the mean over draws. Both axes
    may be logarithmic, as of sensitivities; curves may be shown as threshold elevations.
    """

    log: bool = False
    elevation: bool = False

    def __call__(self, experiment: Curves, data: xr.Dataset) -> list[Panel]:
        """Return the panels of one layer and read-out."""
        curves = CurveSet.of(data)
        if self.elevation:
            curves = curves.elevations()
        scale = 1.0 if self.elevation else _scale(curves)
        curves = curves._replace(human=scale * curves.human)
        known = np.any(np.isfinite(curves.human), axis=1)
        panels = []
        for group in curves.groups:
            rows = curves.group == group
            own = known & rows if (known & rows).any() else rows
            # A gallery, and curves that show the same, have other rows.
            first = int(np.argmax(own)) if len(experiment.samples()) == len(rows) else 0
            panels.append(self._panel(experiment, curves.rows(rows), first))
        return panels

    def _panel(self, experiment: Curves, curves: CurveSet, first: int) -> Panel:
        several = len(set(curves.channel)) > 1
        places, palette = self._colours(curves)
        draws, error = curves.draws, None
        if draws > 1:
            deviation = curves.resampled.std(axis=1) * np.sqrt(draws / (draws - 1))
            error = student(draws - 1) * deviation
        # People are drawn where an observer is compared with them; alone, if there is nothing else.
        answered = np.any(np.isfinite(curves.response), axis=1)
        known = np.any(np.isfinite(curves.human), axis=1)
        x, lines = curves.abscissae, []
        for row in np.argsort(places, kind="stable").tolist():
            name = DIRECTION_NAMES[curves.channel[row]] if several else curves.condition[row]
            number, response = int(places[row]), curves.response[row]
            if answered[row]:
                low, high = (None, None) if error is None else self._band(response, error[row])
                lines.append(Line(x, self._drawn(response), name, number, low=low, high=high))
            if known[row] and (answered[row] or not answered.any()):
                human = self._drawn(curves.human[row])
                lines.append(Line(x, human, name, number, human=True))
        of = _name(experiment, curves.group[0])
        what = "Threshold elevation by adaptation" if self.elevation else "Response"
        ordinate = "threshold elevation (factor - 1)" if self.elevation else "response"
        return Panel(
            "elevations" if self.elevation else "curves",
            f"{what}, {of}" if of else what,
            Axis(experiment.task.label, log=self.log or self.elevation),
            Axis(ordinate, log=self.log),
            tuple(lines),
            groups="channel" if several else "condition",
            ordered=not several,
            palette=palette,
            row=first,
            name=of,
        )

    def _colours(self, curves: CurveSet) -> tuple[NDArray[np.intp], Palette]:
        """Return the place of each curve in the order of colours, and what these stand for.

        As in Vila-Tomás et al. (2026): from the curve that should lie highest to the lowest, where
        that is the same everywhere; curves of one rank have one colour.
        """
        channel, level, ideal = curves.channel, curves.level, curves.ideal
        if len(set(channel)) > 1:
            return np.array([_CHANNELS.index(each) for each in channel]), "channels"
        by_level = np.unique(level, return_inverse=True)[1]
        if self.elevation:
            return by_level, "adaptors"
        # A curve without a place is shown on nothing: what the others are held against.
        ranked = np.isfinite(ideal).any(axis=1)
        place = np.where(ranked, np.where(np.isnan(ideal), -np.inf, ideal).max(axis=1), np.inf)
        fixed = (np.isnan(ideal) | (ideal == place[:, None])).all() and len(set(place)) > 1
        if not fixed:
            return by_level, ""
        both_sides = level.min() < 0 < level.max()
        sides: dict[str, Palette] = {"rg": "red-green", "yb": "yellow-blue"}
        palette = sides.get(channel[0], "adaptors") if both_sides else "adaptors"
        return np.unique(-place, return_inverse=True)[1], palette

    def _band(self, values: Floats, error: Floats) -> tuple[Floats, Floats]:
        """Return both ends of an interval, on the scale of the axis."""
        if not self.log:
            least = 0.0 if self.elevation else -np.inf
            return np.maximum(values - error, least), values + error
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            factor = np.exp(error / values)
        return self._drawn(values / factor), self._drawn(values * factor)

    def _drawn(self, values: Floats) -> Floats:
        return np.where(values > 0, values, np.nan) if self.log else values


def _name(experiment: Curves, group: str) -> str:
    """Return what a group is called, with what all its tests have in common."""
    if group in DIRECTION_NAMES:
        return DIRECTION_NAMES[group]
    tests = {curve.test for curve in experiment.task.curves() if curve.group == group}
    return ": ".join(filter(None, (group, *tests))) if group and len(tests) == 1 else group


def _scale(curves: CurveSet) -> float:
    """Return the factor that brings people's curves closest to the responses."""
    both = np.isfinite(curves.human) & np.isfinite(curves.response)
    human, response = curves.human[both], curves.response[both]
    square = float(human @ human)
    factor = float(human @ response) / square if square else 1.0
    # Of curves that go the other way, at least the size is shown.
    return factor if factor > 0 else float(np.sqrt((response @ response) / square))
