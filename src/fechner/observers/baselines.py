"""Two observers to compare others with: the pixels themselves, and the standard observer.

The standard observer of foveal contrast detection (Watson & Ahumada 2005), image-computable: a
contrast image is filtered by a contrast sensitivity function with the oblique effect, weighted by
an aperture around the fovea and pooled with a Minkowski norm over degrees squared. Its answer is in
threshold units: 1 means just detectable (84 % correct) by the average ModelFest observer. Without a
free parameter it gives the thresholds of 41 ModelFest stimuli to 0.68 dB rms, 1.95 dB at worst.

A sum of |response|^2.4 over pixels depends on where they fall on a fine grating: at four pixels per
cycle, on its peaks or beside them, by 6 %. So the response is also sampled between the pixels, and
thresholds change by less than 1.2 % with phase and resolution.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from fechner.arrays import Tensor, torch
from fechner.human.spatial_observer import (
    APERTURE_SD_DEG,
    POOLING_EXPONENT,
    oblique_effect,
    watson_ahumada_csf,
)
from fechner.observers.abilities import Tap, Wants
from fechner.stimuli import Field, Frames, Gaussian

#: Grey added around the picture before filtering, so that its edges do not wrap around: thresholds
#: are then within 0.05 dB of those with any margin, whatever reaches the edge.
_MARGIN_DEG = 0.5


class Pixels:
    """Encodes a picture as its display-encoded pixels ("No Encoder" in Cai et al. 2025)."""

    name = "pixels"
    wants = Wants()
    fingerprint: str | None = "pixels/1"
    layers = ("pixels",)

    def __init__(self, device: str = "cpu") -> None:
        """Compute wherever the pictures are."""

    def features(self, frames: Frames, taps: Mapping[str, Tap]) -> None:
        """Hand the pixels to the tap."""
        for tap in taps.values():
            tap(frames.pixels)


class StandardObserver:
    """Compares luminance pictures in threshold units; it sees no colour and no masking."""

    name = "standard-observer"
    wants = Wants(light="cdm2")
    fingerprint: str | None = "standard-observer/2"
    layers = ("response",)
    readouts = ("minkowski2.4",)

    def __init__(self, device: str = "cpu") -> None:
        """Compute wherever the pictures are."""

    def remember(self, reference: Frames) -> Tensor:
        """Keep the luminance of the references."""
        return reference.luminance()

    def difference(self, test: Frames, memory: Tensor, which: Tensor) -> Tensor:
        """Return the pooled response to the difference, [n, 1, 1]."""
        reference = memory if len(memory) == 1 else memory[which]
        contrast = (test.luminance() - reference) / reference.mean(dim=(1, 2), keepdim=True)
        field = test.field
        gain, aperture, size = _filters(field, contrast.dtype, str(contrast.device))
        spectrum = torch.fft.rfft2(contrast, s=size)[:, None] * gain
        response = torch.fft.irfft2(spectrum, s=size)[..., : field.height_px, : field.width_px]
        energy: Tensor = (response * aperture).abs().pow(POOLING_EXPONENT)
        per_deg2 = len(gain) * field.ppd**2
        pooled = energy.sum(dim=(1, 2, 3), dtype=torch.float64) / per_deg2
        return pooled.pow(1 / POOLING_EXPONENT)[:, None, None]


@lru_cache(maxsize=4)
def _filters(
    field: Field, dtype: torch.dtype, device: str
) -> tuple[Tensor, Tensor, tuple[int, int]]:
    """Return gain per frequency and aperture, at and between pixels, and the padded size."""
    margin = round(_MARGIN_DEG * field.ppd)
    # Rounded up to multiples of 16, which FFTs like.
    height, width = (-(-(px + margin) // 16) * 16 for px in (field.height_px, field.width_px))
    size = (height, width)
    fx = np.fft.rfftfreq(size[1], 1 / field.ppd)[None, :]
    fy = np.fft.fftfreq(size[0], 1 / field.ppd)[:, None]
    frequency = np.hypot(fx, fy)
    orientation_deg = np.degrees(np.arctan2(fy, fx))
    sensitivity = watson_ahumada_csf(frequency) * oblique_effect(frequency, orientation_deg)
    half_px = 0.5 / field.ppd
    # Half a pixel to the right and, as rows run downwards, half a pixel down.
    between = sensitivity * np.exp(2j * np.pi * half_px * (fx + fy))
    gain = torch.as_tensor(np.stack([sensitivity, between]), device=device)
    apertures = (
        Gaussian(APERTURE_SD_DEG, x_deg=-shift, y_deg=shift).draw(field, device)
        for shift in (0.0, half_px)
    )
    return gain.to(dtype.to_complex()), torch.stack(list(apertures)).to(dtype), size
