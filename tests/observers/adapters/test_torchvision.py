"""torchvision's classifiers: read-outs by hand, files, sizes, names, missing weights."""

import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
import torch
from looking import features, frames
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional
from torchvision import models

from fechner.errors import ObserverError, UnknownNameError
from fechner.observers import abilities
from fechner.observers.adapters.torchvision import load
from fechner.observers.inputs import Normalisation
from fechner.observers.names import resolve
from fechner.observers.weights import MissingWeightsError

#: Builders that warn or take long unless told not to draw their weights carefully.
QUICK = {
    "googlenet": {"init_weights": False, "aux_logits": True},
    "inception_v3": {"init_weights": False, "aux_logits": True},
    "vgg11": {"init_weights": False},
}

_IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def build(name: str, **settings: Any) -> nn.Module:
    torch.manual_seed(0)
    return models.get_model(name, weights=None, **QUICK.get(name, {}), **settings).eval()


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, torch.Tensor]], None]:
    """Return a function that puts tensors where torchvision would fetch some."""

    def put(state: dict[str, torch.Tensor]) -> None:
        def fetch(url: str, *args: Any, **kwargs: Any) -> dict[str, torch.Tensor]:
            return state

        monkeypatch.setattr("torchvision.models._api.load_state_dict_from_url", fetch)

    return put


@pytest.fixture(scope="module")
def resnet() -> nn.Module:
    return build("resnet18")


@pytest.fixture(scope="module", params=["pt", "safetensors"])
def file(resnet: nn.Module, request: pytest.FixtureRequest, tmp_path_factory: Any) -> Path:
    path: Path = tmp_path_factory.mktemp("weights") / f"mine.{request.param}"
    save = save_file if request.param == "safetensors" else torch.save
    save(resnet.state_dict(), path)
    return path


# Read-outs


def test_a_file_of_weights_by_hand(resnet: nn.Module, file: Path) -> None:
    observer = resolve(f"torchvision/resnet18@weights={file}")
    assert abilities(observer) == ("encodes", "recognises")
    assert observer.layers == ("layer1", "layer2", "layer3", "layer4", "output")
    assert observer.wants.size_px == (224, 224)
    assert len(observer.classes) == 1000
    assert observer.classes[281] == "n02123045"
    shown = frames(224)
    mean, std = (torch.tensor(v).reshape(3, 1, 1) for v in _IMAGENET)
    with torch.no_grad():
        pictures = (shown.pixels - mean) / std
        body = nn.Sequential(*list(resnet.children())[:-1])
        assert torch.equal(features(observer, shown), body(pictures).flatten(1))
        assert torch.equal(observer.class_scores(shown), resnet(pictures))


#: The layer before which features are read, and how many there are; None where there is no such.
HEADS = {
    "alexnet": ("classifier.6", 4096),
    "convnext_tiny": ("classifier.2", 768),
    "densenet121": ("classifier", 1024),
    "efficientnet_b0": ("classifier.1", 1280),
    "googlenet": ("fc", 1024),
    "inception_v3": ("fc", 2048),
    "mnasnet0_5": ("classifier.1", 1280),
    "mobilenet_v2": ("classifier.1", 1280),
    "mobilenet_v3_small": ("classifier.3", 1024),
    "regnet_y_400mf": ("fc", 440),
    "resnet18": ("fc", 512),
    "shufflenet_v2_x0_5": ("fc", 1024),
    "squeezenet1_1": (None, 1000),
    "swin_t": ("head", 768),
    "vgg11": ("classifier.6", 4096),
    "vit_b_16": ("heads.head", 768),
}


@pytest.mark.parametrize("name", HEADS)
def test_the_read_out_goes_into_the_layer_that_scores(
    name: str, published: Callable[[dict[str, torch.Tensor]], None]
) -> None:
    head, count = HEADS[name]
    published(build(name).state_dict())
    network = load(name)
    module = network.module.eval()
    side = 224 if name == "vit_b_16" else 96
    pictures = frames(side, 1).pixels
    with torch.no_grad():
        scores = module(pictures)
        assert network.classify is not None
        assert torch.equal(network.classify(pictures), scores)
        if head is None:
            assert network.call is None
            return
        assert network.call is not None
        output = network.call(pictures)
        last = module.get_submodule(head)
        assert torch.equal(functional.linear(output, last.weight, last.bias), scores)
    assert output.shape == (1, count)


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("alexnet", ["features.2", "features.5", "features.12"]),
        (
            "googlenet",
            [f"inception{x}" for x in ("3a", "3b", *(f"4{y}" for y in "abcde"), "5a", "5b")],
        ),
        ("squeezenet1_1", [f"features.{i}" for i in (3, 4, 6, 7, 9, 10, 11, 12)]),
    ],
)
def test_stages(
    name: str, stages: list[str], published: Callable[[dict[str, torch.Tensor]], None]
) -> None:
    published(build(name).state_dict())
    assert list(load(name).stages or ()) == stages


# Files


def test_published_names_that_have_changed_since(tmp_path: Path) -> None:
    dense, path = build("densenet121"), tmp_path / "densenet121.pth"
    old = {
        key.replace("norm1.", "norm.1.").replace("conv2.", "conv.2."): value
        for key, value in dense.state_dict().items()
        if not key.endswith("num_batches_tracked")  # younger than these files
    }
    assert old.keys() != dense.state_dict().keys()
    torch.save(old, path)
    _same(dense, load("densenet121", weights=str(path)).module)


def test_positions_are_made_for_one_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def get_model(name: str, *, weights: None, image_size: int = 224, **more: Any) -> nn.Module:
        width = 12  # torchvision has no small one
        return models.VisionTransformer(image_size, 32, 2, 3, width, 4 * width, **more).eval()

    monkeypatch.setattr(models, "get_model", get_model)
    made, path = build("vit_b_32", image_size=64), tmp_path / "vit.pth"
    names = {".mlp.0.": ".mlp.linear_1.", ".mlp.3.": ".mlp.linear_2."}
    state = {}
    for key, value in made.state_dict().items():
        for new, old in names.items():  # as in the published files
            key = key.replace(new, old)
        state[key] = value
    torch.save(state, path)
    small = load("vit_b_32", weights=str(path))
    assert small.size_px == (64, 64)
    _same(made, small.module)

    with pytest.raises(ObserverError, match="vit_b_32 takes pictures of 64 px only"):
        load("vit_b_32", weights=str(path), size=96)


@pytest.mark.parametrize("name", ["googlenet", "inception_v3", "mnasnet0_5", "densenet121"])
def test_as_torchvision_itself_loads_them(
    name: str, tmp_path: Path, published: Callable[[dict[str, torch.Tensor]], None]
) -> None:
    # These have ways of their own: heads for training, input that is turned into that of the
    # original network, versions, old names.
    state, path = build(name).state_dict(), tmp_path / "weights.pth"
    published(state)
    torch.save(state, path)
    expected = models.get_model(name, weights="DEFAULT").eval()
    pictures = frames(96, 1).pixels
    with torch.no_grad():
        for network in (load(name), load(name, weights=str(path))):
            assert torch.equal(network.module.eval()(pictures), expected(pictures))


@pytest.mark.parametrize("name", ["resnet18", "squeezenet1_1"])
def test_another_number_of_classes(name: str, tmp_path: Path) -> None:
    made, path = build(name, num_classes=10), tmp_path / "tuned.pth"
    torch.save({"state_dict": {f"module.{k}": v for k, v in made.state_dict().items()}}, path)
    network = load(name, weights=str(path))
    assert network.classes == tuple("0123456789")
    _same(made, network.module)


def test_weights_that_do_not_fit(tmp_path: Path, resnet: nn.Module) -> None:
    path = tmp_path / "other.pth"
    state = resnet.state_dict()
    del state["layer1.0.conv1.weight"]
    torch.save(state, path)
    with pytest.raises(ObserverError, match=r"do not fit ResNet; .*missing: layer1\.0\.conv1"):
        load("resnet18", weights=str(path))
    with pytest.raises(ObserverError, match="there is no weights file"):
        load("resnet18", weights=str(tmp_path / "nowhere.pth"))


class Malicious:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("how", ["torch", "pickle"])
def test_code_in_a_pickle_is_not_run(how: str, tmp_path: Path) -> None:
    trap, path = tmp_path / "trap", tmp_path / "weights.pth"
    if how == "torch":
        torch.save({"conv1.weight": Malicious(trap)}, path)
    else:
        path.write_bytes(pickle.dumps({"conv1.weight": Malicious(trap)}, protocol=2))
    with pytest.raises(ObserverError, match="fechner runs no code from a pickle"):
        resolve(f"torchvision/resnet18@weights={path}")
    assert not trap.exists()
    if how == "pickle":  # the trap works
        pickle.loads(path.read_bytes())
        assert trap.exists()


def _same(one: nn.Module, other: nn.Module) -> None:
    expected, found = one.state_dict(), other.state_dict()
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[key], found[key]) for key in expected)


# Sizes, normalisation and names


@pytest.mark.parametrize(
    ("model", "tag", "side", "normalise"),
    [
        ("efficientnet_b1", "IMAGENET1K_V2", 240, _IMAGENET),
        ("efficientnet_v2_l", "IMAGENET1K_V1", 480, ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))),
        ("inception_v3", "IMAGENET1K_V1", 299, _IMAGENET),
        ("regnet_y_16gf/imagenet1k_swag_e2e_v1", "IMAGENET1K_SWAG_E2E_V1", 384, _IMAGENET),
        ("regnet_y_16gf/IMAGENET1K_V1", "IMAGENET1K_V1", 224, _IMAGENET),
        ("swin_v2_t/default", "IMAGENET1K_V1", 256, _IMAGENET),
    ],
)
def test_size_and_normalisation_are_those_of_the_weights(
    model: str, tag: str, side: int, normalise: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, small = [], build("squeezenet1_1")  # what is asked for is not needed here

    def fetch(weights: Any, **settings: Any) -> dict[str, torch.Tensor]:
        asked.append(weights.name)
        assert settings["weights_only"]
        return small.state_dict()

    monkeypatch.setattr(models.WeightsEnum, "get_state_dict", fetch)
    monkeypatch.setattr(models, "get_model", lambda name, **settings: small)
    network = load(model)
    assert network.size_px == (side, side)
    assert network.normalise == Normalisation(*normalise)
    assert asked == [tag]
    assert load(model, size=64).size_px == (64, 64)


def test_settings_through_a_name(resnet: nn.Module, tmp_path: Path) -> None:
    path = tmp_path / "mine.pth"
    torch.save(resnet.state_dict(), path)
    observer = resolve(f"torchvision/resnet18/imagenet1k_v1@weights={path},size=64,normalise=none")
    assert observer.wants.size_px == (64, 64)
    shown = frames(64)
    with torch.no_grad():
        body = nn.Sequential(*list(resnet.children())[:-1])
        assert torch.equal(features(observer, shown), body(shown.pixels).flatten(1))
    same = resolve(f"torchvision/resnet18/imagenet1k_v1@weights={path},size=64,normalise=none")
    assert observer.fingerprint == same.fingerprint
    other = resolve(f"torchvision/resnet18/imagenet1k_v1@weights={path},size=64")
    assert observer.fingerprint != other.fingerprint


def test_a_size_that_a_model_cannot_take(
    published: Callable[[dict[str, torch.Tensor]], None],
) -> None:
    published(build("maxvit_t").state_dict())
    with pytest.raises(ObserverError, match="maxvit_t takes pictures of 224 px only"):
        load("maxvit_t", size=96)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("resnet81", "no torchvision model named 'resnet81'; did you mean 'resnet18'"),
        ("fasterrcnn_resnet50_fpn", "no torchvision model named 'fasterrcnn_resnet50_fpn'"),
        ("resnet50/IMAGENET1K_V3", "weights of resnet50 named .* there is IMAGENET1K_V1, IMAGENET"),
        ("vgg16/IMAGENET1K_FEATURES", "weights of vgg16 named .* there is IMAGENET1K_V1"),
    ],
)
def test_unknown_names(model: str, message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        load(model)


def test_missing_weights_without_a_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unreachable(*args: Any, **kwargs: Any) -> Any:
        raise URLError("no network here")

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr("torch.hub.urlopen", unreachable)
    began = time.monotonic()
    with pytest.raises(MissingWeightsError) as caught:
        resolve("torchvision/resnet18")
    assert time.monotonic() - began < 5
    said = str(caught.value)
    assert said.startswith("the weights of 'torchvision/resnet18', resnet18-f37072fd.pth, are not")
    assert "TORCH_HOME" in said
    assert "--weights PATH" in said


def test_weights_without_a_classifier_give_the_same_features(
    resnet: nn.Module, tmp_path: Path
) -> None:
    weights = {k: v for k, v in resnet.state_dict().items() if not k.startswith("fc.")}
    torch.save(weights, tmp_path / "body.pt")
    torch.save(resnet.state_dict(), tmp_path / "whole.pt")
    body, whole = (
        resolve(f"torchvision/resnet18@weights={tmp_path / name}.pt") for name in ("body", "whole")
    )
    assert abilities(body) == ("encodes",)
    assert torch.equal(features(body, frames(224)), features(whole, frames(224)))
