"""Your own model as an observer: a torch module, a function, or a factory in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import ObserverError, described
from fechner.observers.abilities import Observer, Wants, abilities
from fechner.observers.devices import check_device
from fechner.observers.function_observers import FunctionComparer, FunctionEncoder
from fechner.observers.inputs import KNOWN, NONE, Normalisation, PerChannel, Signature, grey
from fechner.observers.network import (
    Network,
    NetworkClassifier,
    NetworkEncoder,
    before_head,
    head_of,
)
from fechner.observers.torchvision_fix import mend_torchvision
from fechner.observers.weights import hash_file, hash_weights
from fechner.python_files import load_from_file, split_spec
from fechner.stimuli import Frames

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
        comparer). Further arguments called ppd, fps, peak_cdm2, black_cdm2 or display are filled
        in.
    name
        What results call it; the class or function name if None.
    wants
        What it wants to be shown, and how; sRGB in 0..1 of any size, [n, 3, h, w], if None.
    mean, std
        Normalisation of an encoder's input: one number, or one for each channel.
    read
        Takes what a module returns and gives the features, for those that return more than a
        tensor.
    higher_is_better, best
        Of a comparer: whether a higher score means more alike, and the score of a picture compared
        with itself (asked once if None).
    classes
        Names of the classes to which a module gives scores, [n, classes]: it recognises as well,
        and its features are what goes into the layer that makes these scores.
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
    if not callable(thing) or isinstance(thing, type):
        raise ObserverError(
            f"'{name}' is a {'class' if isinstance(thing, type) else type(thing).__name__}; an "
            "observer is a torch module, a function of pictures, or an object with one of the four "
            "abilities."
        )
    signature = Signature.of(thing)
    if signature.unknown:
        raise ObserverError(
            f"'{name}' needs an argument '{signature.unknown}' that fechner does not know: beside "
            f"one or two batches of pictures it fills in {', '.join(KNOWN)}; give "
            f"'{signature.unknown}' a default."
        )
    if classes is not None and not (_is_module(thing) and signature.pictures == 1):
        raise ObserverError(
            f"'{name}' is no torch module of one batch of pictures; classes are for those that "
            "give scores to each."
        )
    if _is_module(thing):
        thing = thing.to(check_device(device)).eval()
        if fingerprint is not None:
            fingerprint += f"/{hash_weights(thing)}"
        if signature.pictures != 2:
            known = signature.known
            return _module(thing, name, wants, normalise, read, classes, fingerprint, known)
    if signature.pictures == 2:
        if normalise != NONE or read is not None:
            raise ObserverError(
                f"'{name}' compares two batches; mean, std and read are for encoders, so do that "
                "inside the function."
            )
        make = partial(
            FunctionComparer,
            thing,
            name=name,
            higher_is_better=higher_is_better,
            best=best,
            known=signature.known,
            fingerprint=fingerprint,
        )
        metric = make(wants=wants)
        if _is_module(thing) and _takes_one_channel(
            thing, metric.wants, lambda grey: metric.scores(grey, grey)
        ):
            metric = make(wants=replace(metric.wants, channels=1), unsure=_SHOWN_LUMA)
        return metric
    _check_channels(normalise, wants or Wants(), name)
    return FunctionEncoder(
        thing if read is None else _reading(thing, read),
        name=name,
        wants=wants,
        normalise=normalise,
        known=signature.known,
        fingerprint=fingerprint,
    )


def _module(
    module: nn.Module,
    name: str,
    wants: Wants | None,
    normalise: Normalisation,
    read: Callable[[Any], Any] | None,
    classes: Sequence[str] | None,
    fingerprint: str | None,
    known: tuple[str, ...],
) -> Observer:
    """Make an observer of a user's module, in its own precision."""
    import torch

    if wants is None:
        first = next((p.dtype for p in module.parameters() if p.is_floating_point()), None)
        double = first == torch.float64
        wants = Wants(dtype="float64" if double else "float32")
    call = None if read is None else _reading(module, read)
    network = Network(module, call, size_px=wants.size_px, normalise=normalise, known=known)
    look = NetworkEncoder(replace(network, normalise=NONE), name=name, wants=wants).features
    if _takes_one_channel(module, wants, lambda grey: look(grey, {})):
        wants, network = replace(wants, channels=1), replace(network, unsure=_SHOWN_LUMA)
    _check_channels(normalise, wants, name)
    settings = [f"{wants} {normalise}"]
    kind = NetworkEncoder
    if classes is not None:
        kind = NetworkClassifier
        settings.append(f"{tuple(classes)}")
        network = replace(network, classify=call or module, classes=tuple(classes))
        head = _head(network, wants)
        said = _FEATURES.format(head) if head else _SCORES
        network = replace(network, unsure="; ".join(filter(None, (network.unsure, said))))
        if head:
            network = replace(network, call=before_head(module, head))
            settings.append(f"before {head}")
    fingerprint = fingerprint and " ".join([fingerprint, *settings])
    return kind(network, name=name, wants=wants, fingerprint=fingerprint)


def _head(network: Network, wants: Wants) -> str | None:
    """Return the part that makes the class scores, None if none is found."""
    import torch

    module = network.module
    assert module is not None
    # What may be wrong with it is told when it is looked over.
    with torch.no_grad(), suppress(Exception):
        picture = grey(wants, 1, next(module.parameters(), torch.empty(0)).device)
        encoder = NetworkEncoder(network, name="", wants=wants)
        return head_of(module, lambda: encoder.features(picture, {}), len(network.classes))
    return None


_FEATURES = "its features are what goes into '{}', which makes its class scores"
_SCORES = (
    "no last layer that makes its class scores was found, so its features are the scores "
    "themselves; --layers names others"
)


def _reading(model: Callable[..., Any], read: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda pictures, **known: read(model(pictures, **known))


def _check_channels(normalise: Normalisation, wants: Wants, name: str) -> None:
    for what, values in (("mean", normalise.mean), ("std", normalise.std)):
        if np.size(values) not in (1, wants.channels):
            raise ObserverError(
                f"'{name}' has {wants.channels} channel{'s' * (wants.channels > 1)}, so {what} is "
                f"one number or one for each, not {values}."
            )


_SHOWN_LUMA = (
    "its first convolution takes one channel, so it is shown luma and sees no colour; confirm this "
    "with wants=fechner.Wants(channels=1)"
)


def _takes_one_channel(module: nn.Module, wants: Wants, look: Callable[[Frames], object]) -> bool:
    """Whether pictures of three channels get as far as a first convolution that takes one."""
    import torch
    from torch import nn

    kinds = (nn.Conv2d, nn.Conv3d)
    first = next((part for part in module.modules() if isinstance(part, kinds)), None)
    if wants.channels == 1 or first is None or first.in_channels != 1:
        return False
    reached: list[int] = []

    def hook(part: nn.Module, arguments: Any) -> None:
        reached.append(arguments[0].shape[-1 - len(first.kernel_size)])

    handle = first.register_forward_pre_hook(hook)
    # What else may be wrong with it is told when it is looked over.
    with torch.no_grad(), suppress(Exception):
        look(grey(wants, 1, first.weight.device))
    handle.remove()
    return reached[:1] == [3]


#: What a name in a file stands for, and an example of one.
FACTORY = ("observer", "make")


def from_file(spec: str, device: str = "cpu") -> Observer:
    """Make an observer of ``path/to/file.py:name``.

    ``name`` is a factory without arguments, a module class, or the function itself (one argument:
    an encoder; two: a comparer). The file and any weights are hashed into the fingerprint.
    """
    path, _ = split_spec(spec, *FACTORY)
    mend_torchvision()
    thing = load_from_file(spec, *FACTORY)
    if isinstance(thing, type) or (_is_function(thing) and Signature.of(thing).pictures == 0):
        try:
            thing = thing()
        except Exception as error:
            raise ObserverError(
                f"observer '{spec}' could not be made: {described(error)}."
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


def _is_module(thing: Any) -> bool:
    import torch

    return isinstance(thing, torch.nn.Module)


def _is_function(thing: Any) -> bool:
    return callable(thing) and not _is_module(thing) and not abilities(thing)
