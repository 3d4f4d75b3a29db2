"""Tiny models with random weights that read: written to folders, deterministic, nothing fetched."""

from pathlib import Path
from typing import Any

import torch
import transformers
from observers.chat.tiny import CHAT_TEMPLATE, tiny_llava
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
}
TEXT_LENGTH = 24
MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.25, 0.3)
QWEN_MARKS = ("<|vision_start|>", "<|image_pad|>", "<|vision_end|>", "<|video_pad|>")


def shaken(model: Any, seed: int = 0, by: float = 0.1) -> Any:
    """Move all weights a little: zeros and ones would hide mistakes."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.data += by * torch.randn(parameter.shape, generator=generator)
    return model.eval()


def soft_llava(folder: Path, seed: int = 0, chat_template: str = CHAT_TEMPLATE) -> Path:
    """The tiny LLaVA, less sure of itself, so that probabilities are neither 0 nor 1."""
    tiny_llava(folder, seed)
    processor = transformers.AutoProcessor.from_pretrained(folder)
    model = transformers.AutoModelForImageTextToText.from_pretrained(folder)
    words = processor.tokenizer.convert_tokens_to_ids(["yes", "no"])
    with torch.no_grad():
        model.lm_head.weight[words] /= 25
    model.save_pretrained(folder)
    processor.chat_template = chat_template
    processor.save_pretrained(folder)
    return folder


def tiny_qwen(folder: Path) -> Path:
    """A Qwen2.5-VL: pictures of any multiple of 28 px, and no part that sees by itself."""
    tokenizer = byte_tokenizer(*QWEN_MARKS)
    start, picture, end, video = tokenizer.convert_tokens_to_ids(list(QWEN_MARKS))
    torch.manual_seed(0)
    config = transformers.Qwen2_5_VLConfig(
        text_config=SMALL
        | {
            "num_key_value_heads": 2,
            "vocab_size": len(tokenizer),
            "max_position_embeddings": 512,
            "rope_parameters": {
                "rope_type": "default",
                "mrope_section": [2, 3, 3],
                "rope_theta": 10000.0,
            },
            "pad_token_id": 0,
            "bos_token_id": 2,
            "eos_token_id": 3,
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "num_heads": 2,
            "intermediate_size": 48,
            "out_hidden_size": 32,
            "fullatt_block_indexes": [1],
            "window_size": 56,
        },
        image_token_id=picture,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
    )
    shaken(transformers.Qwen2_5_VLForConditionalGeneration(config)).save_pretrained(folder)
    transformers.Qwen2_5_VLProcessor(
        image_processor=transformers.Qwen2VLImageProcessor(),
        tokenizer=tokenizer,
        video_processor=transformers.Qwen2VLVideoProcessor(),
        chat_template=CHAT_TEMPLATE.replace("<image>", "".join(QWEN_MARKS[:3])),
    ).save_pretrained(folder)
    return folder


def two_towers(folder: Path, kind: str) -> Path:
    """A CLIP, MetaClip2, SigLIP or SigLIP 2 (with any number of patches) that reads bytes."""
    tokenizer = byte_tokenizer()
    vision = SMALL | {"image_size": 32, "patch_size": 8}
    prepares: dict[str, Any] = {"size": {"height": 32, "width": 32}}
    if kind == "siglip2":
        vision = SMALL | {"patch_size": 8, "num_patches": 16}
        prepares = {"patch_size": 8, "max_num_patches": 16}
    if "clip" in kind and "sig" not in kind:
        prepares["crop_size"] = {"height": 32, "width": 32}
    text = SMALL | {
        "vocab_size": len(tokenizer),
        "max_position_embeddings": TEXT_LENGTH,
        "pad_token_id": 0,
        "bos_token_id": 2,
        "eos_token_id": 3,
    }
    model, processor = {
        "clip": ("CLIPModel", "CLIPImageProcessor"),
        "metaclip_2": ("MetaClip2Model", "CLIPImageProcessor"),
        "siglip": ("SiglipModel", "SiglipImageProcessor"),
        "siglip2": ("Siglip2Model", "Siglip2ImageProcessor"),
    }[kind]
    torch.manual_seed(0)
    maker = getattr(transformers, model)
    shaken(
        maker(maker.config_class(text_config=text, vision_config=vision)), by=0.2
    ).save_pretrained(folder)
    getattr(transformers, processor)(
        image_mean=list(MEAN), image_std=list(STD), **prepares
    ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def byte_tokenizer(*marks: str) -> transformers.PreTrainedTokenizerFast:
    """Bytes, with marks for the beginning and the end of a text."""
    special = ["<pad>", "<unk>", "<s>", "</s>"]
    pieces = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE(vocab={p: i for i, p in enumerate(pieces)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if not marks:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)]
        )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        additional_special_tokens=list(marks),
        model_max_length=4096,
    )
