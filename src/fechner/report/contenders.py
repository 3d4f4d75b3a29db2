"""Contenders: the observers of one or several runs, under labels that tell them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fechner.observers.abilities import LACKS
from fechner.observers.names import take_apart
from fechner.runs import Run
from fechner.suites import PRESETS, Options, Suite, Test, preset
from fechner.suites.published import Row

if TYPE_CHECKING:
    import xarray as xr


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
        return str(self._about.get("kind", "")) or (self.row.family if self.row else "")

    @property
    def csf_based(self) -> str:
        """Whether a contrast sensitivity function is built in: yes, no, or empty if unknown."""
        if "csf_based" in self._about:
            return "yes" if self._about["csf_based"] else "no"
        return self.row.csf_based if self.row else ""

    @property
    def _about(self) -> dict[str, Any]:
        known: dict[str, Any] = self.run.manifest.observers[self.observer].get("about", {})
        return known

    def why_not_asked(self, test: Test) -> str:
        """Say what it lacks that a test needs; empty if it was asked."""
        lacking = self.run.manifest.observers[self.observer].get("lacks", [])
        needs = (*test.experiment.needs, test.experiment.asks)
        return next((LACKS[need] for need in needs if need in lacking), "")


@dataclass(frozen=True)
class Group:
    """Contenders that were asked the same questions: the same suite with the same options."""

    suite: Suite
    options: Options
    runs: tuple[Run, ...]
    contenders: tuple[Contender, ...]

    @property
    def title(self) -> str:
        """The suite and what differs from its defaults."""
        return ", ".join([self.suite.name, *self.options.words()])

    @property
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


def contenders(runs: Sequence[Run]) -> list[Contender]:
    """Return the observers of all runs, in order."""
    every = [(run, observer) for run in runs for observer in run.observers]
    often = Counter(observer for _, observer in every)
    folders = Counter(run.folder.name for run in runs)

    def label(run: Run, observer: str) -> str:
        if often[observer] == 1:
            return observer
        where = run.folder.name if folders[run.folder.name] == 1 else str(run.folder)
        return f"{observer} ({where})"

    return [Contender(label(run, observer), run, observer) for run, observer in every]


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
