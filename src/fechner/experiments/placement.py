"""Which contrasts are asked about, in which order: all of a list, or those that tell most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Trial(NamedTuple):
    """One question: which prompt, which contrast of the list, which draw of the noise."""

    prompt: int
    level: int
    draw: int


class Heard(NamedTuple):
    """What came of trials.

    Parameters
    ----------
    yes
        1, 0, NaN for replies that were neither, or a probability; [trials, layers, read-outs].
    contrast
        What was really shown, [trials].
    """

    yes: NDArray[np.float64]
    contrast: NDArray[np.float64]


#: Asks trials of one stimulus.
Ask = Callable[[Sequence[Trial]], Heard]


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

    def run(self, ask: Ask, prompts: int, driven: NDArray[np.bool_]) -> Record:
        """Ask about one stimulus.

        Parameters
        ----------
        driven
            Which layers and read-outs have a choice of contrasts of their own; the others are
            measured along with the first of their layer.
        """
        ...


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

    def run(self, ask: Ask, prompts: int, driven: NDArray[np.bool_]) -> Record:
        """Ask about all."""
        levels = np.repeat(np.arange(len(self.contrasts)), self.repeats)
        draws = np.tile(np.arange(self.repeats), len(self.contrasts))
        heard = ask(
            [
                Trial(prompt, int(level), int(draw))
                for prompt in range(prompts)
                for level, draw in zip(levels, draws, strict=True)
            ]
        )
        shape = (prompts, self.most, *driven.shape)
        along = (prompts, self.most, 1, 1)
        return Record(
            np.broadcast_to(levels[None, :, None, None], shape).astype(np.int16),
            np.broadcast_to(heard.contrast.reshape(along), shape),
            heard.yes.reshape(shape),
        )


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
        So many of the trials show nothing, before all others, for the rate of false alarms.
    guess
        Share of chance: None where it is to be found, a half with two pictures to choose from.
    """

    contrasts: tuple[float, ...]
    trials: int = 64
    width: float | None = None
    blanks: int = 4
    shape: Literal["weibull", "logistic", "normal"] = "weibull"
    guess: float | None = None

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
            f"tell most: {self.trials} trials{earlier}, the first {self.blanks} of them blank."
        )

    def pictures(self, prompts: int) -> int:
        """Return the largest number of different pictures: every prompt may choose its own."""
        return self.trials * prompts

    def run(self, ask: Ask, prompts: int, driven: NDArray[np.bool_]) -> Record:
        """Ask round by round: one trial of every prompt, layer and read-out that is not done."""
        from fechner.psychometrics import Adaptive

        places = [(int(i), int(j)) for i, j in np.argwhere(driven)]
        tracks = {
            (prompt, place): Adaptive(
                self.contrasts,
                shape=self.shape,
                guess=self.guess,
                stop_trials=self.trials,
                stop_width=self.width,
            )
            for prompt in range(prompts)
            for place in places
        }
        shape = (prompts, self.trials, *driven.shape)
        record = Record(
            np.full(shape, -1, np.int16), np.full(shape, np.nan), np.full(shape, np.nan)
        )
        for number in range(self.trials):
            going = {key: track for key, track in tracks.items() if not track.finished}
            if not going:
                break
            chosen = [
                0 if number < self.blanks and self.contrasts[0] == 0 else track.next()
                for track in going.values()
            ]
            heard = ask(
                [Trial(key[0], level, number) for key, level in zip(going, chosen, strict=True)]
            )
            for row, ((prompt, place), level) in enumerate(zip(going, chosen, strict=True)):
                answer = float(heard.yes[(row, *place)])
                if not np.isnan(answer):  # a reply that is neither yes nor no says nothing
                    going[prompt, place].update(level, answer)
                for other in _along(place, driven):
                    at = (prompt, number, *other)
                    record.level[at] = level
                    record.contrast[at] = heard.contrast[row]
                    record.yes[at] = heard.yes[(row, *other)]
        return record


def _along(place: tuple[int, int], driven: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return a place and those of its layer that have no trials of their own."""
    layer, readout = place
    first = int(np.argmax(driven[layer]))
    followers = [(layer, int(j)) for j in np.flatnonzero(~driven[layer]) if readout == first]
    return [place, *followers]
