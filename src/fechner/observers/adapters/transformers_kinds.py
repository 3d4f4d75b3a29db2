"""How the models of transformers see: what they are shown, and what is their natural read-out.

A new kind of model is one line in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor

#: Makes what a model is called with of pictures, its configuration and whether it is masked.
Inputs: TypeAlias = "Callable[[Tensor, Any, bool], dict[str, Any]]"

#: The share of patches that masked autoencoders do not see, in training and if asked for.
MASKED_SHARE = 0.75

#: Seed of the mask, as Cai et al. (2025) have it.
MASK_SEED = 8


def _pictures(pixels: Tensor, config: Any, masked: bool) -> dict[str, Any]:
    return {"pixel_values": pixels}


def _pictures_in_order(pixels: Tensor, config: Any, masked: bool) -> dict[str, Any]:
    """Return pictures and what their patches are sorted by, the same for every picture."""
    import torch

    height, width = pixels.shape[2:]
    patches = (height // config.patch_size) * (width // config.patch_size)
    order = torch.arange(patches, dtype=torch.float32)
    if masked:
        order = torch.rand(patches, generator=torch.Generator().manual_seed(MASK_SEED))
    return {"pixel_values": pixels, "noise": order.to(pixels.device).expand(len(pixels), -1)}


def _patches(pixels: Tensor, config: Any, masked: bool) -> dict[str, Any]:
    """Cut pictures into patches, as the processor of NaFlex models does."""
    import torch

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
READOUTS: Mapping[str, Callable[[Any, Any], Any]] = {
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
class Kind:
    """How models of one type see.

    Parameters
    ----------
    readout
        The natural read-out.
    through
        Name of the method or the part that is shown pictures; the model itself if empty.
    unused
        Names of the parts that have nothing to do with seeing.
    spare, without
        Name of a part that some repositories lack, and how their models see.
    inputs
        What it is called with.
    masks
        Whether it hides patches from itself.
    loader
        The class that loads it.
    reads
        How labels are padded for its second tower, for words: to the ``longest`` of them, or to
        ``max_length`` where it was trained so; empty if it has none.
    """

    readout: str
    through: str = ""
    unused: tuple[str, ...] = ()
    spare: str = ""
    without: Kind | None = None
    inputs: Inputs = _pictures
    masks: bool = False
    loader: str = "AutoModel"
    reads: Literal["", "longest", "max_length"] = ""


_CLASS_TOKEN = Kind("class token", unused=("pooler",))
_POOLED = Kind("pooler_output")
_READING = ("text_model", "text_projection", "logit_scale", "logit_bias")
_TWO_TOWERS = Kind("image features", "get_image_features", unused=_READING, reads="longest")
_SIGLIP = replace(_TWO_TOWERS, reads="max_length")
_PROMPTS = ("prompt_encoder", "mask_decoder", "shared_image_embedding")
_SAM = Kind("image embedding of SAM", through="get_image_embeddings", unused=_PROMPTS)
_SAM_2 = Kind("image embedding of SAM-2", "vision_encoder", _PROMPTS, loader="Sam2Model")

#: By the model_type of config.json.
KINDS: Mapping[str, Kind] = {
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
    "vit_mae": Kind("last_hidden_state", inputs=_pictures_in_order, masks=True),
    "clip": _TWO_TOWERS,
    "metaclip_2": _TWO_TOWERS,
    "clip_vision_model": Kind(
        "image_embeds",
        spare="visual_projection",
        without=Kind("pooler_output", through="vision_model"),
        loader="CLIPVisionModelWithProjection",
    ),
    "siglip": _SIGLIP,
    "siglip2": replace(_SIGLIP, inputs=_patches),
    "siglip2_vision_model": Kind("pooler_output", inputs=_patches),
    "sam": _SAM,
    "sam2": _SAM_2,
    # The repositories of SAM-2 hold the video model; its image model is part of it.
    "sam2_video": _SAM_2,
}

#: All others: the outermost part that takes pictures, and what it calls pooled, if it does.
OTHER = Kind("pooler_output", spare="pooler", without=Kind("last_hidden_state"))
