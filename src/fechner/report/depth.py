"""Score by depth: how a test's main score changes through the layers of each observer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fechner.runs import Result
from fechner.scores.panels import Axis, Line, Panel


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
        Axis(f"{score.name} {'↑' if score.higher_is_better else '↓'}"),
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
