"""What people did, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fechner.report.tables import aligned, number
from fechner.scores.human_accuracy import human_points

if TYPE_CHECKING:
    from fechner.human.trials import HumanTrials

_HEADER = ("test", "level", "people", "trials", "right", "accuracy", "chance", "corrected")


def to_text(trials: HumanTrials) -> str:
    """Return accuracies of people at every level, with 95 % intervals, as a plain text table."""
    rows = []
    for point in human_points(trials):
        value, low, high = point.corrected
        rows.append(
            [
                point.test,
                point.condition or f"{point.level:.4g}",
                str(point.people),
                str(point.trials),
                str(point.right),
                f"{number(point.accuracy)} [{number(point.low)}, {number(point.high)}]",
                number(point.chance),
                f"{number(value)} [{number(low)}, {number(high)}]",
            ]
        )
    notes = [
        f"{len(trials)} trials of {len(trials.people)} people. Intervals are of 95 %, with people "
        "as clusters.",
        "Corrected: 0 at chance, 1 without error.",
    ]
    return "\n".join([*aligned(_HEADER, rows), *notes]) + "\n"
