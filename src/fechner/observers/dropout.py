"""Dropout while a network is looked through (Gal & Ghahramani 2016), by seeds of pictures.

What is dropped for a picture follows from its own seed, whatever else is in the batch; what is left
is scaled up, as in training.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from fechner.arrays import torch
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
    inner, module = observer, None
    while inner is not None and module is None:  # whatever it was lifted to
        module = getattr(inner, "module", None)
        inner = getattr(inner, "classifier", getattr(inner, "encoder", None))
    if module is None:
        raise ObserverError(f"observer '{observer.name}' is no torch network: leave --dropout out.")
    parts: dict[str, nn.Module] = {name: part for name, part in module.named_modules() if name}

    def drop(number: int, part: nn.Module, arguments: Any, output: Tensor) -> Tensor:
        if not isinstance(output, torch.Tensor) or len(output) != len(seeds):
            kind = type(part).__name__
            raise ObserverError(
                f"'{kind}' of '{observer.name}' has no row for each picture to drop."
            )
        kept = []
        for seed in seeds:
            digest = hashlib.sha256(repr((*seed, number)).encode()).digest()
            generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
            kept.append(torch.rand(output[0].shape, generator=generator) >= dropout.share)
        return output * torch.stack(kept).to(output.device, output.dtype) / (1 - dropout.share)

    with ExitStack() as hooks:
        for number, name in enumerate(dropout.layers):
            if name not in parts:
                how = f"`fechner layers {observer.name}` lists them"
                raise UnknownNameError("layer", name, parts, how)
            hooks.enter_context(parts[name].register_forward_hook(partial(drop, number)))
        yield
