"""transformers: each kind of vision encoder against the library itself, and what can go wrong."""

import json
import os
import pickle
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import looking
import pytest
import torch
import transformers
from looking import as_frames
from torch import Tensor

from fechner.errors import ObserverError
from fechner.observers import network, resolve
from fechner.observers.abilities import Dtype
from fechner.observers.adapters.transformers import load
from fechner.observers.inputs import NONE, Normalisation
from fechner.observers.network import NetworkEncoder
from fechner.observers.weights import MissingWeightsError, hash_weights

MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.25, 0.3)
SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
}
VIT = SMALL | {"image_size": 32, "patch_size": 8}
TEXT = SMALL | {"vocab_size": 60, "max_position_embeddings": 16}
CONVNEXT = {"depths": [1, 1, 2, 1], "hidden_sizes": [8, 16, 24, 32], "image_size": 64}
SWIN = {"embed_dim": 8, "depths": [2, 2], "num_heads": [2, 2], "window_size": 4}
SWIN |= {"image_size": 32, "patch_size": 4}
HIERA = {
    "hidden_size": 8,
    "image_size": [64, 64],
    "blocks_per_stage": [1, 2, 1, 1],
    "embed_dim_per_stage": [8, 16, 32, 64],
    "num_attention_heads_per_stage": [1, 1, 2, 2],
    "window_size_per_stage": [4, 2, 2, 2],
    "window_positional_embedding_background_size": [4, 4],
    "global_attention_blocks": [2],
}
SAM_2 = {
    "vision_config": {
        "backbone_config": HIERA | {"model_type": "sam2_hiera_det_model"},
        "backbone_channel_list": [64, 32, 16, 8],
        "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
        "fpn_hidden_size": 32,
    },
    "prompt_encoder_config": {"hidden_size": 32, "image_size": 64, "mask_input_channels": 4},
    "mask_decoder_config": {
        "hidden_size": 32,
        "mlp_dim": 32,
        "num_attention_heads": 2,
        "iou_head_hidden_dim": 32,
    },
}


def pooled(model: Any, pixels: Tensor) -> Tensor:
    return model(pixels).pooler_output


def first_token(model: Any, pixels: Tensor) -> Tensor:
    return model(pixels).last_hidden_state[:, 0]


def image_features(model: Any, pixels: Tensor) -> Tensor:
    return model.get_image_features(pixels).pooler_output


def every_patch_in_order(model: Any, pixels: Tensor) -> Tensor:
    """MAE without its masking, put together of its parts."""
    patches = model.embeddings.patch_embeddings(pixels)
    positions = model.embeddings.position_embeddings
    first = (model.embeddings.cls_token + positions[:, :1]).expand(len(pixels), -1, -1)
    hidden = torch.cat((first, patches + positions[:, 1:]), dim=1)
    for layer in model.layers:
        hidden = layer(hidden)
    return model.layernorm(hidden)


def of_the_processor(model: Any, pixels: Tensor) -> Tensor:
    """NaFlex: patches cut by the library."""
    processor = transformers.Siglip2ImageProcessor(
        patch_size=8, max_num_patches=18, do_rescale=False, do_normalize=False
    )
    inputs = processor(list(pixels), return_tensors="pt")
    assert inputs["pixel_values"].shape[1] == 18  # two are padding
    features = getattr(model, "get_image_features", model)
    return features(**inputs).pooler_output


@dataclass(frozen=True)
class Case:
    """A tiny model, what calls it by hand, and its stages."""

    model: str
    settings: dict[str, Any]
    by_hand: Callable[[Any, Tensor], Tensor]
    stages: tuple[str, ...]
    size_px: int = 32
    processor: str = "ViTImageProcessor"
    prepares: dict[str, Any] = field(default_factory=dict)
    built_as: str = ""


def layers(pattern: str, count: int = 2) -> tuple[str, ...]:
    return tuple(pattern.format(index) for index in range(count))


CROPS = {"size": {"shortest_edge": 48}, "crop_size": {"height": 32, "width": 32}}
SHORTEST = {"size": {"shortest_edge": 64}}
SAM_PREPARES = {"size": {"longest_edge": 64}, "pad_size": {"height": 64, "width": 64}}
HIERA_BLOCKS = layers("vision_encoder.backbone.blocks.{}", 5)

CASES = {
    "vit": Case("ViTModel", VIT, first_token, layers("layers.{}")),
    "deit": Case("DeiTModel", VIT, first_token, layers("layers.{}")),
    "dinov2": Case(
        "Dinov2Model",
        VIT | {"mlp_ratio": 2},
        first_token,
        layers("encoder.layer.{}"),
        processor="BitImageProcessor",
        prepares=CROPS,
    ),
    "dinov2_with_registers": Case(
        "Dinov2WithRegistersModel",
        VIT | {"mlp_ratio": 2, "num_register_tokens": 3},
        first_token,
        layers("encoder.layer.{}"),
        processor="BitImageProcessor",
        prepares=CROPS,
    ),
    "dinov3_vit": Case(
        "DINOv3ViTModel",
        VIT | {"num_register_tokens": 2},
        first_token,
        layers("model.layer.{}"),
        processor="DINOv3ViTImageProcessor",
    ),
    "dinov3_convnext": Case(
        "DINOv3ConvNextModel",
        CONVNEXT,
        pooled,
        layers("model.stages.{}", 4),
        size_px=64,
        processor="DINOv3ViTImageProcessor",
    ),
    "convnext": Case(
        "ConvNextModel",
        CONVNEXT,
        pooled,
        layers("encoder.stages.{}", 4),
        size_px=64,
        processor="ConvNextImageProcessor",
        prepares=SHORTEST,
    ),
    "convnextv2": Case(
        "ConvNextV2Model",
        CONVNEXT,
        pooled,
        layers("encoder.stages.{}", 4),
        size_px=64,
        processor="ConvNextImageProcessor",
        prepares=SHORTEST,
    ),
    "swin": Case("SwinModel", SWIN, pooled, layers("encoder.layers.{}")),
    "swinv2": Case("Swinv2Model", SWIN, pooled, layers("encoder.layers.{}")),
    "mae": Case(
        "ViTMAEModel",
        VIT | {"decoder_hidden_size": 16, "decoder_num_attention_heads": 2},
        every_patch_in_order,
        layers("layers.{}"),
        built_as="ViTMAEForPreTraining",
    ),
    "clip": Case(
        "CLIPModel",
        {"text_config": TEXT, "vision_config": VIT, "projection_dim": 24},
        image_features,
        layers("vision_model.encoder.layers.{}"),
        processor="CLIPImageProcessor",
        prepares=CROPS,
    ),
    "clip with a projection": Case(
        "CLIPVisionModelWithProjection",
        VIT | {"projection_dim": 24},
        lambda model, pixels: model(pixels).image_embeds,
        layers("vision_model.encoder.layers.{}"),
        processor="CLIPImageProcessor",
        prepares=CROPS,
    ),
    "clip without a projection": Case(
        "CLIPVisionModel",
        VIT,
        pooled,
        layers("vision_model.encoder.layers.{}"),
        processor="CLIPImageProcessor",
        prepares=CROPS,
    ),
    "metaclip_2": Case(
        "MetaClip2Model",
        {"text_config": TEXT | {"eos_token_id": 2}, "vision_config": VIT, "projection_dim": 24},
        image_features,
        layers("vision_model.encoder.layers.{}"),
        processor="CLIPImageProcessor",
        prepares=CROPS,
    ),
    "siglip": Case(
        "SiglipModel",
        {"text_config": TEXT, "vision_config": VIT},
        image_features,
        layers("vision_model.encoder.layers.{}"),
        processor="SiglipImageProcessor",
    ),
    "siglip vision": Case(
        "SiglipVisionModel",
        VIT,
        pooled,
        layers("encoder.layers.{}"),
        processor="SiglipImageProcessor",
    ),
    "siglip2": Case(
        "Siglip2Model",
        {"text_config": TEXT, "vision_config": SMALL | {"patch_size": 8, "num_patches": 9}},
        of_the_processor,
        layers("vision_model.encoder.layers.{}"),
        processor="Siglip2ImageProcessor",
        prepares={"patch_size": 8, "max_num_patches": 18, "size": None},
    ),
    "siglip2 vision": Case(
        "Siglip2VisionModel",
        SMALL | {"patch_size": 8, "num_patches": 9},
        of_the_processor,
        layers("encoder.layers.{}"),
        processor="Siglip2ImageProcessor",
        prepares={"patch_size": 8, "max_num_patches": 18, "size": None},
    ),
    "sam": Case(
        "SamModel",
        {
            "vision_config": SMALL
            | {
                "image_size": 64,
                "patch_size": 16,
                "output_channels": 16,
                "window_size": 3,
                "global_attn_indexes": [1],
                "mlp_dim": 48,
                "num_pos_feats": 8,
            },
            "prompt_encoder_config": {
                "hidden_size": 16,
                "image_size": 64,
                "image_embedding_size": 4,
                "mask_input_channels": 4,
            },
            "mask_decoder_config": {
                "hidden_size": 16,
                "mlp_dim": 16,
                "num_attention_heads": 2,
                "iou_head_hidden_dim": 16,
            },
        },
        lambda model, pixels: model.get_image_embeddings(pixels),
        layers("vision_encoder.layers.{}"),
        size_px=64,
        processor="SamImageProcessor",
        prepares=SAM_PREPARES,
    ),
    "sam2": Case(
        "Sam2Model",
        SAM_2,
        lambda model, pixels: model.get_image_embeddings(pixels)[-1],
        HIERA_BLOCKS,
        size_px=64,
        processor="Sam2ImageProcessor",
    ),
    # As in the repositories of SAM-2 and SAM 2.1.
    "sam2_video": Case(
        "Sam2Model",
        SAM_2
        | {
            "memory_attention_hidden_size": 32,
            "memory_attention_num_layers": 1,
            "memory_attention_feed_forward_hidden_size": 16,
            "memory_attention_num_attention_heads": 1,
            "memory_encoder_hidden_size": 32,
            "memory_encoder_output_channels": 8,
            "mask_downsampler_embed_dim": 32,
            "memory_fuser_num_layers": 1,
            "memory_fuser_embed_dim": 32,
            "memory_fuser_intermediate_dim": 16,
        },
        lambda model, pixels: model.get_image_embeddings(pixels)[-1],
        HIERA_BLOCKS,
        size_px=64,
        processor="Sam2ImageProcessor",
        built_as="Sam2VideoModel",
    ),
    # By the rule for those that are not in the table.
    "beit": Case("BeitModel", VIT, pooled, layers("layers.{}")),
    "resnet": Case(
        "ResNetModel",
        {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 2], "layer_type": "basic"},
        pooled,
        layers("encoder.stages.{}"),
        processor="ConvNextImageProcessor",
        prepares={"size": {"shortest_edge": 32}},
    ),
    "ijepa": Case(
        "IJepaModel",
        VIT,
        lambda model, pixels: model(pixels).last_hidden_state,
        layers("layers.{}"),
    ),
    "llava": Case(
        "LlavaModel",
        {
            "vision_config": VIT | {"model_type": "clip_vision_model"},
            "text_config": TEXT | {"model_type": "llama", "num_key_value_heads": 2},
            "image_token_index": 5,
        },
        lambda model, pixels: model.vision_tower(pixels).pooler_output,
        layers("encoder.layers.{}"),
        processor="CLIPImageProcessor",
        prepares=CROPS,
    ),
}


def saved(folder: Path, case: Case, processor: bool = True, **settings: Any) -> Path:
    """Write a model with random weights and how pictures are prepared for it."""
    torch.manual_seed(0)
    maker = getattr(transformers, case.built_as or case.model)
    model = maker(maker.config_class(**(case.settings | settings)))
    for parameter in model.parameters():  # zeros and ones would hide mistakes
        parameter.data += 0.1 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    if processor:
        square = {"height": case.size_px, "width": case.size_px}
        prepares = {"size": square, "image_mean": MEAN, "image_std": STD} | case.prepares
        prepares = {key: value for key, value in prepares.items() if value is not None}
        getattr(transformers, case.processor)(**prepares).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the folder of a case, written once."""
    base = tmp_path_factory.mktemp("repositories")
    saved(base / "vit", CASES["vit"])  # here, since the first takes seconds to import

    def of(key: str) -> Path:
        path = base / key.replace(" ", "_")
        return path if path.is_dir() else saved(path, CASES[key])

    return of


def encoder(spec: str, **settings: Any) -> NetworkEncoder:
    found = resolve(spec, **settings)
    assert isinstance(found, NetworkEncoder)
    return found


def random_pixels(side: int, n: int = 3) -> Tensor:
    return torch.rand(n, 3, side, side, generator=torch.Generator().manual_seed(1))


def features(observer: NetworkEncoder, pixels: Tensor, layer: str = "output") -> Tensor:
    return looking.features(observer, as_frames(pixels), layer)


def normalised(pixels: Tensor) -> Tensor:
    mean, std = (torch.tensor(v).reshape(3, 1, 1) for v in (MEAN, STD))
    return (pixels - mean) / std


def by_hand(folder: Path, case: Case, pixels: Tensor) -> Tensor:
    model = getattr(transformers, case.model).from_pretrained(folder).eval()
    with torch.no_grad():
        found: Tensor = case.by_hand(model, normalised(pixels))
    return found


# Kinds


@pytest.mark.parametrize("key", CASES)
def test_a_kind_against_the_library(key: str, folder: Callable[[str], Path]) -> None:
    case = CASES[key]
    observer = encoder(f"hf/{folder(key)}")
    pixels = random_pixels(case.size_px)
    output = features(observer, pixels)
    torch.testing.assert_close(output, by_hand(folder(key), case, pixels), rtol=0, atol=1e-6)
    assert output.std() > 1e-3
    assert not torch.allclose(output[0], output[1], atol=1e-4)
    torch.testing.assert_close(features(observer, pixels[:1]), output[:1], rtol=1e-5, atol=1e-5)
    assert observer.layers == (*case.stages, "output")
    inside = features(observer, pixels, case.stages[-1])
    assert inside.shape[0] == 3
    assert inside.std() > 0
    assert observer.wants.size_px == (case.size_px, case.size_px)
    assert observer.network.normalise == Normalisation(MEAN, STD)
    assert observer.network.library == f"transformers {transformers.__version__}"
    assert not observer.module.training


@pytest.mark.parametrize(
    ("key", "dropped"),
    [
        ("clip", ("text_model", "text_projection", "logit_scale")),
        ("siglip", ("text_model", "logit")),
        ("siglip2", ("text_model", "logit")),
        ("sam", ("prompt_encoder", "mask_decoder", "shared_image_embedding")),
        ("sam2", ("prompt_encoder", "mask_decoder", "shared_image_embedding")),
        ("vit", ("pooler",)),
        ("llava", ("language_model",)),
    ],
)
def test_only_what_sees_is_held(
    key: str, dropped: tuple[str, ...], folder: Callable[[str], Path]
) -> None:
    names = list(encoder(f"hf/{folder(key)}").module.state_dict())
    assert names
    assert not [name for name in names if name.startswith(dropped)]


def test_readouts_are_part_of_what_answers_depend_on(folder: Callable[[str], Path]) -> None:
    found = {key: encoder(f"hf/{folder(key)}") for key in ("vit", "clip", "beit", "ijepa", "sam2")}
    assert {key: each.network.settings for key, each in found.items()} == {
        "vit": "readout=class token",
        "clip": "readout=image features",
        "beit": "readout=pooler_output",
        "ijepa": "readout=last_hidden_state",
        "sam2": "readout=image embedding of SAM-2",
    }
    assert "readout=class token" in (found["vit"].fingerprint or "")


def test_half_precision_weights_are_widened(folder: Callable[[str], Path], tmp_path: Path) -> None:
    model = transformers.ViTModel.from_pretrained(folder("vit"), dtype=torch.bfloat16)
    model.save_pretrained(tmp_path)
    observer = encoder(f"hf/{tmp_path}")
    assert {each.dtype for each in observer.module.parameters()} == {torch.float32}


@pytest.mark.parametrize("key", ["vit", "siglip2", "mae", "sam2"])
def test_other_precisions(key: str, folder: Callable[[str], Path]) -> None:
    pixels = random_pixels(CASES[key].size_px)

    def of(dtype: Dtype) -> NetworkEncoder:
        return network.encoder(load(str(folder(key))), name=key, dtype=dtype)

    single = features(of("float32"), pixels)
    double = features(of("float64"), pixels.double())
    half = features(of("bfloat16"), pixels)
    assert double.dtype == torch.float64
    torch.testing.assert_close(single, double.float(), rtol=1e-3, atol=1e-3)
    assert half.dtype == torch.float32
    assert (half - single).abs().mean() < 0.1 * single.std()


# Parts that repositories lack


def test_a_missing_pooler_of_another_kind_is_left_out(tmp_path: Path) -> None:
    settings = VIT | {"image_size": [32, 32], "num_detection_tokens": 3}
    model = transformers.YolosModel(transformers.YolosConfig(**settings), add_pooling_layer=False)
    model.save_pretrained(tmp_path)
    observer = encoder(f"hf/{tmp_path}")
    assert observer.network.settings == "readout=last_hidden_state; no preprocessor file"
    pixels = random_pixels(32)
    with torch.no_grad():
        expected = model.eval()(pixels).last_hidden_state
    torch.testing.assert_close(features(observer, pixels), expected, rtol=0, atol=1e-6)


def test_missing_weights_are_not_left_random(folder: Callable[[str], Path], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    whole = load_file(folder("clip") / "model.safetensors")
    part = {key: value for key, value in whole.items() if "vision_model.encoder" not in key}
    (tmp_path / "config.json").write_text((folder("clip") / "config.json").read_text())
    save_file(part, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(
        ObserverError,
        match=r"missing or of another shape for 32 tensors of the part that sees "
        r"\(vision_model\.encoder\.layers\.0\..*, \.\.\.\); give weights that fit",
    ):
        resolve(f"hf/{tmp_path}")
    # The tower that reads is of no consequence.
    part = {key: value for key, value in whole.items() if "text_model" not in key}
    save_file(part, tmp_path / "model.safetensors", metadata={"format": "pt"})
    pixels = random_pixels(32)
    prepares = "preprocessor_config.json"
    (tmp_path / prepares).write_text((folder("clip") / prepares).read_text())
    assert torch.equal(
        features(encoder(f"hf/{tmp_path}"), pixels),
        features(encoder(f"hf/{folder('clip')}"), pixels),
    )


def test_weights_of_another_shape(folder: Callable[[str], Path], tmp_path: Path) -> None:
    config = json.loads((folder("vit") / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"image_size": 48}))
    (tmp_path / "model.safetensors").write_bytes((folder("vit") / "model.safetensors").read_bytes())
    with pytest.raises(ObserverError, match=r"1 tensors .*\(embeddings\.position_embeddings\)"):
        resolve(f"hf/{tmp_path}")


# Masked autoencoders


def test_masking(folder: Callable[[str], Path]) -> None:
    pixels = random_pixels(32)
    whole = encoder(f"hf/{folder('mae')}")
    masked = encoder(f"hf/{folder('mae')}@masked=yes")
    assert features(whole, pixels).shape == (3, 1 + 16, 32)
    output = features(masked, pixels)
    assert output.shape == (3, 1 + 4, 32)
    assert torch.equal(output, features(masked, pixels))
    for index in range(3):  # the same patches whatever is shown beside
        alone = features(masked, pixels[index : index + 1])
        torch.testing.assert_close(alone[0], output[index], rtol=1e-5, atol=1e-5)
    model = transformers.ViTMAEModel.from_pretrained(folder("mae"), mask_ratio=0.75)
    noise = torch.rand(16, generator=torch.Generator().manual_seed(8))
    with torch.no_grad():
        expected = model(normalised(pixels), noise=noise.expand(3, -1)).last_hidden_state
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-6)
    assert masked.network.settings == "readout=last_hidden_state; masked=0.75 seed=8"
    assert masked.fingerprint != whole.fingerprint


def test_masking_is_how_published_numbers_were_made(folder: Callable[[str], Path]) -> None:
    observer = encoder(f"hf/{folder('mae')}", suite="encoders", published=True)
    assert observer.network.normalise == NONE
    assert features(observer, random_pixels(32)).shape == (3, 5, 32)
    # Of no consequence to others.
    other = encoder(f"hf/{folder('vit')}@masked=yes")
    assert other.network.settings == "readout=class token"


# Size and preparation


@pytest.mark.parametrize("key", ["vit", "clip", "siglip", "mae", "swin", "dinov2", "dinov3_vit"])
def test_another_size(key: str, folder: Callable[[str], Path]) -> None:
    case = CASES[key]
    observer = encoder(f"hf/{folder(key)}@size=48")
    assert observer.wants.size_px == (48, 48)
    pixels = random_pixels(48)
    output = features(observer, pixels)
    model = getattr(transformers, case.model).from_pretrained(folder(key)).eval()
    further = {} if key.startswith("dino") else {"interpolate_pos_encoding": True}
    shown = getattr(model, "get_image_features", model)
    if key == "mae":
        model.config.mask_ratio = 0.0
        further["noise"] = torch.arange(36.0).expand(3, -1)
    with torch.no_grad():
        answer = shown(normalised(pixels), **further)
    taken = {"vit": lambda: answer.last_hidden_state[:, 0], "mae": lambda: answer[0]}
    expected = taken.get(key, lambda: answer.pooler_output)()
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-6)
    assert ("positions interpolated" in observer.network.settings) == bool(further)


def test_a_processor_that_differs_from_the_positions(tmp_path: Path) -> None:
    saved(tmp_path, CASES["vit"])
    prepares = json.loads((tmp_path / "preprocessor_config.json").read_text())
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(prepares | {"size": 40}))
    observer = encoder(f"hf/{tmp_path}")
    assert observer.wants.size_px == (40, 40)
    assert features(observer, random_pixels(40)).shape == (3, 32)
    assert "positions interpolated" in observer.network.settings


def test_patches_of_another_number(folder: Callable[[str], Path]) -> None:
    observer = encoder(f"hf/{folder('siglip2')}@size=48")
    assert features(observer, random_pixels(48)).shape == (3, 32)
    with pytest.raises(ObserverError, match="cannot be shown pictures of 45 x 45 px"):
        resolve(f"hf/{folder('siglip2')}@size=45")


def test_a_size_that_a_model_cannot_take(folder: Callable[[str], Path]) -> None:
    with pytest.raises(
        ObserverError,
        match=r"cannot be shown pictures of 96 x 96 px \(ValueError: .*64.*\); its own size is "
        r"64 x 64 px\.$",
    ):
        resolve(f"hf/{folder('sam')}@size=96")


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ({"size": 40, "do_center_crop": False}, (40, 40)),
        ({"size": {"height": 40, "width": 48}, "do_center_crop": False}, (40, 48)),
        ({"size": {"shortest_edge": 48}, "crop_size": 40, "do_center_crop": False}, (48, 48)),
        ({"size": {"shortest_edge": 48}, "crop_size": 40}, (40, 40)),
    ],
)
def test_forms_of_sizes(
    size: dict[str, Any],
    expected: tuple[int, int],
    folder: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).symlink_to(folder("dinov2") / name)
    prepares = {"image_processor_type": "BitImageProcessor", "image_mean": MEAN, "image_std": STD}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(prepares | size))
    assert encoder(f"hf/{tmp_path}").wants.size_px == expected


def test_without_a_preprocessor_file(tmp_path: Path) -> None:
    observer = encoder(f"hf/{saved(tmp_path, CASES['vit'], processor=False)}")
    assert observer.wants.size_px == (32, 32)
    assert observer.network.normalise == NONE
    assert observer.network.settings == "readout=class token; no preprocessor file"
    assert "no preprocessor file to say how pictures are normalised" in observer.network.unsure


def test_a_processor_that_does_not_normalise(tmp_path: Path) -> None:
    saved(tmp_path, CASES["vit"])
    prepares = json.loads((tmp_path / "preprocessor_config.json").read_text())
    (tmp_path / "preprocessor_config.json").write_text(
        json.dumps(prepares | {"do_normalize": False})
    )
    assert encoder(f"hf/{tmp_path}").network.normalise == NONE


def test_a_processor_that_reverses_channels(tmp_path: Path) -> None:
    case = CASES["resnet"]
    saved(tmp_path, case, processor=False)
    processor = transformers.MobileViTImageProcessor(size={"shortest_edge": 36}, crop_size=32)
    processor.save_pretrained(tmp_path)
    observer = encoder(f"hf/{tmp_path}")
    assert observer.network.normalise == NONE
    assert observer.network.settings == "readout=pooler_output; channels reversed"
    pixels = random_pixels(32)
    prepared = processor(
        [(255 * each).round().to(torch.uint8) for each in pixels],
        do_resize=False,
        return_tensors="pt",
    )["pixel_values"]
    model = transformers.ResNetModel.from_pretrained(tmp_path).eval()
    with torch.no_grad():
        expected = model(prepared).pooler_output
    exact = (255 * pixels).round() / 255
    torch.testing.assert_close(features(observer, exact), expected, rtol=0, atol=1e-5)


# Weights from elsewhere


@pytest.mark.parametrize("key", ["vit", "clip", "clip with a projection", "sam2_video"])
@pytest.mark.parametrize("kind", ["safetensors", "pt"])
def test_weights_of_a_file(
    key: str, kind: str, folder: Callable[[str], Path], tmp_path: Path
) -> None:
    case = CASES[key]
    other = saved(tmp_path / "other", case)
    # As the library writes them, and as torch does.
    file = other / "model.safetensors"
    torch.manual_seed(5)
    model = getattr(transformers, case.built_as or case.model).from_pretrained(other)
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    model.save_pretrained(other)
    if kind == "pt":
        file = tmp_path / "mine.pt"
        torch.save({"state_dict": model.state_dict()}, file)
    pixels = random_pixels(case.size_px)
    observer = encoder(f"hf/{folder(key)}@weights={file}")
    output = features(observer, pixels)
    torch.testing.assert_close(output, by_hand(other, case, pixels), rtol=0, atol=1e-6)
    own = encoder(f"hf/{folder(key)}")
    assert not torch.allclose(output, features(own, pixels), atol=1e-3)
    assert hash_weights(observer.module) != hash_weights(own.module)


def test_weights_of_a_folder(folder: Callable[[str], Path], tmp_path: Path) -> None:
    other = saved(tmp_path / "other", CASES["dinov2"], processor=False)
    observer = encoder(f"hf/{folder('vit')}@weights={other}")
    # Its own configuration, and for want of one the preparation of the named model.
    assert observer.layers[0] == "encoder.layer.0"
    assert observer.network.normalise == Normalisation(MEAN, STD)


def test_a_file_that_lacks_weights_or_is_not_there(
    folder: Callable[[str], Path], tmp_path: Path
) -> None:
    file = tmp_path / "part.pt"
    torch.save({"embeddings.cls_token": torch.zeros(1, 1, 32)}, file)
    with pytest.raises(ObserverError, match="missing or of another shape for 37 tensors"):
        resolve(f"hf/{folder('vit')}@weights={file}")
    with pytest.raises(ObserverError, match=r"there is no weights file '.*nowhere\.pt'"):
        resolve(f"hf/{folder('vit')}@weights={tmp_path / 'nowhere.pt'}")


class Trap:
    """Leaves a mark if it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def test_no_code_of_a_pickle_is_run(folder: Callable[[str], Path], tmp_path: Path) -> None:
    mark, repository = tmp_path / "mark", tmp_path / "repository"
    repository.mkdir()
    (repository / "config.json").symlink_to(folder("vit") / "config.json")
    with (repository / "pytorch_model.bin").open("wb") as file:
        pickle.dump(Trap(mark), file, protocol=2)
    with pytest.raises(ObserverError, match=r"more than tensors.*with \.safetensors\.$"):
        resolve(f"hf/{repository}")
    with pytest.raises(ObserverError, match="runs no code from a pickle"):
        resolve(f"hf/{folder('vit')}@weights={repository / 'pytorch_model.bin'}")
    assert not mark.exists()


# The hub


def test_what_is_in_the_cache_needs_no_network(
    folder: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr("fechner.observers.hub.reachable", lambda address: False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    commit = "0" * 39 + "1"
    repository = tmp_path / "models--somebody--eye"
    snapshot = repository / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    for name in ("config.json", "model.safetensors"):
        (snapshot / name).symlink_to(folder("vit") / name)
    # What is not there may be on the hub: not the same as not being needed.
    with pytest.raises(MissingWeightsError, match=r"preprocessor_config\.json of somebody/eye"):
        resolve("hf/somebody/eye")
    name = "preprocessor_config.json"
    known_not_to_exist = repository / ".no_exist" / commit / name
    known_not_to_exist.parent.mkdir(parents=True)
    known_not_to_exist.touch()
    assert "no preprocessor file" in encoder("hf/somebody/eye").network.settings
    known_not_to_exist.unlink()
    (snapshot / name).symlink_to(folder("vit") / name)
    pixels = random_pixels(32)
    assert torch.equal(
        features(encoder("hf/somebody/eye"), pixels),
        features(encoder(f"hf/{folder('vit')}"), pixels),
    )


# What cannot be loaded


def test_code_of_a_repository_is_run_only_if_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import dynamic_module_utils

    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    repository = tmp_path / "odd"
    repository.mkdir()
    config = {
        "model_type": "odd-eye",
        "auto_map": {"AutoConfig": "odd.OddConfig", "AutoModel": "odd.OddModel"},
    }
    (repository / "config.json").write_text(json.dumps(config))
    (repository / "odd.py").write_text(ODD)
    prepares = {"image_processor_type": "ViTImageProcessor", "size": 8}
    (repository / "preprocessor_config.json").write_text(json.dumps(prepares))
    from safetensors.torch import save_file

    weight = {"eye.weight": torch.full((1, 3, 1, 1), 2.0), "eye.bias": torch.zeros(1)}
    save_file(weight, repository / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ObserverError, match=r"code of its own.* use --trust-remote-code\.$"):
        resolve(f"hf/{repository}")
    observer = encoder(f"hf/{repository}", trust_remote_code=True)
    pixels = random_pixels(8)
    expected = 2 * (2 * pixels - 1).sum(dim=1, keepdim=True)
    torch.testing.assert_close(features(observer, pixels), expected)


ODD = """
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

class OddConfig(PretrainedConfig):
    model_type = "odd-eye"

class OddModel(PreTrainedModel):
    config_class = OddConfig

    def __init__(self, config):
        super().__init__(config)
        self.eye = nn.Conv2d(3, 1, 1)
        self.post_init()

    def forward(self, pixel_values):
        return BaseModelOutput(last_hidden_state=self.eye(pixel_values))
"""


@pytest.mark.parametrize("weights", ["", "@weights={}"])
def test_a_repository_that_cannot_be_had(
    weights: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fechner.observers.hub.reachable", lambda address: False)
    file = tmp_path / "mine.pt"
    torch.save({"weight": torch.zeros(1)}, file)
    name = "facebook/dinov2-no-such-model"
    start = time.monotonic()
    with pytest.raises(MissingWeightsError) as caught:
        resolve(f"hf/{name}{weights.format(file)}")
    assert time.monotonic() - start < 5
    what = "config.json" if weights else "model.safetensors"
    assert f"the weights of 'hf/{name}', {what} of {name}, are not on this machine" in str(
        caught.value
    )


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ObserverError, match=r"there is no folder '.*/nowhere'; after hf/ comes"):
        resolve(f"hf/{tmp_path / 'nowhere'}")


def test_a_folder_without_a_model(folder: Callable[[str], Path], tmp_path: Path) -> None:
    sentence = re.escape(f"'hf/{tmp_path}' cannot be loaded from the folder '{tmp_path}' (")
    with pytest.raises(ObserverError, match=sentence + "ValueError: Unrecognized model"):
        resolve(f"hf/{tmp_path}")
    (tmp_path / "config.json").symlink_to(folder("vit") / "config.json")
    with pytest.raises(ObserverError, match=sentence + "OSError: .*no file named model.safetens"):
        resolve(f"hf/{tmp_path}")


def test_a_model_that_does_not_see(tmp_path: Path) -> None:
    model = transformers.BertModel(transformers.BertConfig(**TEXT))
    model.save_pretrained(tmp_path)
    with pytest.raises(ObserverError, match="is a BertModel, which has no part that takes picture"):
        resolve(f"hf/{tmp_path}")


def test_nothing_is_printed_and_settings_are_restored(
    folder: Callable[[str], Path],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from transformers.utils import logging

    path = folder("sam2_video")
    before = logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.set_verbosity_warning()
    logging.enable_progress_bar()
    monkeypatch.setenv("DISABLE_SAFETENSORS_CONVERSION", "no")
    capfd.readouterr()
    try:
        resolve(f"hf/{path}")
        assert capfd.readouterr() == ("", "")
        assert logging.get_verbosity() == logging.WARNING
        assert logging.is_progress_bar_enabled()
        assert os.environ["DISABLE_SAFETENSORS_CONVERSION"] == "no"
    finally:
        logging.set_verbosity(before)
        if not bars:
            logging.disable_progress_bar()
