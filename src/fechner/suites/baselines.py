"""What observers that know nothing score, measured: the chance levels of tests.

The formula of a score says what random answers have, such as a correlation of 0. Networks that were
never trained answer by what is shown all the same, and often come closer to people: every test of
``colour`` in suite ``decalogue`` is passed by any smooth function of pixels. Their scores are
stored with the package, as `benchmarks/baselines.py` measured them with the options of each suite.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from fechner.scores.notes import join_notes
from fechner.scores.score import Resampled, Score, Scorer

if TYPE_CHECKING:
    import xarray as xr

    from fechner.suites.base import Test
    from fechner.suites.options import Options


@dataclass(frozen=True)
class Baseline:
    """Scores of untrained networks: their median, lowest and highest, and how many there were.

    ``points`` is the largest number of points in one of these scores; 0 if it is not known.
    """

    median: float
    low: float
    high: float
    networks: int
    points: int = 0


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


@dataclass(frozen=True)
class MeasuredChance:
    """A scorer whose scores have the chance levels that were measured.

    Chance is what an observer that knows nothing has: random answers, by the formula of the score,
    or the median untrained network, whichever is closer to people.

    Parameters
    ----------
    suite, mode, test
        Where its baselines are found.
    noted
        Whether notes say who is no better than untrained networks: where stimuli are shown as these
        were shown them.
    """

    scorer: Scorer
    suite: str
    mode: str
    test: str
    noted: bool = field(default=True, compare=False)

    def __call__(self, data: xr.Dataset, *others: Any) -> Sequence[Score]:
        """Score all layers and read-outs."""
        return [self._against(score) for score in self.scorer(data, *others)]

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the main score of one layer and read-out with its bootstrap."""
        found = self.scorer.resample(data)
        return replace(found, score=self._against(found.score))

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave of two observers' answers what both were asked."""
        return self.scorer.shared(first, second)

    def printed(self, value: float, experiment: Any) -> Score:
        """Return a main score of which only the value is known."""
        return self._against(self.scorer.printed(value, experiment))

    def _against(self, score: Score) -> Score:
        found = baselines().get((self.suite, self.mode, self.test, score.name))
        if found is None or score.higher_is_better is None:
            return score
        if found.points and score.n > found.points:
            return score  # of more curves than these networks have, such as opponent channels
        nearer = max if score.higher_is_better else min
        chance = nearer(score.chance, found.median)
        note = _compared(score, found) if self.noted else ""
        return replace(score, chance=chance, note=join_notes(score.note, note))


def _compared(score: Score, found: Baseline) -> str:
    """Say where a score is no better than those of untrained networks."""
    best = found.high if score.higher_is_better else found.low
    better = score.value > best if score.higher_is_better else score.value < best
    if score.is_check or better or score.value != score.value:
        return ""
    return f"no better than untrained networks ({found.low:.2f} to {found.high:.2f})"


def with_baselines(suite: str, options: Options, tests: list[Test]) -> list[Test]:
    """Give scorers the chance levels that were measured for their tests, if any were."""
    if not any(key[0] == suite for key in baselines()):
        return tests
    as_measured = set(options.changed()) <= {"published", "seed"}
    return [
        replace(test, scorer=MeasuredChance(test.scorer, suite, options.mode, test.id, as_measured))
        for test in tests
    ]
