"""What observers that know nothing score, measured: the chance levels of tests.

The formula of a score says what random answers have, such as a correlation of 0. Networks that were
never trained answer by what is shown all the same, and often come closer to people: every test of
``colour`` in suite ``decalogue`` is passed by any smooth function of pixels. Their scores are
stored with the package, as `benchmarks/baselines.py` measured them with the options of each suite.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources

from fechner.scores import Score
from fechner.scores.notes import join_notes


@dataclass(frozen=True)
class Baseline:
    """Scores of untrained networks: their median, lowest and highest, and how many there were.

    Parameters
    ----------
    points
        The largest number of points in one of these scores; 0 if it is not known.
    noted
        Whether notes say who is no better than untrained networks: where stimuli are shown as these
        were shown them.
    """

    median: float
    low: float
    high: float
    networks: int
    points: int = 0
    noted: bool = field(default=True, compare=False)

    def as_chance(self, score: Score) -> Score:
        """Return a score whose chance level is that of observers that know nothing.

        These are random answers, by the formula of the score, or the median untrained network,
        whichever is closer to people.
        """
        if score.higher_is_better is None or (self.points and score.n > self.points):
            return score  # of more curves than these networks have, such as opponent channels
        nearer = max if score.higher_is_better else min
        chance = nearer(score.chance, self.median)
        return replace(score, chance=chance, note=join_notes(score.note, self._compared(score)))

    def _compared(self, score: Score) -> str:
        """Say where a score is no better than those of untrained networks."""
        best = self.high if score.higher_is_better else self.low
        better = score.value > best if score.higher_is_better else score.value < best
        if not self.noted or score.is_check or better or score.value != score.value:
            return ""
        return f"no better than untrained networks ({self.low:.2f} to {self.high:.2f})"


@cache
def baselines() -> Mapping[tuple[str, str, str, str], Baseline]:
    """Return what was measured, by suite, mode, test and name of the score.

    Examples
    --------
    >>> found = baselines()["decalogue", "default", "colour", "agreement"]
    >>> found.median > 0.95, found.networks
    (True, 12)
    """
    text = (resources.files("fechner.suites") / "data/baselines.csv").read_text("utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if line[0] != "#")
    found = {}
    for row in rows:
        median, low, high = (float(row[each]) for each in ("median", "low", "high"))
        key = (row["suite"], row["mode"], row["test"], row["score"])
        found[key] = Baseline(median, low, high, int(row["networks"]), int(row["points"] or 0))
    return found


def baselines_of(suite: str, mode: str, test: str, noted: bool = True) -> dict[str, Baseline]:
    """Return what was measured of one test, by name of the score."""
    return {
        score: replace(found, noted=noted)
        for (*place, score), found in baselines().items()
        if place == [suite, mode, test]
    }
