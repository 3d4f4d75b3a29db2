"""LPIPS (Zhang et al. 2018, zhang2018): distance between activations of a network.

Every layer's activations are scaled to unit length at each place; squared differences are weighted
by channel, by weights fitted to human judgements, and averaged over the picture. It is done in two
steps, so that a reference goes through the network once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from fechner.errors import UnknownNameError
from fechner.observers.abilities import Wants
from fechner.observers.devices import check_device
from fechner.observers.metrics.backbones import loading_backbone
from fechner.observers.metrics.metric import About, Metric
from fechner.observers.metrics.packages import import_package, release
from fechner.observers.metrics.precision import Precision, at_precision
from fechner.observers.weights import hash_weights
from fechner.stimuli import Frames

if TYPE_CHECKING:
    from torch import Tensor

#: Names in the package, with those of torchvision.
_NETWORKS = {"alex": "alexnet", "squeeze": "squeezenet1_1", "vgg": "vgg16"}

#: What keeps an activation of length 0 from being divided by 0.
_EPSILON = 1e-10


def declare(dtype: Literal["float32", "float64"], times: int) -> About:
    """Return what a metric of this kind declares, given how many times as long float64 takes."""
    return About(
        "deep learning",
        Wants(dtype=dtype),
        best=0.0,
        scores=(0.0, math.inf),
        higher_is_better=False,
        precision=f"float32 is 0.01 % off near threshold, float64 takes {times} times as long",
    )


ABOUT = {
    "lpips/alex": declare("float64", 2),
    "lpips/squeeze": declare("float64", 2),
    "lpips/vgg": declare("float32", 3),
}


def load(
    name: str, device: str = "cpu", precision: Precision = "own", weights: str | None = None
) -> Metric:
    """Return the observer, with the linear weights of version 0.1.

    Parameters
    ----------
    weights
        A file with torchvision's weights of the network; the cache or a hub if None.
    """
    if name not in _NETWORKS:
        raise UnknownNameError(
            "network of LPIPS", name, _NETWORKS, f"there are {', '.join(_NETWORKS)}"
        )
    full_name = f"lpips/{name}"
    package = import_package("lpips", full_name, "lpips")
    with loading_backbone(full_name, _NETWORKS[name], weights):
        module = package.LPIPS(net=name, verbose=False)
    about = at_precision(ABOUT[full_name], precision)
    return distance_of_activations(full_name, about, module, release("lpips"), device)


def distance_of_activations(
    name: str, about: About, module: Any, library: str, device: str
) -> Metric:
    """Return the observer of a module with a scaling, a network and linear layers."""
    import torch

    dtype = getattr(torch, about.wants.dtype)
    module = module.to(device=check_device(device), dtype=dtype).eval().requires_grad_(False)

    def look(frames: Frames) -> tuple[Tensor, ...]:
        activations = module.net(module.scaling_layer(2 * frames.pixels - 1))
        return tuple(each / (each.norm(dim=1, keepdim=True) + _EPSILON) for each in activations)

    def compare(test: tuple[Tensor, ...], reference: tuple[Tensor, ...], frames: Frames) -> Tensor:
        layers = zip(module.lins, test, reference, strict=True)
        distances = [weigh((x - y).square()).mean(dim=(1, 2, 3)) for weigh, x, y in layers]
        return torch.stack(distances).sum(dim=0)

    return Metric(
        name,
        about,
        compare,
        look=look,
        fingerprint=f"{name}/1/{library}/{about.wants.dtype}/{hash_weights(module)}",
    )
