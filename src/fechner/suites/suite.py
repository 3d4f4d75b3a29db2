"""A suite: a published protocol as a plain list of tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fechner.errors import FechnerError
from fechner.experiments import Experiment
from fechner.observers.abilities import LACKS, Need
from fechner.scores import MakesPanels, Panel, Scorer

if TYPE_CHECKING:
    import xarray as xr

Mode = Literal["default", "published"]


@dataclass(frozen=True)
class Test:
    """An experiment, how it is scored, and how it is looked at."""

    experiment: Experiment
    scorer: Scorer
    makes_panels: MakesPanels

    @property
    def id(self) -> str:
        """The experiment's id."""
        return self.experiment.id

    def panels(self, data: xr.Dataset) -> Sequence[Panel]:
        """Return the panels of one layer and read-out."""
        return self.makes_panels(self.experiment, data)


@dataclass(frozen=True)
class Options:
    """What a user may change about a suite.

    Parameters
    ----------
    seed
        Seed of everything random in the stimuli (default mode; published seeds are fixed).
    ppd
        Pixels per degree at which the suite is shown; None is its own.
    resize
        Draw at the suite's size and resample for observers that want another; None is the mode's.
    """

    mode: Mode = "default"
    seed: int = 0
    ppd: float | None = None
    resize: bool | None = None

    def __post_init__(self) -> None:
        if self.ppd is not None and not 0 < self.ppd < math.inf:
            raise FechnerError(f"pixels per degree are a number above 0, not {self.ppd:g}.")


@dataclass(frozen=True)
class Suite:
    """A named protocol.

    Parameters
    ----------
    tests
        Builds the list of tests for given options.
    readouts
        How encoders are read out.
    """

    name: str
    title: str
    reference: str
    tests: Callable[[Options], list[Test]]
    readouts: tuple[str, ...] = ("angle",)


def may_ask(test: Test, lacking: Sequence[str]) -> bool:
    """Whether a test needs nothing that an observer lacks."""
    return not any(need in lacking for need in test.experiment.needs)


def not_asked(observer: str, tests: Sequence[Test], lacking: Sequence[Need]) -> Iterator[str]:
    """Say which tests an observer was not asked, in a line for each reason."""
    for need in lacking:
        # The first thing that is lacking is reason enough.
        before = lacking[: lacking.index(need)]
        names = [t.id for t in tests if need in t.experiment.needs and may_ask(t, before)]
        if names:
            yield f"{observer} was not asked {', '.join(dict.fromkeys(names))}: {LACKS[need]}."
