"""A suite: a published protocol as a plain list of tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from fechner.errors import FechnerError, UnknownNameError
from fechner.experiments import Experiment, MatchBy
from fechner.experiments.base import Scene
from fechner.human.trials import HumanTrials
from fechner.observers.abilities import LACKS, Ability, Need
from fechner.observers.choices import Among
from fechner.observers.dropout import Dropout
from fechner.observers.questions import Prompt
from fechner.scores import MakesPanels, Panel, Scorer
from fechner.stimuli import Album, Display
from fechner.stimuli.picture_sets import PictureSet

if TYPE_CHECKING:
    import xarray as xr

    from fechner.observers.categories import Categories

Mode = Literal["default", "published"]

#: What is to be detected in suites that ask in words.
Stimuli = Literal["noise", "photographs"]

#: Which pictures of a class are shown.
Show = Literal["preferred", "drawn"]


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
    """

    experiment: Experiment
    scorer: Scorer
    makes_panels: MakesPanels
    uses: tuple[str, ...] = ()
    gallery: Experiment | None = None
    after: tuple[str, ...] = ()
    by_default: bool = True

    @property
    def id(self) -> str:
        """The experiment's id."""
        return self.experiment.id

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
class Asked:
    """What a user may change about questions; each suite says what of it concerns it.

    Parameters
    ----------
    adaptive
        Whether levels are chosen trial by trial; None is the mode's own way.
    trials
        Trials of each prompt or class, chosen one by one, or draws of each contrast otherwise.
    width
        Stop where the 95 % interval of a threshold is as narrow, in log10.
    prompts
        A user's own; None takes the published ones.
    dither
        Whether pictures of few grey levels are dithered.
    album
        A few photographs in classes, for tests that show some.
    stimuli
        What is to be detected: a band of noise, or of the photographs.
    pictures
        Pictures in classes of any number: photographs, or views of objects.
    levels
        Levels of a manipulation, beside the original; None is the suite's own number.
    per_class
        Pictures of each class that are shown.
    among, categories
        What is chosen from: all classes of an observer or those that are shown, or categories.
    dropout
        What is dropped in networks while they look.
    show
        Pictures that each observer knows best, or the same for all.
    match
        Whether gratings match by equal responses against a uniform field, or by direct comparison.
    display
        What stimuli are shown on; None is the suite's own.
    """

    adaptive: bool | None = None
    trials: int | None = None
    width: float | None = None
    prompts: tuple[Prompt, ...] | None = None
    dither: bool = False
    album: Album | None = None
    stimuli: Stimuli = "noise"
    pictures: PictureSet | None = None
    levels: int | None = None
    per_class: int = 1
    among: Among = "own"
    categories: Categories | None = None
    dropout: Dropout | None = None
    show: Show = "preferred"
    match: MatchBy = "response"
    display: Display | None = None

    def __post_init__(self) -> None:
        for name, least in (("trials", 1), ("levels", 2), ("per_class", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                what = name.replace("_", "-")
                raise FechnerError(f"--{what} is {least} or more, not {value}.")
        if self.width is not None and not self.width > 0:
            raise FechnerError(f"the width of an interval is above 0, not {self.width:g}.")
        for name, what, known in (
            ("stimuli", "kind of stimuli", get_args(Stimuli)),
            ("among", "kind of choice", get_args(Among)),
            ("show", "way to choose pictures", get_args(Show)),
            ("match", "way to match", get_args(MatchBy)),
        ):
            if getattr(self, name) not in known:
                listed = f"there are {', '.join(known)}"
                raise UnknownNameError(what, getattr(self, name), known, listed)
        if self.stimuli == "photographs" and self.album is None:
            raise FechnerError("bands of photographs are made of some: give --images FOLDER.")


@dataclass(frozen=True)
class Options:
    """What a user may change about a suite.

    Parameters
    ----------
    seed
        Seed of everything random in the stimuli (default mode; published seeds are fixed).
    ppd
        Pixels per degree at which the suite is shown; None is its own, or those that an observer
        is made for.
    resize
        Draw at the suite's size and resample for observers that want another; None is the mode's.
    asked
        What concerns questions.
    people
        What people answered to tests of the suite; nothing that is measured depends on it.
    """

    mode: Mode = "default"
    seed: int = 0
    ppd: float | None = None
    resize: bool | None = None
    asked: Asked = Asked()
    people: HumanTrials | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.ppd is not None and not 0 < self.ppd < math.inf:
            raise FechnerError(f"pixels per degree are a number above 0, not {self.ppd:g}.")
        if self.mode == "published" and self.asked.display is not None:
            raise FechnerError("--published has the display of the paper: leave --display out.")

    @property
    def as_printed(self) -> Options:
        """The same without what papers had no choice of."""
        asked = replace(self.asked, match=Asked.match, display=None)
        return replace(self, ppd=None, resize=None, asked=asked)

    def shown_in(self, scene: Scene) -> Scene:
        """Return a scene with the display, pixels per degree and resizing that a user chose.

        Observers' own pixels per degree give way to those of a user, and to those of a paper.
        """
        if self.asked.display is not None:
            scene = replace(scene, display=self.asked.display)
        if self.ppd is not None:
            scene = scene.at_ppd(self.ppd)
        if self.ppd is not None or self.mode == "published":
            scene = replace(scene, own_ppd=False)
        return scene if self.resize is None else replace(scene, resize=self.resize)


@dataclass(frozen=True)
class Suite:
    """A named protocol.

    Parameters
    ----------
    tests
        Builds the list of tests for given options.
    readouts
        How encoders are read out.
    takes
        Names of the fields of `Asked` that concern it.
    further
        Tests that it has only if a user gives something, and what.
    shows_pictures
        Whether nothing can be measured without pictures of a user's own.
    tabulated
        Names of scores that a page sets out for all tests, beside the main ones.
    best
        What a distance of 0 means: answers as people give them, or something else such as none
        that is wrong. A word or two, to be read after "distance from".
    """

    name: str
    title: str
    reference: str
    tests: Callable[[Options], list[Test]]
    readouts: tuple[str, ...] = ("angle",)
    takes: frozenset[str] = frozenset()
    further: Mapping[str, str] = field(default_factory=dict)
    best: str = "human"
    shows_pictures: bool = False
    tabulated: tuple[str, ...] = ()


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
