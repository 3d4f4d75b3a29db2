"""DISTS (Ding et al. 2022, ding2022): structure and texture in the activations of a network.

As published, every channel of every layer has two similarities, of means and of structure, of the
form 2ab / (a^2 + b^2), and covariance is E[xy] - E[x] E[y]; in float32 both lose all digits near
threshold. Here what is lost is computed itself, from the difference d = x - y::

    1 - similarity of means = (E[x] - E[y])^2 / (E[x]^2 + E[y]^2 + c1)
    1 - similarity of structure = var(d) / (var(x) + var(y) + c2)

which is the published formula, since 2 cov(x, y) = var(x) + var(y) - var(x - y).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fechner.observers.abilities import Wants
from fechner.observers.devices import check_device
from fechner.observers.metrics.backbones import loading_backbone
from fechner.observers.metrics.metric import About, Metric
from fechner.observers.metrics.packages import import_package, release
from fechner.observers.metrics.precision import Precision, at_precision
from fechner.observers.weights import hash_weights, read_weights

if TYPE_CHECKING:
    from torch import Tensor

#: c1 and c2 of the published code; the paper calls them small constants.
_SMALL = 1e-6

ABOUT = {
    "dists": About(
        "deep learning",
        Wants(dtype="float32"),
        best=0.0,
        scores=(0.0, 1.0),
        higher_is_better=False,
        precision="rearranged, float32 is 0.004 % off near threshold; as the package writes it, "
        "float32 answers rounding errors there, and float64 takes 3 times as long",
    )
}


def make(device: str = "cpu", precision: Precision = "own", weights: str | None = None) -> Metric:
    """Return the observer.

    Parameters
    ----------
    precision
        Another floating-point type than its own, then as the package writes the formula:
        ``float32`` is as the published numbers were made.
    weights
        A file with torchvision's weights of VGG16; the cache or a hub if None.
    """
    import torch

    package = import_package("DISTS_pytorch", "dists", "dists")
    with loading_backbone("dists", "vgg16", weights):
        # Its own weights are looked for where some installers do not put them.
        module: Any = package.DISTS(load_weights=False)
    own = read_weights(Path(package.__file__).with_name("weights.pt"))
    module.load_state_dict(own, strict=False)
    about = at_precision(ABOUT["dists"], precision)
    dtype = getattr(torch, about.wants.dtype)
    module = module.to(device=check_device(device), dtype=dtype).eval().requires_grad_(False)
    fingerprint = f"dists/1/{release('DISTS-pytorch')}/{about.wants.dtype}/{hash_weights(module)}"
    if precision != "own":
        return Metric(
            "dists",
            about,
            lambda test, reference, frames: module(test, reference.expand_as(test)).reshape(-1),
            fingerprint=f"{fingerprint}/as-published",
        )
    return Metric(
        "dists",
        about,
        lambda test, reference, frames: _lost(module, test, reference),
        look=lambda frames: tuple(module.forward_once(frames.pixels)),
        fingerprint=fingerprint,
    )


def _lost(module: Any, test: tuple[Tensor, ...], reference: tuple[Tensor, ...]) -> Tensor:
    """Return the sum of what is lost in all channels of all layers, weighted, [n]."""
    import torch

    total = module.alpha.sum() + module.beta.sum()
    alphas, betas = (
        torch.split(each.flatten() / total, module.chns) for each in (module.alpha, module.beta)
    )
    lost = []
    for x, y, alpha, beta in zip(test, reference, alphas, betas, strict=True):
        (x_mean, x_variance), (y_mean, y_variance) = _moments(x), _moments(y)
        mean, variance = _moments(x - y)
        of_means = mean.square() / (x_mean.square() + y_mean.square() + _SMALL)
        of_structure = variance / (x_variance + y_variance + _SMALL)
        lost.append((alpha * of_means + beta * of_structure).sum(dim=1))
    return torch.stack(lost).sum(dim=0)


def _moments(activations: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and variance of every channel, [n, channels]."""
    import torch

    variance, mean = torch.var_mean(activations, dim=(2, 3), correction=0)
    return mean, variance
