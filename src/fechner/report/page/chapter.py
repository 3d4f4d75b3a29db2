"""What a page holds: a chapter for each group of contenders, and what they said in words."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from fechner.errors import RunFolderError
from fechner.report.contenders import Contender, Group
from fechner.report.page import leaderboard
from fechner.runs import Result
from fechner.scores import Score
from fechner.suites import Test

#: Layers and read-outs of one observer whose panels a page holds; scores are there for all.
_PLACES = 12

#: Rows of a table, examples in a row, and characters of an example.
_ROWS, _EXAMPLES, _LONGEST = 36, 3, 60

#: What stands for replies that are none of the options.
INVALID = "invalid"

#: Layer and read-out.
Place = tuple[str, str]


@dataclass(frozen=True)
class Chapter:
    """A group with its scores.

    Parameters
    ----------
    results
        Every score with the number of its contender.
    published
        Rows of published tables of the same suite.
    problems, not_asked
        Lines about what could not be measured or read, and about what an observer lacks.
    """

    group: Group
    results: list[tuple[int, Result]]
    standings: list[leaderboard.Standing]
    published: list[leaderboard.Printed]
    problems: list[str]
    not_asked: list[str]

    @property
    def facts(self) -> dict[str, bool]:
        """What is known of anyone, and whether of printed rows only."""
        found = {}
        for key in ("family", "csf_based"):
            ours = any(getattr(standing, key) for standing in self.standings)
            if ours or any(getattr(each.row, key) for each in self.published):
                found[key] = not ours
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
    def checks(self) -> list[tuple[Test, Score, list[Score | None]]]:
        """What is asked by yes, partly or no: test, a check, and that of each standing."""
        rows = []
        for test in self.tests:
            every = [r.score for each in self.standings for r in each.results.get(test.id, ())]
            for name, check in {each.name: each for each in every if each.is_check}.items():
                rows.append((test, check, self._named(test, name)))
        return rows

    @property
    def tabulated(self) -> dict[str, list[tuple[Test, list[Score | None]]]]:
        """Scores beside the main ones that the suite sets out, of each test and standing."""
        found = {}
        for name in self.group.suite.tabulated:
            rows = [(test, self._named(test, name)) for test in self.tests]
            found[name] = [(test, scores) for test, scores in rows if any(scores)]
        return {name: rows for name, rows in found.items() if rows}

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
        entries = (entry for run in self.group.runs for entry in run.entries())
        done = {each.piece for each in entries if each.test == test.id and each.status == "done"}
        return bool(names) and not names & done

    def replies(self, test: Test) -> tuple[list[Replies], int]:
        """Return what was said in words, and how many rows there is no room for."""
        return replies_to(self.group.contenders, test.id)

    def parameters(self, test: str) -> dict[str, Any]:
        """Return every parameter of a test as its run stored it."""
        stored = (run.manifest.tests for run in self.group.runs)
        return next(tests[test] for tests in stored if test in tests)

    def places(self, contender: int) -> list[Place]:
        """Return where a contender was read out, the last layer first, as far as a page holds it.

        Read-outs of the last layer come first, then the other layers from last to first. One that
        has no scores is shown where its first test was measured.
        """
        last = {place_of(result): result.last for k, result in self.results if k == contender}
        if last:
            first = [place for place in last if last[place]]
            return [*first, *(place for place in reversed(last) if not last[place])][:_PLACES]
        own = self.group.contenders[contender]
        for test in own.run.tests:
            with suppress(RunFolderError):  # said among the problems already
                if (data := own.data(test.id)) is not None:
                    layers, readouts = data["layer"].values[::-1], data["readout"].values
                    return [(str(a), str(b)) for a in layers for b in readouts][:_PLACES]
        return []


def place_of(result: Result) -> Place:
    """Return the layer and read-out of a score."""
    return result.score.layer, result.score.readout


def chapter(group: Group, progress: bool = False) -> Chapter:
    """Score everything in a group."""
    numbers = {(each.run, each.observer): k for k, each in enumerate(group.contenders)}
    results: list[tuple[int, Result]] = []
    problems: list[str] = []
    not_asked: dict[str, None] = {}
    for run in group.runs:
        found, wrong = run.assess(progress=progress)
        results += [(numbers[run, result.observer], result) for result in found]
        problems += wrong
        not_asked |= dict.fromkeys((*run.not_asked, *run.warnings))
    standings = leaderboard.standings(group, results)
    return Chapter(group, results, standings, leaderboard.printed(group), problems, list(not_asked))


# Replies by stimulus: what observers said in words, invalid replies first


class Replies(NamedTuple):
    """Replies of an observer to stimuli of one abscissa whose contrasts are within an octave.

    Parameters
    ----------
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
                # What is not known comes last.
                abscissa = math.inf if row["abscissa"] is None else row["abscissa"]
                contrast = math.inf if row["contrast"] is None else row["contrast"]
                if 0 < contrast < math.inf:  # the middle of its octave
                    contrast = 2.0 ** round(math.log2(contrast))
                together.setdefault((number, abscissa, contrast), []).append(row)

    def invalid_first(key: tuple[int, float, float]) -> tuple[float, ...]:
        return -sum(row["choice"] is None for row in together[key]), *key

    order = sorted(together, key=invalid_first)
    shown = [_row(contenders[key[0]].label, *key[1:], together[key]) for key in order[:_ROWS]]
    return shown, len(order) - len(shown)


def _row(label: str, abscissa: float, contrast: float, rows: list[dict[str, Any]]) -> Replies:
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
        f"{abscissa:.3g}" if math.isfinite(abscissa) else "",
        f"{contrast:.2g}" if math.isfinite(contrast) else "",
        {**options, **counted},
        [(text, n) for (_, text), n in examples[:_EXAMPLES]],
        ", ".join(f"{why} ({n})" for why, n in ends.most_common()),
    )


def _short(reply: str) -> str:
    text = " ".join(reply.split()) or "(empty)"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
