"""Contenders: the observers of runs and of published tables, under labels that tell them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TypeVar

from fechner.arrays import xr
from fechner.errors import FechnerError, RunFolderError, check_names
from fechner.observers.abilities import LACKS
from fechner.observers.names import take_apart
from fechner.runs import Result, Run
from fechner.runs.manifest import ObserverRecord
from fechner.suites import PRESETS, Options, Suite, Test, preset, suite
from fechner.suites.published import Row, printed_score

#: A run, its folder, or the name of a published table such as ``@cai2025``.
Source = Run | Path | str

#: Stands for every layer, or every read-out.
ALL = "all"


@dataclass(frozen=True)
class Contender:
    """An observer of a run.

    Parameters
    ----------
    label
        Its name, with the run's where several runs have an observer of that name.
    """

    label: str
    run: Run
    observer: str

    def data(self, test: str) -> xr.Dataset | None:
        """Return its raw answers in a test, None if they are not complete or not there."""
        if test not in self.run.manifest.tests:
            return None
        return self.run.data(self.observer, test)

    def others(self, test: Test) -> list[xr.Dataset | None]:
        """Return its answers to the tests that a test uses, None where there are none."""
        return [self.run.answers(self.observer, name) for name in test.uses]

    def read(
        self, test: Test, problems: list[str], for_scores: bool | None = None
    ) -> xr.Dataset | None:
        """Return its answers to a test; None if there are none, and why goes to the problems.

        It is no problem if a test needs what the observer lacks, or has nothing of the kind.
        """
        run, observer = self.run, self.observer
        pieces = test.experiment.pieces() if for_scores is not None else ()
        has_none = for_scores is not None and all(each.for_scores != for_scores for each in pieces)
        if has_none or not run.asked(observer, test):
            return None
        otherwise = "not finished"
        if for_scores is False:
            otherwise = "what figures need was not measured; run it without --scores-only"
        try:
            data = run.data(observer, test.id, for_scores)
            why = "" if data is not None else run.why_incomplete(observer, test.id, otherwise)
        except RunFolderError as error:
            data, why = None, str(error)
        if why:
            problems.append(f"{self.label} {test.id}: {why}")
        return data

    @property
    def tests(self) -> list[Test]:
        """The tests of its run that are scored: those with somebody to compare with."""
        return [test for test in self.run.tests if test.experiment.reference]

    @property
    def known(self) -> ObserverRecord:
        """What the manifest knows of it."""
        return self.run.manifest.observers[self.observer]

    @property
    def asked(self) -> str:
        """What it was asked: the suite and what differs from its defaults."""
        return ", ".join([self.run.suite.name, *self.run.options.words()])

    @property
    def row(self) -> Row | None:
        """Its row in a published table of its suite, if it has one."""
        of = self.run.manifest.suite
        rows = [row for table, suite in PRESETS.items() if suite == of for row in preset(table)]
        name = take_apart(self.observer)[0]
        return next((row for row in rows if row.observer == name), None)

    @property
    def family(self) -> str:
        """What kind of observer it says it is, or a published table does; empty if neither."""
        return str(self.known.about.get("kind", "")) or (self.row.family if self.row else "")

    @property
    def csf_based(self) -> str:
        """Whether a contrast sensitivity function is built in: yes, no, or empty if unknown."""
        if "csf_based" in self.known.about:
            return "yes" if self.known.about["csf_based"] else "no"
        return self.row.csf_based if self.row else ""

    @property
    def complexity(self) -> Mapping[str, float | None]:
        """What was counted of a network, by name; empty for others."""
        return self.known.complexity

    def why_not_asked(self, test: Test) -> str:
        """Say what it lacks that a test needs; empty if it was asked."""
        needs = (*test.experiment.needs, test.experiment.asks)
        return next((LACKS[need] for need in needs if need in self.known.lacks), "")


@dataclass(frozen=True)
class Printed:
    """A row of a published table."""

    label: str
    table: str
    row: Row
    complexity: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def observer(self) -> str:
        """Its name."""
        return self.row.label

    @property
    def tests(self) -> list[Test]:
        """The tests it took."""
        every = suite(PRESETS[self.table]).build(published=True)
        return [test for test in every if printed_score(self.row, test)]


Entrant = Contender | Printed
Someone = TypeVar("Someone", Contender, Entrant)


@dataclass(frozen=True)
class Group:
    """Contenders that were asked the same questions: the same suite with the same options."""

    suite: Suite
    options: Options
    runs: tuple[Run, ...]
    contenders: tuple[Contender, ...]

    @property
    def title(self) -> str:
        """What they were asked: the suite and what differs from its defaults."""
        return ", ".join([self.suite.name, *self.options.words()])

    @cached_property
    def tests(self) -> list[Test]:
        """The tests that any of the runs has, in the suite's order."""
        every = {name for run in self.runs for name in run.manifest.tests}
        return [test for test in self.suite.build(self.options) if test.id in every]


def same_questions(first: Test, second: Test) -> bool:
    """Whether two runs asked the same in a test: what was shown, and how it is scored.

    Options that have no part in a test, such as photographs that others show, do not matter.
    """
    own, other = ((each.experiment, each.scorer, each.baselines) for each in (first, second))
    return own == other


def run_names(runs: Sequence[Run]) -> list[str]:
    """Return the names of run folders, or their paths where several have the same name."""
    names = [run.folder.resolve().name for run in runs]
    often = Counter(names)
    return [
        name if often[name] == 1 else str(run.folder) for name, run in zip(names, runs, strict=True)
    ]


def entrants(sources: Sequence[Source]) -> list[Entrant]:
    """Return the observers of runs and of published tables, each once."""
    tables = dict.fromkeys(str(each)[1:] for each in sources if str(each).startswith("@"))
    opened = [
        each if isinstance(each, Run) else Run(each)
        for each in sources
        if not str(each).startswith("@")
    ]
    runs = list({run.folder.resolve(): run for run in opened}.values())
    found: list[tuple[str, Entrant]] = [
        (name, Contender(observer, run, observer))
        for name, run in zip(run_names(runs), runs, strict=True)
        for observer in run.observers
    ]
    found += [(f"@{table}", Printed(r.label, table, r)) for table in tables for r in preset(table)]
    often = Counter(each.observer for _, each in found)
    return [
        each if often[each.observer] == 1 else replace(each, label=f"{each.observer} ({where})")
        for where, each in found
    ]


def contenders(runs: Sequence[Run | Path | str]) -> list[Contender]:
    """Return the observers of all runs, in order."""
    return [each for each in entrants(runs) if isinstance(each, Contender)]


def groups(runs: Sequence[Run]) -> list[Group]:
    """Put runs together whose observers were asked the same questions."""
    every = contenders(runs)
    together: dict[tuple[str, str, Options], list[Run]] = {}
    for run in runs:
        key = (run.suite.name, run.suite.fingerprint, run.options)
        together.setdefault(key, []).append(run)
    return [
        Group(
            members[0].suite,
            options,
            tuple(members),
            tuple(each for each in every if each.run in members),
        )
        for (_, _, options), members in together.items()
    ]


# What is chosen


def choose(every: Sequence[Someone], names: Sequence[str] | None) -> list[Someone]:
    """Return the entrants that names stand for, in this order; all if None.

    A label says which of several of the same name is meant, a name means all of them.
    """
    if names is None:
        return list(every)
    observers = {each.observer for each in every}
    unknown = [name for name in names if name not in observers]
    check_names("observer", unknown, [each.label for each in every])
    found: list[Someone] = []
    for name in names:
        same = [each for each in every if name == each.label]
        same = same or [each for each in every if name == each.observer]
        found += [each for each in same if each not in found]
    return found


def choose_observers(
    runs: Sequence[Run | Path | str], names: Sequence[str] | None
) -> list[Contender]:
    """Return the observers of runs to show, each run once, however it was given."""
    every = contenders(runs)
    if not every:
        raise FechnerError(f"{runs[0]} has no observers yet.")
    return choose(every, names or None)


def choose_tests(every: Sequence[Entrant], names: Sequence[str] | None) -> list[str]:
    """Return the tests to compare in: those that were named, or all that anyone took."""
    known = list(dict.fromkeys(test.id for each in every for test in each.tests))
    check_names("test", names, known)
    return [test for test in known if names is None or test in names]


def choose_place(what: str, name: str | None, there: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return which layer or read-out is shown of each observer.

    Each has some, the one to show by default first; observers that have only one are shown with it,
    whatever is asked for.

    Examples
    --------
    >>> choose_place("layer", "b", {"pixels": ["pixels"], "net": ["a", "b"]})
    {'pixels': 'pixels', 'net': 'b'}
    """
    if name is not None:
        for label, known in there.items():
            if len(known) > 1:
                check_names(what, [name], known, f"{label} has")
        check_names(what, [name], [each for known in there.values() for each in known])
    return {
        label: name if name is not None and name in known else known[0]
        for label, known in there.items()
    }


def at_output(data: xr.Dataset, output: str | None) -> xr.Dataset:
    """Return answers at the layer that an observer hands on, or the last, by its first read-out."""
    layers = data["layer"].values
    return data.sel(layer=output if output in layers else layers[-1]).isel(readout=0)


def names_in(data: xr.Dataset, what: str) -> list[str]:
    """Return the layers of an observer from the last on, or its read-outs from the first on."""
    return [str(name) for name in data[what].values][:: -1 if what == "layer" else 1]


@dataclass(frozen=True)
class Selection:
    """Observers of runs, and what is to be seen of them.

    Parameters
    ----------
    test
        None for all.
    layer, readout
        Where they are read out, and how; None for the last layer by its first read-out, ``all``
        for each of them.
    named
        Whether observers were chosen by name: who was not asked a test is then shown as such, and
        is left out otherwise.
    """

    contenders: Sequence[Contender]
    test: str | None
    layer: str | None
    readout: str | None
    named: bool = False

    @property
    def best(self) -> str:
        """What the best score means in the suite that was asked."""
        return self.contenders[0].run.suite.best

    @cached_property
    def tests(self) -> list[Test]:
        """The test that was named, or all that any of the runs has, if all were asked the same."""
        together = groups(list(dict.fromkeys(each.run for each in self.contenders)))
        known: dict[str, Test] = {}
        differ = len({group.suite.name for group in together}) > 1
        for test in (test for group in together for test in group.tests):
            same = same_questions(known.setdefault(test.id, test), test)
            differ = differ or (self.test in (None, test.id) and not same)
        if differ:
            asked = "; ".join(group.title for group in together)
            raise FechnerError(
                f"these runs were not asked the same questions ({asked}): draw them one by one."
            )
        if self.test is None:
            order = dict.fromkeys(t.id for g in together for t in g.suite.build(g.options))
            return [known[name] for name in order if name in known]
        check_names("test", [self.test], known)
        return [known[self.test]]

    def results(self) -> list[tuple[Contender, Result]]:
        """Return the main scores of the tests, every layer and read-out of each observer.

        Tests that are not complete, or have changed since, are not there.
        """
        found: list[tuple[Contender, Result]] = []
        for contender in self.contenders:
            own = [test for test in self.tests if test.id in contender.run.manifest.tests]
            for test in own:
                # What is for figures only has no part in main scores.
                data = contender.read(test, [], for_scores=True)
                if data is not None:
                    results = contender.run.score(contender.observer, test, data)
                    found += [(contender, result) for result in results if result.main]
        return found

    def places(self, answers: Mapping[str, xr.Dataset]) -> dict[str, list[tuple[str, str]]]:
        """Return layers and read-outs of each observer by its label: all, or those asked for."""
        found = []
        for what, dim, name in (
            ("layer", "layer", self.layer),
            ("read-out", "readout", self.readout),
        ):
            if name == ALL:
                found.append({k: list(map(str, data[dim].values)) for k, data in answers.items()})
            else:
                known = {label: names_in(data, dim) for label, data in answers.items()}
                found.append({k: [one] for k, one in choose_place(what, name, known).items()})
        layers, readouts = found
        return {label: list(product(layers[label], readouts[label])) for label in answers}
