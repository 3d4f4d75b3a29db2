"""Parametric PerceptNet (Vila-Tomás et al. 2025): every layer is a formula of known vision science.

The architecture of PerceptNet with kernels that were not learnt: opponent colours of Jameson and
Hurvich, differences of Gaussians, Gabors, and normalisation by neighbours in space, orientation and
frequency.

Kernels are drawn on a grid of their own, in degrees at the pixels per degree that a layer was
designed for, and then used in pixels: like any trained network, this one does not know how large
its pictures are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from fechner.arrays import Floats
from fechner.observers.devices import check_device
from fechner.observers.metrics.filtering import extend
from fechner.observers.models.perceptnet import PPD, OpponentNetwork
from fechner.observers.network import Network
from fechner.stimuli.colour import Matrix, Triple


@dataclass(frozen=True)
class ParametricParameters:
    """The parametric PerceptNet before any training (Vila-Tomás et al. 2025).

    Frequencies and widths hold for pictures of 128 pixels per degree; a layer behind one pooling
    has half of them, behind two a quarter.

    Parameters
    ----------
    retina_beta, retina_gamma
        Of x / sqrt(beta + gamma x^2) on each encoded colour.
    colours
        From encoded colours (rows) to the opponent channels A, T, D (columns).
    opponent_beta, opponent_gamma
        Of the same, on each opponent channel; the paper leaves them to training, so both are 1.
    blob_px, blob_ppd, blob_sigma_deg, blob_ratio
        Centre and surround of A, T, D: side of the kernel, its grid, width of the centre, and how
        many times wider the surround is.
    near_px, near_sigma_deg, near_beta
        Gaussian neighbourhood of the normalisation that follows.
    bars_px, ppd
        Side of the Gabors, and the grid of all that stands behind both poolings.
    frequencies_cpd
        Of the Gabors on A, T, D.
    orientations
        How many, evenly spaced; each in cosine and sine phase.
    envelope_exponent, elongation
        One over the envelope's standard deviation is the frequency to this power across the bars,
        and this part of it along them.
    far_px, far_sigma_deg, far_sigma_orientation_deg, far_sigma_frequency, far_beta
        Neighbourhood of the last normalisation in space, orientation and frequency (a standard
        deviation over the frequency of the channel that is divided), within the same opponent
        channel and phase.
    """

    retina_beta: float = 0.1
    retina_gamma: float = 0.5
    colours: Matrix = (
        (39.0454 / 163.5217, 30.1207 / 163.5217, 14.27948 / 163.5217),
        (115.8404 / 163.5217, -63.3502 / 163.5217, 41.26816 / 163.5217),
        (16.3118 / 163.5217, 30.2934 / 163.5217, -61.51888 / 163.5217),
    )
    opponent_beta: float = 1.0
    opponent_gamma: float = 1.0
    blob_px: int = 21
    blob_ppd: float = 21.0
    blob_sigma_deg: Triple = (0.149568619222635, 0.172044863, 0.172044863)  # exp(-1.9), exp(-1.76)
    blob_ratio: Triple = (1.1, 5.0, 5.0)
    near_px: int = 11
    near_sigma_deg: float = 0.04
    near_beta: float = 0.1
    bars_px: int = 31
    ppd: float = 32.0
    frequencies_cpd: tuple[tuple[float, ...], ...] = ((2.0, 4.0, 8.0, 16.0), (3.0, 6.0), (3.0, 6.0))
    orientations: int = 8
    envelope_exponent: float = 0.9
    elongation: float = 0.8
    far_px: int = 21
    far_sigma_deg: float = 0.2
    far_sigma_orientation_deg: float = 20.0
    far_sigma_frequency: float = 0.4
    far_beta: float = 1.0


def make(device: str = "cpu", ppd: float = PPD) -> OpponentNetwork:
    """Make the parametric PerceptNet, which needs no training.

    Examples
    --------
    >>> make().layers[1]
    'opponent'
    """
    parameters = ParametricParameters()
    module = ParametricPerceptNet(parameters).to(check_device(device)).eval()
    stages = tuple(name for name, _ in module.named_children())[:-1]
    network = Network(module, stages=stages, settings=repr(parameters))
    opponent = dict.fromkeys(stages[1:5], 3)
    name = "parametric-perceptnet"
    return OpponentNetwork(network, name=name, opponent_layers=opponent, ppd=ppd)


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
        gabors = []
        for bar in tuned:
            across = bar.frequency_cpd**p.envelope_exponent
            sigmas = (across, p.elongation * across)
            gabors.append(gabor(p.bars_px, p.ppd, *bar[1:], sigmas))
        self.gabors = Convolved(np.stack(gabors), [bar.opponent for bar in tuned])
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
    for dim in (-2, -1) if half else ():
        x = extend(x, dim, half, half, "mirror")
    return functional.conv2d(x, kernel.to(x.dtype), groups=groups)


def grid(side_px: int, ppd: float) -> tuple[Floats, Floats]:
    """Return x [1, side] and y [side, 1] in degrees from the centre, rows running down."""
    axis: Floats = (np.arange(side_px, dtype=np.float64) - (side_px - 1) / 2) / ppd
    return axis[None, :], axis[:, None]


def of_unit_energy(kernel: Floats) -> Floats:
    """Divide a kernel by the root of its sum of squares."""
    return np.asarray(kernel / np.sqrt(np.sum(kernel**2)))


def blob(side_px: int, ppd: float, sigma_deg: float) -> Floats:
    """Return a Gaussian that sums to 1.

    Examples
    --------
    >>> blob(3, 1.0, 1.0).round(4)[1].tolist()
    [0.1238, 0.2042, 0.1238]
    """
    x, y = grid(side_px, ppd)
    drawn = np.exp(-(x**2 + y**2) / (2 * sigma_deg**2))
    return np.asarray(drawn / drawn.sum())


def centre_surround(side_px: int, ppd: float, sigma_deg: float, ratio: float) -> Floats:
    """Return a Gaussian minus one that is wider by a ratio, of unit energy.

    Examples
    --------
    >>> kernel = centre_surround(21, 21.0, 0.15, ratio=1.1)
    >>> abs(round(float(kernel.sum()), 9)), bool(kernel[10, 10] > 0 > kernel[10, 2])
    (0.0, True)
    """
    difference = blob(side_px, ppd, sigma_deg) - blob(side_px, ppd, ratio * sigma_deg)
    return of_unit_energy(difference)


def gabor(
    side_px: int,
    ppd: float,
    frequency_cpd: float,
    orientation_deg: float,
    phase_deg: float,
    inverse_sigmas: tuple[float, float],
) -> Floats:
    """Return a Gabor of zero mean and unit energy.

    Parameters
    ----------
    orientation_deg
        0 means vertical bars; it turns counterclockwise.
    inverse_sigmas
        One over the standard deviation of the envelope, across and along the bars, in 1/deg.

    Examples
    --------
    >>> kernel = gabor(31, 32.0, 4.0, 0.0, 0.0, (3.5, 2.8))
    >>> round(float(np.sum(kernel**2)), 6), abs(round(float(kernel.sum()), 9))
    (1.0, 0.0)
    """
    x, y = grid(side_px, ppd)
    angle = np.radians(orientation_deg)
    across = x * np.cos(angle) - y * np.sin(angle)
    along = x * np.sin(angle) + y * np.cos(angle)
    envelope = np.exp(-((inverse_sigmas[0] * across) ** 2 + (inverse_sigmas[1] * along) ** 2) / 2)
    wave = np.cos(2 * np.pi * frequency_cpd * across + np.radians(phase_deg))
    drawn = envelope * wave
    return of_unit_energy(drawn - drawn.mean())
