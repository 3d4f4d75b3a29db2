"""Cost of asking many prompts about one picture, as ratios in one run; CPU seconds on one thread.

    python benchmarks/answering.py

A random LLaVA whose eye takes about a third of a question is asked 25 questions about a picture,
encoding it once and once per question; a random CLIP of the size of ViT-B/32 is asked 20 pairs of
labels, and one. Takes minutes.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

THREADS = 1
SIDE_PX, PATCH_PX = 224, 14
SPECIAL = ("<pad>", "<s>", "</s>", "<image>")
EYE = {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12}
TEMPLATE = (
    "{% for message in messages %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endfor %}"
)


def tokenizer(**more: Any) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    found = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(pieces)}, merges=[]))
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    found.add_special_tokens(list(SPECIAL))
    pad, begin, end, image = SPECIAL
    return PreTrainedTokenizerFast(
        tokenizer_object=found,
        pad_token=pad,
        bos_token=begin,
        eos_token=end,
        extra_special_tokens={"image_token": image},
        **more,
    )


def write_llava(folder: Path) -> None:
    import transformers as t

    words = tokenizer(padding_side="left")
    processor = t.LlavaProcessor(
        image_processor=t.CLIPImageProcessorPil(
            size={"shortest_edge": SIDE_PX}, crop_size={"height": SIDE_PX, "width": SIDE_PX}
        ),
        tokenizer=words,
        patch_size=PATCH_PX,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        image_token="<image>",
        chat_template=TEMPLATE,
    )
    marks = {f"{mark}_token_id": getattr(words, f"{mark}_token_id") for mark in ("pad", "bos")}
    config = t.LlavaConfig(
        vision_config=t.CLIPVisionConfig(
            **EYE, num_hidden_layers=6, image_size=SIDE_PX, patch_size=PATCH_PX
        ),
        text_config=t.LlamaConfig(
            **EYE,
            vocab_size=len(words),
            num_hidden_layers=6,
            num_key_value_heads=12,
            eos_token_id=None,
            **marks,
        ),
        image_token_id=words.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        **marks,
    )
    t.LlavaForConditionalGeneration(config).save_pretrained(folder)
    processor.save_pretrained(folder)


def write_clip(folder: Path) -> None:
    import transformers as t

    words = tokenizer(model_max_length=77)
    side = {"height": SIDE_PX, "width": SIDE_PX}
    pictures = t.CLIPImageProcessorPil(size={"shortest_edge": SIDE_PX}, crop_size=side)
    text = {"hidden_size": 512, "intermediate_size": 2048, "num_attention_heads": 8}
    config = t.CLIPConfig(
        text_config={**text, "vocab_size": len(words), "eos_token_id": 2},
        vision_config={**EYE, "num_hidden_layers": 12, "image_size": SIDE_PX, "patch_size": 32},
    )
    t.CLIPModel(config).save_pretrained(folder)
    t.CLIPProcessor(image_processor=pictures, tokenizer=words).save_pretrained(folder)


def seconds(observer: Any, frames: Any, prompts: Sequence[Any]) -> float:
    from fechner.observers import Question

    started = time.process_time()
    list(observer.choose(frames, [Question((0,), prompt) for prompt in prompts]))
    return time.process_time() - started


def main() -> None:
    from fechner.observers.torchvision_fix import import_torchvision

    import_torchvision()
    import torch

    from fechner.observers import lift, resolve
    from fechner.observers.chat import generative
    from fechner.stimuli import Field, Frames, display
    from fechner.suites import published_prompts

    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    pixels = torch.rand(1, 3, SIDE_PX, SIDE_PX)
    frames = Frames(pixels, Field(SIDE_PX, SIDE_PX, 64.0), display("verbal"), "display")
    prompts = published_prompts()
    with tempfile.TemporaryDirectory() as place:
        write_llava(Path(place, "llava"))
        write_clip(Path(place, "clip"))
        llava = lift(resolve(f"hf/{place}/llava@max_tokens=2"), "answers", ())
        clip = lift(resolve(f"hf/{place}/clip"), "answers", ())
        seconds(llava, frames, prompts.questions[:2])
        seconds(clip, frames, prompts.labels)  # which reads all labels
        for _ in range(3):
            once = seconds(llava, frames, prompts.questions)
            with mock.patch.object(generative, "_takes_encoded", return_value=False):
                each = seconds(llava, frames, prompts.questions)
            all_pairs, one_pair = (
                seconds(clip, frames, p) for p in (prompts.labels, prompts.labels[:1])
            )
            print(
                f"LLaVA, 25 questions about a picture: {once:.1f} CPU s encoded once, {each:.1f} "
                f"encoded 25 times, ratio {once / each:.3f}; CLIP, 20 pairs of labels over one: "
                f"{all_pairs / one_pair:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
