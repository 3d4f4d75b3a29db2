"""Standings: how observers of runs and of published tables did, where they are to be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fechner.errors import FechnerError, RunFolderError, UnknownNameError
from fechner.references import reference
from fechner.report.contenders import Contender, contenders, groups
from fechner.report.paper.choice import choose_place
from fechner.runs import Run
from fechner.runs.progress import followed
from fechner.scores import Score
from fechner.scores.score import Resampled
from fechner.suites import PRESETS, Test, preset, suite
from fechner.suites.base import not_asked
from fechner.suites.published import Row, printed_score

if TYPE_CHECKING:
    import xarray as xr

#: A run, its folder, or the name of a published table such as ``@cai2025``.
Source = Run | Path | str


@dataclass(frozen=True)
class Standing:
    """How an observer did at one layer by one read-out.

    Parameters
    ----------
    asked
        What it was asked, in words.
    scores
        Its main scores, by test.
    tests, answers, resampled
        The tests, what it answered, and its scores on bootstrap samples: empty for printed scores.
    not_asked
        Which tests need what it lacks, in a line for each reason.
    """

    label: str
    family: str
    suite: str
    best: str
    asked: str
    scores: Mapping[str, Score]
    tests: Mapping[str, Test] = field(default_factory=dict)
    answers: Mapping[str, xr.Dataset] = field(default_factory=dict)
    resampled: Mapping[str, Resampled] = field(default_factory=dict)
    not_asked: Sequence[str] = ()


@dataclass(frozen=True)
class Measured:
    """An observer of a run."""

    label: str
    contender: Contender

    @property
    def observer(self) -> str:
        """Its name."""
        return self.contender.observer

    @property
    def names(self) -> tuple[str, ...]:
        """Names under which an outside list may know it, the surest first."""
        return (self.label, self.observer, *_names(self.contender.row))

    @property
    def complexity(self) -> Mapping[str, float | None]:
        """What was counted of a network, by name; empty for others."""
        about = self.contender.run.manifest.observers[self.observer]
        found: Mapping[str, float | None] = about.get("complexity", {})
        return found

    @property
    def tests(self) -> list[Test]:
        """The tests of its run that are scored: those with somebody to compare with."""
        return [test for test in self.contender.run.tests if test.experiment.reference]

    def not_asked(self, tests: Sequence[str]) -> list[str]:
        """Say which of some tests need what it lacks."""
        lacking = self.contender.run.manifest.observers[self.observer].get("lacks", [])
        return list(not_asked(self.label, [t for t in self.tests if t.id in tests], lacking))

    def answers(self, tests: Sequence[str], problems: list[str]) -> dict[str, xr.Dataset]:
        """Return its answers by test, and add what is not there to the problems."""
        run, found = self.contender.run, {}
        asked = [test for test in self.tests if run.asked(self.observer, test)]
        for test in (test.id for test in asked if test.id in tests):
            try:
                data = run.data(self.observer, test, for_scores=True)
            except RunFolderError as error:
                problems.append(f"{self.label} {test}: {error}")
                continue
            if data is None:
                problems.append(f"{self.label} {test}: {run.why_incomplete(self.observer, test)}")
            else:
                found[test] = data
        return found

    def standing(
        self, answers: Mapping[str, xr.Dataset], place: str, tests: Sequence[str]
    ) -> Standing:
        """Score its answers to some tests, each of one layer and read-out."""
        own = {test.id: test for test in self.tests if test.id in answers}
        resampled = {name: test.resample(answers[name]) for name, test in own.items()}
        (group,) = groups([self.contender.run])
        return Standing(
            f"{self.label} {place}".strip(),
            self.contender.family,
            group.suite.name,
            group.suite.best,
            group.title,
            {name: found.score for name, found in resampled.items()},
            own,
            answers,
            resampled,
            self.not_asked(tests),
        )


@dataclass(frozen=True)
class Printed:
    """A row of a published table."""

    label: str
    table: str
    row: Row

    @property
    def observer(self) -> str:
        """Its name."""
        return self.row.label

    @property
    def names(self) -> tuple[str, ...]:
        """Names under which an outside list may know it, the surest first."""
        return (self.label, self.observer, *_names(self.row))

    @property
    def complexity(self) -> Mapping[str, float | None]:
        """Nothing was counted."""
        return {}

    @property
    def tests(self) -> list[Test]:
        """The tests it took."""
        every = suite(PRESETS[self.table]).build(published=True)
        return [test for test in every if printed_score(self.row, test)]

    def standing(self, tests: Sequence[str]) -> Standing:
        """Return what was printed."""
        row = self.row
        found = {test.id: printed_score(row, test) for test in self.tests if test.id in tests}
        scores = {name: score for name, score in found.items() if score}
        return Standing(
            self.label,
            row.family,
            PRESETS[self.table],
            suite(PRESETS[self.table]).best,
            f"{PRESETS[self.table]}, as printed by {reference(self.table).short}",
            scores,
        )


def _names(row: Row | None) -> tuple[str, ...]:
    if row is None or not any(map(str.isalnum, row.architecture)):
        return ()
    return (row.architecture, f"{row.family} {row.architecture}")


Entrant = Measured | Printed


def entrants(sources: Sequence[Source]) -> list[Entrant]:
    """Return the observers of runs and of published tables, each once."""
    tables = dict.fromkeys(str(each)[1:] for each in sources if str(each).startswith("@"))
    opened = [
        each if isinstance(each, Run) else Run(each)
        for each in sources
        if not str(each).startswith("@")
    ]
    measured = contenders(list({run.folder.resolve(): run for run in opened}.values()))
    printed = [(table, row) for table in tables for row in preset(table)]
    often = Counter([*(each.observer for each in measured), *(row.label for _, row in printed)])

    def label(each: Contender) -> str:
        if each.label != each.observer or often[each.observer] == 1:
            return each.label
        return f"{each.observer} ({each.run.folder.name})"

    return [
        *(Measured(label(each), each) for each in measured),
        *(
            Printed(
                row.label if often[row.label] == 1 else f"{row.label} (@{table})",
                table,
                row,
            )
            for table, row in printed
        ),
    ]


def choose(every: Sequence[Entrant], names: Sequence[str]) -> list[Entrant]:
    """Return the entrants that names stand for, in this order.

    A label says which of several of the same name is meant, a name means all of them.
    """
    found: list[Entrant] = []
    for name in names:
        same = [each for each in every if name == each.label] or [
            each for each in every if name == each.observer
        ]
        if not same:
            labels = [each.label for each in every]
            raise UnknownNameError("observer", name, labels, f"there are {listed(labels)}")
        found += [each for each in same if each not in found]
    return found


def left_out(every: Sequence[Entrant]) -> list[str]:
    """Return lines about observers that runs could not measure."""
    runs = {e.contender.run.folder: e.contender.run for e in every if isinstance(e, Measured)}
    return [line for run in runs.values() for line in run.left_out]


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names in a sentence, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"], most=2)
    'a, b and 2 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def choose_tests(every: Sequence[Entrant], names: Sequence[str] | None) -> list[str]:
    """Return the tests to compare in: those that were named, or all that anyone took."""
    known = list(dict.fromkeys(test.id for each in every for test in each.tests))
    for name in names or ():
        if name not in known:
            raise UnknownNameError("test", name, known, f"there are {', '.join(known)}")
    return [test for test in known if names is None or test in names]


def stand(
    every: Sequence[Entrant],
    tests: Sequence[str],
    layer: str | None = None,
    readout: str | None = None,
    progress: bool = False,
) -> tuple[list[Standing], list[str]]:
    """Score entrants at one layer by one read-out each; and say what cannot be, in one line each.

    By default these are the last layer measured and the suite's read-out, as in tables.
    """
    problems: list[str] = []
    places = _Places(layer, readout)
    answers = {
        each.label: each.answers(tests, problems) for each in every if isinstance(each, Measured)
    }
    for each in every:
        if isinstance(each, Measured):
            places.add(each, answers[each.label])
    places.choose()
    found = []
    for each in followed(every, "scoring") if progress else every:
        if isinstance(each, Printed):
            found.append(each.standing(tests))
        else:
            own = places.select(each, answers[each.label])
            found.append(each.standing(own, places.words(each) if own else "", tests))
    return found, problems


class _Places:
    """Where each observer is read out, and how.

    Observers that have one layer or read-out only are compared by it, whatever is asked for.
    """

    def __init__(self, layer: str | None, readout: str | None) -> None:
        self._asked = (layer, readout)
        self._layers: dict[str, list[str]] = {}
        self._readouts: dict[str, list[str]] = {}

    def add(self, each: Measured, answers: Mapping[str, xr.Dataset]) -> None:
        """Note what an observer has, the default first."""
        # Tests that ask other abilities may have one place only.
        if answers:
            data = max(answers.values(), key=lambda each: each.sizes["layer"])
            own = each.contender.run.suite.readouts
            readouts = [str(name) for name in data["readout"].values]
            self._layers[each.label] = [str(name) for name in data["layer"].values][::-1]
            self._readouts[each.label] = sorted(readouts, key=lambda name: name not in own)

    def choose(self) -> None:
        """Choose a place for each."""
        if not self._layers and self._asked != (None, None):
            raise FechnerError("printed scores have one place; leave --layer and --readout out.")
        layer, readout = self._asked
        self.layer = choose_place("layer", layer, self._layers)
        self.readout = choose_place("read-out", readout, self._readouts)

    def select(self, each: Measured, answers: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
        """Return an observer's answers at its place."""
        if not answers:
            return {}
        layer, readout = self.layer[each.label], self.readout[each.label]
        return {test: _at(data, layer, readout) for test, data in answers.items()}

    def words(self, each: Measured) -> str:
        """Return an observer's place in words, where there was something to choose."""
        about = each.contender.run.manifest.observers[each.observer]
        layer, readout = self.layer[each.label], self.readout[each.label]
        natural = about.get("output", self._layers[each.label][0])
        where = "" if layer == natural else f"at {layer}"
        how = f"by {readout}" if len(self._readouts[each.label]) > 1 else ""
        return f"{where} {how}".strip()


def _at(data: xr.Dataset, layer: str, readout: str) -> xr.Dataset:
    """Return answers at a place, or at the natural one of a test that does not have it."""
    layers, readouts = data["layer"].values, data["readout"].values
    return data.sel(
        layer=layer if layer in layers else layers[-1],
        readout=readout if readout in readouts else readouts[0],
    )
