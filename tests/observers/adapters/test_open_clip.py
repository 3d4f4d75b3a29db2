"""open_clip through the observer equals the library called by hand; small random models."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import open_clip
import pytest
import safetensors.torch
import torch
from looking import features, frames

from fechner.errors import FechnerError, ObserverError, UnknownNameError
from fechner.observers import hub, resolve
from fechner.observers.weights import MissingWeightsError
from fechner.stimuli import Frames

CLIP_MEAN = torch.tensor([0.48145466, 0.4578275, 0.40821073]).reshape(3, 1, 1)
CLIP_STD = torch.tensor([0.26862954, 0.26130258, 0.27577711]).reshape(3, 1, 1)

TEXT = {"context_length": 8, "vocab_size": 50, "width": 16, "heads": 2, "layers": 1}
VIT = {"image_size": 32, "layers": 2, "width": 16, "head_width": 8, "patch_size": 8}
RESNET = {"image_size": 64, "layers": [1, 1, 1, 1], "width": 8, "head_width": 8}
CONVNEXT = {"timm_model_name": "convnext_atto", "timm_pool": "", "image_size": 64}
OF_TIMM = {
    "timm_model_name": "vit_tiny_patch16_224",
    "timm_pool": "token",
    "timm_proj": "none",
    "image_size": 224,
}
POOLED = {**VIT, "attentional_pool": True, "attn_pooler_heads": 2, "output_tokens": True}
TOKENS = {**TEXT, "embed_cls": True, "output_tokens": True}
CONFIGS = {
    "tiny-vit": {"vision_cfg": VIT},
    "tiny-quick": {"vision_cfg": VIT, "quick_gelu": True},
    "tiny-resnet": {"vision_cfg": RESNET},
    "tiny-convnext": {"vision_cfg": CONVNEXT},
    "tiny-of-timm": {"vision_cfg": OF_TIMM, "embed_dim": 192, "custom_text": True},
    "tiny-coca": {
        "vision_cfg": POOLED,
        "text_cfg": TOKENS,
        "multimodal_cfg": {**TEXT, "mlp_ratio": 2, "dim_head": 8},
        "custom_text": True,
    },
}
SIDES = {"tiny-resnet": 64, "tiny-convnext": 64, "tiny-of-timm": 224}


@pytest.fixture(autouse=True)
def _registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the small models known to the library, for one test."""
    folder = tmp_path / "configs"
    folder.mkdir()
    for name, config in CONFIGS.items():
        whole = {"embed_dim": 12, "text_cfg": TEXT, **config}
        (folder / f"{name}.json").write_text(json.dumps(whole))
    from open_clip import factory

    monkeypatch.setattr(factory, "_MODEL_CONFIGS", dict(factory._MODEL_CONFIGS))
    monkeypatch.setattr(factory, "_MODEL_CONFIG_PATHS", list(factory._MODEL_CONFIG_PATHS))
    open_clip.add_model_config(folder)


def by_hand(name: str, **settings: object) -> torch.nn.Module:
    torch.manual_seed(0)
    model = open_clip.create_model(name, **settings).eval()
    with torch.no_grad():  # batch norms that do something
        for part in model.modules():
            if isinstance(part, torch.nn.BatchNorm2d):
                part.running_mean.uniform_(-0.1, 0.1)
                part.weight.uniform_(0.5, 1.5)
    return model


def saved(model: torch.nn.Module, folder: Path, suffix: str = ".pt") -> Path:
    path = folder / f"weights{suffix}"
    tensors = {key: value.contiguous() for key, value in model.state_dict().items()}
    if suffix == ".safetensors":
        safetensors.torch.save_file(tensors, path)
    else:
        torch.save({"epoch": 3, "state_dict": {f"module.{k}": v for k, v in tensors.items()}}, path)
    return path


def normalised(shown: Frames) -> torch.Tensor:
    return (shown.pixels - CLIP_MEAN) / CLIP_STD


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_equals_the_library_by_hand(name: str, suffix: str, tmp_path: Path) -> None:
    model = by_hand(name)
    observer = resolve(f"open_clip/{name}@weights={saved(model, tmp_path, suffix)}")
    side = SIDES.get(name, 32)
    assert observer.wants.size_px == (side, side)
    shown = frames(side)
    with torch.no_grad():
        expected = model.encode_image(normalised(shown), normalize=False)
    torch.testing.assert_close(features(observer, shown), expected, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(expected.norm(dim=1), torch.ones(3), atol=0.01)
    # Only the image tower is kept.
    assert sum(p.numel() for p in observer.module.parameters()) == sum(
        p.numel() for p in model.visual.parameters()
    )


def test_pictures_of_a_batch_do_not_meet(tmp_path: Path) -> None:
    observer = resolve(f"open_clip/tiny-vit@weights={saved(by_hand('tiny-vit'), tmp_path)}")
    shown = frames(32)
    alone = [replace(shown, pixels=p[None]) for p in shown.pixels]
    for layer in ("transformer.resblocks.1", "output"):
        one_by_one = torch.cat([features(observer, each, layer) for each in alone])
        torch.testing.assert_close(features(observer, shown, layer), one_by_one)


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("tiny-vit", [f"transformer.resblocks.{i}" for i in range(2)]),
        ("tiny-coca", [f"transformer.resblocks.{i}" for i in range(2)]),
        ("tiny-resnet", [f"layer{i}" for i in range(1, 5)]),
        ("tiny-convnext", [f"trunk.stages.{i}" for i in range(4)]),
        ("tiny-of-timm", [f"trunk.blocks.{i}" for i in range(12)]),
    ],
)
def test_stages(name: str, stages: list[str], tmp_path: Path) -> None:
    model = by_hand(name)
    observer = resolve(f"open_clip/{name}@weights={saved(model, tmp_path)}")
    assert observer.layers == (*stages, "output")
    assert {layer.batch_axis for layer in observer.every_layer()} == {0}
    shown, seen = frames(SIDES.get(name, 32), 2), []
    hooked = model.visual.get_submodule(stages[-1])
    hooked.register_forward_hook(lambda part, given, output: seen.append(output))
    with torch.no_grad():
        model.visual(normalised(shown))
    expected = seen[0].reshape(2, -1)
    torch.testing.assert_close(
        features(observer, shown, stages[-1]), expected, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(("name", "size"), [("tiny-vit", 48), ("tiny-of-timm", 96)])
def test_another_size_is_made_as_the_library_makes_it(name: str, size: int, tmp_path: Path) -> None:
    path = saved(by_hand(name), tmp_path, ".safetensors")
    observer = resolve(f"open_clip/{name}@weights={path},size={size}")
    assert observer.wants.size_px == (size, size)
    model = open_clip.create_model(name, pretrained=str(path), force_image_size=size).eval()
    shown = frames(size)
    with torch.no_grad():
        expected = model.encode_image(normalised(shown))
    torch.testing.assert_close(features(observer, shown), expected, rtol=1e-5, atol=1e-6)


def test_a_resnet_takes_one_size(tmp_path: Path) -> None:
    path = saved(by_hand("tiny-resnet"), tmp_path)
    with pytest.raises(ObserverError, match="takes pictures of 64 px only, not 96: set size=64"):
        resolve(f"open_clip/tiny-resnet@weights={path},size=96")


# Tags


@pytest.fixture
def tagged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Publish weights of tiny-vit, trained with another activation and normalisation."""
    from open_clip.pretrained import _PRETRAINED

    path = saved(by_hand("tiny-vit"), tmp_path, ".safetensors")
    how = {"file": str(path), "mean": (0.5,) * 3, "std": (0.25,) * 3, "quick_gelu": True}
    monkeypatch.setitem(_PRETRAINED, "tiny-vit", {"published": how})
    return path


@pytest.mark.parametrize("from_file", [False, True])
def test_a_tag_says_how_weights_were_trained(tagged: Path, from_file: bool) -> None:
    with_file = f"@weights={tagged}" if from_file else ""
    observer = resolve(f"open_clip/tiny-vit/published{with_file}")
    model = open_clip.create_model("tiny-quick", pretrained=str(tagged)).eval()
    shown = frames(32)
    with torch.no_grad():
        expected = model.encode_image((shown.pixels - 0.5) / 0.25)
        other = by_hand("tiny-vit").encode_image((shown.pixels - 0.5) / 0.25)
    found = features(observer, shown)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(found, other, rtol=1e-3)
    untagged = resolve(f"open_clip/tiny-vit@weights={tagged}")
    assert untagged.fingerprint != observer.fingerprint


def test_nothing_is_reported(
    tagged: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    before = list(logging.getLogger().handlers)
    with caplog.at_level("INFO"):
        resolve("open_clip/tiny-vit/published")
        resolve(f"open_clip/tiny-vit@weights={tagged}")
    assert not caplog.records
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger().handlers == before


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("ViT-B-33/openai", "there is no open_clip model named 'ViT-B-33'; did you mean 'ViT"),
        ("hf-hub:a/b", "there is no open_clip model named 'hf-hub:a'"),
        ("RN50/opennai", "no tag of RN50 named 'opennai'; did you mean 'openai'.*yfcc15m, cc12m"),
        ("tiny-vit/any", "no tag of tiny-vit named 'any'; it has none: give weights"),
        ("RN50", "is an architecture: name the tag .*open_clip/RN50/TAG .there are openai, yfcc"),
    ],
)
def test_names_that_are_not_there(model: str, message: str) -> None:
    with pytest.raises(FechnerError, match=message) as caught:
        resolve(f"open_clip/{model}")
    assert isinstance(caught.value, UnknownNameError | ObserverError)


def test_missing_weights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(hub, "reachable", lambda address: False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    where = "open_clip_model.safetensors of timm/vit_base_patch32_clip_224.openai, are not on this"
    with pytest.raises(MissingWeightsError, match=where):
        resolve("open_clip/ViT-B-32/openai")


# Files


def test_weights_of_another_model(tmp_path: Path) -> None:
    path = saved(by_hand("tiny-resnet"), tmp_path)
    with pytest.raises(
        ObserverError, match=r"do not fit VisionTransformer.* are missing: class_embedding"
    ):
        resolve(f"open_clip/tiny-vit@weights={path}")


def test_a_pickle_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "whole.pt"
    torch.save(by_hand("tiny-vit"), path)
    with pytest.raises(ObserverError, match="holds more than tensors"):
        resolve(f"open_clip/tiny-vit@weights={path}")
