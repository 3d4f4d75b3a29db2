"""transformers: ``hf/REPOSITORY`` or ``hf/FOLDER`` (Wolf et al. 2020, vision encoders)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias

from fechner.arrays import Tensor, torch
from fechner.errors import ObserverError
from fechner.observers.adapters.transformers_files import Repository
from fechner.observers.chat.contrastive import Contrastive
from fechner.observers.chat.generative import Decoding, Generative
from fechner.observers.chat.processor import Processor, identity_of_tokenizer
from fechner.observers.inputs import NONE, Normalisation
from fechner.observers.network import LoadOptions, Network
from fechner.observers.questions import Reads
from fechner.observers.torchvision_fix import import_torchvision
from fechner.observers.weights import cause_of

#: The arguments of models that read text as well.
_TEXT_ARGUMENTS = {"input_ids", "inputs_embeds"}

#: What loads models that write.
_WRITER = "AutoModelForImageTextToText"

#: Parts of a model with two towers that have nothing to do with reading.
_SEEING = ("vision_model", "visual_projection")


def load(
    model: str,
    *,
    weights: str | None = None,
    size: int | None = None,
    masked: bool = False,
    max_tokens: int = 16,
    temperature: float = 0.0,
    seed: int = 0,
    trust_remote_code: bool = False,
) -> Network:
    """Load the vision encoder of a repository or a folder, or of it with the weights of a file.

    Models that read as well also answer: those with two towers by the nearest label, those that
    write by what they write. What that takes is loaded once they are asked.

    The natural read-out is what the model is known for: the class token after the last norm (ViT,
    DINO), the projected embedding (CLIP, SigLIP), the image embedding (SAM), all tokens (MAE), the
    pooled features.

    Parameters
    ----------
    size
        Side of the square pictures it is shown; its own if None.
    masked
        Let masked autoencoders see a fixed quarter of the patches only, as in training; of no
        consequence to others.
    max_tokens, temperature, seed
        How models that write do so: at most so many tokens, always the most probable one at
        temperature 0, others drawn from the seed; of no consequence to others.
    """
    import_torchvision()
    place = Repository(model, weights, trust_remote_code)
    if not _writes(place.config):
        return _network(place, size, masked)
    later = partial(_network, place, size, masked) if _sees_alone(place) else None
    settings = Decoding(max_tokens, temperature, seed)
    return Network(None, answering=partial(_generative, place, size, settings), later=later)


def reads(model: str) -> Reads | None:
    """Return what a model makes of words, by its configuration; None if that is not at hand."""
    import json
    from pathlib import Path

    from huggingface_hub import try_to_load_from_cache

    try:
        path = Path(model) / "config.json"
        found = path if path.is_file() else try_to_load_from_cache(model, "config.json")
        config = SimpleNamespace(**json.loads(Path(found or "").read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    if _writes(config):
        return "questions"
    return "labels" if _KINDS.get(config.model_type, _OTHER).reads else "nothing"


def _writes(config: Any) -> bool:
    """Whether a model takes pictures and words and writes, by its configuration."""
    from transformers.models.auto import modeling_auto

    known = modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    return config.model_type in known or _WRITER in (getattr(config, "auto_map", None) or {})


def _network(place: Repository, size: int | None, masked: bool) -> Network:
    """Load the part of a model that sees."""
    import transformers

    known = place.config.model_type in _KINDS
    kind = _KINDS.get(place.config.model_type, _OTHER)
    module, lacking = place.load(kind.loader)
    if not known:
        path, module = _part_that_sees(place.name, module)
        lacking = [key.removeprefix(path) for key in lacking if key.startswith(path)]
    kind = _stripped(place, kind, module, lacking)
    if kind.masks:
        module.config.mask_ratio = _MASKED_SHARE if masked else 0.0

    look = _Look(module, kind, masked)
    processor = place.image_processor()
    own_px = _configured_size(module.config)
    size_px = (size, size) if size is not None else _processed_size(processor) or own_px
    if size_px is not None and size_px != own_px and look.takes("interpolate_pos_encoding"):
        look.further["interpolate_pos_encoding"] = True
    look.reversed_channels = bool(processor.get("do_flip_channel_order"))
    if size_px != own_px or not known:
        look.try_out(place.name, size_px, own_px)
    return Network(
        module,
        look,
        size_px=size_px,
        normalise=_normalisation(processor),
        library=f"transformers {transformers.__version__}",
        settings="; ".join(look.settings() + ([] if processor else ["no preprocessor file"])),
        unsure=""
        if processor
        else "it has no preprocessor file to say how pictures are normalised, so they are not "
        "(@normalise=...)",
        answering=partial(_contrastive, place, kind) if kind.reads else None,
    )


def _sees_alone(place: Repository) -> bool:
    """Whether a part of a model takes pictures and no text."""
    try:
        _part_that_sees(place.name, place.empty_model())
    except ObserverError:
        return False
    return True


class _Look:
    """Shows pictures to a model and returns its natural read-out."""

    def __init__(self, module: Any, kind: _Kind, masked: bool) -> None:
        self.module = module
        self.kind = kind
        self.readout = kind.readout
        self.masked = masked and kind.masks
        self.reversed_channels = False
        self.further: dict[str, Any] = {}

    def __call__(self, pixels: Tensor) -> Any:
        return _READOUTS[self.readout](self.module, self._answer(pixels))

    def _answer(self, pixels: Tensor) -> Any:
        pixels = pixels.flip(1) if self.reversed_channels else pixels
        inputs = self.kind.inputs(pixels, self.module.config, self.masked)
        return self._shown(**inputs, **self.further)

    @property
    def _shown(self) -> Any:
        return getattr(self.module, self.kind.through) if self.kind.through else self.module

    def takes(self, argument: str) -> bool:
        """Whether what is shown pictures has an argument."""
        return argument in _arguments(self._shown)

    def settings(self) -> list[str]:
        """Return what the answers depend on, beside the weights."""
        marks = {
            f"readout={self.readout}": True,
            f"masked={_MASKED_SHARE} seed={_MASK_SEED}": self.masked,
            "positions interpolated": bool(self.further),
            "channels reversed": self.reversed_channels,
        }
        return [mark for mark, holds in marks.items() if holds]

    def try_out(
        self, name: str, size_px: tuple[int, int] | None, own_px: tuple[int, int] | None
    ) -> None:
        """Show it one grey picture: whether it takes the size, and what an unknown kind returns."""
        height, width = size_px or (224, 224)
        try:
            with torch.no_grad():
                answer = self._answer(torch.zeros(1, 3, height, width))
        except Exception as error:
            only = f"; its own size is {own_px[0]} x {own_px[1]} px" if own_px else ""
            raise ObserverError(
                f"'{name}' cannot be shown pictures of {height} x {width} px "
                f"({cause_of(error)}){only}."
            ) from error
        if self.readout == "pooler_output" and getattr(answer, "pooler_output", None) is None:
            self.readout = "last_hidden_state"
        if self.readout == "last_hidden_state" and not hasattr(answer, "last_hidden_state"):
            raise ObserverError(
                f"'{name}' returns {', '.join(answer)}, no features; name a vision encoder."
            )


def _stripped(place: Repository, kind: _Kind, module: Any, lacking: list[str]) -> _Kind:
    """Take away what does not see; what does must have its weights.

    Returns how the model sees, which depends on what the repository lacks.
    """
    if kind.without and lacking and all(_is_in(key, (kind.spare,)) for key in lacking):
        setattr(module, kind.spare, None)
        return kind.without
    place.check([key for key in lacking if not _is_in(key, kind.unused)], "sees")
    _remove(module, kind.unused)
    return kind


def _remove(module: Any, parts: tuple[str, ...]) -> None:
    for part in parts:
        if hasattr(module, part):
            setattr(module, part, None)


def _is_in(key: str, parts: tuple[str, ...]) -> bool:
    return any(key == part or key.startswith(f"{part}.") for part in parts)


def _arguments(function: Any) -> set[str]:
    return set(inspect.signature(getattr(function, "forward", function)).parameters)


def _part_that_sees(name: str, model: Any) -> tuple[str, Any]:
    """Return the outermost part that takes pictures and no text, and how its weights begin."""
    from transformers import PreTrainedModel

    outside_in = sorted(model.named_modules(), key=lambda item: len(f".{item[0]}".split(".")))
    for path, part in outside_in:
        arguments = _arguments(part) if isinstance(part, PreTrainedModel) else set()
        if "pixel_values" in arguments and not arguments & _TEXT_ARGUMENTS:
            return f"{path}." if path else "", part
    raise ObserverError(
        f"'{name}' is a {type(model).__name__}, which has no part that takes pictures alone; name "
        "a vision encoder."
    )


def _normalisation(processor: Mapping[str, Any]) -> Normalisation:
    mean, std = processor.get("image_mean"), processor.get("image_std")
    if not processor.get("do_normalize") or mean is None or std is None:
        return NONE
    return Normalisation(*(v if isinstance(v, int | float) else tuple(v) for v in (mean, std)))


def _processed_size(processor: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return height and width of what a square picture becomes."""
    if processor.get("max_num_patches") and processor.get("patch_size"):
        side = math.isqrt(processor["max_num_patches"]) * processor["patch_size"]
        return side, side
    for key, switch in (("crop_size", "do_center_crop"), ("pad_size", "do_pad"), ("size", "")):
        found = processor.get(key)
        if found and (not switch or processor.get(switch)):
            return _height_and_width(found)
    return None


def _height_and_width(size: Any) -> tuple[int, int] | None:
    """Return a size of any form as height and width.

    Examples
    --------
    >>> _height_and_width({"shortest_edge": 224}), _height_and_width(96), _height_and_width([3, 4])
    ((224, 224), (96, 96), (3, 4))
    """
    if isinstance(size, int):
        return size, size
    if isinstance(size, Mapping):
        for keys in (("height", "width"), ("shortest_edge",) * 2, ("longest_edge",) * 2):
            if all(size.get(key) for key in keys):
                return size[keys[0]], size[keys[1]]
        return None
    return (size[0], size[1]) if isinstance(size, list | tuple) and len(size) == 2 else None


def _configured_size(config: Any) -> tuple[int, int] | None:
    """Return the size that a model's positions were made for, wherever its configuration has it."""
    while config is not None:
        found = _height_and_width(getattr(config, "image_size", None))
        if found is not None:
            return found
        inner = (getattr(config, key, None) for key in ("vision_config", "backbone_config"))
        config = next((each for each in inner if each is not None), None)
    return None


def _generative(
    place: Repository, size: int | None, decoding: Decoding, options: LoadOptions
) -> Generative:
    """Make an observer of a model that writes; its weights are loaded when it is asked."""
    import transformers

    def load() -> Any:
        model, lacking = place.load(_WRITER, options.dtype)
        place.check(lacking, "writes")
        return model.to(options.device)

    processor = place.processor("AutoProcessor", "preprocessor_config.json")
    return Generative(
        load,
        Processor(place.name, processor, size),
        name=options.name,
        library=f"transformers {transformers.__version__}",
        decoding=decoding,
    )


def _contrastive(place: Repository, kind: _Kind, options: LoadOptions) -> Contrastive:
    """Make an observer of a model with two towers; the one for words is loaded here."""
    model, lacking = place.load()
    place.check([key for key in lacking if not key.startswith(_SEEING)], "reads")
    _remove(model, _SEEING)
    tokenizer = place.processor("AutoTokenizer", "tokenizer.json")
    longest = place.config.text_config.max_position_embeddings
    words = {"padding": kind.reads, "max_length": longest}

    def read(labels: Sequence[str]) -> Tensor:
        tokens = tokenizer(list(labels), truncation=True, return_tensors="pt", **words)
        found = model.get_text_features(**tokens.to(options.device))
        # Up to transformers 4 the features themselves were returned.
        features: Tensor = getattr(found, "pooler_output", found)
        return features

    depends = f"tokenizer={identity_of_tokenizer(tokenizer)} {words}"
    return Contrastive.of_tower(model, read, depends, options)


#: Makes what a model is called with of pictures, its configuration and whether it is masked.
_Inputs: TypeAlias = "Callable[[Tensor, Any, bool], dict[str, Any]]"

#: The share of patches that masked autoencoders do not see, in training and if asked for.
_MASKED_SHARE = 0.75

#: Seed of the mask, as Cai et al. (2025) have it.
_MASK_SEED = 8


def _pictures(pixels: Tensor, config: Any, masked: bool) -> dict[str, Any]:
    return {"pixel_values": pixels}


def _pictures_in_order(pixels: Tensor, config: Any, masked: bool) -> dict[str, Any]:
    """Return pictures and what their patches are sorted by, the same for every picture."""
    height, width = pixels.shape[2:]
    patches = (height // config.patch_size) * (width // config.patch_size)
    order = torch.arange(patches, dtype=torch.float32)
    if masked:
        order = torch.rand(patches, generator=torch.Generator().manual_seed(_MASK_SEED))
    return {"pixel_values": pixels, "noise": order.to(pixels.device).expand(len(pixels), -1)}


def _patches(pixels: Tensor, config: Any, masked: bool) -> dict[str, Any]:
    """Cut pictures into patches, as the processor of NaFlex models does."""
    side = getattr(config, "vision_config", config).patch_size
    n, channels, height, width = pixels.shape
    rows, columns = height // side, width // side
    cut = pixels.reshape(n, channels, rows, side, columns, side).permute(0, 2, 4, 3, 5, 1)
    return {
        "pixel_values": cut.reshape(n, rows * columns, -1),
        "pixel_attention_mask": torch.ones(n, rows * columns, dtype=torch.int32).to(pixels.device),
        "spatial_shapes": torch.tensor([[rows, columns]] * n),
    }


def _image_embedding(model: Any, answer: Any) -> Any:
    """Return what the mask decoder takes: the coarsest map, marked as having no past."""
    return answer.fpn_hidden_states[-1] + model.no_memory_embedding.reshape(1, -1, 1, 1)


#: Natural read-outs: what is taken of a model's answer.
_READOUTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "class token": lambda model, answer: answer.last_hidden_state[:, 0],
    "pooler_output": lambda model, answer: answer.pooler_output,
    "last_hidden_state": lambda model, answer: answer.last_hidden_state,
    "image_embeds": lambda model, answer: answer.image_embeds,
    # Up to transformers 4 the features themselves were returned.
    "image features": lambda model, answer: getattr(answer, "pooler_output", answer),
    "image embedding of SAM": lambda model, answer: answer,
    "image embedding of SAM-2": _image_embedding,
}


@dataclass(frozen=True)
class _Kind:
    """How models of one type see, and their natural read-out.

    Parameters
    ----------
    through
        Name of the method or the part that is shown pictures; the model itself if empty.
    unused
        Names of the parts that have nothing to do with seeing.
    spare, without
        Name of a part that some repositories lack, and how their models see.
    masks
        Whether it hides patches from itself.
    reads
        How labels are padded for its second tower, for words: to the ``longest`` of them, or to
        ``max_length`` where it was trained so; empty if it has none.
    """

    readout: str
    through: str = ""
    unused: tuple[str, ...] = ()
    spare: str = ""
    without: _Kind | None = None
    inputs: _Inputs = _pictures
    masks: bool = False
    loader: str = "AutoModel"
    reads: Literal["", "longest", "max_length"] = ""


_CLASS_TOKEN = _Kind("class token", unused=("pooler",))
_POOLED = _Kind("pooler_output")
_READING = ("text_model", "text_projection", "logit_scale", "logit_bias")
_TWO_TOWERS = _Kind("image features", "get_image_features", unused=_READING, reads="longest")
_SIGLIP = replace(_TWO_TOWERS, reads="max_length")
_PROMPTS = ("prompt_encoder", "mask_decoder", "shared_image_embedding")
_SAM = _Kind("image embedding of SAM", through="get_image_embeddings", unused=_PROMPTS)
_SAM_2 = _Kind("image embedding of SAM-2", "vision_encoder", _PROMPTS, loader="Sam2Model")

#: By the model_type of config.json.
_KINDS: Mapping[str, _Kind] = {
    "vit": _CLASS_TOKEN,
    "deit": _CLASS_TOKEN,
    "dinov2": _CLASS_TOKEN,
    "dinov2_with_registers": _CLASS_TOKEN,
    "dinov3_vit": _CLASS_TOKEN,
    "dinov3_convnext": _POOLED,
    "convnext": _POOLED,
    "convnextv2": _POOLED,
    "swin": _POOLED,
    "swinv2": _POOLED,
    "vit_mae": _Kind("last_hidden_state", inputs=_pictures_in_order, masks=True),
    "clip": _TWO_TOWERS,
    "metaclip_2": _TWO_TOWERS,
    "clip_vision_model": _Kind(
        "image_embeds",
        spare="visual_projection",
        without=_Kind("pooler_output", through="vision_model"),
        loader="CLIPVisionModelWithProjection",
    ),
    "siglip": _SIGLIP,
    "siglip2": replace(_SIGLIP, inputs=_patches),
    "siglip2_vision_model": _Kind("pooler_output", inputs=_patches),
    "sam": _SAM,
    "sam2": _SAM_2,
    # The repositories of SAM-2 hold the video model; its image model is part of it.
    "sam2_video": _SAM_2,
}

#: All others: the outermost part that takes pictures, and what it calls pooled, if it does.
_OTHER = _Kind("pooler_output", spare="pooler", without=_Kind("last_hidden_state"))
