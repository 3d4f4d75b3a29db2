"""Units: numbers among a layer's activations, named by channel and place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from fechner.errors import FechnerError, ObserverError
from fechner.observers.abilities import Encodes, LooksInside
from fechner.observers.taps import OUTPUT, every_layer
from fechner.physiology.conditions import Conditions

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Unit:
    """A unit of a layer.

    Parameters
    ----------
    channel
        Which of the layer's features.
    place
        Where on the layer's map: (row, column), a token, or () for features without places.
    index
        Where it is among the layer's activations, flattened.
    """

    channel: int
    place: tuple[int, ...]
    index: int


@dataclass(frozen=True)
class Site:
    """Units of one layer that are recorded together.

    Parameters
    ----------
    shape
        Shape of the layer's activations for one picture.
    channel_axis
        Which axis counts features; the others are places.
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
    >>> channel_axis((197, 384), (224, 224)), channel_axis((512,), (224, 224))
    (1, 0)
    """
    if len(shape) != 3:
        return 1 if len(shape) == 2 else 0
    height, width = field_px

    def is_map(rows: int, columns: int) -> bool:
        return abs(rows - columns * height / width) <= 1.5

    if is_map(shape[1], shape[2]):
        return 0
    return 2


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


def find_site(
    encoder: Encodes,
    layer: str,
    conditions: Conditions,
    units: Sequence[int | tuple[int, ...]] | None = None,
    device: str = "cpu",
) -> Site:
    """Return units of a layer.

    Parameters
    ----------
    units
        Channels, at the centre of the layer's map; or indices into its activations, such as
        (channel, row, column). None is all channels.
    """
    shape = _shape(encoder, layer, conditions, device)
    axis = channel_axis(shape, (conditions.field.height_px, conditions.field.width_px))
    centre = central_place(shape[:axis] + shape[axis + 1 :])
    wanted = range(shape[axis]) if units is None else units
    found = []
    for each in wanted:
        at = each if isinstance(each, tuple) else (*centre[:axis], each, *centre[axis:])
        inside = len(at) == len(shape) and all(0 <= k < n for k, n in zip(at, shape, strict=True))
        if not inside:
            named = f"index {each}" if isinstance(each, tuple) else f"channel {each}"
            raise FechnerError(
                f"layer '{layer}' has no unit at {named}: it is "
                f"{' x '.join(map(str, shape))}, with {shape[axis]} channels, from 0 on."
            )
        index = 0
        for k, n in zip(at, shape, strict=True):
            index = index * n + k
        found.append(Unit(at[axis], at[:axis] + at[axis + 1 :], index))
    if not found:
        raise FechnerError(f"name at least one unit of layer '{layer}'.")
    return Site(layer, shape, axis, tuple(found))


def _shape(encoder: Encodes, layer: str, conditions: Conditions, device: str) -> tuple[int, ...]:
    """Return the shape of a layer's activations for one picture under these conditions."""
    import torch

    seen: dict[str, tuple[int, ...]] = {}

    def tap(activation: Tensor) -> None:
        seen[layer] = tuple(activation.shape[1:])

    def look(n: int, taps: dict[str, Any]) -> None:
        dtype = getattr(torch, encoder.wants.dtype)
        grey = conditions.uniform(n, dtype, device)
        encoder.features(conditions.frames(grey, encoder.wants), taps)

    with torch.no_grad():
        look(1, {layer: tap})
        shape = seen[layer]
        # What is tapped inside a network arrives flattened.
        if len(shape) > 1 or layer == OUTPUT or not isinstance(encoder, LooksInside):
            return shape
        known = {info.name: info.shape for info in encoder.every_layer()}
        module = getattr(encoder, "module", None)
        if math.prod(known.get(layer, ())) != shape[0] and module is not None:
            # It was listed with pictures of another size.
            parts = every_layer(module, partial(look, taps={}), batched=encoder.wants.batched)
            known = {info.name: info.shape for info in parts}
    listed = known.get(layer, shape)
    return listed if math.prod(listed) == shape[0] else shape


def responses(
    encoder: Encodes, pictures: Tensor, conditions: Conditions, sites: Sequence[Site]
) -> Tensor:
    """Show pictures, in what weights are of, and return what the units say, [n, units].

    One pass serves all sites; gradients flow where the caller lets them.
    """
    import torch

    said: dict[str, Tensor] = {}

    def tap(site: Site, activation: Tensor) -> None:
        # Picked at once: what follows in the network may write over it.
        rows = activation.flatten(1)
        places = torch.tensor([unit.index for unit in site.units], device=rows.device)
        said[site.layer] = rows.index_select(1, places)

    taps = {site.layer: partial(tap, site) for site in sites}
    encoder.features(conditions.frames(pictures, encoder.wants), taps)
    together = torch.cat([said[site.layer] for site in sites], dim=1)
    if not bool(together.detach().isfinite().all()):
        raise ObserverError(f"observer '{encoder.name}' gave values that are not finite numbers.")
    return together
