"""A BioMultiLayer-style observer: four stages from light to cortex, each divisively normalised.

A reconstruction, in torch, of the model that Vila-Tomás et al. (2026) call BioMultiLayer (Martinez
et al. 2018): opponent colours that adapt, local contrast, contrast sensitivity with masking, and a
steerable pyramid whose bands mask each other. It sees light in cd/m2 and degrees of visual angle,
not pixels. Numbers and choices: `fechner.observers.models.bio_parameters`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from typing import TYPE_CHECKING, Literal

from fechner.errors import ObserverError, UnknownNameError
from fechner.observers.abilities import Tap, Wants
from fechner.observers.devices import check_device
from fechner.observers.models.bio_parameters import BioParameters
from fechner.observers.taps import OUTPUT
from fechner.stimuli import Frames

if TYPE_CHECKING:
    from torch import Tensor

    from fechner.observers.models.stages import BioMultiLayer

_NAME = "bio-multilayer"

_STAGES = ("opponent", "contrast", "csf", "wavelets")

#: Fields of so many sizes and resolutions are remembered with their filters.
_REMEMBERED = 4


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
        import torch

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
        import torch

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
