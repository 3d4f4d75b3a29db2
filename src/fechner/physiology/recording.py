"""Units of a layer, named by channel and place, and how they are recorded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cached_property, partial
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Tensor, torch
from fechner.errors import FechnerError, ObserverError
from fechner.observers.abilities import Encodes, abilities
from fechner.observers.devices import free_memory
from fechner.observers.taps import OUTPUT, choose_layers, every_layer
from fechner.physiology.conditions import Conditions, Window

#: Where weights are found: in a window, within reach of the units, or in all of the field.
Where = Window | Literal["support", "field"]

#: Values of a batch of pictures, unless told how many pictures a batch has.
_BATCH_VALUES = 1 << 23
_MOST_PICTURES = 256
#: Share of the free memory that weights may take.
_SHARE = 0.5


@dataclass(frozen=True)
class Unit:
    """A unit of a layer: which of its features, where on its map, and where in its activations.

    The place is (row, column), a token, or () for features without places; the index is into the
    flattened activations.
    """

    channel: int
    place: tuple[int, ...]
    index: int


@dataclass(frozen=True)
class Site:
    """Units of one layer that are recorded together.

    The shape is that of the layer's activations for one picture, of which one axis counts features.
    """

    layer: str
    shape: tuple[int, ...]
    channel_axis: int
    units: tuple[Unit, ...]


def channel_axis(shape: Sequence[int], field_px: tuple[int, int]) -> int:
    """Return which axis of a layer's activations counts features.

    Maps are [channels, h, w] or [h, w, channels], told by which two axes have the proportions of
    the field; tokens are [tokens, features].

    Examples
    --------
    >>> channel_axis((32, 112, 112), (224, 224)), channel_axis((56, 56, 96), (224, 224))
    (0, 2)
    """
    if len(shape) != 3:
        return 1 if len(shape) == 2 else 0
    height, width = field_px
    return 0 if abs(shape[1] - shape[2] * height / width) <= 1.5 else 2


def central_place(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the middle of a layer's map; tokens that form no square come before those that do.

    Examples
    --------
    >>> central_place((112, 112)), central_place((197,)), central_place(())
    ((56, 56), (106,), ())
    """
    if len(sizes) != 1:
        return tuple(size // 2 for size in sizes)
    side = math.isqrt(sizes[0])
    return (sizes[0] - side * side + (side // 2) * side + side // 2,)


def find_sites(
    encoder: Any,
    layers: str | Sequence[str] | None,
    conditions: Conditions,
    units: Any,
    device: str,
) -> tuple[Site, ...]:
    """Return units of the layers that names or patterns stand for, as of `record`."""
    if "encodes" not in abilities(encoder):
        name = getattr(encoder, "name", type(encoder).__name__)
        raise ObserverError(f"observer '{name}' is not an encoder, so it has no layers to record.")
    sites = []
    for layer in choose_layers(encoder, [layers] if isinstance(layers, str) else layers):
        shape = _shape(encoder, layer, conditions, device)
        axis = channel_axis(shape, (conditions.field.height_px, conditions.field.width_px))
        centre = central_place(shape[:axis] + shape[axis + 1 :])
        wanted = range(shape[axis])[:units] if units is None or isinstance(units, int) else units
        found = []
        for each in wanted:
            at = each if isinstance(each, tuple) else (*centre[:axis], each, *centre[axis:])
            if len(at) != len(shape) or not all(0 <= k < n for k, n in zip(at, shape, strict=True)):
                raise FechnerError(
                    f"layer '{layer}' has no unit at {each}: it is {' x '.join(map(str, shape))}, "
                    f"with {shape[axis]} channels, from 0 on."
                )
            index = int(np.ravel_multi_index(at, shape))
            found.append(Unit(at[axis], at[:axis] + at[axis + 1 :], index))
        if not found:
            raise FechnerError(f"name at least one unit of layer '{layer}'.")
        sites.append(Site(layer, shape, axis, tuple(found)))
    return tuple(sites)


def _shape(encoder: Encodes, layer: str, conditions: Conditions, device: str) -> tuple[int, ...]:
    """Return the shape of a layer's activations for one picture under these conditions."""
    seen: dict[str, tuple[int, ...]] = {}

    def tap(activation: Tensor) -> None:
        seen[layer] = tuple(activation.shape[1:])

    def look(n: int, taps: dict[str, Any]) -> None:
        grey = conditions.uniform(n, encoder.wants.dtype, device)
        encoder.features(conditions.frames(grey, encoder.wants), taps)

    with torch.no_grad():
        look(1, {layer: tap})
        shape = seen[layer]
        # What is tapped inside a network arrives flattened.
        if len(shape) > 1 or layer == OUTPUT or not hasattr(encoder, "every_layer"):
            return shape
        known = {info.name: info.shape for info in encoder.every_layer()}
        module = getattr(encoder, "module", None)
        if math.prod(known.get(layer, ())) != shape[0] and module is not None:
            # It was listed with pictures of another size.
            parts = every_layer(module, partial(look, taps={}), batched=encoder.wants.batched)
            known = {info.name: info.shape for info in parts}
    listed = known.get(layer, shape)
    return listed if math.prod(listed) == shape[0] else shape


class Progress(Protocol):
    """Receives progress: how many pictures there are to show, and how many were shown."""

    def start(self, images: int) -> None:
        """Start; this many pictures will be shown."""

    def images(self, n: int) -> None:
        """Count n more pictures."""


@dataclass(frozen=True)
class Recording:
    """Units of an encoder under some conditions.

    For `Where`, ``support`` are the pixels that change any unit of a layer, found by gradients, or
    all of the field for observers without.
    """

    encoder: Encodes
    conditions: Conditions
    sites: tuple[Site, ...]
    where: Where = "support"
    device: str = "cpu"

    @property
    def n_units(self) -> int:
        """How many units there are in all layers."""
        return sum(len(site.units) for site in self.sites)

    def batch_size(self, batch: int | None) -> int:
        """Return how many pictures are shown at a time."""
        if batch is not None:
            return max(1, batch)
        field = self.conditions.field
        return max(1, min(_MOST_PICTURES, _BATCH_VALUES // (3 * field.height_px * field.width_px)))

    def grey(self, n: int) -> Tensor:
        """Return n pictures of the grey."""
        return self.conditions.uniform(n, self.encoder.wants.dtype, self.device)

    def look(self, pictures: Tensor) -> Tensor:
        """Return the responses of all units to pictures of light or pixels, [n, units].

        One pass serves all sites; gradients flow where the caller lets them.
        """
        said: dict[str, Tensor] = {}

        def tap(site: Site, activation: Tensor) -> None:
            # Picked at once: what follows in the network may write over it.
            rows = activation.flatten(1)
            places = torch.tensor([unit.index for unit in site.units], device=rows.device)
            said[site.layer] = rows.index_select(1, places)

        taps = {site.layer: partial(tap, site) for site in self.sites}
        self.encoder.features(self.conditions.frames(pictures, self.encoder.wants), taps)
        together = torch.cat([said[site.layer] for site in self.sites], dim=1)
        if not bool(together.detach().isfinite().all()):
            raise ObserverError(
                f"observer '{self.encoder.name}' gave values that are not finite numbers."
            )
        return together

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """Where the weights of each layer are found."""
        field = self.conditions.field
        if isinstance(self.where, Window):
            self.where.check(field)
            return (self.where,) * len(self.sites)
        if self.where == "field":
            return (Window.whole(field),) * len(self.sites)
        return tuple(map(Window.around, self._reached()))

    @property
    def window(self) -> Window:
        """Where the weights of any layer are found: the smallest that holds all windows."""
        top, bottom, left, right = zip(*map(astuple, self.windows), strict=True)
        return Window(min(top), max(bottom), min(left), max(right))

    def _reached(self) -> list[NDArray[np.bool_]]:
        """Return which pixels change any unit of each layer, around two pictures of noise.

        Noise, because at the grey itself rectified units may be silent.
        """
        random = np.random.default_rng(0)
        pictures = self.grey(2)
        signs = random.choice((-1.0, 1.0), tuple(pictures.shape))
        step = min(0.1, self.conditions.room() / 2)
        pictures = (pictures * (1 + step * torch.as_tensor(signs).to(pictures))).requires_grad_()
        size = tuple(pictures.shape[-2:])
        with torch.enable_grad():
            said = self.look(pictures)
            if not said.requires_grad:
                return [np.ones(size, dtype=bool)] * len(self.sites)
            # Random factors, so that units do not cancel.
            mixed = said * torch.as_tensor(random.normal(size=tuple(said.shape))).to(said)
            found = []
            for part in torch.split(mixed, [len(site.units) for site in self.sites], dim=1):
                (slope,) = torch.autograd.grad(part.sum(), pictures, retain_graph=True)
                found.append((slope != 0).any(dim=0).any(dim=0).cpu().numpy())
        return found

    def empty(self, arrays: int = 1) -> NDArray[np.float64]:
        """Return zeros for the weights of all units; so many such arrays must fit into memory."""
        height, width = self.window.size_px
        shape = (self.n_units, 3, height, width)
        needed, free = 8 * arrays * math.prod(shape), free_memory()
        if needed > _SHARE * free:
            raise FechnerError(
                f"the weights of {self.n_units} units in {height} x {width} px take "
                f"{needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB of memory are free; name fewer "
                "units or layers, or a smaller window."
            )
        return np.zeros(shape)


def record(
    encoder: Any,
    layers: str | Sequence[str] | None = None,
    units: Sequence[int | tuple[int, ...]] | int | None = None,
    *,
    conditions: Conditions | None = None,
    window: Where = "support",
    device: str = "cpu",
) -> Recording:
    """Choose units of an encoder, and the conditions.

    Parameters
    ----------
    layers
        Names or patterns of layers (``fechner layers`` lists them); None is the encoder's stages.
    units
        Channels, at the centre of the layer's map; or indices such as (channel, row, column); or
        how many channels, from the first on. None is all channels.
    conditions
        The defaults of `Conditions` if None, with the field that the observer wants.
    """
    if isinstance(units, int) and units < 1:
        raise FechnerError(f"units must be at least 1, not {units}.")
    seen = (conditions or Conditions()).seen_by(encoder.wants)
    found = find_sites(encoder, layers, seen, units, device)
    return Recording(encoder, seen, found, window, device)
