"""A run is a folder: reading its results."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fechner.errors import RunFolderError, UnknownNameError
from fechner.experiments import Experiment
from fechner.observers import READOUTS, Wants
from fechner.runs.ledger import Entry, Ledger, read_answers
from fechner.runs.manifest import Manifest, parameters
from fechner.runs.people import people_of
from fechner.runs.plan import piece_keys
from fechner.runs.progress import followed
from fechner.runs.store import last_writer
from fechner.runs.trials import FILE as TRIALS
from fechner.runs.trials import Spent, Trials
from fechner.scores import Score
from fechner.suites import Options, Suite, Test, published_scores
from fechner.suites import suite as find_suite
from fechner.suites.base import may_ask, not_asked

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

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
        self.suite = self.manifest.find_suite() if suite is None else self._given(suite)
        #: What people were already told while it ran.
        self.told: list[str] = []
        #: Observers and tests whose problems matter; None for all that were ever asked for here.
        self.asked_for: tuple[Collection[str], Collection[str]] | None = None
        self._built: tuple[Any, dict[str, Test]] | None = None

    def _given(self, suite: Suite | str) -> Suite:
        """Return a suite that a user gives as the one that was measured with."""
        found = find_suite(suite)
        if found.name != self.manifest.suite:
            raise RunFolderError(
                f"{self.folder} was measured with suite '{self.manifest.suite}', not with "
                f"'{found.name}'."
            )
        return replace(found, **self.manifest.origin)

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
        lines = [
            f"{name} was left out: {why}"
            for name, why in self.manifest.left_out.items()
            if self._matters(name)
        ]
        writer = last_writer(self.folder)
        planned = writer.plan.observers if writer and writer.plan else []
        known = (*self.manifest.observers, *self.manifest.left_out)
        waiting = [name for name in planned if name not in known and self._matters(name)]
        again = "not measured yet; run the same command again to go on."
        return [*lines, *(f"{name}: {again}" for name in waiting)]

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
        return [
            f"{observer}: mind that {'; '.join(record.warnings)}."
            for observer, record in self.manifest.observers.items()
            if record.warnings
        ] + self._shown_at

    @property
    def _shown_at(self) -> list[str]:
        """Lines about observers that are made for certain pixels per degree."""
        lines = []
        for observer, record in self.manifest.observers.items():
            if (ppd := record.ppd) is not None:
                wants = Wants(ppd=ppd)
                scenes = (test.experiment.scene for test in self.tests)
                at = dict.fromkeys(f"{scene.drawn_field(wants).ppd:g}" for scene in scenes)
                lines.append(
                    f"{observer} is made for {ppd:g} pixels per degree, and was shown stimuli at "
                    f"{' and '.join(at)}."
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
        experiment = self._test(test).experiment
        if parameters(experiment) != self.manifest.tests[test]:
            raise RunFolderError(
                f"test '{test}' has changed since {self.folder} was measured (its stimuli, its "
                "human data or the version of fechner); run the same command again to measure it "
                "anew."
            )
        if observer not in self.manifest.observers:
            raise UnknownNameError(
                "observer", observer, self.observers, f"{self.folder} has {self.observers}"
            )
        return read_answers(
            self.folder,
            self._test(test),
            self.all_tests,
            self.manifest.observers[observer],
            self.entries(),
            for_scores,
        )

    def assess(self, progress: bool = False) -> tuple[list[Result], list[str]]:
        """Score everything that is complete, and say what is not, in one line each."""
        results: list[Result] = []
        problems = self.left_out
        self.entries()  # a damaged ledger is not the problem of each observer
        places = [
            (observer, test)
            for observer in self.observers
            for test in self.tests
            if self.asked(observer, test)
        ]
        for observer, test in followed(places, "scoring") if progress else places:
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
        lacking = self.manifest.observers[observer].lacks
        for line in not_asked(observer, [self._test(test)], lacking):
            return line
        keys = piece_keys(self._test(test), self.all_tests, self.manifest.observers[observer])
        failed = [
            entry.message
            for entry in self.entries()
            if entry.status == "failed" and entry.key in keys.values()
        ]
        if failed:
            return failed[-1]
        waits_for = [name for name in self._test(test).after if not self._has(observer, name)]
        return f"it comes after {waits_for[0]}, which is not complete" if waits_for else otherwise

    def score(self, observer: str, test: Test, data: xr.Dataset) -> list[Result]:
        """Score the answers of an observer in a test."""
        own = self.suite
        layers = [str(layer) for layer in data["layer"].values]
        # Where there is one place to look at, nobody has to be told which.
        handed_on = self.manifest.observers[observer].output
        natural = handed_on if len(layers) > 1 else layers[0]
        results: list[Result] = []
        seen: set[tuple[str, str]] = set()
        others = [self.answers(observer, name) for name in test.uses]
        for score in test.scores(data, *others):
            main = (score.layer, score.readout) not in seen
            seen.add((score.layer, score.readout))
            place = _place(score, own.readouts, natural, several=data.sizes["readout"] > 1)
            # Papers read encoders out by the suite's own read-out, mostly of what they hand on.
            printed = published_scores(own.name, "" if score.layer == natural else score.layer)
            same = _is_own(score.readout, own.readouts) and test.experiment == self._as_printed.get(
                test.id
            )
            keys = [f"{test.id}/{score.name}", *([test.id] if main else [])]
            known = [printed[observer, key] for key in keys if (observer, key) in printed]
            results.append(
                Result(
                    observer,
                    own.name,
                    test.id,
                    self.manifest.mode,
                    score,
                    main=main,
                    last=score.layer == layers[-1],
                    place=place,
                    published=known[0] if same and known else math.nan,
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

    def _has(self, observer: str, test: str) -> bool:
        """Whether a test has its answers, as far as an observer can be asked it."""
        if test in self.manifest.tests and not self.asked(observer, self._test(test)):
            return True
        return self.answers(observer, test) is not None

    def spent(self, observer: str | None = None) -> Spent:
        """Return what answers in words took: trials, tokens, money."""
        return Trials(self.folder / TRIALS).spent(observer)

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


def _is_own(readout: str, of_suite: Sequence[str]) -> bool:
    """Whether a read-out is the suite's, or one that no encoder has: an observer's own."""
    return readout in of_suite or readout not in READOUTS


def _place(score: Score, of_suite: Sequence[str], natural: str, several: bool) -> str:
    named = several or not _is_own(score.readout, of_suite)
    where = "" if score.layer == natural else f"at {score.layer}"
    return f"{score.readout if named else ''} {where}".strip()
