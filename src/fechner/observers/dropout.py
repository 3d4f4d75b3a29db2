"""Dropout while a network is looked through (Gal & Ghahramani 2016), by seeds of pictures.

What is dropped for a picture follows from its own seed, whatever else is in the batch; what is left
is scaled up, as in training.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fechner.errors import FechnerError, ObserverError, UnknownNameError

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class Dropout:
    """What is dropped, and how often a picture is looked at anew.

    Parameters
    ----------
    layers
        Names of modules whose activations are dropped (`fechner layers NAME` lists them).
    share
        Share of the activations that are set to 0.
    runs
        Seeds: every picture is looked at so many times.
    """

    layers: tuple[str, ...]
    share: float = 0.5
    runs: int = 5

    def __post_init__(self) -> None:
        if not self.layers:
            raise FechnerError("dropout needs the names of layers, as in --dropout fc6,fc7.")
        if not 0 < self.share < 1:
            raise FechnerError(f"the share that is dropped is between 0 and 1, not {self.share:g}.")
        if self.runs < 1:
            raise FechnerError(f"there is at least one run of dropout, not {self.runs}.")


@contextmanager
def dropping(observer: Any, dropout: Dropout, seeds: Sequence[tuple[int, ...]]) -> Iterator[None]:
    """Drop activations of an observer's network while it looks at pictures with these seeds."""
    parts: dict[str, nn.Module] = dict(_module_of(observer).named_modules())
    handles = []
    try:
        for number, name in enumerate(dropout.layers):
            if name not in parts or not name:
                how = f"`fechner layers {observer.name}` lists them"
                raise UnknownNameError("layer", name, list(parts), how)
            hook = _hook(dropout.share, [(*seed, number) for seed in seeds], observer.name)
            handles.append(parts[name].register_forward_hook(hook))
        yield
    finally:
        for handle in handles:
            handle.remove()


def _module_of(observer: Any) -> nn.Module:
    """Return the network behind an observer, whatever it was lifted to."""
    inner = observer
    while inner is not None:
        module: nn.Module | None = getattr(inner, "module", None)
        if module is not None:
            return module
        inner = getattr(inner, "classifier", getattr(inner, "encoder", None))
    raise ObserverError(
        f"observer '{observer.name}' is no torch network, so nothing in it can be dropped; leave "
        "--dropout out."
    )


def _hook(share: float, seeds: Sequence[tuple[int, ...]], observer: str) -> Any:
    def drop(part: nn.Module, arguments: Any, output: Tensor) -> Tensor:
        import torch

        if not isinstance(output, torch.Tensor) or len(output) != len(seeds):
            raise ObserverError(
                f"what '{type(part).__name__}' of observer '{observer}' hands on is not one row "
                "for each picture, so nothing of it can be dropped."
            )
        kept = torch.stack([_kept(share, seed, output[0].shape) for seed in seeds])
        return output * kept.to(output.device, output.dtype) / (1 - share)

    return drop


def _kept(share: float, seed: tuple[int, ...], shape: Any) -> Tensor:
    import torch

    digest = hashlib.sha256(repr(seed).encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
    return torch.rand(shape, generator=generator) >= share
