"""Panels over levels of a manipulation, and pictures without files, for tests of what is drawn."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fechner.errors import PictureError
from fechner.scores.panels import Axis, Line, Mark, Panel
from fechner.stimuli import Field, Picture

#: Where the original stands, which has no place on a logarithmic axis.
ORIGINAL = 0.04
LEVELS = np.array([ORIGINAL, *np.geomspace(0.1, 20, 30)])
RIGHT = 0.1 + 0.9 / (1 + (LEVELS / 2) ** 2)
LEVEL = Axis("standard deviation (px)", log=True, reversed=True, named=((ORIGINAL, "original"),))
SHARE = Axis("share right", low=0, high=1)


@dataclass(frozen=True)
class Grey(Picture):
    """A picture of one grey; below 0 its file is gone."""

    value: float

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        if self.value < 0:
            raise PictureError("the file is gone.", "unreadable")
        return torch.full((3, field.height_px, field.width_px), self.value, dtype=torch.float64)


def curve(*more: Mark, **how: object) -> Panel:
    """Return a curve that falls to chance, with other marks."""
    line = Line(LEVELS, RIGHT, "blur")
    return Panel("levels", "Share right by level", LEVEL, SHARE, (line, *more), **how)
