"""PSNR-Y: peak signal-to-noise ratio of luma."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fechner.observers.abilities import Wants
from fechner.observers.metrics.luma import luma, mean_squared_error
from fechner.observers.metrics.metric import About, Metric
from fechner.stimuli import Frames

if TYPE_CHECKING:
    from torch import Tensor

ABOUT = {
    "psnr-y": About(
        "traditional",
        Wants(dtype="float64", colour=False, pixelwise=True),
        best=math.inf,
        scores=(0.0, math.inf),
        higher_is_better=True,
        precision="costs no more than float32, and squares of differences near threshold are small",
    )
}


def make(device: str = "cpu") -> Metric:
    """Return the observer; its difference is the root mean squared error, 10^(-PSNR / 20)."""
    return Metric(
        "psnr-y",
        ABOUT["psnr-y"],
        _root_mean_squared_error,
        look=lambda frames: luma(frames.pixels),
        fingerprint="psnr-y/1",
    )


def _root_mean_squared_error(test: Tensor, reference: Tensor, frames: Frames) -> Tensor:
    return (frames.share * mean_squared_error(test, reference)).sqrt()
