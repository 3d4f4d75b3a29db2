"""A torch network as an encoder: its natural read-out, and every part inside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

from fechner.errors import FechnerError, ObserverError, UnknownNameError
from fechner.observers.abilities import ANY_SIZE, Dtype, LayerInfo, Tap, Wants
from fechner.observers.devices import check_device
from fechner.observers.functions import usable_output
from fechner.observers.memory import is_out_of_memory
from fechner.observers.normalisation import NONE, Normalisation, NormalisationName, normalisation
from fechner.observers.taps import OUTPUT, every_layer, full_precision, natural_stages, tapped
from fechner.observers.weights import hash_weights
from fechner.stimuli import Frames

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class Network:
    """What must be known to look through a network's eyes; adapters return this.

    Parameters
    ----------
    module
        The part of the model that sees.
    call
        Takes normalised pictures, [n, 3, h, w], and returns the natural read-out, [n, ...]; the
        module itself if None.
    size_px
        Its own input size, None for any.
    normalise
        Its own normalisation of pictures in 0..1.
    library
        Name and version of what loaded it.
    settings
        Whatever else its answers depend on.
    stages
        Names of the modules after which it is looked into; found by rule if None.
    classify, classes
        Takes normalised pictures and returns class scores, [n, classes]; names of the classes.
    weights_id
        A hash of its weights; computed if None.
    unsure
        What had to be guessed, for people, as long as its own normalisation is used.
    """

    module: nn.Module
    call: Callable[[Tensor], Any] | None = None
    size_px: tuple[int, int] | None = None
    normalise: Normalisation = NONE
    library: str = ""
    settings: str = ""
    stages: tuple[str, ...] | None = None
    classify: Callable[[Tensor], Any] | None = None
    classes: tuple[str, ...] = ()
    weights_id: str | None = None
    unsure: str = ""


class NetworkEncoder:
    """A network that encodes; any of its parts can be tapped in one forward pass."""

    def __init__(
        self, network: Network, *, name: str, wants: Wants, fingerprint: str | None
    ) -> None:
        self.name = name
        self.wants = wants
        self.settings = f"{wants} {network.normalise}"
        self.fingerprint = fingerprint
        self.network = network
        self.module = network.module
        self._call = network.call or network.module

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """Names of the natural stages, in order; the last is what the network hands on."""
        stages = self.network.stages
        if stages is None:
            stages = natural_stages(self.module)
        if not stages:
            return (OUTPUT,)
        return (*(layer.name for layer in self._layers if layer.module in set(stages)), OUTPUT)

    def every_layer(self) -> Sequence[LayerInfo]:
        """List all parts that can be tapped, in order, without the output."""
        return self._layers

    @cached_property
    def _layers(self) -> tuple[LayerInfo, ...]:
        import torch

        height, width = self.wants.size_px or ANY_SIZE
        like = next(self.module.parameters(), torch.empty(0))
        dtype = getattr(torch, self.wants.dtype)

        def look(n: int) -> None:
            pixels = torch.full((n, 3, height, width), 0.5, dtype=dtype, device=like.device)
            self._call(self.prepared(pixels))

        try:
            with torch.no_grad():
                return every_layer(self.module, look)
        except FechnerError:
            raise
        except Exception as error:
            if is_out_of_memory(error):
                return ()  # two pictures are too many to find out what is inside
            hint = ""
            if self.wants.size_px is None:
                hint = (
                    "; if it takes one size only, say so with wants=fechner.Wants(size_px=(h, w))"
                )
            raise ObserverError(
                f"it raised {type(error).__name__}: {error}, when shown {height} x {width} px{hint}"
            ) from error

    def features(self, frames: Frames, taps: Mapping[str, Tap]) -> None:
        """Look once; every tap is called with its layer's activations."""
        inside = {name: tap for name, tap in taps.items() if name != OUTPUT}
        layers = [self._layer(name) for name in inside]
        with tapped(self.module, inside, layers, len(frames)):
            output = self._call(self.prepared(frames.pixels))
        if OUTPUT in taps:
            taps[OUTPUT](full_precision(usable_output(output, len(frames), self.name)))

    def _layer(self, name: str) -> LayerInfo:
        found = next((layer for layer in self._layers if layer.name == name), None)
        if found is None:
            known = [layer.name for layer in self._layers]
            raise UnknownNameError("layer", name, known, f"`fechner layers {self.name}` lists them")
        return found

    def prepared(self, pixels: Tensor) -> Tensor:
        """Return pixels as the network takes them: normalised, in its own precision."""
        pixels = self.network.normalise(pixels)
        own = (p.dtype for p in self.module.parameters() if p.is_floating_point())
        return pixels.to(next(own, pixels.dtype))


class NetworkClassifier(NetworkEncoder):
    """A network that also recognises."""

    @property
    def classes(self) -> Sequence[str]:
        """Names of the classes."""
        return self.network.classes

    def class_scores(self, frames: Frames) -> Tensor:
        """Return scores, [n, classes]."""
        assert self.network.classify is not None
        scores = self.network.classify(self.prepared(frames.pixels))
        return full_precision(usable_output(scores, len(frames), self.name))


def check_dtype(name: str) -> None:
    """Say what is wrong with the name of a precision."""
    known = get_args(Dtype)
    if name not in known:
        raise UnknownNameError("dtype", name, known, f"there are {', '.join(known)}")


def encoder(
    network: Network,
    *,
    name: str,
    device: str = "cpu",
    normalise: NormalisationName = "own",
    dtype: Dtype = "float32",
) -> NetworkEncoder:
    """Make an observer of a network that an adapter loaded.

    Parameters
    ----------
    normalise
        ``own``, ``none``, ``imagenet``, ``clip`` or ``half``.
    dtype
        Precision of the network; differences near threshold need float32.
    """
    import torch

    check_dtype(dtype)
    half = dtype in ("bfloat16", "float16")
    if half and next(network.module.parameters(), None) is None:
        raise ObserverError(f"the precision of '{name}' is fixed in its file; leave --dtype out.")
    network = replace(
        network,
        normalise=normalisation(normalise, network.normalise),
        unsure=network.unsure if normalise == "own" else "",
    )
    weights = network.weights_id or hash_weights(network.module)
    network.module.to(device=check_device(device), dtype=getattr(torch, dtype)).eval()
    wants = Wants(size_px=network.size_px, dtype="float64" if dtype == "float64" else "float32")
    fingerprint = (
        f"{name} {network.library} {network.settings} weights={weights} {wants} "
        f"{network.normalise} {dtype}"
    )
    kind = NetworkEncoder if network.classify is None else NetworkClassifier
    return kind(network, name=name, wants=wants, fingerprint=fingerprint)


def before_head(module: nn.Module, head: str) -> Callable[[Tensor], Tensor]:
    """Return a function of pictures that gives what goes into the named part of a classifier."""

    def call(pictures: Tensor) -> Tensor:
        seen: list[Tensor] = []

        def hook(part: nn.Module, arguments: tuple[Tensor, ...]) -> None:
            seen.append(arguments[0].clone())  # some heads write over it

        handle = module.get_submodule(head).register_forward_pre_hook(hook)
        try:
            module(pictures)
        finally:
            handle.remove()
        if not seen:
            raise ObserverError(f"{type(module).__name__} did not reach its head '{head}'.")
        return seen[-1]

    return call
