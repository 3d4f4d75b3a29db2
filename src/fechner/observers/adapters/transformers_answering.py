"""transformers: models that answer, by what they write or by the nearest label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fechner.observers.abilities import Dtype
from fechner.observers.adapters.transformers_files import (
    Repository,
    check_weights,
    preparation,
    whole_model,
)
from fechner.observers.adapters.transformers_kinds import Kind
from fechner.observers.chat.generative import Decoding, Generative
from fechner.observers.chat.processor import Processor, identity_of_tokenizer
from fechner.observers.decisions import Contrastive
from fechner.observers.network import NetworkEncoder
from fechner.observers.weights import hash_weights

if TYPE_CHECKING:
    from torch import Tensor

_WRITES = "AutoModelForImageTextToText"

#: Parts of a model with two towers that have nothing to do with reading.
_SEEING = ("vision_model", "visual_projection")


def answers_in_words(config: Any) -> bool:
    """Whether a model takes pictures and words and writes, by its configuration."""
    from transformers.models.auto import modeling_auto

    known = modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    return config.model_type in known or _WRITES in (getattr(config, "auto_map", None) or {})


def generative(
    place: Repository,
    config: Any,
    size: int | None,
    decoding: Decoding,
    *,
    name: str,
    device: str,
    dtype: Dtype,
    see: Callable[[], NetworkEncoder],
) -> Generative:
    """Make an observer of a model that writes; its weights are loaded when it is asked."""
    import transformers

    def load() -> Any:
        model, lacking = whole_model(place, config, _WRITES, dtype)
        check_weights(place, lacking, "writes")
        return model.to(device)

    processor = preparation(place, "AutoProcessor", "preprocessor_config.json")
    return Generative(
        load,
        Processor(place.name, processor, size),
        name=name,
        library=f"transformers {transformers.__version__}",
        decoding=decoding,
    )


def contrastive(
    place: Repository,
    config: Any,
    kind: Kind,
    *,
    name: str,
    device: str,
    dtype: Dtype,
    see: Callable[[], NetworkEncoder],
) -> Contrastive:
    """Make an observer of a model with two towers; the one for words is loaded here."""
    import torch

    model, lacking = whole_model(place, config)
    check_weights(place, [key for key in lacking if not key.startswith(_SEEING)], "reads")
    for part in _SEEING:
        if hasattr(model, part):
            setattr(model, part, None)
    scale = float(model.logit_scale.detach().exp())
    weights = hash_weights(model)
    model.to(device=device, dtype=getattr(torch, dtype))
    tokenizer = preparation(place, "AutoTokenizer", "tokenizer.json")
    words = {"padding": kind.reads, "max_length": config.text_config.max_position_embeddings}

    def read(labels: Sequence[str]) -> Tensor:
        tokens = tokenizer(list(labels), truncation=True, return_tensors="pt", **words)
        found = model.get_text_features(**tokens.to(device))
        # Up to transformers 4 the features themselves were returned.
        features: Tensor = getattr(found, "pooler_output", found)
        return features

    reading = f"weights={weights} tokenizer={identity_of_tokenizer(tokenizer)} {words}"
    return Contrastive(see(), read, scale=scale, reading=reading)
