"""Score by depth and by read-out: how a test's main score changes through an observer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from fechner.runs import Result
from fechner.scores import Score
from fechner.scores.panels import Axis, Line, Panel, Surface


def depth_panel(labelled: Sequence[tuple[str, Result]]) -> Panel | None:
    """Return a line for each observer and read-out that has several layers, None if none has.

    Parameters
    ----------
    labelled
        The results of one test with the label of their observer, layers in order.
    """
    lines: dict[tuple[str, str], list[Result]] = {}
    for label, result in labelled:
        if result.main:
            lines.setdefault((label, result.score.readout), []).append(result)
    deep = {key: found for key, found in lines.items() if len(found) > 1}
    if not deep:
        return None
    several = len({readout for _, readout in deep}) > 1
    score = next(iter(deep.values()))[0].score
    layers = {tuple(each.score.layer for each in found) for found in deep.values()}
    alike = len(layers) == 1
    return Panel(
        "depth",
        "Score by depth",
        Axis("layer", ticks=next(iter(layers)))
        if alike
        else Axis("depth (share of the layers measured)"),
        Axis(_named(score)),
        tuple(
            Line(
                np.arange(float(len(found))) if alike else np.linspace(0, 1, len(found)),
                np.array([each.score.value for each in found]),
                f"{label} {readout}" if several else label,
                group=number,
                low=np.array([each.score.low for each in found]),
                high=np.array([each.score.high for each in found]),
                names=tuple(each.score.layer for each in found),
            )
            for number, ((label, readout), found) in enumerate(deep.items())
        ),
    )


def readout_panels(
    labelled: Sequence[tuple[str, Result]], ends: tuple[float, float] | None = None
) -> dict[str, Panel]:
    """Return a heat map over layers and read-outs for each observer that has several of both.

    Parameters
    ----------
    labelled
        The results of one test with the label of their observer, layers in order.
    ends
        Ends of the scale of colours; those of all these heat maps if None.
    """
    by_label: dict[str, list[Score]] = {}
    for label, result in labelled:
        if result.main:
            by_label.setdefault(label, []).append(result.score)
    tables = {
        label: (layers, readouts, {(each.layer, each.readout): each.value for each in scores})
        for label, scores in by_label.items()
        if len(layers := tuple(dict.fromkeys(each.layer for each in scores))) > 1
        and len(readouts := tuple(dict.fromkeys(each.readout for each in scores))) > 1
    }
    low, high = ends or ends_of(value for *_, cells in tables.values() for value in cells.values())
    return {
        label: Panel(
            "readouts",
            "Score by layer and read-out",
            Axis("layer", ticks=layers),
            Axis("read-out", ticks=readouts),
            (
                Surface(
                    np.arange(float(len(layers))),
                    np.arange(float(len(readouts))),
                    np.array([[cells.get((a, b), np.nan) for b in readouts] for a in layers]),
                    _named(by_label[label][0]),
                    low=low,
                    high=high,
                ),
            ),
            stimuli=False,
        )
        for label, (layers, readouts, cells) in tables.items()
    }


def ends_of(values: Iterable[float]) -> tuple[float, float]:
    """Return the smallest and largest of numbers; NaN where there are none."""
    known = [value for value in values if np.isfinite(value)]
    return (min(known), max(known)) if known else (np.nan, np.nan)


def _named(score: Score) -> str:
    return f"{score.name} {score.arrow}".rstrip()
