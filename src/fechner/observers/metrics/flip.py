"""FLIP (Andersson et al. 2020, andersson2020): differences seen when two pictures alternate.

The package holds C++ for one pair of pictures in float32, and nothing for torch: pictures are
compared one by one on the CPU, which takes 3.5 s for a pair of 1920 x 1080 px on one thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fechner.observers.abilities import Wants
from fechner.observers.metrics.metric import About, Metric
from fechner.observers.metrics.packages import import_package, release
from fechner.stimuli import Frames

if TYPE_CHECKING:
    from torch import Tensor

ABOUT = {
    "flip": About(
        "traditional colour",
        Wants(dtype="float32"),
        best=0.0,
        scores=(0.0, 1.0),
        higher_is_better=False,
        csf_based=True,
        precision="the package has no other; near threshold float32 is 0.1 % off",
    )
}


def make(device: str = "cpu") -> Metric:
    """Return the observer: the mean of LDR-FLIP, at the pixels per degree of what is shown."""
    package = import_package("flip_evaluator", "flip", "flip", torchvision=False)

    def compare(test: Tensor, reference: Tensor, frames: Frames) -> Tensor:
        import torch

        pairs = zip(_arrays(test), _arrays(reference.expand_as(test)), strict=True)
        ppd = frames.field.ppd
        errors = [_mean_error(package, *pair, ppd) for pair in pairs]
        return torch.tensor(errors, dtype=torch.float64, device=test.device)

    return Metric("flip", ABOUT["flip"], compare, fingerprint=f"flip/1/{release('flip-evaluator')}")


def _arrays(pixels: Tensor) -> Any:
    """Return pictures as the package takes them, [n, h, w, 3]."""
    return pixels.permute(0, 2, 3, 1).contiguous().cpu().numpy()


def _mean_error(package: Any, test: Any, reference: Any, ppd: float) -> float:
    errors, _, _ = package.evaluate(
        reference, test, "LDR", applyMagma=False, computeMeanError=False, parameters={"ppd": ppd}
    )
    # The package would sum the map in float32.
    return float(errors.mean(dtype="float64"))
