"""Your own model as an observer: a torch module, a function, or a factory in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from fechner.arrays import torch
from fechner.errors import ObserverError, described
from fechner.observers.abilities import Observer, Wants, abilities
from fechner.observers.devices import check_device
from fechner.observers.function_observers import (
    FunctionComparer,
    FunctionEncoder,
    FunctionObserver,
)
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

#: What a name in a file stands for, and an example of one.
FACTORY = ("observer", "make")

_SHOWN_LUMA = (
    "its first convolution takes one channel, so it is shown luma and sees no colour; confirm this "
    "with wants=fechner.Wants(channels=1)"
)


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
                f"'{thing}' is a name, whose settings follow it, as in {thing}@normalise=none."
            )
        return resolve(thing, device=device)
    if abilities(thing):
        found: Observer = thing
        return found
    name = str(name or getattr(thing, "__name__", type(thing).__name__))
    if not callable(thing) or isinstance(thing, type):
        raise ObserverError(
            f"'{name}' is a {'class' if isinstance(thing, type) else type(thing).__name__}; an "
            "observer is a torch module, a function of pictures, or an object with one of the four "
            "abilities."
        )
    is_module, signature = isinstance(thing, torch.nn.Module), Signature.of(thing)
    compares = signature.pictures == 2
    normalise = Normalisation(mean, std)
    problem = ""
    if unknown := signature.unknown:
        problem = (
            f"needs an argument '{unknown}' that fechner does not know: beside one or two batches "
            f"of pictures it fills in {', '.join(KNOWN)}; give '{unknown}' a default"
        )
    elif classes is not None and not (is_module and signature.pictures == 1):
        problem = "is no torch module of one batch of pictures; classes are for those"
    elif compares and (normalise != NONE or read is not None):
        problem = "compares two batches; mean, std and read are for encoders: do that inside it"
    if problem:
        raise ObserverError(f"'{name}' {problem}.")
    fingerprint = f"{name}/{version}" if version else None
    if is_module:
        thing = thing.to(check_device(device)).eval()
        fingerprint = fingerprint and f"{fingerprint}/{hash_weights(thing)}"
    function = thing if read is None else lambda *given, **known: read(thing(*given, **known))
    options: dict[str, Any] = {
        "name": name,
        "wants": wants,
        "known": signature.known,
        "fingerprint": fingerprint,
    }
    if compares:
        options |= {"higher_is_better": higher_is_better, "best": best}
        metric = FunctionComparer(function, **options)
        if not is_module or not _takes_one_channel(
            thing, metric.wants, lambda picture: metric.scores(picture, picture)
        ):
            return metric
        options["wants"] = replace(metric.wants, channels=1)
        return FunctionComparer(function, **options, unsure=_SHOWN_LUMA)
    if is_module:
        call = None if read is None else function
        network = Network(thing, call, normalise=normalise, known=signature.known)
        return _module(network, name, wants, classes, fingerprint)
    _check_channels(normalise, wants or Wants(), name)
    return FunctionEncoder(function, normalise=normalise, **options)


def _module(
    network: Network,
    name: str,
    wants: Wants | None,
    classes: Sequence[str] | None,
    fingerprint: str | None,
) -> Observer:
    """Make an observer of a user's module, in its own precision."""
    module, normalise = network.module, network.normalise
    assert module is not None
    if wants is None:
        first = next((p.dtype for p in module.parameters() if p.is_floating_point()), None)
        wants = Wants(dtype="float64" if first == torch.float64 else "float32")
    guesses = []
    plain = NetworkEncoder(replace(network, normalise=NONE), name=name, wants=wants)
    if _takes_one_channel(module, wants, lambda picture: plain.features(picture, {})):
        wants = replace(wants, channels=1)
        guesses.append(_SHOWN_LUMA)
    _check_channels(normalise, wants, name)
    settings = [f"{wants} {normalise}"]
    if classes is not None:
        settings.append(f"{tuple(classes)}")
        network = replace(network, classify=network.call or module, classes=tuple(classes))
        encoder = NetworkEncoder(network, name=name, wants=wants)
        picture = grey(wants, 1, next(module.parameters(), torch.empty(0)).device)
        head = None
        # What may be wrong with it is told when it is looked over.
        with torch.no_grad(), suppress(Exception):
            head = head_of(module, lambda: encoder.features(picture, {}), len(classes))
        if head:
            network = replace(network, call=before_head(module, head))
            settings.append(f"before {head}")
            guesses.append(
                f"its features are what goes into '{head}', which makes its class scores"
            )
        else:
            guesses.append(
                "no last layer that makes its class scores was found, so its features are the "
                "scores themselves; --layers names others"
            )
    network = replace(network, size_px=wants.size_px, unsure="; ".join(guesses))
    kind = NetworkEncoder if classes is None else NetworkClassifier
    fingerprint = fingerprint and " ".join([fingerprint, *settings])
    return kind(network, name=name, wants=wants, fingerprint=fingerprint)


def _check_channels(normalise: Normalisation, wants: Wants, name: str) -> None:
    for what, values in (("mean", normalise.mean), ("std", normalise.std)):
        if np.size(values) not in (1, wants.channels):
            allowed = f"one number or {wants.channels}"
            raise ObserverError(f"{what} of '{name}' is {allowed}, not {values}.")


def _takes_one_channel(
    module: torch.nn.Module, wants: Wants, look: Callable[[Frames], object]
) -> bool:
    """Whether pictures of three channels get as far as a first convolution that takes one."""
    kinds = (torch.nn.Conv2d, torch.nn.Conv3d)
    first = next((part for part in module.modules() if isinstance(part, kinds)), None)
    if wants.channels == 1 or first is None or first.in_channels != 1:
        return False
    reached: list[int] = []

    def hook(part: torch.nn.Module, arguments: Any) -> None:
        reached.append(arguments[0].shape[-1 - len(first.kernel_size)])

    # What else may be wrong with it is told when it is looked over.
    with first.register_forward_pre_hook(hook), torch.no_grad(), suppress(Exception):
        look(grey(wants, 1, first.weight.device))
    return reached[:1] == [3]


def from_file(spec: str, device: str = "cpu") -> Observer:
    """Make an observer of ``path/to/file.py:name``.

    ``name`` is a factory without arguments, a module class, or the function itself (one argument:
    an encoder; two: a comparer). The file and any weights are hashed into the fingerprint.
    """
    path, _ = split_spec(spec, *FACTORY)
    mend_torchvision()
    thing = load_from_file(spec, *FACTORY)
    is_function = (
        callable(thing) and not isinstance(thing, torch.nn.Module) and not abilities(thing)
    )
    if isinstance(thing, type) or (is_function and Signature.of(thing).pictures == 0):
        try:
            thing = thing()
        except Exception as error:
            why = described(error)
            raise ObserverError(f"observer '{spec}' could not be made: {why}.") from error
    file_hash = hash_file(path)
    found = observe(thing, name=spec, version=file_hash, device=device)
    if found is thing:  # made in the file: it is named after that, and depends on it, too
        observer: Any = found
        own = observer.fingerprint
        if isinstance(observer, FunctionObserver):
            observer.name = spec
            own = own or observer.settings
            if isinstance(observer, NetworkEncoder):
                own += hash_weights(observer.module)
        if own is not None:
            observer.fingerprint = f"{own}/{file_hash}"
    return found
