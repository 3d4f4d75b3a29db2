"""A run of recognition that nobody measured: observers whose accuracy is a stated logistic.

Each class has the pictures that an observer prefers, and answers at every level.
"""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
import xarray as xr

from fechner.experiments.base import Scene
from fechner.experiments.item_response import ItemResponse
from fechner.experiments.item_tasks import Matching, Naming
from fechner.stimuli import OPPONENT, Field, Picture, display
from fechner.stimuli.picture_sets import PictureSet

LEVELS = (0.0, *np.geomspace(0.5, 32, 13).tolist())
CLASSES = (
    "n02123045",
    "espresso",
    "garbage_truck",
    "Łódź, ship",
    *map("class{:02}".format, range(36)),
)


@dataclass(frozen=True)
class Disc(Picture):
    """A disc whose place and colour tell class, picture and level."""

    label: int
    index: int
    level: float = 0.0

    def draw(self, field: Field, bits: int | None, device: str) -> torch.Tensor:
        y, x = torch.meshgrid(
            torch.arange(field.height_px), torch.arange(field.width_px), indexing="ij"
        )
        angle = torch.tensor(2 * torch.pi * self.label / len(CLASSES))
        away = torch.hypot(
            x - field.width_px * (0.5 + 0.3 * angle.cos()),
            y - field.height_px * (0.5 + 0.3 * angle.sin()),
        )
        disc = torch.sigmoid((field.width_px / 8 - away) / (0.5 + self.level))
        colour = torch.tensor([1.0, self.index / 4, self.label / len(CLASSES)])
        return 0.2 + 0.6 * disc[None].double() * colour[:, None, None].double()


class Discs(PictureSet):
    """Four discs of each class."""

    def __init__(self) -> None:
        super().__init__("discs", CLASSES, (4,) * len(CLASSES))

    def picture(self, label: int, index: int) -> Picture:
        return Disc(label, index)

    def name(self, label: int, index: int) -> str:
        return f"{CLASSES[label]}/{index}.png"


@dataclass(frozen=True)
class Smoothing:
    """Discs with smooth edges."""

    name: str = "blur"
    axis: str = "standard deviation (px)"
    random: bool = False

    def shown(self, recipe, field, bits, device) -> torch.Tensor:
        disc = Disc(recipe.picture.label, recipe.picture.index, recipe.level)
        return disc.draw(field, bits, device)


def experiment(name: str) -> ItemResponse:
    """Return an experiment; the first word of its name is its task."""
    task = Naming() if name.startswith("mafc") else Matching()
    scene = Scene(Field(48, 64, 16.0), display("verbal"), OPPONENT)
    placement = SimpleNamespace(levels=LEVELS)
    return ItemResponse(name, name, "", scene, Discs(), Smoothing(), placement, task)


def answers(
    test: str, threshold: float = 4.0, seed: int = 0, pictures: int = 1, task: str = "mafc"
) -> xr.Dataset:
    """Return the answers of an observer whose accuracy falls half-way at a threshold."""
    generator = np.random.default_rng(seed)
    chance = 0.5 if task == "2afc" else 1 / len(CLASSES)
    rows = [
        (label, (label + shift) % 4, level)
        for label in range(len(CLASSES))
        for shift in range(pictures)
        for level in LEVELS
    ]
    label, index, level = (np.array(each) for each in zip(*rows, strict=True))
    with np.errstate(divide="ignore"):
        fallen = 1 / (1 + (threshold / np.maximum(level, 1e-9)) ** 3)
    right = (generator.random(len(rows)) < chance + (1 - chance) * (1 - fallen)).astype("float32")
    problem = np.zeros(len(rows), "uint8")
    problem[label == 5] = 1  # nobody could read it
    right[label == 5] = np.nan
    return xr.Dataset(
        {
            "right": (("trial", "layer", "readout"), right[:, None, None]),
            "problem": ("trial", problem, {"meanings": "shown unreadable"}),
        },
        {
            "class_of": ("trial", label.astype("int32"), {"names": "|".join(CLASSES)}),
            "index": ("trial", index.astype("int32")),
            "level": ("trial", level),
            "dropout_run": ("trial", np.zeros(len(rows), "int16")),
            "layer": ["output"],
            "readout": ["decision"],
        },
        {
            "task": task,
            "chance": chance,
            "along": "trial",
            "most": np.inf,
            "weakest": LEVELS[1],
            "strongest": LEVELS[-1],
        },
    )


@dataclass
class Measured:
    """As much of a run as people need."""

    folder: Path
    names: tuple[str, ...] = ("mafc-blur", "mafc-noise", "2afc-blur", "2afc-noise")
    observers: tuple[str, ...] = ("vgg", "alex")

    @property
    def tests(self) -> list[SimpleNamespace]:
        views = SimpleNamespace(id="views", experiment=SimpleNamespace(id="views"))
        return [
            views,
            *(SimpleNamespace(id=name, experiment=experiment(name)) for name in self.names),
        ]

    @property
    def manifest(self) -> SimpleNamespace:
        return SimpleNamespace(
            observers={name: SimpleNamespace(output="output") for name in self.observers}
        )

    def asked(self, observer: str, test: SimpleNamespace) -> bool:
        return True

    def why_incomplete(self, observer: str, test: str, otherwise: str = "") -> str:
        return otherwise

    def data(self, observer: str, test: str, for_scores: bool | None = None) -> xr.Dataset | None:
        if (observer, test) == ("alex", "2afc-noise"):
            return None
        number = self.observers.index(observer)
        return answers(test, 4.0 + 4 * number, seed=number, task=test.split("-")[0])
