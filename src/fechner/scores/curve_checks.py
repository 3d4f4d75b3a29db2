"""Curves of responses: their order, and what can be said of them by rules that are stated.

At every abscissa the curves of a group have an ideal order, in which some may be tied. Two ways to
score it: pairs of curves that lie the right way round, and the rank correlation of Vila-Tomás et
al. (2026), which pools the places of curves over all abscissae.

Every check asks the same of several curves; its value is the share of them that pass. From 0.8 on
the answer is yes, from 0.4 on partly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Flags, Floats, xr
from fechner.scores import notes
from fechner.scores.score import CHECK, Score, unmeasured
from fechner.scores.statistics import cluster_counts

#: Responses that differ by less, relatively, are equal: rounding in single precision is no order.
EQUAL = 1e-6

#: The same for whole pictures on backgrounds of other luminances, in which rounding differs.
_LISTED_AS_EQUAL = 4e-6


class CurveSet(NamedTuple):
    """Curves of one layer and read-out: responses, people's, ideal order, [curves, abscissae].

    Responses are means over draws of the stimuli, NaN where nothing was shown; resampled, they are
    on bootstrap samples of the draws, [curves, samples, abscissae], none where nothing is drawn.
    All curves and abscissae of a draw are taken together, since they share its noise.
    """

    abscissae: Floats
    response: Floats
    resampled: Floats
    human: Floats
    ideal: Floats
    channel: NDArray[np.str_]
    condition: NDArray[np.str_]
    level: Floats
    group: NDArray[np.str_]
    draws: int

    @classmethod
    def of(cls, data: xr.Dataset) -> CurveSet:
        """Return the curves in stored answers."""
        draws = data.sizes["seed"]
        each = data["response"].transpose("curve", "seed", "x").values
        mean = data["response"].mean("seed").transpose("curve", "x").values
        response = np.where(data["dropped"].values == 0, mean, np.nan)
        counts = cluster_counts(draws)[: None if draws > 1 else 0]
        means = np.einsum("rs,csx->crx", counts / draws, each)
        return cls(
            data["abscissa"].values,
            response,
            np.where(np.isnan(response[:, None]), np.nan, means),
            data["human"].values,
            data["ideal"].values,
            data["channel"].values.astype(str),
            data["condition"].values.astype(str),
            data["level"].values,
            data["group"].values.astype(str),
            draws,
        )

    @property
    def groups(self) -> list[str]:
        """Names of groups, in order."""
        return list(dict.fromkeys(self.group))

    def rows(self, chosen: Flags) -> CurveSet:
        """Return some of the curves."""
        some = {name: values[chosen] for name, values in self._asdict().items() if name in _ROWS}
        return self._replace(**some)

    def _changed(self, change: Callable[[Floats], Floats]) -> CurveSet:
        values: dict[str, Any] = {name: change(getattr(self, name)) for name in _VALUES}
        return self._replace(**values)

    def elevations(self, floor: float = 0.0, least: float = EQUAL) -> CurveSet:
        """Compare every curve with the first of its group: how much higher a threshold is.

        The response of the first over that of another, less 1. What is not above the least counts
        as the floor.
        """
        first = np.array([np.flatnonzero(self.group == group)[0] for group in self.group])

        def elevated(values: Floats) -> Floats:
            with np.errstate(divide="ignore", invalid="ignore"):
                raised = np.maximum(values[first] / values - 1, 0)
            # Where there is no response at all, nothing can be said of it.
            return np.where(np.isfinite(raised), np.where(raised > least, raised, floor), np.nan)

        return self._changed(elevated).rows(first != np.arange(len(first)))

    def over_largest(self) -> CurveSet:
        """Divide each curve by its largest value: what is left is its shape."""

        def shape(values: Floats) -> Floats:
            largest = np.nan_to_num(values).max(axis=-1, keepdims=True)
            return np.asarray(values / np.where(largest > EQUAL, largest, 1.0))

        return self._changed(shape)


_VALUES = ("response", "resampled", "human", "ideal")
_ROWS = (*_VALUES, "channel", "condition", "level", "group")


def above(first: Floats, second: Floats, equal: float = EQUAL) -> Floats:
    """Return 1 where the first lies above the second, -1 where below, 0 where they are equal.

    Examples
    --------
    >>> above(np.array([1.0, 1.0, 2.0]), np.array([1.0 + 1e-7, 2.0, 1.0])).tolist()
    [0.0, -1.0, 1.0]
    """
    apart = first - second
    size = np.maximum(np.abs(first), np.abs(second))
    return np.where(np.abs(apart) <= equal * size, 0.0, np.sign(apart))


def concordance(ideal: Floats, responses: Floats, least: float = EQUAL) -> Floats:
    """Return the pairs of curves in the right order less those in the wrong one (Somers' d).

    Pairs that are tied in the ideal order do not count; curves that are equal count as neither. A
    perfect order is 1, a reversed one -1; tau b could not reach 1 where the ideal order has ties.
    Curves that all lie within the least share of the highest have no order: 0. NaN at abscissae
    where no pair is left to order.

    Examples
    --------
    >>> ideal = np.array([[3.0, 3.0], [2.0, 2.0], [2.0, 2.0]])
    >>> concordance(ideal, np.array([[9.0, 1.0], [5.0, 5.0], [7.0, 5.0]]))
    array([ 1., -1.])
    """
    first, second = np.triu_indices(len(ideal), 1)
    with np.errstate(invalid="ignore"):
        wanted = np.nan_to_num(np.sign(ideal[first] - ideal[second]))
    found = above(responses[first], responses[second])
    counts = (wanted != 0) & np.isfinite(found)
    agreement = np.where(counts, found * wanted, 0.0).sum(axis=0)
    pairs = counts.sum(axis=0)
    known = np.isfinite(responses)
    highest = np.where(known, responses, -np.inf).max(axis=0)
    lowest = np.where(known, responses, np.inf).min(axis=0)
    apart = highest - lowest > least * np.abs(highest)
    return np.where(pairs > 0, apart * agreement / np.maximum(pairs, 1), np.nan)


def pooled_kendall(ideal: Floats, responses: Floats, counts: Floats) -> Floats:
    """Return Kendall's tau between the places of curves, all abscissae pooled, for each sample.

    At each abscissa curves are listed from the highest to the lowest; the lists of all abscissae
    are compared with the ideal ones number by number, as in the public code of Vila-Tomás et al.
    (2026). What is listed is which curve has a place, not which place a curve has. Curves that are
    equal are listed by their numbers.

    An ideal order with ties, of masks on either side of a test, is taken apart where it turns. Each
    part, of neighbours that rise or fall, is correlated on its own, and the mean is weighted by the
    number of curves in a part; the curve where the order turns is in both.

    Counts say how often each abscissa occurs in each bootstrap sample, [samples, abscissae].

    Examples
    --------
    >>> ideal = np.array([[3.0, 3.0], [2.0, 2.0], [1.0, 1.0]])
    >>> pooled_kendall(ideal, ideal, np.ones((1, 2)))
    array([1.])
    """
    taus, sizes = [], []
    for part in monotone_parts(ideal):
        # Signs of all pairs, summed over the curves of two abscissae: [abscissae, abscissae].
        x, y = (
            np.sign(places[:, :, None, None] - places[None, None])
            for places in (_places(ideal[part]), _places(responses[part]))
        )
        top = np.einsum("ra,ab,rb->r", counts, (x * y).sum(axis=(0, 2)), counts)
        n = part.stop - part.start
        with np.errstate(invalid="ignore"):
            # Lists hold every curve once, so that two of them are tied n times.
            taus.append(top / (n * (n - 1) * counts.sum(axis=1) ** 2))
        sizes.append(n)
    return np.asarray(np.average(taus, axis=0, weights=sizes))


def monotone_parts(ideal: Floats) -> list[slice]:
    """Return the parts of a tied order in which neighbours rise or fall.

    An order without ties, or one that changes over abscissae, is one part.

    Examples
    --------
    >>> monotone_parts(np.array([[1.0], [0.0], [1.0], [2.0]]))
    [slice(0, 2, None), slice(1, 4, None)]
    """
    first = ideal[:, 0]
    if len(np.unique(first)) == len(first) or (ideal != first[:, None]).any():
        return [slice(0, len(first))]
    turns = np.flatnonzero(np.diff(np.sign(np.diff(first)))) + 1
    ends = [0, *turns.tolist(), len(first) - 1]
    return [slice(start, stop + 1) for start, stop in pairwise(ends)]


def _places(values: Floats) -> Floats:
    """Return the curves from the highest to the lowest at each abscissa, equal ones as listed."""
    order = np.argsort(-values, axis=0, kind="stable")
    listed = np.take_along_axis(values, order, axis=0)
    steps = above(listed[:-1], listed[1:], _LISTED_AS_EQUAL)
    rank = np.concatenate([np.zeros_like(steps[:1]), np.cumsum(steps, axis=0)])
    return np.take_along_axis(order, np.lexsort((order, rank), axis=0), axis=0).astype(float)


#: A curve that ends below this share of its largest value falls: it does not saturate.
_HELD = 0.95

#: Share of the contrast that fog takes which a response must give back to count as enhanced.
_GIVEN_BACK = 0.1


@dataclass(frozen=True)
class Check:
    """A question about curves, and the rule that answers it.

    ``passes`` says of each curve (or of each place) that the rule applies to whether it passes.
    """

    name: str
    rule: str
    passes: Callable[[CurveSet], Iterator[bool]]

    def __call__(self, curves: CurveSet) -> Score:
        """Return the share that passes, with Wilson's interval over curves."""
        passed = list(self.passes(curves))
        of = replace(unmeasured(f"{CHECK}{self.name}", "curves"), rule=self.rule)
        score = of.of_share(sum(map(bool, passed)), len(passed))
        return replace(score, note=f"{score.verdict}: {self.rule}" if passed else notes.TOO_FEW)


def _measured(curves: CurveSet) -> Iterator[tuple[Floats, Floats, int]]:
    """Yield abscissae and responses of each curve with enough points, and its number."""
    for number, response in enumerate(curves.response):
        there = np.isfinite(response)
        if there.sum() >= 4:
            yield curves.abscissae[there], response[there], number


def _against_first(
    curves: CurveSet, first: Callable[[Any], Any]
) -> Iterator[tuple[int, int, float, float]]:
    """Yield pairs of a curve and the first of its group: rows, and responses summed over both."""
    for group in curves.groups:
        rows = np.flatnonzero(curves.group == group)
        alone = rows[first(curves.level[rows])]
        for row in rows[rows != alone].tolist():
            there = np.isfinite(curves.response[[alone, row]]).all(axis=0)
            if there.any():
                yield row, int(alone), *curves.response[[row, alone]][:, there].sum(axis=1)


def _saturates(curves: CurveSet) -> Iterator[bool]:
    for x, y, number in _measured(curves):
        human = curves.human[number, np.isin(curves.abscissae, x)]
        # At frequencies that people hardly see, their own curves are straight.
        if np.isnan(human).any() or _flattens(x, human):
            yield _flattens(x, y)


def _flattens(x: Floats, y: Floats) -> bool:
    """Whether a curve that begins at 0 is less than half as steep over the last third."""
    x, whole = np.concatenate([[0.0], x]), np.concatenate([[0.0], y])
    third = max(2, round(len(x) / 3))
    first = (whole[third - 1] - whole[0]) / (x[third - 1] - x[0])
    last = (whole[-1] - whole[-third]) / (x[-1] - x[-third])
    return bool(first > 0 and last < first / 2 and y[-1] >= _HELD * y.max())


def _saturates_on_both_sides(curves: CurveSet) -> Iterator[bool]:
    for x, y, _ in _measured(curves.rows(curves.level == 0)):
        slope = np.diff(y) / np.diff(x)
        middle = slope[len(slope) // 2 - 1 : len(slope) // 2 + 1].mean()
        held = y[-1] >= _HELD * y.max() and y[0] <= _HELD * y.min()
        yield bool(held and max(slope[:2].mean(), slope[-2:].mean()) < middle / 2)


def _crispens(curves: CurveSet) -> Iterator[bool]:
    for x, y, number in _measured(curves):
        background = curves.level[number]
        # Backgrounds outside of the tests cannot have the steepest place among them.
        if x[1] < background < x[-2]:
            steepest = int(np.argmax(np.diff(y) / np.diff(np.log(x))))
            step = x[steepest + 1] - x[steepest]
            yield x[steepest] - step <= background <= x[steepest + 1] + step


def _ordered(curves: CurveSet) -> Iterator[bool]:
    """At each abscissa of each group: whether at least nine of ten pairs lie right."""
    for group in curves.groups:
        rows = curves.group == group
        found = concordance(curves.ideal[rows], curves.response[rows])
        yield from found[np.isfinite(found)] >= 0.8


def _band_pass(curves: CurveSet) -> Iterator[bool]:
    for _, y, _ in _measured(curves.rows(curves.channel == "ach")):
        yield bool(0 < np.argmax(y) < len(y) - 1 and max(y[0], y[-1]) < y.max() / 2)


def _low_pass(curves: CurveSet) -> Iterator[bool]:
    for _, y, _ in _measured(curves.rows(curves.channel != "ach")):
        yield y[: len(y) // 3 + 1].min() > y.max() / 2 and y[-1] < y.max() / 2


def _opponent(curves: CurveSet) -> Iterator[bool]:
    for _, y, _ in _measured(curves.rows(curves.channel != "ach")):
        tenth = 0.1 * np.abs(y).max()
        yield y.min() < -tenth and y.max() > tenth


def _peaks_at_adaptor(curves: CurveSet) -> Iterator[bool]:
    for x, y, number in _measured(curves):
        yield y.max() > 0 and abs(np.log2(x[np.argmax(y)] / curves.level[number])) <= 0.5


def _attenuates(curves: CurveSet) -> Iterator[bool]:
    # The first of a group is without a mask.
    for _, _, with_mask, without in _against_first(curves, lambda levels: 0):
        yield bool(above(np.asarray(with_mask), np.asarray(without)) < 0)


def _discounts_light(curves: CurveSet) -> Iterator[bool]:
    """At each abscissa under each other light: whether the ratio of red-green to yellow-blue moves.

    Groups are lights, and levels their colour temperatures; the first group is white.
    """

    def ratio(group: str) -> tuple[Floats, float]:
        own = curves.rows(curves.group == group)
        (rg, *_), (yb, *_) = (np.flatnonzero(own.channel == each) for each in ("rg", "yb"))
        with np.errstate(divide="ignore", invalid="ignore"):
            return own.response[rg] / own.response[yb], float(own.level[rg])

    in_white, white = ratio(curves.groups[0])
    for group in curves.groups[1:]:
        found, kelvin = ratio(group)
        there = np.isfinite(found) & np.isfinite(in_white)
        yield from above(found[there], in_white[there]) == np.sign(kelvin - white)


def _enhances(curves: CurveSet) -> Iterator[bool]:
    for row, clear, in_fog, in_clear in _against_first(curves, np.argmax):
        through = curves.level[row] / curves.level[clear]
        yield in_fog >= (through + _GIVEN_BACK * (1 - through)) * in_clear


SATURATES = Check(
    "saturates",
    "the slope over the last third of a curve is less than half of that over the first, and its "
    "end within 5 % of its largest value; curves of which that is not so in people are not asked",
    _saturates,
)
SATURATES_BOTH_SIDES = Check(
    "saturates",
    "on grey, slopes at both ends are less than half of that in the middle, and both ends are "
    "within 5 % of the largest values",
    _saturates_on_both_sides,
)
CRISPENS = Check(
    "crispens",
    "a curve is steepest, over log luminance, within one step of its background's luminance",
    _crispens,
)
ORDERED = Check(
    "ordered",
    "at least nine of ten pairs of curves lie in the right order, abscissa by abscissa",
    _ordered,
)
BAND_PASS = Check(
    "band-pass",
    "the achromatic curve peaks inside, and both ends lie below half of its peak",
    _band_pass,
)
LOW_PASS = Check(
    "low-pass",
    "a chromatic curve stays above half of its peak over the lowest third of frequencies and "
    "ends below it",
    _low_pass,
)
OPPONENT = Check(
    "opponent",
    "red-green and yellow-blue curves go beyond a tenth of their largest value on either side of 0",
    _opponent,
)
PEAKS_AT_ADAPTOR = Check(
    "peaks-at-adaptor",
    "the elevation is largest within half an octave of the adapting frequency",
    _peaks_at_adaptor,
)
ATTENUATES = Check(
    "attenuates", "responses on a mask, summed over contrasts, are below those without", _attenuates
)
DISCOUNTS_LIGHT = Check(
    "discounts-light",
    "in warm light red-green over yellow-blue responses are smaller than in white light, in cool "
    "light larger, abscissa by abscissa",
    _discounts_light,
)
ENHANCES = Check(
    "enhances",
    "responses in fog, summed over contrasts, have back at least a tenth of the contrast that fog "
    "takes",
    _enhances,
)
