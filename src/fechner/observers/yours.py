"""Your own model as an observer: a torch module, a function, or a factory in a file."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fechner.errors import ObserverError, UnknownNameError
from fechner.observers.abilities import Observer, Wants, abilities
from fechner.observers.devices import check_device
from fechner.observers.functions import FunctionComparer, FunctionEncoder
from fechner.observers.network import Network, NetworkClassifier, NetworkEncoder
from fechner.observers.normalisation import NONE, Normalisation, PerChannel
from fechner.observers.torchvision_fix import mend_torchvision
from fechner.observers.weights import hash_file, hash_weights

if TYPE_CHECKING:
    from torch import nn


def observe(
    thing: Any,
    *,
    name: str | None = None,
    wants: Wants | None = None,
    mean: PerChannel = 0.0,
    std: PerChannel = 1.0,
    read: Callable[[Any], Any] | None = None,
    higher_is_better: bool = False,
    best: float | None = None,
    classes: Sequence[str] | None = None,
    version: str | None = None,
    device: str = "cpu",
) -> Observer:
    """Make an observer of whatever you have.

    Parameters
    ----------
    thing
        A name (see ``fechner list observers``), an observer (returned as it is), a
        ``torch.nn.Module`` or function of one batch of pictures (an encoder), or of two (a
        comparer).
    name
        What results call it; the class or function name if None.
    wants
        What it wants to be shown; sRGB in 0..1 of any size if None.
    mean, std
        Normalisation of an encoder's input, per channel.
    read
        Takes what a module returns and gives the features, for those that return more than a
        tensor.
    higher_is_better, best
        Of a comparer: whether a higher score means more alike, and the score of a picture compared
        with itself (asked once if None).
    classes
        Names of the classes to which a module gives scores, [n, classes]: it recognises as well.
    version
        Your word that answers stay the same while it does; without it they are not reused by a
        later process.

    Examples
    --------
    >>> observe(lambda pictures: pictures.mean(dim=(2, 3)), name="mean-colour").layers
    ('output',)
    """
    mend_torchvision()  # before any code of yours runs
    if isinstance(thing, str):
        from fechner.observers.names import resolve  # which itself makes observers here

        given = (name, wants, mean, std, read, higher_is_better, best, classes, version)
        if given != (None, None, 0.0, 1.0, None, False, None, None, None):
            raise ObserverError(
                f"'{thing}' is a name; its settings follow it, as in {thing}@normalise=none, and "
                "nothing else can be set."
            )
        return resolve(thing, device=device)
    if abilities(thing):
        found: Observer = thing
        return found
    name = str(name or getattr(thing, "__name__", type(thing).__name__))
    fingerprint = f"{name}/{version}" if version else None
    normalise = Normalisation(mean, std)
    if classes is not None and not (_is_module(thing) and _required_arguments(thing.forward) == 1):
        raise ObserverError(
            f"'{name}' is no torch module of one batch of pictures; classes are for those that "
            "give scores to each."
        )
    if _is_module(thing) and _required_arguments(thing.forward) == 2:
        thing = thing.to(check_device(device)).eval()
        if fingerprint is not None:
            fingerprint += f"/{hash_weights(thing)}"
    elif _is_module(thing):
        place = check_device(device)
        return _module(thing, name, wants, normalise, read, classes, fingerprint, place)
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
        if normalise != NONE or read is not None:
            raise ObserverError(
                f"'{name}' compares two batches; mean, std and read are for encoders, so do that "
                "inside the function."
            )
        return FunctionComparer(
            thing,
            name=name,
            wants=wants,
            higher_is_better=higher_is_better,
            best=best,
            fingerprint=fingerprint,
        )
    function = thing if read is None else lambda pictures: read(thing(pictures))
    return FunctionEncoder(
        function, name=name, wants=wants, normalise=normalise, fingerprint=fingerprint
    )


def _module(
    module: nn.Module,
    name: str,
    wants: Wants | None,
    normalise: Normalisation,
    read: Callable[[Any], Any] | None,
    classes: Sequence[str] | None,
    fingerprint: str | None,
    device: str,
) -> Observer:
    """Make an observer of a user's module, in its own precision."""
    import torch

    module = module.to(device).eval()
    if wants is None:
        first = next((p.dtype for p in module.parameters() if p.is_floating_point()), None)
        double = first == torch.float64
        wants = Wants(dtype="float64" if double else "float32")
    if fingerprint is not None:
        fingerprint += f"/{hash_weights(module)} {wants} {normalise}"
    call = None if read is None else lambda pictures: read(module(pictures))
    network = Network(module, call, size_px=wants.size_px, normalise=normalise)
    if classes is None:
        return NetworkEncoder(network, name=name, wants=wants, fingerprint=fingerprint)
    if fingerprint is not None:
        fingerprint += f" {tuple(classes)}"
    network = replace(network, classify=call or module, classes=tuple(classes))
    return NetworkClassifier(network, name=name, wants=wants, fingerprint=fingerprint)


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
    file_hash = hash_file(path)
    observer = observe(thing, name=spec, version=file_hash, device=device)
    if observer is thing:
        _claim(observer, spec, file_hash)
    return observer


def _claim(observer: Any, spec: str, file_hash: str) -> None:
    """Name an observer that was made in a file after it; it depends on the file, too."""
    own = observer.fingerprint
    if isinstance(observer, NetworkEncoder | FunctionEncoder | FunctionComparer):
        observer.name = spec
        own = own or observer.settings
        if isinstance(observer, NetworkEncoder):
            own += hash_weights(observer.module)
    if own is not None:
        observer.fingerprint = f"{own}/{file_hash}"


def _attribute(path: Path, attribute: str, spec: str) -> Any:
    module_spec = importlib.util.spec_from_file_location(f"fechner_user_{path.stem}", path)
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    folder = str(path.parent.resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as `python file.py` does: it may import its neighbours
    sys.modules[module_spec.name] = module  # dataclasses look their module up
    mend_torchvision()
    try:
        module_spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[module_spec.name]
        raise ObserverError(
            f"observer '{spec}': {path.name} could not be loaded: {type(error).__name__}: {error}."
        ) from error
    if not hasattr(module, attribute):
        own = [
            name
            for name, thing in vars(module).items()
            if getattr(thing, "__module__", None) == module.__name__ and not name.startswith("_")
        ]
        there = f"{path.name} has {', '.join(own)}" if own else f"{path.name} defines nothing"
        raise UnknownNameError("observer", spec, [f"{path}:{name}" for name in own], there)
    return getattr(module, attribute)


def _is_module(thing: Any) -> bool:
    import torch

    return isinstance(thing, torch.nn.Module)


def _is_function(thing: Any) -> bool:
    return callable(thing) and not _is_module(thing) and not abilities(thing)


def _required_arguments(function: Callable[..., Any]) -> int:
    function = getattr(function, "forward", function)  # a module takes anything, its own takes two
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(
        parameter.kind in positional and parameter.default is parameter.empty
        for parameter in parameters
    )
