"""A suite: a published protocol as a plain list of tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fechner.errors import FechnerError
from fechner.experiments import Experiment
from fechner.scores import Scorer

Mode = Literal["default", "published"]


@dataclass(frozen=True)
class Test:
    """An experiment and how it is scored."""

    experiment: Experiment
    scorer: Scorer

    @property
    def id(self) -> str:
        """The experiment's id."""
        return self.experiment.id


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
