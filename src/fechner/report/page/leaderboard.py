"""The leaderboard of a page: observers, nearest to human first, and rows of published tables."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import fmean

from fechner.errors import RunFolderError
from fechner.report.contenders import Contender, Group
from fechner.runs import Result
from fechner.scores import Score, distance
from fechner.scores.comparisons import MeanDistance, mean_distance
from fechner.suites import PRESETS, preset
from fechner.suites.published import Row, printed_score


@dataclass(frozen=True)
class Standing:
    """A line of the leaderboard: an observer at the last layer measured, by one read-out.

    Parameters
    ----------
    contender
        Its number in the group.
    results
        Every score of that place, by test; the first of each is the main one.
    mean
        Distance from human over the tests it was asked.
    """

    label: str
    contender: int
    results: dict[str, list[Result]]
    mean: MeanDistance
    family: str = ""
    csf_based: str = ""


def standings(group: Group, results: Sequence[tuple[int, Result]]) -> list[Standing]:
    """Return the lines of the leaderboard, from every score with the number of its contender."""
    together: dict[tuple[int, str], dict[str, list[Result]]] = {}
    for number, result in results:
        if result.last:
            # Of read-outs that need no name a test has one, whatever it is called.
            own = together.setdefault((number, result.place), defaultdict(list))
            own[result.test].append(result)
    scored = {number for number, _ in together}
    for number, contender in enumerate(group.contenders):
        if number not in scored and _was_measured_unscored(contender):
            together[number, ""] = {}
    found = []
    for (number, place), by_test in together.items():
        contender = group.contenders[number]
        label = f"{contender.label} {place}".strip()
        mean = mean_distance([own[0].score for own in by_test.values()])
        found.append(Standing(label, number, by_test, mean, contender.family, contender.csf_based))
    most = max((each.mean.n for each in found), default=0)

    def order(standing: Standing) -> tuple[bool, float]:
        """Let those that were asked little of what others were come last."""
        mean = standing.mean
        return 2 * mean.n < most, math.inf if math.isnan(mean.value) else mean.value

    return sorted(found, key=order)


def _was_measured_unscored(contender: Contender) -> bool:
    """Whether a contender has answers to a test that has no human data to compare with."""
    with suppress(RunFolderError):  # said among the problems already
        tests = [test.id for test in contender.run.tests if not test.experiment.reference]
        return any(contender.data(test) is not None for test in tests)
    return False


@dataclass(frozen=True)
class Printed:
    """A row of a published table, with its scores by test."""

    row: Row
    scores: dict[str, Score]

    @property
    def distances(self) -> dict[str, float]:
        """How far from human it is, by test."""
        return {test: distance(score) for test, score in self.scores.items()}

    @property
    def mean(self) -> float:
        """Mean distance over tests."""
        return fmean(self.distances.values())


def printed(group: Group) -> list[Printed]:
    """Return published rows of the group's suite that have any of its tests."""
    found = []
    for name, suite in PRESETS.items():
        for row in preset(name) if suite == group.suite.name else ():
            known = {test.id: printed_score(row, test) for test in group.tests}
            scores = {test: score for test, score in known.items() if score}
            if scores:
                found.append(Printed(row, scores))
    return found
