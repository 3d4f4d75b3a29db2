"""transformers: ``hf/REPOSITORY`` or ``hf/FOLDER`` (Wolf et al. 2020, vision encoders)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fechner.errors import ObserverError
from fechner.observers.adapters.transformers_answering import (
    answers_in_words,
    contrastive,
    generative,
)
from fechner.observers.adapters.transformers_files import (
    Repository,
    check_weights,
    configuration,
    empty_model,
    image_processor,
    repository,
    whole_model,
)
from fechner.observers.adapters.transformers_kinds import (
    KINDS,
    MASK_SEED,
    MASKED_SHARE,
    OTHER,
    READOUTS,
    Kind,
)
from fechner.observers.chat.generative import Decoding
from fechner.observers.network import Network
from fechner.observers.normalisation import NONE, Normalisation
from fechner.observers.questions import Reads
from fechner.observers.torchvision_fix import import_torchvision
from fechner.observers.weights import cause_of

if TYPE_CHECKING:
    from torch import Tensor

#: The arguments of models that read text as well.
_TEXT_ARGUMENTS = {"input_ids", "inputs_embeds"}


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
    place = repository(model, weights, trust_remote_code)
    config = configuration(place)
    if answers_in_words(config):
        settings = Decoding(max_tokens, temperature, seed)
        return Network(
            None,
            answering=partial(generative, place, config, size, settings),
            later=partial(_network, place, config, size, masked)
            if _sees_alone(place, config)
            else None,
        )
    return _network(place, config, size, masked)


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
    if answers_in_words(config):
        return "questions"
    return "labels" if KINDS.get(config.model_type, OTHER).reads else "nothing"


def _network(place: Repository, config: Any, size: int | None, masked: bool) -> Network:
    import transformers

    name = place.name
    known = config.model_type in KINDS
    kind = KINDS.get(config.model_type, OTHER)
    module, lacking = whole_model(place, config, kind.loader)
    if not known:
        path, module = _part_that_sees(name, module)
        lacking = [key.removeprefix(path) for key in lacking if key.startswith(path)]
    kind = _stripped(place, kind, module, lacking)
    if kind.masks:
        module.config.mask_ratio = MASKED_SHARE if masked else 0.0

    look = _Look(module, kind, masked)
    processor = image_processor(place)
    own_px = _configured_size(module.config)
    size_px = (size, size) if size is not None else _processed_size(processor) or own_px
    if size_px is not None and size_px != own_px and look.takes("interpolate_pos_encoding"):
        look.further["interpolate_pos_encoding"] = True
    look.reversed_channels = bool(processor.get("do_flip_channel_order"))
    if size_px != own_px or not known:
        look.try_out(name, size_px, own_px)
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
        answering=partial(contrastive, place, config, kind) if kind.reads else None,
    )


def _sees_alone(place: Repository, config: Any) -> bool:
    """Whether a part of a model takes pictures and no text."""
    try:
        _part_that_sees(place.name, empty_model(place, config))
    except ObserverError:
        return False
    return True


class _Look:
    """Shows pictures to a model and returns its natural read-out."""

    def __init__(self, module: Any, kind: Kind, masked: bool) -> None:
        self.module = module
        self.kind = kind
        self.readout = kind.readout
        self.masked = masked and kind.masks
        self.reversed_channels = False
        self.further: dict[str, Any] = {}

    def __call__(self, pixels: Tensor) -> Any:
        return READOUTS[self.readout](self.module, self._answer(pixels))

    def _answer(self, pixels: Tensor) -> Any:
        pixels = pixels.flip(1) if self.reversed_channels else pixels
        inputs = self.kind.inputs(pixels, self.module.config, self.masked)
        return self._shown()(**inputs, **self.further)

    def _shown(self) -> Any:
        return getattr(self.module, self.kind.through) if self.kind.through else self.module

    def takes(self, argument: str) -> bool:
        """Whether what is shown pictures has an argument."""
        return argument in _arguments(self._shown())

    def settings(self) -> list[str]:
        """Return what the answers depend on, beside the weights."""
        marks = {
            f"readout={self.readout}": True,
            f"masked={MASKED_SHARE} seed={MASK_SEED}": self.masked,
            "positions interpolated": bool(self.further),
            "channels reversed": self.reversed_channels,
        }
        return [mark for mark, holds in marks.items() if holds]

    def try_out(
        self, name: str, size_px: tuple[int, int] | None, own_px: tuple[int, int] | None
    ) -> None:
        """Show it one grey picture: whether it takes the size, and what an unknown kind returns."""
        import torch

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


def _stripped(place: Repository, kind: Kind, module: Any, lacking: list[str]) -> Kind:
    """Take away what does not see; what does must have its weights.

    Returns how the model sees, which depends on what the repository lacks.
    """
    if kind.without and lacking and all(_is_in(key, (kind.spare,)) for key in lacking):
        setattr(module, kind.spare, None)
        return kind.without
    check_weights(place, [key for key in lacking if not _is_in(key, kind.unused)], "sees")
    for part in kind.unused:
        if hasattr(module, part):
            setattr(module, part, None)
    return kind


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
