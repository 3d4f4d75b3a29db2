"""Mean energy of photographs in the last stage of the BioMultiLayer-style cascade."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fechner.observers.models.bio_parameters import Bands, BioParameters

if TYPE_CHECKING:
    from torch import Tensor


def natural_energy(parameters: BioParameters, xyz: Tensor, ppd: float) -> Bands:
    """Return the mean energy of each scale, high to low, for A, T, D.

    Parameters
    ----------
    xyz
        Photographs as light in cd/m2, [n, 3, h, w].
    """
    import torch

    from fechner.observers.models.stages import BioMultiLayer

    cascade = BioMultiLayer(parameters, ppd, (xyz.shape[-2], xyz.shape[-1])).double()
    exponent = parameters.wavelets.exponent
    total: Tensor | float = 0.0
    with torch.no_grad():
        for picture in xyz:
            scales = cascade.wavelets.linear(cascade.retina(picture[None].double())[-1].out)
            means = [y.abs().pow(exponent).mean(dim=(0, 2, 3, 4)) for y in scales]
            total = total + torch.stack(means, dim=1) / len(xyz)
    assert not isinstance(total, float)
    return tuple(tuple(float(f"{value:.4g}") for value in row) for row in total.tolist())
