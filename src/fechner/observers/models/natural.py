"""Mean responses of the BioMultiLayer-style cascade to photographs, which set its gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fechner.observers.models.bio_parameters import BioParameters, NaturalMeans

if TYPE_CHECKING:
    from torch import Tensor

    from fechner.observers.models.stages import BioMultiLayer


def natural_means(parameters: BioParameters, xyz: Tensor, ppd: float) -> NaturalMeans:
    """Return means over light in XYZ, cd/m2, [n, 3, h, w], one stage after the other.

    A stage's gain follows from the means of what reaches it, so they are found in turn.
    """
    import torch

    from fechner.observers.models.stages import BioMultiLayer

    size = (xyz.shape[-2], xyz.shape[-1])
    ones = (1.0, 1.0, 1.0)
    bands = (ones * 2,) * 3
    means = NaturalMeans(ones, ones, ones, bands, bands)

    def average(of: Callable[[BioMultiLayer, Tensor], Tensor], exponent: float) -> Any:
        """Average a response, to a power, over places and photographs."""
        cascade = BioMultiLayer(replace(parameters, means=means), ppd, size).double()
        total: Tensor | float = 0.0
        with torch.no_grad():
            for picture in xyz:
                seen = of(cascade, picture[None].double()).abs().pow(exponent)
                total = total + seen.mean(dim=(0, -2, -1)) / len(xyz)
        return total

    means = replace(
        means, opponent_energy=_rounded(average(_opponent, parameters.opponent.exponent))
    )
    means = replace(
        means,
        sensitivity_energy=_rounded(average(_sensitivity, parameters.sensitivity.exponent)),
        sensitivity_amplitude=_rounded(average(_sensitivity, 1.0)),
    )
    each = parameters.wavelets.orientations
    return replace(
        means,
        wavelet_energy=_by_scale(average(_wavelets, parameters.wavelets.exponent), each),
        wavelet_amplitude=_by_scale(average(_wavelets, 1.0), each),
    )


def _opponent(cascade: BioMultiLayer, xyz: Tensor) -> Tensor:
    return cascade.opponent.linear(xyz)


def _sensitivity(cascade: BioMultiLayer, xyz: Tensor) -> Tensor:
    responses: Tensor = cascade.csf(cascade.contrast(cascade.opponent(xyz).out).out).linear
    return responses


def _wavelets(cascade: BioMultiLayer, xyz: Tensor) -> Tensor:
    contrast = cascade.contrast(cascade.opponent(xyz).out).out
    return cascade.wavelets.scale * cascade.wavelets.linear(cascade.csf(contrast).out)


def _rounded(values: Tensor) -> Any:
    return tuple(float(f"{value:.4g}") for value in values.tolist())


def _by_scale(mean: Tensor, orientations: int) -> tuple[tuple[float, ...], ...]:
    """Average [3, bands] over the orientations of each scale."""
    import torch

    inside = mean[:, 1:-1].reshape(len(mean), -1, orientations).mean(dim=2)
    return tuple(_rounded(row) for row in torch.cat([mean[:, :1], inside, mean[:, -1:]], dim=1))
