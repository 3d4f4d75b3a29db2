"""Simulated observers that answer, for tests."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fechner.observers import Answer, Question, Reads, Usage, Wants
from fechner.stimuli import Frames


def rms(frames: Frames) -> np.ndarray:
    """RMS contrast of each picture."""
    light = frames.luminance().double().numpy()
    return light.std(axis=(1, 2)) / light.mean(axis=(1, 2))


class Simulated:
    """Says yes with a probability that depends on RMS contrast; a seed and the picture decide.

    Parameters
    ----------
    chance
        Of yes, for contrasts and the number of the prompt in the order of its text.
    """

    layers = ("reply",)
    readouts = ("choice",)

    def __init__(
        self,
        chance: Callable[[np.ndarray], np.ndarray],
        *,
        reads: Reads = "questions",
        bits: int | None = None,
        name: str = "simulated",
        fingerprint: str | None = "simulated 1",
        graded: bool = False,
    ) -> None:
        self.chance = chance
        self.reads = reads
        self.wants = Wants(bits=bits)
        self.name = name
        self.fingerprint = fingerprint
        if graded:
            self.readouts = ("choice", "probability")
        self.asked: list[tuple[str, int]] = []

    def choose(self, frames: Frames, questions: Sequence[Question]) -> Iterator[Answer]:
        contrast = rms(frames)
        for index, question in enumerate(questions):
            self.asked.append((question.prompt.text, question.repeat))
            seen = contrast[list(question.pictures)]
            if len(seen) > 1:
                yield Answer(index, int(seen.argmax()))
                continue
            yes = float(self.chance(seen[0]))
            seed = [int(1e9 * seen[0]), question.repeat, len(question.prompt.text)]
            draw = np.random.default_rng(seed).random()
            probabilities = (yes, 1 - yes) if len(self.readouts) > 1 else None
            yield Answer(
                index,
                0 if draw < yes else 1,
                probabilities,
                reply="yes" if draw < yes else "no",
                usage=Usage(300, 1, 0.001),
            )


def weibull(threshold: float, slope: float, guess: float = 0.0, lapse: float = 0.0) -> Callable:
    """Chance of yes of an observer with a threshold at F = 0.5."""

    def chance(contrast: np.ndarray) -> np.ndarray:
        rise = 1 - 0.5 ** ((np.asarray(contrast) / threshold) ** slope)
        return guess + (1 - guess - lapse) * rise

    return chance
