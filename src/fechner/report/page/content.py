"""What a page holds: everything about a group of contenders."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

from fechner.errors import RunFolderError
from fechner.report.contenders import Contender, Group
from fechner.runs import Result
from fechner.scores import Score, distance
from fechner.scores.comparisons import MeanDistance, mean_distance
from fechner.suites import PRESETS, Test, preset
from fechner.suites.published import Row as PrintedRow
from fechner.suites.published import printed_score

#: Layers and read-outs of one observer whose panels a page holds; scores are there for all.
_PLACES = 12

#: Rows of a table, examples in a row, and characters of an example.
_ROWS, _EXAMPLES, _LONGEST = 36, 3, 60

#: What stands for replies that are none of the options.
INVALID = "invalid"

#: Layer and read-out.
Place = tuple[str, str]


@dataclass(frozen=True)
class Standing:
    """A line of the leaderboard: an observer at the last layer measured, by one read-out.

    Parameters
    ----------
    label
        The contender's, with layer and read-out where they are not the natural ones.
    contender
        Its number in the group.
    results
        Every score of that place, by test; the first of each is the main one.
    mean
        Distance from human over the tests it was asked.
    family, csf_based
        What is known of it; empty where nothing is.
    """

    label: str
    contender: int
    place: Place
    results: dict[str, list[Result]]
    mean: MeanDistance
    family: str = ""
    csf_based: str = ""


@dataclass(frozen=True)
class Printed:
    """A row of a published table: its scores by test, their distances from human and the mean."""

    row: PrintedRow
    scores: dict[str, Score]

    @property
    def distances(self) -> dict[str, float]:
        """How far from human it is, by test."""
        return {test: distance(score) for test, score in self.scores.items()}

    @property
    def mean(self) -> float:
        """Mean distance over tests."""
        return fmean(self.distances.values())

    @property
    def family(self) -> str:
        """What kind of observer it is."""
        return self.row.family

    @property
    def csf_based(self) -> str:
        """Whether a contrast sensitivity function is built in."""
        return self.row.csf_based


class Row(NamedTuple):
    """A row of a table of scores, or of the check list.

    Parameters
    ----------
    words
        What it is measured in, or the rule of a check.
    scores
        Of each standing; None where there is none.
    claim
        What a check asks of the answers.
    """

    test: Test
    words: str
    scores: list[Score | None]
    claim: str = ""


class Fact(NamedTuple):
    """A column of what is known of observers.

    Parameters
    ----------
    key
        The attribute of standings and printed rows that has it.
    printed
        Whether only printed rows have it.
    """

    key: str
    heading: str
    words: str
    printed: bool


#: Facts that observers can have, with the heading of their column and what it says.
_FACTS = {
    "family": ("family", "What kind of observer it is"),
    "csf_based": ("CSF", "Whether a contrast sensitivity function is built in"),
}


@dataclass(frozen=True)
class Chapter:
    """A group with its scores.

    Parameters
    ----------
    results
        Every score with the number of its contender.
    standings
        Nearest to human first.
    published
        Rows of published tables of the same suite.
    problems
        What could not be measured or read, in a line each.
    not_asked
        Which tests need what an observer lacks, in a line each.
    """

    group: Group
    results: list[tuple[int, Result]]
    standings: list[Standing]
    published: list[Printed]
    problems: list[str]
    not_asked: list[str]

    @property
    def facts(self) -> list[Fact]:
        """The facts that anyone has."""
        found = []
        for key, (heading, words) in _FACTS.items():
            ours = any(getattr(standing, key) for standing in self.standings)
            if ours or any(getattr(printed, key) for printed in self.published):
                found.append(Fact(key, heading, words, printed=not ours))
        return found

    @property
    def tests(self) -> list[Test]:
        """The tests of the group."""
        return self.group.tests

    @property
    def scored(self) -> list[Test]:
        """The tests that have human data to compare with."""
        return [test for test in self.tests if test.experiment.reference]

    @property
    def checks(self) -> list[Row]:
        """What is asked by yes, partly or no, test by test; empty where nothing is."""
        rows = []
        for test in self.tests:
            every = [r.score for each in self.standings for r in each.results.get(test.id, ())]
            for name, check in {each.name: each for each in every if each.is_check}.items():
                rows.append(Row(test, check.rule, self._named(test, name), check.claim))
        return rows

    @property
    def tabulated(self) -> list[tuple[str, list[Row]]]:
        """Scores beside the main ones that the suite sets out, by name; empty where none is."""
        found = []
        for name in self.group.suite.tabulated:
            rows = [
                Row(test, test.experiment.axes[0], self._named(test, name)) for test in self.tests
            ]
            if known := [row for row in rows if any(row.scores)]:
                found.append((name, known))
        return found

    def _named(self, test: Test, name: str) -> list[Score | None]:
        """Return the score of a name in a test, of each standing."""
        every = (each.results.get(test.id, ()) for each in self.standings)
        return [{r.score.name: r.score for r in own}.get(name) for own in every]

    def example(self, test: Test) -> Score:
        """Return any main score of a test, which says what it is called and which way is better."""
        own = (r.score for _, r in self.results if r.main and r.test == test.id)
        return next(own, None) or test.printed(math.nan)

    def lacks_figures(self, test: Test) -> bool:
        """Whether a test has pieces for figures, and nobody was shown them."""
        if all(contender.why_not_asked(test) for contender in self.group.contenders):
            return False
        names = {piece.name for piece in test.experiment.pieces() if not piece.for_scores}
        done = {
            (entry.test, entry.piece)
            for run in self.group.runs
            for entry in run.entries()
            if entry.status == "done"
        }
        return bool(names) and not any((test.id, name) in done for name in names)

    def replies(self, test: Test) -> tuple[list[Replies], int]:
        """Return what was said in words, and how many rows there is no room for."""
        return replies_to(self.group.contenders, test.id)

    def parameters(self, test: str) -> dict[str, Any]:
        """Return every parameter of a test as its run stored it."""
        return next(
            run.manifest.tests[test] for run in self.group.runs if test in run.manifest.tests
        )

    def places(self, contender: int) -> list[Place]:
        """Return where a contender was read out, the last layer first, as far as a page holds it.

        Read-outs of the last layer come first, then the other layers from last to first. One that
        has no scores is shown where its first test was measured.
        """
        found = {place_of(result): result for number, result in self.results if number == contender}
        own = self.group.contenders[contender]
        for test in () if found else own.run.tests:
            with suppress(RunFolderError):  # said among the problems already
                if (data := own.data(test.id)) is not None:
                    layers, readouts = data["layer"].values[::-1], data["readout"].values
                    return [(str(a), str(b)) for a in layers for b in readouts][:_PLACES]
        first = [place for place, result in found.items() if result.last]
        return [*first, *(place for place in reversed(found) if place not in first)][:_PLACES]


def chapter(group: Group, progress: bool = False) -> Chapter:
    """Score everything in a group."""
    numbers = {
        (id(contender.run), contender.observer): number
        for number, contender in enumerate(group.contenders)
    }
    results: list[tuple[int, Result]] = []
    problems: list[str] = []
    for run in group.runs:
        found, wrong = run.assess(progress=progress)
        results += [(numbers[id(run), result.observer], result) for result in found]
        problems += wrong
    not_asked = [line for run in group.runs for line in (*run.not_asked, *run.warnings)]
    return Chapter(
        group,
        results,
        _standings(group, results),
        _printed(group),
        problems,
        list(dict.fromkeys(not_asked)),
    )


def _printed(group: Group) -> list[Printed]:
    """Return published rows of the group's suite, with the group's tests."""
    rows = [
        row for name, suite in PRESETS.items() if suite == group.suite.name for row in preset(name)
    ]
    tests = group.tests
    printed = []
    for row in rows:
        found = {test.id: printed_score(row, test) for test in tests}
        scores = {name: score for name, score in found.items() if score}
        if scores:
            printed.append(Printed(row, scores))
    return printed


def place_of(result: Result) -> Place:
    """Return the layer and read-out of a score."""
    return result.score.layer, result.score.readout


def _was_measured_unscored(contender: Contender) -> bool:
    """Whether a contender has answers to a test that has no human data to compare with."""
    with suppress(RunFolderError):  # said among the problems already
        tests = [test.id for test in contender.run.tests if not test.experiment.reference]
        return any(contender.data(test) is not None for test in tests)
    return False


def _standings(group: Group, results: Sequence[tuple[int, Result]]) -> list[Standing]:
    together: dict[tuple[int, str], list[Result]] = {}
    for number, result in results:
        if result.last:
            # Of read-outs that need no name a test has one, whatever it is called.
            together.setdefault((number, result.place), []).append(result)
    standings = []
    for (number, _), found in together.items():
        contender = group.contenders[number]
        by_test: dict[str, list[Result]] = {}
        for result in found:
            by_test.setdefault(result.test, []).append(result)
        standings.append(
            Standing(
                f"{contender.label} {found[0].place}".strip(),
                number,
                place_of(found[0]),
                by_test,
                mean_distance([own[0].score for own in by_test.values()]),
                contender.family,
                contender.csf_based,
            )
        )
    scored = {standing.contender for standing in standings}
    standings += [
        Standing(contender.label, number, ("", ""), {}, mean_distance([]), contender.family)
        for number, contender in enumerate(group.contenders)
        if number not in scored and _was_measured_unscored(contender)
    ]
    most = max((each.mean.n for each in standings), default=0)

    def order(standing: Standing) -> tuple[bool, float]:
        """Let those that were asked little of what others were come last."""
        mean = standing.mean
        return 2 * mean.n < most, math.inf if math.isnan(mean.value) else mean.value

    return sorted(standings, key=order)


# Replies by stimulus: what observers said in words, invalid replies first


class Replies(NamedTuple):
    """Replies of an observer to stimuli of one abscissa whose contrasts are within an octave.

    Parameters
    ----------
    abscissa, contrast
        In words; blanks have no abscissa.
    choices
        How often each option was chosen, and how often none was.
    examples
        The most frequent replies with their numbers, invalid ones first.
    finish
        Why replies ended, where it was not by themselves.
    """

    observer: str
    abscissa: str
    contrast: str
    choices: Mapping[str, int]
    examples: list[tuple[str, int]]
    finish: str


def replies_to(contenders: Sequence[Contender], test: str) -> tuple[list[Replies], int]:
    """Return a table of replies in a test, and how many rows it has no room for."""
    together: dict[tuple[int, float, float], list[dict[str, Any]]] = {}
    for number, contender in enumerate(contenders):
        for row in contender.run.trials(contender.observer):
            if row["test"] == test:
                where = _number(row["abscissa"]), _octave(_number(row["contrast"]))
                together.setdefault((number, *where), []).append(row)
    order = sorted(together, key=lambda key: (-_invalid(together[key]), *map(_known_first, key)))
    shown = [_row(contenders[key[0]].label, key, together[key]) for key in order[:_ROWS]]
    return shown, len(order) - len(shown)


def _row(label: str, key: tuple[int, float, float], rows: Sequence[dict[str, Any]]) -> Replies:
    _, abscissa, contrast = key
    options = {option: 0 for row in rows for option in json.loads(row["options"])}
    counted = Counter(
        INVALID if row["choice"] is None else json.loads(row["options"])[row["choice"]]
        for row in rows
    )
    said = Counter((row["choice"] is not None, _short(row["reply"])) for row in rows)
    examples = sorted(said.items(), key=lambda each: (each[0][0], -each[1], each[0][1]))
    ends = Counter(row["finish_reason"] for row in rows if row["finish_reason"] not in ("", "stop"))
    return Replies(
        label,
        "" if math.isnan(abscissa) else f"{abscissa:.3g}",
        "" if math.isnan(contrast) else f"{contrast:.2g}",
        {**options, **counted},
        [(text, n) for (_, text), n in examples[:_EXAMPLES]],
        ", ".join(f"{why} ({n})" for why, n in ends.most_common()),
    )


def _invalid(rows: Sequence[dict[str, Any]]) -> int:
    return sum(row["choice"] is None for row in rows)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _octave(contrast: float) -> float:
    """Return the middle of the octave of a contrast; 0 and NaN stay.

    Examples
    --------
    >>> _octave(0.11), _octave(0.0)
    (0.125, 0.0)
    """
    return 2.0 ** round(math.log2(contrast)) if contrast > 0 else contrast


def _known_first(value: float) -> tuple[bool, float]:
    return math.isnan(value), 0.0 if math.isnan(value) else value


def _short(reply: str) -> str:
    text = " ".join(reply.split()) or "(empty)"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
