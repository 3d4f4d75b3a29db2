"""timm's models: read-outs by hand, stages, files, sizes, names, missing weights."""

import logging
import time
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from looking import features, frames
from safetensors.torch import save_file
from torch import nn

from fechner.errors import ObserverError, UnknownNameError
from fechner.observers import abilities
from fechner.observers.adapters.timm import load
from fechner.observers.names import resolve
from fechner.observers.weights import MissingWeightsError

_HALF = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
_IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))

#: Number of features, normalisation, stages.
MODELS: dict[str, tuple[int, Any, list[str]]] = {
    "convnext_atto": (320, _IMAGENET, [f"stages.{i}" for i in range(4)]),
    "deit_tiny_distilled_patch16_224": (192, _IMAGENET, [f"blocks.{i}" for i in range(12)]),
    "efficientnet_lite0": (1280, _IMAGENET, [f"blocks.{i}" for i in (0, 1, 2, 4, 6)]),
    "resnet18": (512, _IMAGENET, ["act1", *(f"layer{i}" for i in range(1, 5))]),
    "vit_tiny_patch16_224": (192, _HALF, [f"blocks.{i}" for i in range(12)]),
    "xcit_nano_12_p16_224": (128, _IMAGENET, [f"blocks.{i}" for i in range(12)]),
}


def build(name: str, **settings: Any) -> Any:
    torch.manual_seed(0)
    return timm.create_model(name, **settings).eval()


def saved(module: nn.Module, folder: Path, name: str = "mine.safetensors") -> Path:
    path = folder / name
    (save_file if path.suffix == ".safetensors" else torch.save)(module.state_dict(), path)
    return path


def same(one: nn.Module, other: nn.Module) -> None:
    expected, found = one.state_dict(), other.state_dict()
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[key], found[key]) for key in expected)


# Read-outs


@pytest.mark.parametrize("name", MODELS)
def test_random_weights_by_hand(name: str, tmp_path: Path) -> None:
    count, (mean, std), stages = MODELS[name]
    made = build(name)
    observer = resolve(f"timm/{name}@weights={saved(made, tmp_path)}")
    assert abilities(observer) == ("encodes", "recognises")
    assert observer.wants.size_px == (224, 224)
    assert len(observer.classes) == 1000
    shown = frames(224)
    bare = timm.create_model(name, num_classes=0).eval()
    surplus = bare.load_state_dict(made.state_dict(), strict=False)
    assert not surplus.missing_keys
    with torch.no_grad():
        mean, std = (torch.tensor(v).reshape(3, 1, 1) for v in (mean, std))
        pictures = (shown.pixels - mean) / std
        output = features(observer, shown)
        assert output.shape == (3, count)
        assert torch.equal(output, bare(pictures))
        assert torch.equal(observer.class_scores(shown), made(pictures))
    assert list(observer.network.stages or ()) == stages


def test_layers_as_timm_names_its_stages(tmp_path: Path) -> None:
    made = build("resnet18")
    observer = resolve(f"timm/resnet18@weights={saved(made, tmp_path)},size=64")
    assert observer.layers == ("act1", "layer1", "layer2", "layer3", "layer4", "output")
    shown = frames(64)
    expected = timm.create_model("resnet18", features_only=True).eval()
    expected.load_state_dict(made.state_dict(), strict=False)
    taps: dict[str, torch.Tensor] = {}
    with torch.no_grad():
        observer.features(
            shown,
            {name: lambda seen, name=name: taps.update({name: seen}) for name in observer.layers},
        )
        maps = expected(observer.network.normalise(shown.pixels))
    for name, each in zip(observer.layers, maps, strict=False):
        assert torch.equal(taps[name], each.flatten(1))


# Sizes


def test_positions_are_resampled_for_another_size(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    name = "vit_tiny_patch16_224"
    made, small = build(name), build(name, img_size=96)
    path = saved(made, tmp_path, "large.pth")
    observer = resolve(f"timm/{name}@weights={path},size=96")
    assert observer.wants.size_px == (96, 96)
    # By timm's own hand.
    expected = timm.models.vision_transformer.checkpoint_filter_fn(made.state_dict(), small)
    small.load_state_dict(expected)
    assert small.pos_embed.shape == (1, 1 + 36, 192)
    same(small, observer.module)
    shown = frames(96)
    with torch.no_grad():
        pictures = observer.network.normalise(shown.pixels)
        assert torch.equal(observer.class_scores(shown), small(pictures))
    assert features(observer, shown).shape == (3, 192)
    # What was handed over is not kept.
    assert "state_dict" not in observer.module.pretrained_cfg
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_weights_that_were_trained_at_another_size(tmp_path: Path) -> None:
    made = build("vit_tiny_patch16_224", img_size=96)
    network = load("vit_tiny_patch16_224", weights=str(saved(made, tmp_path)), size=96)
    assert network.size_px == (96, 96)
    same(made, network.module)


# Files


@pytest.mark.parametrize(
    "name", ["deit_tiny_distilled_patch16_224", "efficientnet_lite0", "convnext_atto"]
)
def test_another_number_of_classes(name: str, tmp_path: Path) -> None:
    made = build(name, num_classes=10)
    network = load(name, weights=str(saved(made, tmp_path)))
    assert network.classes == tuple("0123456789")
    same(made, network.module)


def test_another_number_of_classes_and_another_size(tmp_path: Path) -> None:
    made = build("vit_tiny_patch16_224", num_classes=10)
    network = load("vit_tiny_patch16_224", weights=str(saved(made, tmp_path)), size=96)
    assert len(network.classes) == 10
    assert torch.equal(network.module.head.weight, made.head.weight)
    assert torch.equal(network.module.blocks[3].mlp.fc1.weight, made.blocks[3].mlp.fc1.weight)


def test_weights_without_a_classifier(tmp_path: Path) -> None:
    made = build("resnet18", num_classes=0)
    observer = resolve(f"timm/resnet18@weights={saved(made, tmp_path)},size=64,normalise=none")
    assert abilities(observer) == ("encodes",)
    shown = frames(64)
    with torch.no_grad():
        assert torch.equal(features(observer, shown), made(shown.pixels))


def test_names_that_the_authors_gave(tmp_path: Path) -> None:
    # Those of torchvision for a DenseNet, which timm turns into its own.
    made = build("densenet121")
    old = {
        key.replace("norm1.", "norm.1."): value
        for key, value in made.state_dict().items()
        if not key.endswith("num_batches_tracked")  # younger than these files
    }
    assert old.keys() != made.state_dict().keys()
    path = tmp_path / "old.pth"
    torch.save(old, path)
    same(made, load("densenet121.tv_in1k", weights=str(path)).module)


def test_a_checkpoint_of_a_training_program(tmp_path: Path) -> None:
    made, path = build("resnet18"), tmp_path / "last.pth"
    inside = {f"module.{key}": value for key, value in made.state_dict().items()}
    torch.save({"epoch": 3, "state_dict": inside}, path)
    same(made, load("resnet18", weights=str(path)).module)


def test_weights_that_do_not_fit(tmp_path: Path) -> None:
    made, path = build("vit_tiny_patch16_224"), tmp_path / "other.pth"
    state = made.state_dict()
    del state["blocks.3.norm1.weight"]
    torch.save(state, path)
    for size in (None, 96):
        with pytest.raises(
            ObserverError, match=r"do not fit VisionTransformer; .*blocks\.3\.norm1"
        ):
            load("vit_tiny_patch16_224", weights=str(path), size=size)
    with pytest.raises(ObserverError, match="do not fit ResNet"):
        load("resnet18", weights=str(path))


# Names and missing weights


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("vit_tinny_patch16_224", "no timm model .* did you mean 'vit_tiny_patch16_224'"),
        (
            "resnet18.a9_in1k",
            r"did you mean 'resnet18\.a\d_in1k'\? of resnet18 there is resnet18\.a1",
        ),
    ],
)
def test_unknown_names(model: str, message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        load(model)


def test_a_model_without_published_weights() -> None:
    with pytest.raises(
        ObserverError, match=r"no weights for 'efficientnet_lite1'; .*--weights PATH"
    ):
        load("efficientnet_lite1")


def test_missing_weights_without_a_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("fechner.observers.hub.reachable", lambda address: False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    began = time.monotonic()
    with pytest.raises(MissingWeightsError) as caught:
        resolve("timm/resnet18.a1_in1k")
    assert time.monotonic() - began < 5
    said = str(caught.value)
    assert said.startswith(
        "the weights of 'timm/resnet18.a1_in1k', model.safetensors of timm/resnet18"
    )
    assert "HF_HOME" in said
    assert "--weights PATH" in said


def test_a_size_that_patches_do_not_fill_is_refused(tmp_path: Path) -> None:
    file = saved(build("vit_tiny_patch16_224"), tmp_path)
    with pytest.raises(ObserverError, match=r"patches of 16 px; 'size' must be a multiple .*230"):
        resolve(f"timm/vit_tiny_patch16_224@size=230,weights={file}")
