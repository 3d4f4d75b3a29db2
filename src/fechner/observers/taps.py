"""Taps: looking into a network while it works, by forward hooks.

A layer is named as its module is, ``blocks.3.mlp``. A module that is called several times in one
pass has one layer per call, ``act#1``, ``act#2``. What a hook sees is reduced on the spot, before
later operations can change it in place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from fechner.arrays import torch
from fechner.errors import ObserverError, UnknownNameError
from fechner.observers.abilities import Encodes, LayerInfo, Tap

if TYPE_CHECKING:
    from torch import Tensor, nn

#: The layer that every encoder has: its natural read-out.
OUTPUT = "output"


def first_tensor(value: Any) -> Tensor | None:
    """Return the first floating-point tensor in whatever a module returned, None if there is none.

    Examples
    --------
    >>> import torch
    >>> first_tensor(({"mask": None, "hidden": torch.ones(2)}, torch.zeros(3)))
    tensor([1., 1.])
    """
    if isinstance(value, torch.Tensor):
        return value if value.is_floating_point() else None
    if isinstance(value, Mapping):  # ModelOutputs too
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        return next((found for item in value if (found := first_tensor(item)) is not None), None)
    return None


@contextmanager
def _hooked(
    module: nn.Module, names: Iterable[str], see: Callable[[str, nn.Module, Any, Any], None]
) -> Iterator[None]:
    """Call ``see(name, part, arguments, output)`` after every call of the named parts."""
    with ExitStack() as hooks:
        for name in names:
            part = module.get_submodule(name)
            hooks.enter_context(part.register_forward_hook(partial(see, name)))
        yield


def every_layer(
    module: nn.Module, look: Callable[[int], Any], *, batched: bool = True
) -> tuple[LayerInfo, ...]:
    """List what can be tapped, in the order in which parts finish.

    ``look`` makes the module look at that many pictures: a pass with one and one with two show
    which axis is the batch. Parts that hand on no floating-point tensor with such an axis are left
    out. One that is not ``batched`` has no such axis.
    """
    parts = {name: type(part).__name__ for name, part in module.named_modules() if name}
    #: Shapes by part and call, in a pass with one picture and in one with two.
    passes: list[dict[tuple[str, int], tuple[int, ...]]] = []
    for n in (1, 2) if batched else (1,):
        calls: Counter[str] = Counter()
        shapes: dict[tuple[str, int], tuple[int, ...]] = {}

        def see(name: str, part: nn.Module, arguments: Any, output: Any) -> None:
            calls[name] += 1  # noqa: B023
            tensor = first_tensor(output)
            if tensor is not None:
                shapes[name, calls[name]] = tuple(tensor.shape)  # noqa: B023

        with _hooked(module, parts, see):
            look(n)
        passes.append(shapes)
    times = Counter(name for name, _ in passes[0])
    found = []
    for (name, call), shape in passes[0].items():
        axis = _batch_axis(shape, passes[1].get((name, call), ())) if batched else 0
        if shape and axis is not None:
            full = name if times[name] == 1 and name != OUTPUT else f"{name}#{call}"
            rest = shape[:axis] + shape[axis + 1 :]
            # More than one part for each picture: windows.
            per_picture = rest if shape[axis] == 1 else (shape[axis], *rest)
            found.append(LayerInfo(full, name, call, parts[name], per_picture, axis))
    return tuple(found)


def _batch_axis(one: tuple[int, ...], two: tuple[int, ...]) -> int | None:
    """Return the axis that doubles with the number of pictures, if there is just one."""
    axes = [axis for axis, (a, b) in enumerate(zip(one, two, strict=False)) if a != b]
    doubles = len(one) == len(two) and len(axes) == 1 and two[axes[0]] == 2 * one[axes[0]]
    return axes[0] if doubles else None


@contextmanager
def tapped(
    module: nn.Module, taps: Mapping[str, Tap], layers: Sequence[LayerInfo], n: int
) -> Iterator[None]:
    """Hand what the tapped layers produce to their taps, as [n, ...]."""
    wanted = {(layer.module, layer.call): layer for layer in layers}
    calls: Counter[str] = Counter()

    def see(name: str, part: nn.Module, arguments: Any, output: Any) -> None:
        calls[name] += 1
        layer = wanted.get((name, calls[name]))
        tensor = None if layer is None else first_tensor(output)
        if layer is None or tensor is None:
            return
        del wanted[name, calls[name]]
        # Pictures of another size than the layer was found with have other maps and more windows.
        rows = tensor.shape[layer.batch_axis]
        windows = tensor.ndim == len(layer.shape)
        if rows % n if windows else rows != n:
            raise ObserverError(
                f"layer '{layer.name}' handed on {tuple(tensor.shape)} for a batch of {n}, which "
                "is not one part for each picture; read out another layer."
            )
        # A picture per row; windows of one picture lie next to each other.
        taps[layer.name](full_precision(tensor.movedim(layer.batch_axis, 0).reshape(n, -1)))

    with _hooked(module, {layer.module for layer in layers}, see):
        yield
    for layer in wanted.values():
        raise ObserverError(f"layer '{layer.name}' was not reached in a pass of {n} pictures.")


def full_precision(tensor: Tensor) -> Tensor:
    """Return half precision as single: differences of rounded numbers are not rounded again."""
    return tensor if tensor.element_size() >= 4 else tensor.float()


def natural_stages(module: nn.Module) -> tuple[str, ...]:
    """Return the parts after which people speak of a stage or a block.

    The members of the outermost module lists; without any, the outermost sequences of larger parts
    (the four layers of a ResNet), or the members of the only one.

    Examples
    --------
    >>> from torch import nn
    >>> def block():
    ...     return nn.Sequential(nn.Conv2d(3, 3, 1), nn.ReLU())
    >>> blocks = nn.ModuleList([block(), block()])
    >>> natural_stages(nn.ModuleDict({"stem": block(), "blocks": blocks}))
    ('blocks.0', 'blocks.1')
    """
    from torch import nn

    def outermost(kind: type, inside: nn.Module, path: str = "") -> Iterator[tuple[str, nn.Module]]:
        for name, child in inside.named_children():
            here = f"{path}.{name}" if path else name
            if isinstance(child, kind) and _larger_parts(child):
                yield here, child
            else:
                yield from outermost(kind, child, here)

    if isinstance(module, nn.Sequential) and len(_larger_parts(module)) > 1:
        return _larger_parts(module)
    lists = list(outermost(nn.ModuleList, module))
    if not lists:
        lists = list(outermost(nn.Sequential, module))
        if len(lists) > 1:
            return tuple(name for name, _ in lists)
    return tuple(f"{name}.{index}" for name, each in lists for index in _larger_parts(each))


def _larger_parts(container: nn.Module) -> tuple[str, ...]:
    """Return the names of members that are themselves made of parts."""
    return tuple(name for name, member in container.named_children() if list(member.children()))


def choose_layers(encoder: Encodes, patterns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the layers that patterns stand for, in the encoder's order.

    Parameters
    ----------
    patterns
        Layer names with ``*`` for anything within a dot-separated part and ``**`` for anything;
        without a call index they stand for every call; ``output`` is the natural read-out. None
        takes the encoder's natural stages. Encoders of different kinds share patterns, so one of
        them must stand for something; those that cannot be looked into give their output.
    """
    known = tuple(encoder.layers)
    if patterns is None:
        return known
    only = len(known) == 1 and not hasattr(encoder, "every_layer")
    if hasattr(encoder, "every_layer"):
        known = (*(layer.name for layer in encoder.every_layer()), OUTPUT)
    others = [pattern for pattern in patterns if pattern != OUTPUT]
    chosen = {name for name in known for pattern in others if _matches(pattern, name)}
    if OUTPUT in patterns or only:
        chosen.add(known[-1])  # some encoders call it otherwise
    if not chosen:
        how = f"`fechner layers {encoder.name}` lists them"
        raise UnknownNameError("layer", ", ".join(patterns), known, how)
    return tuple(name for name in known if name in chosen)


def _matches(pattern: str, name: str) -> bool:
    parts = re.split(r"(\*\*|\*|\?)", pattern)
    meaning = {"**": ".*", "*": "[^.]*", "?": "[^.]"}
    regular = "".join(meaning.get(part, re.escape(part)) for part in parts)
    return re.fullmatch(regular + ("" if "#" in pattern else r"(#\d+)?"), name) is not None
