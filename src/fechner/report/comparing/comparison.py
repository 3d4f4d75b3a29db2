"""Comparing observers: differences test by test, and over all tests."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fechner.errors import FechnerError
from fechner.report.comparing.standings import (
    Entrant,
    Source,
    Standing,
    choose,
    choose_tests,
    entrants,
    left_out,
    stand,
)
from fechner.report.contenders import same_questions
from fechner.scores import distance
from fechner.scores.comparisons import LEVEL, Alike, Correction, alike, corrected
from fechner.scores.paired import Difference, difference
from fechner.scores.summary import (
    MeanDifference,
    MeanDistance,
    mean_difference,
    mean_distance,
)
from fechner.suites import Test

#: More observers than this make more pairs than anyone reads.
MOST = 6


@dataclass(frozen=True)
class Finding:
    """The difference of two observers in a test.

    Parameters
    ----------
    corrected
        Its p-value, corrected for all that were tested.
    note
        What it was computed on, where that is not all they were asked, or why it was not.
    """

    test: str
    difference: Difference
    corrected: float
    note: str = ""

    @property
    def established(self) -> int:
        """Who is known to be closer to people: 1 the first, -1 the second, 0 neither."""
        return self.difference.favours if self.corrected < LEVEL else 0


@dataclass(frozen=True)
class Pair:
    """Two observers.

    Parameters
    ----------
    findings
        Test by test, where the answers of both are there.
    alike
        Whether their distances from people come from one distribution over tests.
    alike_corrected
        The p-value of that, corrected for all pairs.
    mean
        The difference of their mean distances, paired test by test.
    """

    first: Standing
    second: Standing
    findings: tuple[Finding, ...]
    alike: Alike
    alike_corrected: float
    mean: MeanDifference

    def tests(self, who: int) -> list[str]:
        """Return the tests in which one is known to be closer to people, or neither."""
        return [each.test for each in self.findings if each.established == who]


@dataclass(frozen=True)
class Comparison:
    """All pairs, everyone's mean distance from people, and what a reader must know.

    Parameters
    ----------
    warnings
        What must be known before anything is read.
    problems
        What could not be scored, in one line each.
    """

    pairs: tuple[Pair, ...]
    distances: tuple[tuple[Standing, MeanDistance], ...]
    correction: Correction
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def __str__(self) -> str:
        from fechner.report.comparing.tables import FORMATS  # which draws comparisons up

        return FORMATS["table"](self)

    @property
    def tested(self) -> int:
        """How many differences were tested."""
        every = (each for pair in self.pairs for each in pair.findings)
        return sum(each.corrected == each.corrected for each in every)


def choose_entrants(
    sources: Sequence[Source], observers: Sequence[str] | None, baseline: str | None
) -> tuple[list[Entrant], Entrant | None]:
    """Return who is compared, and with whom if not with one another."""
    every = entrants(sources)
    chosen = choose(every, observers) if observers is not None else list(every)
    against = None
    if baseline is not None:
        same = choose(every, [baseline])
        if len(same) > 1:
            labels = " or ".join(f"'{each.label}'" for each in same)
            raise FechnerError(f"several observers are named '{baseline}': say {labels}.")
        (against,) = same
        chosen += [each for each in same if each not in chosen]
    if len(chosen) < 2:
        there = f"only '{chosen[0].label}' is" if chosen else "no observer is"
        raise FechnerError(f"{there} there; comparing takes two observers, or two runs of one.")
    if against is None and len(chosen) > MOST:
        pairs = len(chosen) * (len(chosen) - 1) // 2
        raise FechnerError(
            f"{len(chosen)} observers make {pairs} pairs; name one to compare the others with by "
            f"--baseline, or up to {MOST} by --observers."
        )
    return chosen, against


def compare(
    *sources: Source,
    baseline: str | None = None,
    observers: Sequence[str] | None = None,
    tests: Sequence[str] | None = None,
    correction: Correction = "holm",
    layer: str | None = None,
    readout: str | None = None,
    progress: bool = False,
) -> Comparison:
    """Compare observers of runs, and of published tables as far as that goes.

    Printed, the result is a table of differences with their intervals.

    Parameters
    ----------
    sources
        Runs, their folders, or published tables such as ``"@cai2025"``.
    baseline
        Whom all others are compared with; all pairs if None.
    observers, tests
        Which to compare; all if None.
    correction
        How p-values are corrected, over all tests of all pairs.
    layer, readout
        Where observers are read out, and how; by default as in tables.
    progress
        Whether to show a progress bar on stderr.

    Examples
    --------
    >>> import fechner
    >>> run = fechner.evaluate("pixels", "standard-observer", tests="area", scores_only=True,
    ...                        progress=False)
    >>> found = fechner.compare(run, baseline="pixels")
    >>> [pair.first.label for pair in found.pairs]
    ['standard-observer']
    """
    chosen, against = choose_entrants(sources, observers, baseline)
    standings, problems = stand(chosen, choose_tests(chosen, tests), layer, readout, progress)
    by_entrant = dict(zip([each.label for each in chosen], standings, strict=True))
    if against is None:
        both = list(itertools.combinations(standings, 2))
    else:
        base = by_entrant[against.label]
        both = [(each, base) for each in standings if each is not base]
    pairs = _corrected([_pair(*each) for each in both], correction)
    not_asked = [line for each in standings for line in each.not_asked]
    if not any(_together(pair.first, pair.second) for pair in pairs):
        reasons = [*problems, *not_asked]
        why = f": {reasons[0]}" if reasons else ", or have not finished any"
        raise FechnerError(f"these observers have no test in common{why.rstrip('.')}.")
    distances = tuple((each, mean_distance(list(each.scores.values()))) for each in standings)
    if observers is None:
        problems = [*left_out(chosen), *problems]
    notes, warnings = [*not_asked, *_without_answers(pairs)], _asked(standings)
    return Comparison(
        tuple(pairs), distances, correction, tuple(notes), tuple(warnings), tuple(problems)
    )


def _together(first: Standing, second: Standing) -> list[str]:
    """Return the tests that both took."""
    if first.suite != second.suite:
        return []
    return [test for test in first.scores if test in second.scores]


def _pair(first: Standing, second: Standing) -> Pair:
    tests = _together(first, second)
    found = tuple(
        _finding(test, first, second)
        for test in tests
        if test in first.answers and test in second.answers
    )
    own = [[each.scores[test] for test in tests] for each in (first, second)]
    far = [[distance(score) for score in scores] for scores in own]
    return Pair(first, second, found, alike(*far), float("nan"), mean_difference(*own))


def _finding(test: str, first: Standing, second: Standing) -> Finding:
    own = first.tests[test]
    parts = own.scorer.shared(first.answers[test], second.answers[test])
    a, b = (
        # Resampling takes most of the time, and most observers were asked the same.
        each.resampled[test] if part is each.answers[test] else own.resample(part)
        for each, part in zip((first, second), parts, strict=True)
    )
    found = difference(a, b)
    asked = max(each.scores[test].n for each in (first, second))
    notes = [each.score.note for each in (a, b) if each.score.value != each.score.value]
    if a.score.n < asked:
        # What was drawn at random is resampled beside them, and is the same for both.
        over = a.score.resampled.partition(" and ")[0]
        words = f"on {len(a.clusters)} {over} with {a.score.n} of {asked} points"
        notes.insert(0, f"{words} that both have")
    return Finding(test, found, float("nan"), "; ".join(dict.fromkeys(notes)))


def _corrected(pairs: Sequence[Pair], correction: Correction) -> list[Pair]:
    """Correct the p-values of all differences together, and those over tests together."""
    p = iter(corrected([f.difference.p for pair in pairs for f in pair.findings], correction))
    over_tests = iter(corrected([pair.alike.p for pair in pairs], correction))
    return [
        replace(
            pair,
            findings=tuple(replace(f, corrected=float(next(p))) for f in pair.findings),
            alike_corrected=float(next(over_tests)),
        )
        for pair in pairs
    ]


def _asked(standings: Sequence[Standing]) -> list[str]:
    """Say who was asked what, where that is not the same."""
    asked: dict[str, list[str]] = {}
    for each in standings:
        asked.setdefault(each.asked, []).append(each.label)
    if len(asked) == 1 or _same(standings):
        return []
    words = "; ".join(f"{', '.join(who)}: {what}" for what, who in asked.items())
    return [f"Not all were asked the same questions. {words}."]


def _same(standings: Sequence[Standing]) -> bool:
    """Whether all were asked the same in every test, as figures want it."""
    known: dict[str, Test] = {}
    return all(each.tests for each in standings) and all(
        same_questions(known.setdefault(name, test), test)
        for each in standings
        for name, test in each.tests.items()
    )


def _without_answers(pairs: Sequence[Pair]) -> list[str]:
    printed = [each for pair in pairs for each in (pair.first, pair.second) if not each.tests]
    if not printed:
        return []
    return [
        "Printed scores have no answers behind them to resample, so with them there are distances "
        "over tests only, and no differences test by test."
    ]
