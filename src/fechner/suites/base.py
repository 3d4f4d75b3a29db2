"""A suite: a published protocol as a plain list of tests."""

from __future__ import annotations

import fnmatch
import hashlib
import importlib
import inspect
import re
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fechner.arrays import xr
from fechner.errors import FechnerError, UnknownNameError, nearest, raised
from fechner.experiments import Experiment
from fechner.observers.abilities import LACKS, Ability, Need
from fechner.python_files import is_python_file, load_from_file, split_spec
from fechner.scores import MakesPanels, Panel, Score, Scorer
from fechner.suites.options import Options, options_of
from fechner.suites.published import Baseline, baselines_of

if TYPE_CHECKING:
    from fechner.scores.score import Resampled


@dataclass(frozen=True)
class Test:
    """An experiment, how it is scored, and how it is looked at.

    Parameters
    ----------
    uses
        Ids of other tests whose answers the scorer and the maker of panels are handed, too, where
        they were measured.
    gallery
        What people are shown of it, if that is more telling than its own stimuli.
    after
        Ids of other tests whose whole answers the experiment needs to be measured: they are handed
        to `measure`, None for one that an observer cannot be asked.
    by_default
        Whether it is run when no tests are named.
    fingerprint
        What its suite adds to what stored answers depend on; set by `Suite.build`.
    baselines
        What observers that know nothing score, by name of the score; set by `Suite.build`.

    Examples
    --------
    >>> from fechner.experiments import Detection, NearThreshold, Scene
    >>> from fechner.scores import Alignment, threshold_panels
    >>> from fechner.stimuli import OPPONENT, Field, display
    >>> task = Detection("frequency_cpd", (1.0, 2.0, 4.0), (0.01, 0.1, 1.0))
    >>> scene = Scene(Field(64, 64, 16.0), display("office"), OPPONENT)
    >>> test = Test(NearThreshold("csf", "CSF", task, scene), Alignment(), threshold_panels)
    >>> test.id
    'csf'
    """

    experiment: Experiment
    scorer: Scorer
    makes_panels: MakesPanels
    uses: tuple[str, ...] = ()
    gallery: Experiment | None = None
    after: tuple[str, ...] = ()
    by_default: bool = True
    fingerprint: str = field(default="", repr=False)
    baselines: Mapping[str, Baseline] = field(default_factory=dict, repr=False, hash=False)

    #: Tells pytest that this is no class of unit tests, where a test module imports it.
    __test__: ClassVar[bool] = False

    @property
    def id(self) -> str:
        """The experiment's id."""
        return self.experiment.id

    def scores(self, data: xr.Dataset, *others: xr.Dataset | None) -> list[Score]:
        """Score all layers and read-outs, with the chance levels that were measured."""
        return [self._with_chance(score) for score in self.scorer(data, *others)]

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the main score of one layer and read-out with its bootstrap."""
        found = self.scorer.resample(data)
        return replace(found, score=self._with_chance(found.score))

    def printed(self, value: float) -> Score:
        """Return a main score of which only the value is known, as from a paper."""
        return self._with_chance(self.scorer.printed(value, self.experiment))

    def _with_chance(self, score: Score) -> Score:
        measured = self.baselines.get(score.name)
        return score if measured is None else measured.as_chance(score)

    def panels(self, data: xr.Dataset, others: Sequence[xr.Dataset | None] = ()) -> Sequence[Panel]:
        """Return the panels of one layer and read-out.

        Parameters
        ----------
        others
            Whole answers to the tests that it uses, None where they were not measured.
        """
        makes_panels: Any = self.makes_panels
        panels: Sequence[Panel] = makes_panels(self.experiment, data, *others)
        return panels


@dataclass(frozen=True)
class Suite:
    """A named protocol.

    Parameters
    ----------
    reference
        Key of its paper in the bibliography, or a citation of your own.
    tests
        Builds the list of tests for given options.
    options
        The dataclass of what a user may set.
    version
        Raise it when the numbers of a suite of your own change; what was measured with another
        version is measured again.
    readouts
        How encoders are read out.
    further
        Tests that it has only if a user gives something, and what.
    best
        What a distance of 0 means: answers as people give them, or something else such as none
        that is wrong. A word or two, to be read after "distance from".
    tabulated
        Names of scores that a page sets out for all tests, beside the main ones.
    source
        Where it was found: ``path/to/file.py:NAME`` or an installed package; empty for our own, and
        for a Python object.
    sha256
        Of the file it was found in.

    Examples
    --------
    >>> from fechner.suites import suite
    >>> [test.id for test in suite("encoders").build(published=True)][:2]
    ['frequency-ach', 'frequency-noise']
    """

    name: str
    title: str
    reference: str
    tests: Callable[[Any], list[Test]]
    options: type[Options] = Options
    version: int = 1
    readouts: tuple[str, ...] = ("angle",)
    further: Mapping[str, str] = field(default_factory=dict)
    best: str = "human"
    tabulated: tuple[str, ...] = ()
    source: str = field(default="", compare=False)
    sha256: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", self.name):
            raise FechnerError(
                f"a suite's name is of lower-case letters, digits and hyphens, not '{self.name}'."
            )
        if not (isinstance(self.options, type) and issubclass(self.options, Options)):
            raise FechnerError(
                f"options of suite '{self.name}' must be a class derived from "
                f"fechner.suites.Options, not {self.options!r}."
            )
        for name in RESERVED & options_of(self.options).keys():
            raise FechnerError(
                f"suite '{self.name}' has an option '{name}', which every run has: choose another "
                "name."
            )

    def build(self, options: Options | None = None, **given: Any) -> list[Test]:
        """Return its tests, for options or for what a user sets by keywords."""
        chosen = self.options(**given) if options is None else options
        try:
            found = self.tests(chosen)
        except FechnerError:
            raise
        except Exception as error:
            raise FechnerError(
                f"suite '{self.name}' could not build its tests: {raised(error)}."
            ) from error
        if not isinstance(found, list | tuple) or not all(isinstance(each, Test) for each in found):
            raise FechnerError(
                f"the builder of suite '{self.name}' must return a list of fechner.Test."
            )
        ids = [test.id for test in found]
        if twice := {name for name in ids if ids.count(name) > 1}:
            raise FechnerError(f"suite '{self.name}' has tests of one id: {', '.join(twice)}.")
        as_measured = set(chosen.changed()) <= {"published", "seed"}
        return [
            replace(
                test,
                fingerprint=self.fingerprint + self._code_of(test),
                baselines=baselines_of(self.name, chosen.mode, test.id, as_measured),
            )
            for test in found
        ]

    def _code_of(self, test: Test) -> str:
        """Return a hash of what a user's own classes in a test look like, if no file is hashed."""
        if self.source == OURS or self.sha256:
            return ""
        sources = sorted(_source(kind) for kind in _classes_in(test.experiment))
        return hashlib.sha256("".join(sources).encode()).hexdigest() if sources else ""

    def choose(
        self, given: Mapping[str, Any], spool: Path | None = None, also: Iterable[str] = ()
    ) -> Options:
        """Return its options from what a user gives, checked, with the files read that they name.

        Parameters
        ----------
        spool
            Folder for pictures that come from an iterator; None is a temporary one.
        also
            Names that a mistyped one may have meant beside those of options.
        """
        known = options_of(self.options)
        for name in given:
            if name not in known:
                raise UnknownOptionError(self, name, (*known, *also))
        return self.options(**given).opened(spool)

    def find_tests(self, options: Options, names: str | Sequence[str] | None = None) -> list[Test]:
        """Return tests in the suite's own order, with those that they come after.

        Parameters
        ----------
        names
            Names or patterns; None for those that the suite has by default.

        Examples
        --------
        >>> from fechner.suites import suite
        >>> own = suite("encoders")
        >>> [test.id for test in own.find_tests(own.options(), "masking-*")]
        ['masking-coherent', 'masking-incoherent']
        """
        names = [names] if isinstance(names, str) else names
        every = {test.id: test for test in self.build(options)}
        if not every:
            raise FechnerError(f"suite '{self.name}' has no tests with these options.")
        chosen = set() if names else {name for name, test in every.items() if test.by_default}
        for name in names or ():
            found = fnmatch.filter(every, name)
            if not found and (lacking := fnmatch.filter(self.further, name)):
                need = self.further[lacking[0]]
                raise FechnerError(f"test '{name}' of {self.name} needs {need}.")
            if not found:
                listed = f"{self.name} has {', '.join(every)}"
                if len(every) > _LISTED:
                    listed = f"`fechner list tests --suite {self.name}` shows all {len(every)}"
                raise UnknownNameError("test", name, every, listed)
            chosen.update(found)
        while earlier := {each for name in chosen for each in every[name].after} - chosen:
            chosen |= earlier
        return [test for name, test in every.items() if name in chosen]

    @property
    def fingerprint(self) -> str:
        """What stored answers depend on beside their experiments; nothing, for our own suites.

        Our experiments have versions. What is drawn by code of a user's may change with the file.
        """
        return "" if self.source == OURS else f"{self.name}/{self.version}/{self.sha256}"

    @property
    def spec(self) -> str:
        """What ``--suite`` takes to find it."""
        return self.source if is_python_file(self.source) else self.name


#: The source of suites that come with fechner.
OURS = "fechner"

#: Keywords of `fechner.evaluate` that no suite may have as options.
RESERVED = {
    *("observers", "suite", "tests", "out", "scores_only", "device", "threads", "workers"),
    *("executor", "batch_size", "readouts", "layers", "weights", "dtype", "trust_remote_code"),
    *("max_trials", "max_cost", "accept_invalid", "progress", "options"),
}

#: More tests than these are not listed where one is mistyped.
_LISTED = 30


class UnknownOptionError(FechnerError, TypeError):
    """An option that a suite does not have: another's, or one that is mistyped."""

    def __init__(self, own: Suite, name: str, known: Iterable[str]) -> None:
        others = [each.name for each in suites().values() if name in options_of(each.options)]
        near = nearest(name, known, 0.7)
        if others:
            why = f"; it is an option of {' and '.join(others)}. Leave it out."
        elif near:
            why = f"; did you mean --{near.replace('_', '-')}?"
        else:
            why = f"; `fechner run --suite {own.spec} --help` lists its options."
        flag = f"--{name.replace('_', '-')}"
        super().__init__(f"suite '{own.name}' does not take {flag}{why}")


def may_ask(test: Test, lacking: Sequence[str]) -> bool:
    """Whether a test needs nothing that an observer lacks."""
    return not any(need in lacking for need in _needs(test))


def _needs(test: Test) -> tuple[Need | Ability, ...]:
    """Return what an observer must see, and what it must be able to do."""
    return (*test.experiment.needs, test.experiment.asks)


def not_asked(
    observer: str, tests: Sequence[Test], lacking: Sequence[Need | Ability]
) -> Iterator[str]:
    """Say which tests an observer was not asked, in a line for each reason."""
    for need in lacking:
        # The first thing that is lacking is reason enough.
        before = lacking[: lacking.index(need)]
        names = [t.id for t in tests if need in _needs(t) and may_ask(t, before)]
        if names:
            yield f"{observer} was not asked {', '.join(dict.fromkeys(names))}: {LACKS[need]}."


#: Our own, in the order in which they are listed; each is ``SUITE`` of a module of its name.
NAMES = ("encoders", "metrics", "decalogue", "verbal", "recognition")

#: Packages offer suites in this group of entry points.
GROUP = "fechner.suites"


def suite(given: Suite | str) -> Suite:
    """Return a suite by name, from ``path/to/file.py:NAME``, or as it is.

    Examples
    --------
    >>> sum(test.by_default for test in suite("encoders").build())
    9
    """
    if isinstance(given, Suite):
        return given
    if not isinstance(given, str):
        raise FechnerError(
            f"a suite is a name, path/to/file.py:NAME or a fechner.Suite, not {given!r}."
        )
    if is_python_file(given):
        return _from_file(given)
    if given in NAMES:
        return _own(given)
    for point in metadata.entry_points(group=GROUP):
        if point.name == given:
            return _from_package(point)
    found = suites()
    if given not in found:
        listed = "`fechner list suites` shows them, and path/to/file.py:NAME is your own"
        raise UnknownNameError("suite", given, found, listed)
    return found[given]


def suites(problems: list[str] | None = None) -> dict[str, Suite]:
    """Return our own suites, and those of installed packages, by name.

    Parameters
    ----------
    problems
        Filled with sentences about packages whose suites could not be loaded.
    """
    found = {name: _own(name) for name in NAMES}
    for point in metadata.entry_points(group=GROUP):
        try:
            own = _from_package(point)
        except FechnerError as error:
            if problems is not None:
                problems.append(str(error))
        else:
            found[own.name] = own
    return found


def _from_package(point: metadata.EntryPoint) -> Suite:
    there = f"package '{point.dist.name}'" if point.dist else f"entry point '{point.name}'"
    try:
        offered = point.load()
    except Exception as error:
        raise FechnerError(
            f"suite '{point.name}' of {there} could not be loaded: {raised(error)}; update or "
            "uninstall it."
        ) from error
    source = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
    file = sys.modules[point.value.partition(":")[0]].__file__
    return _found(offered, f"{point.value} of {there}", source, file)


def _from_file(spec: str) -> Suite:
    path, name = split_spec(spec, "suite", "SUITE")
    found = load_from_file(spec, "suite", "SUITE")
    return _found(found, spec, f"{path.resolve()}:{name}", path)


def _found(found: object, where: str, source: str, file: Path | str | None) -> Suite:
    """Return what was found as a suite that says where it was found."""
    if not isinstance(found, Suite):
        raise FechnerError(f"{where} must be a fechner.Suite, not {found!r}.")
    if found.name in NAMES:
        raise FechnerError(
            f"{where} is called '{found.name}', as a suite of fechner is: choose another name."
        )
    content = hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
    return replace(found, source=source, sha256=content)


@cache
def _own(name: str) -> Suite:
    found: Suite = importlib.import_module(f"fechner.suites.{name}").SUITE
    return replace(found, source=OURS)


def _classes_in(thing: Any) -> set[type]:
    """Return the classes of dataclasses in a value that are not fechner's."""
    if isinstance(thing, tuple | list):
        return set().union(*map(_classes_in, thing))
    if not is_dataclass(thing) or isinstance(thing, type):
        return set()
    own = set() if type(thing).__module__.startswith("fechner.") else {type(thing)}
    return own.union(*(_classes_in(getattr(thing, each.name)) for each in fields(thing)))


def _source(kind: type) -> str:
    """Return the source of a class; where there is none, something of this process only."""
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return f"{kind.__qualname__} of {_PROCESS}"


#: Tells processes apart.
_PROCESS = uuid.uuid4().hex
