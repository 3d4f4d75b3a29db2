"""A BioMultiLayer-style observer: four stages from light to cortex, each divisively normalised.

A reconstruction, in torch, of the model that Vila-Tomás et al. (2026) call BioMultiLayer (Martinez
et al. 2018): opponent colours that adapt, local contrast, contrast sensitivity with masking, and a
steerable pyramid whose bands mask each other. It sees light in cd/m2 and degrees of visual angle,
not pixels.

Exponents, constants b, widths and weights are those of Martinez et al. (2018) and of the settings
published with it. Two things were never published, and were calibrated on responses of the authors'
model that were (``vila_tomas2026``, `benchmarks/bio_multilayer.py`): the gain of the contrast
sensitivity functions and the level kappa of each band of the last stage.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import metadata
from typing import TYPE_CHECKING, Literal

from fechner.arrays import Tensor, torch
from fechner.errors import ObserverError, UnknownNameError
from fechner.observers.abilities import Tap, Wants
from fechner.observers.devices import check_device
from fechner.observers.taps import OUTPUT
from fechner.stimuli import Frames
from fechner.stimuli.colour import Triple

if TYPE_CHECKING:
    from fechner.observers.models.stages import BioMultiLayer

#: Six numbers, high to low, for each of A, T, D.
Bands = tuple[tuple[float, ...], ...]

_NAME = "bio-multilayer"

_STAGES = ("opponent", "contrast", "csf", "wavelets")

#: Fields of so many sizes and resolutions are remembered with their filters.
_REMEMBERED = 4


@dataclass(frozen=True)
class OpponentStage:
    """From light to opponent colours A, T, D (Jameson & Hurvich 1957), which adapt to the field.

    Parameters
    ----------
    scale
        In cd/m2: colours are divided by it, and a colour as large as this has it as its response,
        whatever surrounds it.
    exponent, b
        Of the energy, and the constant beside the pool.
    pool
        Weight of the mean energy over the field, beside a place's own energy with weight 1.
    """

    scale: Triple = (255.0, 23.0, 35.0)
    exponent: float = 1.25
    b: Triple = (0.01, 0.01, 0.01)
    pool: Triple = (5.0, 2.0, 2.0)


@dataclass(frozen=True)
class ContrastStage:
    """Difference from the surround, over the surround with its sign (Malo & Simoncelli 2015).

    Parameters
    ----------
    sigma_deg
        Of the Gaussian surround.
    b
        Constant beside the surround.
    """

    sigma_deg: float = 0.066
    b: Triple = (30.0, 230.0, 350.0)


@dataclass(frozen=True)
class SensitivityStage:
    """Contrast sensitivity (`fechner.human.spatial_observer`), and masking by what is near.

    Parameters
    ----------
    gain
        Of the achromatic filter at its peak, and of chromatic ones where they are as sensitive.
        Calibrated.
    regulariser
        Added to the gain at every frequency.
    exponent, b, sigma_deg
        Of the energy, of the constant, and of the Gaussian pool.
    """

    gain: Triple = (2.0, 0.05, 0.05)
    regulariser: float = 0.5e-4
    exponent: float = 1.5
    b: Triple = (0.005, 0.00075, 0.00075)
    sigma_deg: float = 0.02


@dataclass(frozen=True)
class WaveletStage:
    """A steerable pyramid, whose responses are divided by those near in place, scale and angle.

    Values per frequency stand for bands centred at `frequencies_cpd`; the first is the high-pass
    residual and the last the low-pass one. Fields of another resolution have bands in between,
    whose values are interpolated.

    Parameters
    ----------
    orientations
        How many, evenly spaced from vertical bars on.
    exponent
        Of the energy.
    b
        Constant beside the pool.
    from_weights, to_weights
        Weight of a band in the pools of others, and of its own pool.
    sigma_deg, sigma_octaves, sigma_orientation_deg
        Gaussian neighbourhood in place, scale and orientation.
    natural_energy
        Mean energy of bands for photographs, for A, T, D (`benchmarks/natural_means.py`).
    kappa
        Response to that energy all around. Calibrated.
    """

    orientations: int = 4
    exponent: float = 0.6
    frequencies_cpd: tuple[float, ...] = (32.0, 16.0, 8.0, 4.0, 2.0, 1.0)
    b: tuple[float, ...] = (0.005, 0.005, 0.005, 0.05, 0.5, 0.16)
    from_weights: tuple[float, ...] = (50.0, 50.0, 50.0, 0.1, 0.05, 0.001)
    to_weights: tuple[float, ...] = (50.0, 50.0, 50.0, 0.1, 0.05, 0.01)
    sigma_deg: float = 0.02
    sigma_octaves: float = 1.1
    sigma_orientation_deg: float = 30.0
    natural_energy: Bands = (
        (0.09641, 0.1409, 0.5517, 1.684, 3.122, 6.345),
        (0.002964, 0.004586, 0.01972, 0.05582, 0.1101, 0.2657),
        (0.0009685, 0.001658, 0.009604, 0.03341, 0.07465, 0.1918),
    )
    kappa: Bands = (
        (2.435e-07, 1.27e-06, 1.46e-06, 4.252e-06, 9.626e-05, 0.0003295),
        (3.261e-08, 7.24e-08, 7.504e-07, 4.023e-06, 1.428e-05, 6.693e-05),
        (1.592e-08, 3.609e-08, 5.747e-07, 5.973e-06, 2.588e-05, 0.0001105),
    )


@dataclass(frozen=True)
class BioParameters:
    """All four stages.

    Parameters
    ----------
    floor
        Powers are rounded off below this part of the response whose energy is b (in the last
        stage, the mean energy of photographs), so that they have a slope at 0.
    """

    opponent: OpponentStage = OpponentStage()
    contrast: ContrastStage = ContrastStage()
    sensitivity: SensitivityStage = SensitivityStage()
    wavelets: WaveletStage = field(default_factory=WaveletStage)
    floor: float = 1e-3


class BioMultiLayerObserver:
    """Encodes light in four stages; each can be tapped behind its linear part and at its end.

    Activations are [n, channels, h, w]: A, T, D, and in the last stage 18 bands of each (at 64
    pixels per degree), A first. Bands are subsampled: their coefficients stand at the pixels that
    they are centred on, with zeros between them.
    """

    layers = tuple(layer for stage in _STAGES for layer in (f"{stage}.linear", stage))

    def __init__(
        self,
        parameters: BioParameters | None = None,
        *,
        device: str = "cpu",
        dtype: Literal["float32", "float64"] = "float32",
    ) -> None:
        self.name = _NAME
        self.parameters = parameters or BioParameters()
        self.wants = Wants(light="cdm2", dtype=dtype)
        library = f"plenoptic {metadata.version('plenoptic')}"
        self.fingerprint: str | None = f"{_NAME}/2 {library} {self.parameters} {dtype}"
        self.device = check_device(device)
        self._cascades: OrderedDict[tuple[float, int, int], BioMultiLayer] = OrderedDict()

    @property
    def opponent_layers(self) -> dict[str, int]:
        """Layers of opponent channels: all of them, since each stage keeps A, T and D apart."""
        return dict.fromkeys(self.layers, 3)

    def features(self, frames: Frames, taps: Mapping[str, Tap]) -> None:
        """Look once; every tap is called with its layer's activations."""
        wanted = {_STAGES[-1] if name == OUTPUT else name: tap for name, tap in taps.items()}
        for name in wanted:
            if name not in self.layers:
                known = f"`fechner layers {self.name}` lists them"
                raise UnknownNameError("layer", name, self.layers, known)
        cascade = self.cascade(frames)
        stages = cascade.retina(self._xyz(frames))
        for stage, responses in zip(_STAGES, stages, strict=False):
            for name, activation in ((f"{stage}.linear", responses.linear), (stage, responses.out)):
                if name in wanted:
                    wanted[name](activation)
        last = (f"{_STAGES[-1]}.linear", _STAGES[-1])
        if wanted.keys() & set(last):
            for name, scales in zip(last, cascade.wavelets(stages[-1].out), strict=True):
                if name in wanted:
                    wanted[name](cascade.wavelets.on_field(scales))

    def cascade(self, frames: Frames) -> BioMultiLayer:
        """Return the cascade whose filters are made for the size and resolution of frames."""
        from fechner.observers.models.stages import BioMultiLayer

        height, width = frames.pixels.shape[-2:]
        key = (frames.field.ppd, height, width)
        if key not in self._cascades:
            made = BioMultiLayer(self.parameters, frames.field.ppd, (height, width))
            dtype = getattr(torch, self.wants.dtype)
            self._cascades[key] = made.to(device=self.device, dtype=dtype).eval()
            if len(self._cascades) > _REMEMBERED:
                self._cascades.popitem(last=False)
        self._cascades.move_to_end(key)
        return self._cascades[key]

    def _xyz(self, frames: Frames) -> Tensor:
        if frames.share != 1:
            raise ObserverError(f"'{self.name}' looks at the whole field, not at parts of it.")
        light = frames.cdm2()
        matrix = light.new_tensor(frames.display.rgb_to_xyz)
        return torch.einsum("ij,njhw->nihw", matrix, light)


def make(
    device: str = "cpu",
    dtype: Literal["float32", "float64"] = "float32",
    opponent_b: float | None = None,
    opponent_pool: float = 1.0,
) -> BioMultiLayerObserver:
    """Make the observer.

    Parameters
    ----------
    opponent_b
        The constant b of the first normalisation, for all three channels; 0.01 if None. Less makes
        colour saturate sooner, more makes it more linear (Vila-Tomás et al. 2026, Figure 14).
    opponent_pool
        Times the published weights of the pool in the first normalisation.

    Examples
    --------
    >>> make(opponent_b=0.1).parameters.opponent.b
    (0.1, 0.1, 0.1)
    """
    standard = BioParameters()
    first = standard.opponent
    b = first.b if opponent_b is None else (opponent_b, opponent_b, opponent_b)
    if min(b) <= 0 or opponent_pool < 0:
        raise ObserverError(
            f"'{_NAME}' divides by opponent_b and opponent_pool: give a positive b, not "
            f"{min(b):g}, and a pool of 0 or more, not {opponent_pool:g}."
        )
    achromatic, red_green, yellow_blue = (opponent_pool * weight for weight in first.pool)
    opponent = replace(first, b=b, pool=(achromatic, red_green, yellow_blue))
    return BioMultiLayerObserver(replace(standard, opponent=opponent), device=device, dtype=dtype)
