"""A convolution whose kernels are Gabors of known frequency, orientation, phase and colour."""

from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from fechner.physiology import Conditions
from fechner.stimuli import Field, Gabor

PPD = 64.0
KERNEL_PX = 17
#: Colours of kernels in display-encoded RGB: light-dark, red-green, blue-yellow.
COLOURS = {"ach": (0.3, 0.6, 0.1), "rg": (0.7, -0.7, 0.15), "yb": (0.4, 0.4, -0.8)}
CONDITIONS = Conditions(field=Field.of(pixels=25, ppd=PPD))


class Planted(NamedTuple):
    frequency_cpd: float
    orientation_deg: float
    phase_deg: float
    axis: str


def planted(n: int = 12, seed: int = 0) -> list[Planted]:
    random = np.random.default_rng(seed)
    return [
        Planted(
            random.uniform(6, 16),
            random.uniform(0, 180),
            random.uniform(-180, 180),
            list(COLOURS)[k % 3],
        )
        for k in range(n)
    ]


def gabor_bank(gabors: list[Planted]) -> nn.Conv2d:
    field = Field.of(pixels=KERNEL_PX, ppd=PPD)
    bank = nn.Conv2d(3, len(gabors), KERNEL_PX, bias=False)
    for k, each in enumerate(gabors):
        sigma = 0.5 / each.frequency_cpd
        drawn = Gabor(
            each.frequency_cpd, sigma, each.orientation_deg, each.phase_deg, 1.3 * sigma
        ).draw(field)
        colour = torch.tensor(COLOURS[each.axis], dtype=drawn.dtype)
        bank.weight.data[k] = colour[:, None, None] * drawn
    return bank


def turned(one_deg: float, other_deg: float, around_deg: float = 180.0) -> float:
    """Return the angle between two orientations."""
    return abs((one_deg - other_deg + around_deg / 2) % around_deg - around_deg / 2)
