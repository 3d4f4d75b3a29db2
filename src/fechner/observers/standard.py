"""The standard observer of foveal contrast detection (Watson & Ahumada 2005), image-computable.

A contrast image is filtered by a contrast sensitivity function with the oblique effect, weighted by
an aperture around the fovea and pooled with a Minkowski norm over degrees squared. Its answer is in
threshold units: 1 means just detectable (84 % correct) by the average ModelFest observer.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from fechner.human.spatial_observer import (
    APERTURE_SD_DEG,
    POOLING_EXPONENT,
    oblique_effect,
    watson_ahumada_csf,
)
from fechner.observers.abilities import Wants
from fechner.stimuli import Field, Frames, Gaussian

if TYPE_CHECKING:
    from torch import Tensor

#: Grey added around the picture before filtering, so that its edges do not wrap around.
_MARGIN_DEG = 0.5


class StandardObserver:
    """Compares luminance pictures in threshold units; it sees no colour and no masking."""

    name = "standard-observer"
    wants = Wants(light="cdm2")
    fingerprint: str | None = "standard-observer/1"
    layers = ("response",)
    readouts = ("minkowski2.4",)

    def remember(self, reference: Frames) -> Tensor:
        """Keep the luminance of the references."""
        return reference.luminance()

    def difference(self, test: Frames, memory: Tensor, which: Tensor) -> Tensor:
        """Return the pooled response to the difference, [n, 1, 1]."""
        import torch

        reference = memory if len(memory) == 1 else memory[which]
        contrast = (test.luminance() - reference) / reference.mean(dim=(1, 2), keepdim=True)
        field = test.field
        csf, aperture, size = _filters(field, contrast.dtype, str(contrast.device))
        response = torch.fft.irfft2(torch.fft.rfft2(contrast, s=size) * csf, s=size)
        response = response[:, : field.height_px, : field.width_px] * aperture
        energy: Tensor = response.abs().double().pow(POOLING_EXPONENT)
        pooled = energy.sum(dim=(1, 2)) / field.ppd**2
        return pooled.pow(1 / POOLING_EXPONENT)[:, None, None]


@lru_cache(maxsize=4)
def _filters(
    field: Field, dtype: torch.dtype, device: str
) -> tuple[Tensor, Tensor, tuple[int, int]]:
    """Return the sensitivity per frequency, the aperture, and the padded size."""
    import torch

    margin = round(_MARGIN_DEG * field.ppd)
    size = (_even(field.height_px + margin), _even(field.width_px + margin))
    fx = np.fft.rfftfreq(size[1], 1 / field.ppd)[None, :]
    fy = np.fft.fftfreq(size[0], 1 / field.ppd)[:, None]
    frequency = np.hypot(fx, fy)
    orientation_deg = np.degrees(np.arctan2(fy, fx))
    sensitivity = watson_ahumada_csf(frequency) * oblique_effect(frequency, orientation_deg)
    csf = torch.as_tensor(sensitivity, dtype=dtype, device=device)
    return csf, Gaussian(APERTURE_SD_DEG).draw(field, device).to(dtype), size


def _even(size: int) -> int:
    """Round up to a multiple of 16, which FFTs like."""
    return -(-size // 16) * 16


def make(device: str = "cpu") -> StandardObserver:
    """Return the observer."""
    return StandardObserver()


if TYPE_CHECKING:
    import torch
