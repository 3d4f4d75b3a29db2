"""A LLaVA of 64 thousand weights with a tokenizer of bytes; it begins with "yes" or "no".

Which of the two depends on picture and question, at random. Nothing is fetched, and the same call
writes the same files.
"""

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from fechner.observers.torchvision_fix import import_torchvision

import_torchvision()  # before transformers does

from transformers import (  # noqa: E402
    CLIPImageProcessorPil,
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)

SIDE_PX, PATCH_PX = 32, 8
#: Beside the bytes: padding, beginning, end, and where a picture goes.
SPECIAL = ("<pad>", "<s>", "</s>", "<image>")
#: Words that are one token each, so that a first token can be an answer.
WORDS = ("yes", "no", "Yes", "No")

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: "
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% elif part['type'] == 'text' %}{{ part['text'] }}"
    "{% endif %}{% endfor %}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def tiny_llava(folder: Path, seed: int = 0) -> Path:
    """Write model, processor, tokenizer and chat template into a folder; return it."""
    tokenizer = _tokenizer()
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessorPil(
            size={"shortest_edge": SIDE_PX}, crop_size={"height": SIDE_PX, "width": SIDE_PX}
        ),
        tokenizer=tokenizer,
        patch_size=PATCH_PX,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        image_token="<image>",
        chat_template=CHAT_TEMPLATE,
    )
    model = _model(tokenizer, seed)
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _tokenizer() -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges: list[tuple[str, str]] = []
    for word in WORDS:
        for end in range(1, len(word)):
            merges.append((word[:end], word[end]))
    merges = list(dict.fromkeys(merges))
    pieces = [*SPECIAL, *alphabet, *(left + right for left, right in merges)]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(SPECIAL))
    pad, begin, end, image = SPECIAL
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=pad,
        bos_token=begin,
        eos_token=end,
        unk_token=pad,
        additional_special_tokens=[image],
        extra_special_tokens={"image_token": image},
        padding_side="left",
        model_max_length=4096,
    )


def _model(tokenizer: PreTrainedTokenizerFast, seed: int) -> LlavaForConditionalGeneration:
    words = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    eye = CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=SIDE_PX,
        patch_size=PATCH_PX,
    )
    config = LlavaConfig(
        vision_config=eye,
        text_config=words,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=(SIDE_PX // PATCH_PX) ** 2,
        vision_feature_select_strategy="default",
        vision_feature_layer=-1,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlavaForConditionalGeneration(config).float().eval()
        with torch.no_grad():
            for weights in model.parameters():
                if weights.dim() > 1:
                    weights.normal_(0, 0.4)  # else every picture looks the same to it
            # One direction for yes, the opposite for no: one of them exceeds all other tokens.
            head = model.lm_head.weight
            yes, no = (tokenizer.convert_tokens_to_ids(word) for word in ("yes", "no"))
            head[yes] *= 50
            head[no] = -head[yes]
    return model
