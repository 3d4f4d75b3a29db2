"""What a figure is to show: runs, observers, tests, layers and read-outs, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fechner.errors import FechnerError, RunFolderError, UnknownNameError
from fechner.report.contenders import Contender, contenders, groups, same_questions
from fechner.runs import Result, Run
from fechner.suites import Test

Runs = Run | Path | str | Sequence[Run | Path | str]


def open_runs(runs: Runs) -> list[Run]:
    """Return runs, each once, however they were given."""
    many = [runs] if isinstance(runs, Run | Path | str) else runs
    found = [run if isinstance(run, Run) else Run(run) for run in many]
    return list({run.folder.resolve(): run for run in found}.values())


def choose_observers(runs: Sequence[Run], names: Sequence[str] | None) -> list[Contender]:
    """Return the observers to show."""
    every = contenders(runs)
    if not every:
        raise FechnerError(f"{runs[0].folder} has no observers yet.")
    found: list[Contender] = []
    for name in names or ():
        same = [each for each in every if name in (each.label, each.observer)]
        if not same:
            labels = [each.label for each in every]
            raise UnknownNameError("observer", name, labels, f"there are {', '.join(labels)}")
        found += [each for each in same if each not in found]
    return found or every


@dataclass(frozen=True)
class Choice:
    """What is to be shown, and how.

    Parameters
    ----------
    named
        Whether observers were chosen by name: who was not asked a test is then shown as such, and
        is left out otherwise.
    """

    contenders: Sequence[Contender]
    test: str | None
    layer: str | None
    readout: str | None
    columns: int
    dpi: float
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
        if self.test not in known:
            where = f"there are {', '.join(known)}"
            raise UnknownNameError("test", self.test, known, where)
        return [known[self.test]]

    def results(self) -> list[tuple[Contender, Result]]:
        """Return the main scores of the tests, every layer and read-out of each observer.

        Tests that are not complete, or have changed since, are not there.
        """
        found: list[tuple[Contender, Result]] = []
        for contender in self.contenders:
            run, observer = contender.run, contender.observer
            for test in (test for test in self.tests if test.id in run.manifest.tests):
                try:
                    # What is for figures only has no part in main scores.
                    data = run.data(observer, test.id, for_scores=True)
                except RunFolderError:
                    continue
                results = [] if data is None else run.score(observer, test, data)
                found += [(contender, result) for result in results if result.main]
        return found


def choose_place(what: str, name: str | None, there: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return which layer or read-out is shown of each observer.

    Observers that have only one are shown with it, whatever is asked for.

    Parameters
    ----------
    there
        What each observer has, the one to show by default first.

    Examples
    --------
    >>> choose_place("layer", "b", {"pixels": ["pixels"], "net": ["a", "b"]})
    {'pixels': 'pixels', 'net': 'b'}
    """
    for label, known in there.items():
        if name is not None and len(known) > 1 and name not in known:
            raise UnknownNameError(what, name, known, f"{label} has {', '.join(known)}")
    every = dict.fromkeys(each for known in there.values() for each in known)
    if name is not None and name not in every:
        raise UnknownNameError(what, name, every, f"there are {', '.join(every)}")
    return {
        label: name if name is not None and name in known else known[0]
        for label, known in there.items()
    }
