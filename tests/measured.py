"""A small run with surfaces, by observers whose names are hard to write down."""

from functools import cache

import torch
from torch import nn

from fechner import Run, evaluate, observe

#: One test whose points are partly left out and that has a surface, and one that has curves.
TESTS = ("masking-incoherent", "matching-frequency")

#: Quotes, commas, ends of lines, markup, signs beyond two bytes, and 300 characters.
HOSTILE = "\"a\", 'b';\r\n\n<script>alert(1)</script> 👁️‍🗨️ |\\~^&%$#_{}[x](y) ↑=1+1 " + "x" * 230
assert len(HOSTILE) > 290


class Stages(nn.Module):
    """Two places to be read out at."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Conv2d(3, 4, 9, stride=8)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return self.first(pictures).tanh().flatten(1)


@cache
def measured() -> Run:
    """Return a finished run, the same for all who ask: copy its folder before changing it."""
    return evaluate(
        observe(Stages(), name=HOSTILE, version="1"),
        "pixels",
        tests=list(TESTS),
        layers=["first", "output"],
        readouts=["angle", "l2"],
        progress=False,
    )
