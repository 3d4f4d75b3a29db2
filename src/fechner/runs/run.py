"""A run is a folder: reading its results."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fechner.arrays import pd, xr
from fechner.errors import RunFolderError, UnknownNameError
from fechner.experiments import Experiment
from fechner.observers import READOUTS, Wants
from fechner.runs.manifest import Manifest, parameters
from fechner.runs.plan import piece_keys, read_answers
from fechner.runs.progress import followed
from fechner.runs.store import PEOPLE, Entry, Ledger, last_writer
from fechner.runs.trials import FILE as TRIALS
from fechner.runs.trials import Spent, Trials
from fechner.scores import Score
from fechner.suites import Options, Suite, Test, published_scores
from fechner.suites import suite as find_suite
from fechner.suites.base import may_ask, not_asked

if TYPE_CHECKING:
    from fechner.human.trials import HumanTrials
    from fechner.report.frames import What


@dataclass(frozen=True)
class Result:
    """A score with whose and of what it is.

    Parameters
    ----------
    main
        Whether it is the first of its test's scores.
    last
        Whether it is of the last layer measured, which tables show.
    place
        Read-out and layer, where they are not the suite's read-out of what the observer hands on.
    published
        What a paper printed for the same observer and test, NaN if none did.
    """

    observer: str
    suite: str
    test: str
    mode: str
    score: Score
    main: bool = True
    last: bool = True
    place: str = ""
    published: float = float("nan")


class Run:
    """The results in a run folder.

    Parameters
    ----------
    suite
        Its suite, where that was given in Python: the `fechner.Suite`, or ``path/to/file.py:NAME``.
        Others are found by themselves.

    Examples
    --------
    >>> import fechner
    >>> run = fechner.evaluate("pixels", tests="area", scores_only=True, progress=False)
    >>> again = fechner.Run(run.folder)
    >>> again.observers, [test.id for test in again.tests]
    (['pixels'], ['area'])
    """

    def __init__(self, folder: Path | str, suite: Suite | str | None = None) -> None:
        self.folder = Path(folder)
        self.manifest = Manifest.read(self.folder)
        if suite is None:
            self.suite = self.manifest.find_suite()
        else:
            self.suite = replace(find_suite(suite), **self.manifest.origin)
            if self.suite.name != self.manifest.suite:
                raise RunFolderError(
                    f"{self.folder} was measured with suite '{self.manifest.suite}', not with "
                    f"'{self.suite.name}'."
                )
        #: What people were already told while it ran.
        self.told: list[str] = []
        #: Observers and tests whose problems matter; None for all that were ever asked for here.
        self.asked_for: tuple[Collection[str], Collection[str]] | None = None
        self._built: tuple[Any, dict[str, Test]] | None = None

    def __repr__(self) -> str:
        return f"Run('{self.folder}')"

    @property
    def observers(self) -> list[str]:
        """Names of the observers, in the order in which they were added."""
        return list(self.manifest.observers)

    @property
    def options(self) -> Options:
        """The suite's options, with the trials of people that are kept in the folder."""
        return replace(self.manifest.suite_options(self.suite), people=people_of(self.folder))

    @property
    def left_out(self) -> list[str]:
        """Lines about observers that could not be measured, or not yet."""
        left_out = self.manifest.left_out
        writer = last_writer(self.folder)
        planned = writer.plan.observers if writer and writer.plan else []
        waiting = [name for name in planned if name not in (*self.observers, *left_out)]
        again = "not measured yet; run the same command again to go on."
        lines = {name: f"{name} was left out: {why}" for name, why in left_out.items()}
        lines |= {name: f"{name}: {again}" for name in waiting}
        return [line for name, line in lines.items() if self._matters(name)]

    def _matters(self, observer: str, test: str | None = None) -> bool:
        """Whether problems of an observer, or in a test, concern the one who asks."""
        if self.asked_for is None:
            return True
        observers, tests = self.asked_for
        return observer in observers and (test is None or test in tests)

    @property
    def not_asked(self) -> list[str]:
        """Lines about tests that need what an observer lacks, such as colour."""
        return [
            line
            for observer, record in self.manifest.observers.items()
            for line in not_asked(observer, self.tests, record.lacks)
        ]

    @property
    def warnings(self) -> list[str]:
        """Lines about observers whose answers are to be read with care."""
        observers = self.manifest.observers
        lines = [
            f"{observer}: mind that {'; '.join(record.warnings)}."
            for observer, record in observers.items()
            if record.warnings
        ]
        for observer, record in observers.items():
            if (ppd := record.ppd) is not None:
                fields = (test.experiment.scene.drawn_field(Wants(ppd=ppd)) for test in self.tests)
                shown = dict.fromkeys(f"{field.ppd:g}" for field in fields)
                lines.append(
                    f"{observer} is made for {ppd:g} pixels per degree, and was shown stimuli at "
                    f"{' and '.join(shown)}."
                )
        return lines

    def asked(self, observer: str, test: Test) -> bool:
        """Whether an observer can be asked a test: it needs nothing that the observer lacks."""
        return may_ask(test, self.manifest.observers[observer].lacks)

    @property
    def tests(self) -> list[Test]:
        """The tests of the suite that this run has, in the suite's order."""
        return [test for name, test in self.all_tests.items() if name in self.manifest.tests]

    @property
    def all_tests(self) -> dict[str, Test]:
        """All tests of the suite, by name; built once, as long as people's trials stay the same."""
        people = people_of(self.folder)
        if self._built is None or self._built[0] is not people:
            self._built = people, {test.id: test for test in self.suite.build(self.options)}
        return self._built[1]

    @cached_property
    def _as_printed(self) -> dict[str, Experiment]:
        """Experiments of the suite as papers had them, by name."""
        return {test.id: test.experiment for test in self.suite.build(self.options.as_printed)}

    def entries(self) -> list[Entry]:
        """Return what the ledger says."""
        return Ledger(self.folder).entries()

    def data(self, observer: str, test: str, for_scores: bool | None = None) -> xr.Dataset | None:
        """Return the raw answers of an observer in a test, None if they are not complete.

        Parameters
        ----------
        for_scores
            True for what scores need alone, False for what is for figures only; if None, both,
            where the latter was measured.
        """
        own = self._test(test)
        if parameters(own.experiment) != self.manifest.tests[test]:
            raise RunFolderError(
                f"test '{test}' has changed since {self.folder} was measured (its stimuli, its "
                "human data or the version of fechner); run the same command again to measure it "
                "anew."
            )
        if observer not in self.manifest.observers:
            listed = f"{self.folder} has {', '.join(self.observers)}"
            raise UnknownNameError("observer", observer, self.observers, listed)
        record = self.manifest.observers[observer]
        return read_answers(self.folder, own, self.all_tests, record, self.entries(), for_scores)

    def assess(self, progress: bool = False) -> tuple[list[Result], list[str]]:
        """Score everything that is complete, and say what is not, in one line each."""
        results: list[Result] = []
        problems = self.left_out
        self.entries()  # a damaged ledger is not the problem of each observer
        every = itertools.product(self.observers, self.tests)
        places = [(observer, test) for observer, test in every if self.asked(observer, test)]
        for observer, test in followed(places, "scoring", progress):
            try:
                data = self.data(observer, test.id)
            except RunFolderError as error:
                problems.append(f"{observer} {test.id}: {error}")
                continue
            if data is None:
                if self._matters(observer, test.id):
                    why = self.why_incomplete(observer, test.id)
                    problems.append(f"{observer} {test.id}: {why}")
                continue
            results += self.score(observer, test, data)
        return results, problems

    def why_incomplete(self, observer: str, test: str, otherwise: str = "not finished") -> str:
        """Say what went wrong where the answers of an observer in a test are not complete."""
        own, record = self._test(test), self.manifest.observers[observer]
        for line in not_asked(observer, [own], record.lacks):
            return line
        keys = piece_keys(own, self.all_tests, record).values()
        failed = [e.message for e in self.entries() if e.status == "failed" and e.key in keys]
        if failed:
            return failed[-1]
        for name in own.after:
            before = self.all_tests[name]
            if self.asked(observer, before) and self.answers(observer, name) is None:
                return f"it comes after {name}, which is not complete"
        return otherwise

    def score(self, observer: str, test: Test, data: xr.Dataset) -> list[Result]:
        """Score the answers of an observer in a test."""
        own = self.suite
        layers = [str(layer) for layer in data["layer"].values]
        # Where there is one place to look at, nobody has to be told which.
        natural = self.manifest.observers[observer].output if len(layers) > 1 else layers[0]
        as_printed = test.experiment == self._as_printed.get(test.id)
        results: list[Result] = []
        seen: set[tuple[str, str]] = set()
        others = [self.answers(observer, name) for name in test.uses]
        for score in test.scores(data, *others):
            main = (score.layer, score.readout) not in seen
            seen.add((score.layer, score.readout))
            # The suite's read-out, or one that no encoder has: an observer's own.
            expected = score.readout in own.readouts or score.readout not in READOUTS
            readout = score.readout if data.sizes["readout"] > 1 or not expected else ""
            where = "" if score.layer == natural else score.layer
            published = math.nan
            if expected and as_printed:
                # Papers read encoders out by the suite's own read-out, mostly of what they hand on.
                printed = published_scores(own.name, where)
                published = printed.get((observer, test.id), math.nan) if main else math.nan
                published = printed.get((observer, f"{test.id}/{score.name}"), published)
            results.append(
                Result(
                    observer,
                    own.name,
                    test.id,
                    self.manifest.mode,
                    score,
                    main=main,
                    last=score.layer == layers[-1],
                    place=f"{readout} {where and f'at {where}'}".strip(),
                    published=published,
                )
            )
        return results

    def scores(self) -> list[Result]:
        """Score everything that is complete, from what is stored."""
        return self.assess()[0]

    def answers(self, observer: str, test: str) -> xr.Dataset | None:
        """Return the answers to a test of this run that another uses, None where there are none."""
        if test not in self.manifest.tests or not self.asked(observer, self._test(test)):
            return None
        return self.data(observer, test)

    def spent(self, observer: str | None = None) -> Spent:
        """Return what answers in words took: trials, tokens, money."""
        path = self.folder / TRIALS
        return Trials(path).spent(observer) if path.is_file() else Spent()

    def trials(self, observer: str | None = None) -> list[dict[str, Any]]:
        """Return every answer in words with what it was about, in the order in which they came."""
        return Trials(self.folder / TRIALS).rows(observer)

    def _test(self, name: str) -> Test:
        found = {test.id: test for test in self.tests}
        if name not in found:
            raise UnknownNameError("test", name, found, f"{self.folder} has {', '.join(found)}")
        return found[name]

    def table(self) -> str:
        """Return the scores as text."""
        from fechner.report.score_tables import format_scores

        return format_scores(self.scores())

    def report(self, path: Path | str) -> Path:
        """Write one self-contained HTML page about this run, and return where it is."""
        from fechner.report.page import write_page

        write_page([self], path)
        return Path(path)

    def to_dataframe(self, what: What = "scores") -> pd.DataFrame:
        """Return scores, or the raw answers behind them, as a tidy frame.

        Parameters
        ----------
        what
            ``"scores"``, a row for each; ``"responses"``, a row for each raw answer that scores are
            computed from; ``"surfaces"``, a row for each that is for figures only; ``"trials"``, a
            row for each answer in words, with the reply.
        """
        from fechner.report.frames import to_dataframe

        return to_dataframe(self, what)


def people_of(folder: Path | str) -> HumanTrials | None:
    """Return the trials of people that are kept in a run folder, None if there are none.

    Read once, as long as the file stays as it is.
    """
    path = Path(folder) / PEOPLE
    try:
        found = path.stat()
    except OSError:
        return None
    return _read_people(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=8)
def _read_people(path: Path, changed: int, size: int) -> HumanTrials:
    from fechner.human.trials import read_trials

    return read_trials(path)
