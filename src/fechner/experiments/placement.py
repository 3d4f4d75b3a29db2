"""Which contrasts are asked about, in which order: all of a list, or those that tell most."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from fechner.experiments.trials import Heard

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Trial(NamedTuple):
    """One question: which prompt, which contrast of the list, which draw of the noise."""

    prompt: int
    level: int
    draw: int


#: Trials that follow from each other: yields some, is sent what came of all of these.
TrialChain = Generator[Sequence[Trial], Heard, None]


class Record(NamedTuple):
    """Everything that was asked about one stimulus, [prompts, trials, layers, read-outs].

    A level of -1 stands where fewer trials were needed.
    """

    level: NDArray[np.int16]
    contrast: NDArray[np.float64]
    yes: NDArray[np.float64]


class Placement(Protocol):
    """A way to choose contrasts."""

    @property
    def contrasts(self) -> tuple[float, ...]:
        """Contrasts that may be shown, ascending; 0 is nothing."""
        ...

    @property
    def adaptive(self) -> bool:
        """Whether contrasts depend on answers."""
        ...

    @property
    def most(self) -> int:
        """The largest number of trials of a prompt."""
        ...

    @property
    def method(self) -> str:
        """How contrasts are chosen, in a sentence."""
        ...

    def pictures(self, prompts: int) -> int:
        """Return the largest number of different pictures for so many prompts."""
        ...

    def with_one_blank(self) -> Placement:
        """Return the same for observers that answer the same question in the same way."""
        ...

    def chains(self, record: Record, driven: NDArray[np.bool_]) -> Iterator[TrialChain]:
        """Return chains of trials of one stimulus, none of which depends on another.

        Parameters
        ----------
        record
            Room for what comes of them, as `empty_record` makes it.
        driven
            Which layers and read-outs have a choice of contrasts of their own; the others are
            measured along with the first of their layer.
        """
        ...


def empty_record(placement: Placement, prompts: int, driven: NDArray[np.bool_]) -> Record:
    """Return room for all trials of one stimulus."""
    shape = (prompts, placement.most, *driven.shape)
    return Record(np.full(shape, -1, np.int16), np.full(shape, np.nan), np.full(shape, np.nan))


@dataclass(frozen=True)
class ConstantStimuli:
    """Every contrast, the same number of times.

    Parameters
    ----------
    repeats
        Draws of the noise at each.
    """

    contrasts: tuple[float, ...]
    repeats: int

    adaptive: ClassVar[bool] = False

    @property
    def most(self) -> int:
        """Trials of a prompt."""
        return len(self.contrasts) * self.repeats

    @property
    def method(self) -> str:
        """How contrasts are chosen, in a sentence."""
        return (
            f"{len(self.contrasts)} contrasts from {self.contrasts[0]:g} to "
            f"{self.contrasts[-1]:g} are shown, {self.repeats} draws of each."
        )

    def pictures(self, prompts: int) -> int:
        """Return how many different pictures there are: all prompts are about the same."""
        return self.most

    def with_one_blank(self) -> ConstantStimuli:
        """Return the same: blanks have a place in every draw, and are asked about once."""
        return self

    def chains(self, record: Record, driven: NDArray[np.bool_]) -> Iterator[TrialChain]:
        """Return one, for all."""
        yield self._all(record)

    def _all(self, record: Record) -> TrialChain:
        levels = np.repeat(np.arange(len(self.contrasts)), self.repeats)
        draws = np.tile(np.arange(self.repeats), len(self.contrasts))
        prompts = len(record.level)
        heard = yield [
            Trial(prompt, int(level), int(draw))
            for prompt in range(prompts)
            for level, draw in zip(levels, draws, strict=True)
        ]
        record.level[:] = levels[None, :, None, None]
        record.contrast[:] = heard.contrast.reshape(prompts, self.most, 1, 1)
        record.yes[:] = heard.yes.reshape(record.yes.shape)


@dataclass(frozen=True)
class AdaptiveStimuli:
    """The contrast that is expected to tell most, trial after trial (Watson 2017, QUEST+).

    Parameters
    ----------
    trials
        At most so many for each prompt, and for each layer and read-out that is looked into.
    width
        Stop earlier when the 95 % interval of the threshold is as narrow, in log10; None never.
    blanks
        The number of trials that show nothing, before all others, for the rate of false alarms; one
        for observers that answer the same question in the same way.
    guess
        Share of chance: None where it is to be found, a half with two pictures to choose from.
    """

    contrasts: tuple[float, ...]
    trials: int = 64
    width: float | None = None
    blanks: int = 4
    shape: Literal["weibull", "logistic", "normal"] = "weibull"
    guess: float | None = None

    adaptive: ClassVar[bool] = True

    @property
    def most(self) -> int:
        """Trials of a prompt."""
        return self.trials

    @property
    def method(self) -> str:
        """How contrasts are chosen, in a sentence."""
        earlier = (
            f", fewer once the 95 % interval of the threshold is below {self.width:g} in log10"
            if self.width is not None
            else ""
        )
        return (
            f"Contrasts are chosen trial by trial among {len(self.contrasts)} from "
            f"{self.contrasts[0]:g} to {self.contrasts[-1]:g}, where the answer is expected to "
            f"tell most: {self.trials} trials{earlier}, the first {self.blanks} of them blank (the "
            "first only, for observers that answer the same question in the same way)."
        )

    def pictures(self, prompts: int) -> int:
        """Return the largest number of different pictures: every prompt may choose its own."""
        return self.trials * prompts

    def with_one_blank(self) -> AdaptiveStimuli:
        """Return one with a single blank, the others being trials of the pattern."""
        return replace(self, blanks=min(self.blanks, 1))

    def chains(self, record: Record, driven: NDArray[np.bool_]) -> Iterator[TrialChain]:
        """Return one for every prompt, layer and read-out."""
        for prompt in range(len(record.level)):
            for layer, readout in np.argwhere(driven):
                yield self._chain(record, prompt, (int(layer), int(readout)), driven)

    def _chain(
        self, record: Record, prompt: int, place: tuple[int, int], driven: NDArray[np.bool_]
    ) -> TrialChain:
        from fechner.psychometrics import Adaptive

        track = Adaptive(
            self.contrasts,
            shape=self.shape,
            guess=self.guess,
            stop_trials=self.trials,
            stop_width=self.width,
        )
        for number in range(self.trials):
            if track.finished:
                break
            blank = number < self.blanks and self.contrasts[0] == 0
            level = 0 if blank else track.next()
            heard = yield [Trial(prompt, level, number)]
            answer = float(heard.yes[(0, *place)])
            if not np.isnan(answer):  # a reply that is neither yes nor no says nothing
                track.update(level, answer)
            for other in _along(place, driven):
                at = (prompt, number, *other)
                record.level[at] = level
                record.contrast[at] = heard.contrast[0]
                record.yes[at] = heard.yes[(0, *other)]


def _along(place: tuple[int, int], driven: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return a place and those of its layer that have no trials of their own."""
    layer, readout = place
    first = int(np.argmax(driven[layer]))
    followers = [(layer, int(j)) for j in np.flatnonzero(~driven[layer]) if readout == first]
    return [place, *followers]
