"""Parametric PerceptNet (Vila-Tomás et al. 2025): every layer is a formula of known vision science.

The architecture of PerceptNet with kernels that were not learnt: opponent colours of Jameson and
Hurvich, differences of Gaussians, Gabors, and normalisation by neighbours in space, orientation and
frequency.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from fechner.observers.models.kernels import blob, centre_surround, gabor, of_unit_energy
from fechner.observers.models.parameters import ParametricParameters


class Bar(NamedTuple):
    """What one of the last channels is tuned to."""

    opponent: int
    frequency_cpd: float
    orientation_deg: float
    phase_deg: float


def bars(parameters: ParametricParameters) -> tuple[Bar, ...]:
    """Return what the last channels are tuned to, in order.

    Examples
    --------
    >>> len(bars(ParametricParameters())), bars(ParametricParameters())[5].frequency_cpd
    (128, 4.0)
    """
    return tuple(
        Bar(opponent, frequency, step * 180 / parameters.orientations, phase)
        for opponent, frequencies in enumerate(parameters.frequencies_cpd)
        for phase in (0.0, 90.0)
        for step in range(parameters.orientations)
        for frequency in frequencies
    )


class Normalised(nn.Module):
    """x / sqrt(beta + pool(x^2)), where the pool is a convolution with a fixed kernel.

    Parameters
    ----------
    kernel
        [channels, 1, side, side]: a channel has neighbours in space.
    between
        [channels, channels]: what they count among channels; each its own if None.
    """

    kernel: Tensor
    between: Tensor | None

    def __init__(self, kernel: np.ndarray, beta: float, between: np.ndarray | None = None) -> None:
        super().__init__()
        self.register_buffer("kernel", torch.as_tensor(kernel, dtype=torch.float32))
        mixed = None if between is None else torch.as_tensor(between, dtype=torch.float32)
        self.register_buffer("between", mixed)
        self.beta = beta

    def forward(self, x: Tensor) -> Tensor:
        """Normalise [n, channels, h, w]."""
        pool = _convolved(x.square(), self.kernel, groups=x.shape[1])
        if self.between is not None:
            pool = torch.einsum("ij,njhw->nihw", self.between, pool)
        return x / (self.beta + pool).sqrt()


class Convolved(nn.Module):
    """A convolution with fixed kernels, pictures being continued by their mirror images.

    Parameters
    ----------
    source
        Which channel each kernel looks at.
    """

    kernel: Tensor

    def __init__(self, kernels: np.ndarray, source: list[int]) -> None:
        super().__init__()
        weight = torch.zeros(len(kernels), 3, *kernels.shape[-2:])
        weight[torch.arange(len(kernels)), source] = torch.as_tensor(kernels, dtype=torch.float32)
        self.register_buffer("kernel", weight)

    def forward(self, x: Tensor) -> Tensor:
        """Filter [n, 3, h, w]."""
        return _convolved(x, self.kernel)


class ParametricPerceptNet(nn.Module):
    """The whole path; parts are named after what they do."""

    def __init__(self, parameters: ParametricParameters | None = None) -> None:
        super().__init__()
        p = parameters or ParametricParameters()
        self.retina = Normalised(np.full((3, 1, 1, 1), p.retina_gamma), p.retina_beta)
        self.opponent = Convolved(np.ones((3, 1, 1)), [0, 1, 2])
        self.opponent.kernel.copy_(torch.as_tensor(p.colours).T[:, :, None, None])
        self.opponent_normalised = Normalised(
            np.full((3, 1, 1, 1), p.opponent_gamma), p.opponent_beta
        )
        blobs = [
            centre_surround(p.blob_px, p.blob_ppd, sigma, ratio)
            for sigma, ratio in zip(p.blob_sigma_deg, p.blob_ratio, strict=True)
        ]
        self.centre_surround = Convolved(np.stack(blobs), [0, 1, 2])
        near = of_unit_energy(blob(p.near_px, p.ppd, p.near_sigma_deg))
        self.centre_surround_normalised = Normalised(np.stack([near[None]] * 3), p.near_beta)
        tuned = bars(p)
        self.gabors = Convolved(
            np.stack([_drawn(bar, p) for bar in tuned]), [bar.opponent for bar in tuned]
        )
        far = of_unit_energy(blob(p.far_px, p.ppd, p.far_sigma_deg))
        self.gabors_normalised = Normalised(
            np.stack([far[None]] * len(tuned)), p.far_beta, _neighbours(tuned, p)
        )

    def forward(self, pictures: Tensor) -> Tensor:
        """Encode display-encoded pictures in 0..1, [n, 3, h, w], as [n, 128, h/4, w/4]."""
        x = functional.max_pool2d(self.opponent(self.retina(pictures)), 2)
        x = functional.max_pool2d(self.centre_surround(self.opponent_normalised(x)), 2)
        out: Tensor = self.gabors_normalised(self.gabors(self.centre_surround_normalised(x)))
        return out


def _drawn(bar: Bar, p: ParametricParameters) -> np.ndarray:
    across = bar.frequency_cpd**p.envelope_exponent
    sigmas = (across, p.elongation * across)
    return gabor(p.bars_px, p.ppd, bar.frequency_cpd, bar.orientation_deg, bar.phase_deg, sigmas)


def _neighbours(tuned: tuple[Bar, ...], p: ParametricParameters) -> np.ndarray:
    """Return how much each channel counts for each other."""
    angle = np.array([bar.orientation_deg for bar in tuned])
    apart = np.abs((angle[:, None] - angle + 90) % 180 - 90) / p.far_sigma_orientation_deg
    frequency = np.array([bar.frequency_cpd for bar in tuned])
    higher = (frequency - frequency[:, None]) / (p.far_sigma_frequency * frequency[:, None])
    alike = np.array([[a[::3] == b[::3] for b in tuned] for a in tuned])  # opponent and phase
    return np.asarray(alike * np.exp(-(apart**2 + higher**2) / 2))


def _convolved(x: Tensor, kernel: Tensor, groups: int = 1) -> Tensor:
    """Convolve maps that are continued by their mirror images, edge pixels included."""
    half = kernel.shape[-1] // 2
    if half:
        rows = _mirrored(x.shape[-2], half, x.device)
        columns = _mirrored(x.shape[-1], half, x.device)
        x = x[..., rows, :][..., columns]
    return functional.conv2d(x, kernel.to(x.dtype), groups=groups)


def _mirrored(size: int, margin: int, device: torch.device) -> Tensor:
    """Return which row stands where when a picture goes on as its mirror image."""
    place = torch.arange(-margin, size + margin, device=device) % (2 * size)
    return torch.where(place < size, place, 2 * size - 1 - place)
