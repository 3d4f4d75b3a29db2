"""Your own model as an observer: a torch module, a function, or a factory in a file."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fechner.errors import ObserverError
from fechner.observers.abilities import Observer, Tap, Wants, abilities
from fechner.observers.devices import check_device
from fechner.stimuli import Frames

if TYPE_CHECKING:
    from torch import Tensor, nn

#: One number for all channels, or one for each.
PerChannel: TypeAlias = float | tuple[float, float, float]


class FunctionEncoder:
    """A function of pictures, [n, 3, h, w] -> [n, ...], as an encoder.

    Parameters
    ----------
    function
        Any callable; its whole output is the feature vector.
    mean, std
        Normalisation per channel, applied before the call; None applies none.
    """

    layers = ("output",)

    def __init__(
        self,
        function: Callable[[Tensor], Any],
        *,
        name: str,
        wants: Wants | None = None,
        mean: PerChannel | None = None,
        std: PerChannel | None = None,
        fingerprint: str | None = None,
    ) -> None:
        self.name = name
        self.wants = wants or Wants()
        settings = f"{self.wants} mean={mean} std={std}"
        self.fingerprint = fingerprint and f"{fingerprint} {settings}"
        self._function = function
        self._mean = mean if mean is not None else 0.0
        self._std = std if std is not None else 1.0
        self._normalises = mean is not None or std is not None

    def features(self, frames: Frames, taps: Mapping[str, Tap]) -> None:
        """Call the function and hand its output to the tap."""
        pixels = frames.pixels
        if self._normalises:
            mean = pixels.new_tensor(self._mean).reshape(-1, 1, 1)
            std = pixels.new_tensor(self._std).reshape(-1, 1, 1)
            pixels = (pixels - mean) / std
        output = usable_output(self._function(pixels), len(frames), self.name)
        for tap in taps.values():
            tap(output)


class FunctionComparer:
    """A function of two batches of pictures, (test, reference) -> [n], as a comparer."""

    layers = ("output",)
    readouts = ("difference",)

    def __init__(
        self,
        function: Callable[[Tensor, Tensor], Any],
        *,
        name: str,
        wants: Wants | None = None,
        fingerprint: str | None = None,
    ) -> None:
        self.name = name
        self.wants = wants or Wants()
        self.fingerprint = fingerprint and f"{fingerprint} {self.wants}"
        self._function = function

    def remember(self, reference: Frames) -> Tensor:
        """Keep the references as they are."""
        return reference.pixels

    def difference(self, test: Frames, memory: Tensor, which: Tensor) -> Tensor:
        """Call the function on each test and its reference."""
        output = usable_output(self._function(test.pixels, memory[which]), len(test), self.name)
        if output.numel() != len(test):
            raise ObserverError(
                f"observer '{self.name}' returned {tuple(output.shape)} for {len(test)} pairs; "
                "a comparer returns one number per pair."
            )
        return output.double().reshape(-1, 1, 1)


def usable_output(output: Any, n: int, name: str) -> Tensor:
    """Return a model's output as a tensor of n rows, or say what is wrong with it."""
    import numpy as np
    import torch

    if isinstance(output, np.ndarray | np.floating | float):
        output = torch.as_tensor(np.array(output, order="C"))
    if not isinstance(output, torch.Tensor):
        inside = f" of {len(output)}" if isinstance(output, tuple | list | dict) else ""
        pick = repr(next(iter(output))) if isinstance(output, dict) and output else "0"
        raise ObserverError(
            f"observer '{name}' returned a {type(output).__name__}{inside}, not a tensor; wrap it "
            f"so that it returns the features you mean, e.g. lambda x: model(x)[{pick}]."
        )
    if output.ndim == 0 or len(output) != n:
        raise ObserverError(
            f"observer '{name}' returned shape {tuple(output.shape)} for a batch of {n}; "
            "the first dimension must be the batch."
        )
    if not output.is_floating_point():
        raise ObserverError(
            f"observer '{name}' returned {output.dtype}; features must be floating point."
        )
    return output if output.ndim > 1 else output[:, None]


def hash_weights(module: nn.Module) -> str:
    """Return the sha256 of a module's parameters and buffers."""
    import torch

    digest = hashlib.sha256(type(module).__qualname__.encode())
    for key, value in sorted(module.state_dict().items()):
        digest.update(f"{key}{tuple(value.shape)}{value.dtype}".encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def observe(
    thing: Any,
    *,
    name: str | None = None,
    wants: Wants | None = None,
    mean: PerChannel | None = None,
    std: PerChannel | None = None,
    version: str | None = None,
    device: str = "cpu",
) -> Observer:
    """Make an observer of whatever you have.

    Parameters
    ----------
    thing
        A name (see ``fechner list observers``), an observer (returned as it is), a
        ``torch.nn.Module`` or function of one batch of pictures (an encoder), or a function of two
        batches (a comparer).
    name
        What results call it; the class or function name if None.
    wants
        What it wants to be shown; sRGB in 0..1 of any size if None.
    mean, std
        Normalisation of an encoder's input, per channel.
    version
        Your word that answers stay the same while it does; without it they are not reused by a
        later process.

    Examples
    --------
    >>> observe(lambda pictures: pictures.mean(dim=(2, 3)), name="mean-colour").layers
    ('output',)
    """
    if isinstance(thing, str):
        from fechner.observers.catalogue import resolve  # which itself makes observers here

        return resolve(thing, device=device)
    if abilities(thing):
        found: Observer = thing
        return found
    name = str(name or getattr(thing, "__name__", type(thing).__name__))
    fingerprint = f"{name}/{version}" if version else None
    if _is_module(thing):
        module = thing.to(check_device(device)).eval()
        if fingerprint:
            fingerprint += f"/{hash_weights(module)}"
        return FunctionEncoder(
            module, name=name, wants=wants, mean=mean, std=std, fingerprint=fingerprint
        )
    if not callable(thing) or isinstance(thing, type):
        raise ObserverError(
            f"'{name}' is a {'class' if isinstance(thing, type) else type(thing).__name__}; an "
            "observer is a torch module, a function of pictures, or an object with one of the four "
            "abilities."
        )
    arguments = _required_arguments(thing)
    if arguments > 2:
        raise ObserverError(
            f"'{name}' takes {arguments} arguments; an encoder takes one batch of pictures, a "
            "comparer takes two."
        )
    if arguments == 2:
        if mean is not None or std is not None:
            raise ObserverError(
                f"'{name}' compares two batches; mean and std are for encoders, so normalise "
                "inside the function."
            )
        return FunctionComparer(thing, name=name, wants=wants, fingerprint=fingerprint)
    return FunctionEncoder(
        thing, name=name, wants=wants, mean=mean, std=std, fingerprint=fingerprint
    )


def file_and_name(spec: str) -> tuple[Path, str]:
    """Take ``path/to/file.py:name`` apart, or say what is wrong with it."""
    file, _, attribute = spec.rpartition(":")
    if spec.endswith(".py") or not attribute:
        raise ObserverError(
            f"'{spec}' is a file; name the function or class in it that makes the observer, "
            f"as in {spec.rstrip(':')}:make."
        )
    if not Path(file).is_file():
        raise ObserverError(f"there is no file '{file}' (from observer '{spec}').")
    return Path(file), attribute


def from_file(spec: str, device: str = "cpu") -> Observer:
    """Make an observer of ``path/to/file.py:name``.

    ``name`` is a factory without arguments, a module class, or the function itself (one argument:
    an encoder; two: a comparer). The file and any weights are hashed into the fingerprint.
    """
    path, attribute = file_and_name(spec)
    thing = _attribute(path, attribute, spec)
    if isinstance(thing, type) or (_is_function(thing) and _required_arguments(thing) == 0):
        try:
            thing = thing()
        except Exception as error:
            raise ObserverError(
                f"observer '{spec}' could not be made: {type(error).__name__}: {error}."
            ) from error
    file_hash = hashlib.sha256(path.read_bytes()).hexdigest()
    observer = observe(thing, name=spec, version=file_hash, device=device)
    if observer is thing and observer.fingerprint is not None:
        # An observer made in the file depends on the file, whatever it says of itself.
        vars(observer)["fingerprint"] = f"{observer.fingerprint}/{file_hash}"
    return observer


def _attribute(path: Path, attribute: str, spec: str) -> Any:
    module_spec = importlib.util.spec_from_file_location(f"fechner_user_{path.stem}", path)
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    folder = str(path.parent.resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as `python file.py` does: it may import its neighbours
    sys.modules[module_spec.name] = module  # dataclasses look their module up
    try:
        module_spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[module_spec.name]
        raise ObserverError(
            f"observer '{spec}': {path.name} could not be loaded: {type(error).__name__}: {error}."
        ) from error
    if not hasattr(module, attribute):
        raise ObserverError(f"observer '{spec}': {path.name} has no '{attribute}'.")
    return getattr(module, attribute)


def _is_module(thing: Any) -> bool:
    import torch

    return isinstance(thing, torch.nn.Module)


def _is_function(thing: Any) -> bool:
    return callable(thing) and not _is_module(thing) and not abilities(thing)


def _required_arguments(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(
        parameter.kind in positional and parameter.default is parameter.empty
        for parameter in parameters
    )
