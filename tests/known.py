"""A set of flat pictures, and observers whose answers to them are known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from fechner.observers.abilities import Wants
from fechner.stimuli import Field, Frames, Picture
from fechner.stimuli.manipulations.base import AppliesTo, Manipulation
from fechner.stimuli.picture_sets import PictureSet
from fechner.stimuli.pictures import Seed


@dataclass(frozen=True)
class Flat(Picture):
    """A picture of one colour: red is its class, green its place in the class, blue its level."""

    label: int
    place: int
    classes: int

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        red, green = (self.label + 0.5) / self.classes, (self.place + 0.5) / 64
        colour = torch.tensor([red, green, 0.0], dtype=torch.float64, device=device)
        return colour[:, None, None].expand(3, field.height_px, field.width_px).clone()


@dataclass(frozen=True, eq=False)
class FlatSet(PictureSet):
    """So many flat pictures in each class."""

    def picture(self, label: int, index: int) -> Picture:
        return Flat(label, index, len(self.classes))

    def name(self, label: int, index: int) -> str:
        return f"{self.classes[label]}/{index}"


def flat_set(classes: int, each: int = 3) -> FlatSet:
    names = tuple(f"class{number:03d}" for number in range(classes))
    return FlatSet(f"flat-{classes}-{each}", names, (each,) * classes)


@dataclass(frozen=True, kw_only=True)
class Blueing(Manipulation):
    """Writes the level into the blue channel, and random numbers into the last pixel."""

    name: str = "blueing"
    title: str = "Blueing"
    axis: str = "blue"
    reference: str = "richardwebster2018"
    range: tuple[float, float] = (0.01, 1.0)
    words: str = "Becomes more blue."
    random: bool = True
    most: float = 1.0
    applies_to: AppliesTo = "pictures"

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        changed = pixels.clone()
        changed[:, 2] = levels[:, None, None]
        draws = [np.random.default_rng(list(seed)).random() for seed in seeds]
        changed[:, 2, -1, -1] = torch.tensor(draws, dtype=pixels.dtype)
        return changed


@dataclass
class KnownClassifier:
    """Is right with a probability that is a stated function of class and level.

    Parameters
    ----------
    accuracy
        Of the place of a class and of levels.
    """

    count: int
    accuracy: Callable[[np.ndarray, np.ndarray], np.ndarray]
    name: str = "known"
    wants: Wants = field(default_factory=lambda: Wants(size_px=(8, 8)))
    fingerprint: str | None = "known"
    seen: int = 0

    @property
    def classes(self) -> list[str]:
        return [f"class{number:03d}" for number in range(self.count)]

    def class_scores(self, frames: Frames) -> Tensor:
        self.seen += len(frames)
        pixels = frames.pixels.double()
        label = (pixels[:, 0, 0, 0] * self.count).floor().long().numpy()
        place = (pixels[:, 1, 0, 0] * 64).floor().numpy()
        right = pixels[:, 2, -1, -1].numpy() < self.accuracy(label, pixels[:, 2, 0, 0].numpy())
        scores = np.zeros((len(frames), self.count))
        rows = np.arange(len(frames))
        # The later in its class, the surer.
        scores[rows, np.where(right, label, (label + 1) % self.count)] = 5 + place
        return torch.from_numpy(scores)
