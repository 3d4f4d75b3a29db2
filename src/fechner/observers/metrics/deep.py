"""Metrics that compare activations of a network: LPIPS, ST-LPIPS and DISTS.

LPIPS (zhang2018) scales every layer's activations to unit length at each place; squared differences
are weighted by channel, by weights fitted to human judgements, and averaged over the picture.
ST-LPIPS (ghildyal_liu2022) hardly minds small shifts: its networks blur before they subsample, and
their weights come with the package. References go through the network once.

DISTS (ding2022) has two similarities for every channel of every layer, of means and of structure,
of the form 2ab / (a^2 + b^2), and covariance is E[xy] - E[x] E[y]; in float32 both lose all digits
near threshold. Here what is lost is computed itself, from the difference d = x - y::

    1 - similarity of means = (E[x] - E[y])^2 / (E[x]^2 + E[y]^2 + c1)
    1 - similarity of structure = var(d) / (var(x) + var(y) + c2)

which is the published formula, since 2 cov(x, y) = var(x) + var(y) - var(x - y).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from fechner.arrays import Tensor, torch
from fechner.errors import UnknownNameError
from fechner.observers.devices import check_device
from fechner.observers.hub import TORCH_CACHE, environment, fetching
from fechner.observers.metrics.metric import (
    About,
    Metric,
    Precision,
    declared,
    import_package,
    quietly,
    release,
)
from fechner.observers.torchvision_fix import import_torchvision
from fechner.observers.weights import hash_weights, read_weights
from fechner.stimuli import Frames

#: Names in the package of LPIPS, with those of torchvision.
_NETWORKS = {"alex": "alexnet", "squeeze": "squeezenet1_1", "vgg": "vgg16"}

#: What keeps an activation of length 0 from being divided by 0.
_EPSILON = 1e-10

#: c1 and c2 of the published code of DISTS; the paper calls them small constants.
_SMALL = 1e-6


def load_lpips(
    name: str, device: str = "cpu", precision: Precision = "own", weights: str | None = None
) -> Metric:
    """Return LPIPS of a network, with the linear weights of version 0.1.

    Parameters
    ----------
    weights
        A file with torchvision's weights of the network; the cache or a hub if None.
    """
    _check_network("LPIPS", name, _NETWORKS)
    full_name = f"lpips/{name}"
    package = import_package("lpips", full_name, "lpips")
    with _loading_backbone(full_name, _NETWORKS[name], weights):
        module = package.LPIPS(net=name, verbose=False)
    return _distance(full_name, declared(full_name).at(precision), module, "lpips", device)


def load_st_lpips(name: str, device: str = "cpu", precision: Precision = "own") -> Metric:
    """Return ST-LPIPS of a network."""
    _check_network("ST-LPIPS", name, ("alex", "vgg"))
    full_name = f"st-lpips/{name}"
    package = import_package("stlpips_pytorch.stlpips", full_name, "st-lpips")
    with quietly():
        module = package.LPIPS(net=name, variant="shift_tolerant", verbose=False)
    about = declared(full_name).at(precision)
    return _distance(full_name, about, module, "stlpips-pytorch", device)


def _check_network(metric: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        there = f"there are {', '.join(known)}"
        raise UnknownNameError(f"network of {metric}", name, known, there)


def _distance(name: str, about: About, module: Any, package: str, device: str) -> Metric:
    """Return the observer of a module with a scaling, a network and linear layers."""
    module, fingerprint = _ready(name, about, module, package, device)

    def look(frames: Frames) -> tuple[Tensor, ...]:
        activations = module.net(module.scaling_layer(2 * frames.pixels - 1))
        return tuple(each / (each.norm(dim=1, keepdim=True) + _EPSILON) for each in activations)

    def compare(test: tuple[Tensor, ...], reference: tuple[Tensor, ...], frames: Frames) -> Tensor:
        layers = zip(module.lins, test, reference, strict=True)
        distances = [weigh((x - y).square()).mean(dim=(1, 2, 3)) for weigh, x, y in layers]
        return torch.stack(distances).sum(dim=0)

    return Metric(name, about, compare, look=look, fingerprint=fingerprint)


def _ready(name: str, about: About, module: Any, package: str, device: str) -> tuple[Any, str]:
    """Return a module that is ready to look, and the fingerprint of its metric."""
    dtype = about.wants.dtype
    module = module.to(device=check_device(device), dtype=getattr(torch, dtype))
    module = module.eval().requires_grad_(False)
    return module, f"{name}/1/{release(package)}/{dtype}/{hash_weights(module)}"


def make_dists(
    device: str = "cpu", precision: Precision = "own", weights: str | None = None
) -> Metric:
    """Return DISTS.

    Parameters
    ----------
    precision
        Another floating-point type than its own, then as the package writes the formula:
        ``float32`` is as the published numbers were made.
    weights
        A file with torchvision's weights of VGG16; the cache or a hub if None.
    """
    package = import_package("DISTS_pytorch", "dists", "dists")
    with _loading_backbone("dists", "vgg16", weights):
        # Its own weights are looked for where some installers do not put them.
        module: Any = package.DISTS(load_weights=False)
    own = read_weights(Path(package.__file__).with_name("weights.pt"))
    module.load_state_dict(own, strict=False)
    about = declared("dists").at(precision)
    module, fingerprint = _ready("dists", about, module, "DISTS-pytorch", device)
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

    def moments(activations: Tensor) -> tuple[Tensor, Tensor]:
        variance, mean = torch.var_mean(activations, dim=(2, 3), correction=0)
        return mean, variance

    total = module.alpha.sum() + module.beta.sum()
    alphas, betas = (
        torch.split(each.flatten() / total, module.chns) for each in (module.alpha, module.beta)
    )
    lost = []
    for x, y, alpha, beta in zip(test, reference, alphas, betas, strict=True):
        (x_mean, x_variance), (y_mean, y_variance) = moments(x), moments(y)
        mean, variance = moments(x - y)
        of_means = mean.square() / (x_mean.square() + y_mean.square() + _SMALL)
        of_structure = variance / (x_variance + y_variance + _SMALL)
        lost.append((alpha * of_means + beta * of_structure).sum(dim=1))
    return torch.stack(lost).sum(dim=0)


def weights_file(network: str) -> str:
    """Return the name of the file with torchvision's first weights of a network.

    Examples
    --------
    >>> weights_file("alexnet")
    'alexnet-owt-7be5be79.pth'
    """
    import_torchvision()
    from torchvision.models import get_model_weights

    published = get_model_weights(network)["IMAGENET1K_V1"]
    return PurePosixPath(urlsplit(published.url).path).name


@contextmanager
def _loading_backbone(observer: str, network: str, weights: str | None) -> Iterator[None]:
    """Let a library load its torchvision network inside this; what is missing is one sentence.

    ``weights`` is a file to take instead of the one that torchvision keeps in its cache or fetches.
    """
    file = weights_file(network)
    with fetching(observer, file, TORCH_CACHE), quietly():
        if weights is None:
            yield
            return
        # Libraries that ask torchvision for "pretrained" networks take no file, but a cache.
        with TemporaryDirectory() as home:
            place = Path(home) / "hub" / "checkpoints" / file
            place.parent.mkdir(parents=True)
            torch.save(read_weights(weights), place)
            with environment({"TORCH_HOME": home}):
                yield
