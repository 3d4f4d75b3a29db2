"""What can be said of curves in words, by rules that are stated.

Every check asks the same of several curves; its value is the share of them that pass. From 0.8 on
the answer is yes, from 0.4 on partly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fechner.scores.curve_set import CurveSet
from fechner.scores.notes import TOO_FEW
from fechner.scores.order import Concordance, above
from fechner.scores.rates import wilson
from fechner.scores.score import CHECK, Score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Passed = NDArray[np.bool_]


#: A curve that ends below this share of its largest value falls: it does not saturate.
_HELD = 0.95


@dataclass(frozen=True)
class Check:
    """A question about curves, and the rule that answers it.

    Parameters
    ----------
    name
        What is claimed of them, as a score is called.
    rule
        When a curve passes, in words.
    passes
        Says of each curve (or of each place) that the rule applies to whether it passes.
    """

    name: str
    rule: str
    passes: Callable[[CurveSet], Passed]

    def __call__(self, curves: CurveSet) -> Score:
        """Return the share that passes, with Wilson's interval over curves."""
        passed = self.passes(curves)
        n = len(passed)
        share = float(passed.mean()) if n else float("nan")
        low, high = wilson(passed.sum(), n) if n else (float("nan"), float("nan"))
        score = Score(
            f"{CHECK}{self.name}",
            share,
            max(float(low), 0.0),
            min(float(high), 1.0),
            higher_is_better=True,
            best=1.0,
            chance=0.0,
            resampled="curves",
            n=n,
            rule=self.rule,
        )
        return replace(score, note=f"{score.verdict}: {self.rule}" if n else TOO_FEW)


def _measured(curves: CurveSet, rows: Passed | None = None) -> list[tuple[Floats, Floats, int]]:
    """Return abscissae and responses of each curve with enough points, and its number."""
    chosen = np.arange(len(curves.response)) if rows is None else np.flatnonzero(rows)
    found = []
    for number in chosen:
        there = np.isfinite(curves.response[number])
        if there.sum() >= 4:
            found.append((curves.abscissae[there], curves.response[number, there], int(number)))
    return found


def _thirds(x: Floats, y: Floats) -> tuple[float, float]:
    """Return the mean slopes over the first and the last third of a curve that begins at 0."""
    x, y = np.concatenate([[0.0], x]), np.concatenate([[0.0], y])
    third = max(2, round(len(x) / 3))
    first = (y[third - 1] - y[0]) / (x[third - 1] - x[0])
    last = (y[-1] - y[-third]) / (x[-1] - x[-third])
    return float(first), float(last)


def _saturates(curves: CurveSet) -> Passed:
    passed = []
    for x, y, number in _measured(curves):
        human = curves.human[number, np.isin(curves.abscissae, x)]
        # At frequencies that people hardly see, their own curves are straight.
        if np.isnan(human).any() or _flattens(x, human):
            passed.append(_flattens(x, y))
    return np.array(passed, dtype=bool)


def _flattens(x: Floats, y: Floats) -> bool:
    first, last = _thirds(x, y)
    return first > 0 and last < first / 2 and bool(y[-1] >= _HELD * y.max())


def _saturates_on_both_sides(curves: CurveSet) -> Passed:
    passed = []
    for x, y, number in _measured(curves):
        if curves.level[number] != 0:
            continue
        slope = np.diff(y) / np.diff(x)
        middle = slope[len(slope) // 2 - 1 : len(slope) // 2 + 1].mean()
        held = y[-1] >= _HELD * y.max() and y[0] <= _HELD * y.min()
        passed.append(held and max(slope[:2].mean(), slope[-2:].mean()) < middle / 2)
    return np.array(passed, dtype=bool)


def _crispens(curves: CurveSet) -> Passed:
    passed = []
    for x, y, number in _measured(curves):
        background = curves.level[number]
        # Backgrounds outside of the tests cannot have the steepest place among them.
        if x[1] < background < x[-2]:
            steepest = int(np.argmax(np.diff(y) / np.diff(np.log(x))))
            step = x[steepest + 1] - x[steepest]
            passed.append(x[steepest] - step <= background <= x[steepest + 1] + step)
    return np.array(passed, dtype=bool)


def _ordered(curves: CurveSet) -> Passed:
    """At each abscissa of each group: whether at least nine of ten pairs lie right."""
    passed: list[bool] = []
    for group in dict.fromkeys(curves.group):
        rows = curves.group == group
        found = Concordance(curves.ideal[rows])(curves.response[rows])
        passed += [value >= 0.8 for value in found[np.isfinite(found)]]
    return np.array(passed, dtype=bool)


def _band_pass(curves: CurveSet) -> Passed:
    return np.array(
        [
            0 < np.argmax(y) < len(y) - 1 and max(y[0], y[-1]) < y.max() / 2
            for _, y, _ in _measured(curves, curves.channel == "ach")
        ],
        dtype=bool,
    )


def _low_pass(curves: CurveSet) -> Passed:
    return np.array(
        [
            y[: len(y) // 3 + 1].min() > y.max() / 2 and y[-1] < y.max() / 2
            for _, y, _ in _measured(curves, curves.channel != "ach")
        ],
        dtype=bool,
    )


def _opponent(curves: CurveSet) -> Passed:
    return np.array(
        [
            y.min() < -0.1 * np.abs(y).max() and y.max() > 0.1 * np.abs(y).max()
            for _, y, _ in _measured(curves, curves.channel != "ach")
        ],
        dtype=bool,
    )


def _peaks_at_adaptor(curves: CurveSet) -> Passed:
    return np.array(
        [
            y.max() > 0 and abs(np.log2(x[np.argmax(y)] / curves.level[number])) <= 0.5
            for x, y, number in _measured(curves)
        ],
        dtype=bool,
    )


def _attenuates(curves: CurveSet) -> Passed:
    passed: list[bool] = []
    for group in dict.fromkeys(curves.group):
        rows = np.flatnonzero(curves.group == group)
        # The first of a group is without a mask.
        alone = rows[0]
        for row in rows[rows != alone]:
            there = np.isfinite(curves.response[[alone, row]]).all(axis=0)
            if there.any():
                with_mask, without = curves.response[[row, alone]][:, there].sum(axis=1)
                passed.append(bool(above(with_mask, without) < 0))
    return np.array(passed, dtype=bool)


def _discounts_light(curves: CurveSet) -> Passed:
    """At each abscissa under each other light: whether the ratio of red-green to yellow-blue moves.

    Groups are lights, and levels their colour temperatures; the first group is white.
    """
    groups = list(dict.fromkeys(curves.group))

    def ratio(group: str) -> tuple[Floats, float]:
        of = {
            each: np.flatnonzero((curves.group == group) & (curves.channel == each))
            for each in ("rg", "yb")
        }
        with np.errstate(divide="ignore", invalid="ignore"):
            found = curves.response[of["rg"][0]] / curves.response[of["yb"][0]]
        return found, float(curves.level[of["rg"][0]])

    in_white, white = ratio(groups[0])
    passed: list[bool] = []
    for group in groups[1:]:
        found, kelvin = ratio(group)
        there = np.isfinite(found) & np.isfinite(in_white)
        wanted = np.sign(kelvin - white)
        passed += [bool(side == wanted) for side in above(found[there], in_white[there])]
    return np.array(passed, dtype=bool)


#: Share of the contrast that fog takes which a response must give back to count as enhanced.
_GIVEN_BACK = 0.1


def _enhances(curves: CurveSet) -> Passed:
    passed: list[bool] = []
    for group in dict.fromkeys(curves.group):
        rows = np.flatnonzero(curves.group == group)
        clear = rows[np.argmax(curves.level[rows])]
        for row in rows[rows != clear]:
            there = np.isfinite(curves.response[[clear, row]]).all(axis=0)
            if there.any():
                in_fog, in_clear = curves.response[[row, clear]][:, there].sum(axis=1)
                through = curves.level[row] / curves.level[clear]
                passed.append(bool(in_fog >= (through + _GIVEN_BACK * (1 - through)) * in_clear))
    return np.array(passed, dtype=bool)


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
    "attenuates",
    "responses on a mask, summed over contrasts, are below those without",
    _attenuates,
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
