"""Models of torch.hub, from a folder and from the cache of the hub; nothing is downloaded."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from looking import features, frames

from fechner.errors import ObserverError
from fechner.observers import hub, resolve
from fechner.observers.abilities import Encodes
from fechner.observers.weights import MissingWeightsError
from fechner.stimuli import Frames

MEAN = torch.tensor([0.485, 0.456, 0.406]).reshape(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).reshape(3, 1, 1)

MODELS = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 9), nn.GELU(), nn.Linear(9, width))

    def forward(self, x):
        normed = self.norm(x)
        x = x + self.attn(normed, normed, normed)[0]
        return x + self.mlp(x)

class Tiny(nn.Module):
    def __init__(self, width=8, answers="tensor"):
        super().__init__()
        torch.manual_seed(0)
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.blocks = nn.ModuleList([Block(width) for _ in range(3)])
        self.answers = answers

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], dim=1)
        for block in self.blocks:
            x = block(x)
        if self.answers == "dict":
            return {"masks": None, "token": x[:, 0], "patches": x[:, 1:]}
        if self.answers == "tuple":
            return (x[:, 0], x[:, 1:])
        if self.answers == "number":
            return {"classes": x[:, 0].argmax(1)}
        return x[:, 0]
"""

HUBCONF = """
import warnings
from pathlib import Path

import torch

from models import Tiny
from parts import nothing

dependencies = ["torch"]

warnings.warn("this code is old")
print("this code talks")

def tiny(**settings):
    return Tiny(**settings)

def dino_tiny(pretrained=True, **settings):
    model = Tiny(**settings)
    if pretrained:
        url = "https://example.invalid/dino/dino_tiny_pretrain.pth"
        model.load_state_dict(torch.hub.load_state_dict_from_url(url, map_location="cpu"))
    return model

def without_switch():
    return Tiny()

def answers_dict():
    return Tiny(answers="dict")

def answers_tuple():
    return Tiny(answers="tuple")

def answers_number():
    return Tiny(answers="number")

def loads_pickle():
    return torch.load(Path(__file__).with_name("whole.pt"), weights_only=False)

def number():
    return 3

def broken():
    raise ValueError("no such thing today")
"""


def write(folder: Path, models: str = MODELS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hubconf.py").write_text(HUBCONF)
    (folder / "models.py").write_text(models)
    (folder / "parts").mkdir(exist_ok=True)
    (folder / "parts" / "nothing.py").touch()  # a package without __init__.py
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "mine")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the hub in a folder of its own, without a network."""
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path / "hub"))
    monkeypatch.setattr(hub, "reachable", lambda address: False)
    return tmp_path / "hub"


def tiny(models: str = MODELS) -> torch.nn.Module:
    names: dict[str, object] = {"__name__": "models"}
    exec(models, names)
    return names["Tiny"]().eval()


def look(model: torch.nn.Module, shown: Frames) -> torch.Tensor:
    with torch.no_grad():
        return model((shown.pixels - MEAN) / STD)


def trusted(spec: str) -> Encodes:
    return resolve(f"torch_hub/{spec}", trust_remote_code=True)


@pytest.mark.parametrize("entry", ["tiny", "answers_dict", "answers_tuple", "without_switch"])
@pytest.mark.parametrize("size", [None, 64])
def test_equals_the_model_by_hand(folder: Path, entry: str, size: int | None) -> None:
    observer = trusted(f"{folder}/{entry}" + (f"@size={size}" if size else ""))
    side = size or 224
    assert observer.wants.size_px == (side, side)
    shown = frames(side)
    torch.testing.assert_close(features(observer, shown), look(tiny(), shown), rtol=1e-5, atol=1e-6)
    assert observer.layers == ("blocks.0", "blocks.1", "blocks.2", "output")


def test_pictures_of_a_batch_do_not_meet(folder: Path) -> None:
    observer, shown = trusted(f"{folder}/tiny@size=64"), frames(64)
    for layer in ("blocks.1", "output"):
        alone = [features(observer, replace(shown, pixels=p[None]), layer) for p in shown.pixels]
        torch.testing.assert_close(features(observer, shown, layer), torch.cat(alone))


def test_paths_of_the_working_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    assert features(trusted("mine/tiny"), frames(224)).shape == (3, 8)
    monkeypatch.chdir(folder)
    assert features(trusted("./tiny"), frames(224)).shape == (3, 8)


# Trust


def test_code_is_not_run_unasked(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    message = r"runs code from the folder .*/mine: allow it with --trust-remote-code"
    with pytest.raises(ObserverError, match=message):
        resolve(f"torch_hub/{folder}/tiny")
    with pytest.raises(ObserverError, match="runs code from facebookresearch/dino: allow it with"):
        resolve("torch_hub/facebookresearch/dino/dino_resnet50")
    assert capfd.readouterr() == ("", "")


def test_pickles_are_not_run_even_then(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    torch.save(torch.nn.Flatten(), folder / "whole.pt")
    with pytest.raises(ObserverError, match=r"could not be loaded .UnpicklingError: Weights only"):
        trusted(f"{folder}/loads_pickle")
    assert os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] == "1"
    assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ


def test_what_the_code_says_does_not_mix_with_results(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    trusted(f"{folder}/tiny")
    assert capfd.readouterr() == ("", "this code talks\n")


# Weights


@pytest.fixture
def other_weights(tmp_path: Path) -> Path:
    model = tiny()
    with torch.no_grad():
        model.token.add_(1.0)
    torch.save({"model": model.state_dict()}, tmp_path / "other.pth")
    return tmp_path / "other.pth"


@pytest.mark.parametrize("entry", ["dino_tiny", "tiny", "without_switch"])
def test_weights_of_a_file(folder: Path, other_weights: Path, entry: str) -> None:
    observer = trusted(f"{folder}/{entry}@weights={other_weights}")
    model = tiny()
    with torch.no_grad():
        model.token.add_(1.0)
    found = features(observer, frames(224))
    torch.testing.assert_close(found, look(model, frames(224)), rtol=1e-5, atol=1e-6)


def test_weights_in_the_cache(folder: Path, home: Path) -> None:
    """What the code would fetch is taken from where the hub keeps it."""
    (home / "checkpoints").mkdir(parents=True)
    model = tiny()
    with torch.no_grad():
        model.token.sub_(1.0)
    torch.save(model.state_dict(), home / "checkpoints" / "dino_tiny_pretrain.pth")
    found = features(trusted(f"{folder}/dino_tiny"), frames(224))
    torch.testing.assert_close(found, look(model, frames(224)), rtol=1e-5, atol=1e-6)


def test_missing_weights(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*given: object, **further: object) -> None:
        raise OSError("Name or service not known")

    monkeypatch.setattr("torch.hub.urlopen", no_network)
    message = r"dino_tiny of .*/mine, are not on this machine .*service not known.*TORCH_HOME"
    with pytest.raises(MissingWeightsError, match=message):
        trusted(f"{folder}/dino_tiny")


@pytest.mark.parametrize("reference", ["", ":v1.0"])
def test_missing_repository(reference: str) -> None:
    where = f"https://github.com/facebookresearch/dino{reference}"
    message = f"dino_resnet50 of {where}, are not on this machine .*cannot be reached"
    with pytest.raises(MissingWeightsError, match=message):
        trusted(f"facebookresearch/dino{reference}/dino_resnet50")


# Repositories


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("owner/name", "owner_name_main"),
        ("owner/name", "owner_name_master"),
        ("owner/name:v1.0", "owner_name_v1.0"),
        ("owner/name:some/branch", "owner_name_some_branch"),
    ],
)
def test_a_repository_in_the_cache(name: str, kept: str, home: Path) -> None:
    write(home / kept)
    observer = trusted(f"{name}/tiny")
    torch.testing.assert_close(features(observer, frames(224)), look(tiny(), frames(224)))
    assert "code=" in observer.fingerprint


@pytest.mark.parametrize("reference", ["", ":v1.0"])
def test_a_repository_that_is_fetched(
    reference: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only references are looked up at the site, whose forks they may belong to."""
    asked = {}

    def fetched(github: str, *given: object, **settings: object) -> str:
        asked.update(github=github, **settings)
        return str(write(home / f"owner_name_{reference[1:] or 'main'}"))

    monkeypatch.setattr(hub, "reachable", lambda address: True)
    monkeypatch.setattr(torch.hub, "_get_cache_or_reload", fetched)
    observer = trusted(f"owner/name{reference}/tiny")
    assert asked["github"] == f"owner/name{reference}"
    assert asked["skip_validation"] is (reference == "")
    assert "code=" in observer.fingerprint


def test_modules_that_are_called_alike(folder: Path, tmp_path: Path) -> None:
    models = MODELS.replace("manual_seed(0)", "manual_seed(5)")
    other = write(tmp_path / "theirs", models)
    before = list(sys.path)
    first, second = trusted(f"{folder}/tiny"), trusted(f"{other}/tiny")
    torch.testing.assert_close(features(first, frames(224)), look(tiny(), frames(224)))
    torch.testing.assert_close(features(second, frames(224)), look(tiny(models), frames(224)))
    assert not {"models", "parts", "parts.nothing"} & set(sys.modules)
    assert sys.path == before


def test_the_fingerprint_follows_the_code(folder: Path) -> None:
    spec = f"{folder}/tiny"
    base = trusted(spec).fingerprint
    assert base == trusted(spec).fingerprint
    (folder / "models.py").write_text(MODELS.replace("x + self.mlp(x)", "x - self.mlp(x)"))
    assert trusted(spec).fingerprint != base


# Mistakes


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("nothing", "could not be loaded .RuntimeError: Cannot find callable nothing in hubconf"),
        ("number", "made a int, not a torch module; name a function of hubconf.py"),
        ("broken", "could not be loaded .ValueError: no such thing today"),
    ],
)
def test_functions_that_make_no_model(folder: Path, entry: str, message: str) -> None:
    with pytest.raises(ObserverError, match=message):
        trusted(f"{folder}/{entry}")


def test_a_model_that_returns_no_features(folder: Path) -> None:
    with pytest.raises(ObserverError, match="returned a dict of 1, not a tensor"):
        features(trusted(f"{folder}/answers_number"), frames(224))


@pytest.mark.parametrize("model", ["dino_resnet50", "dino/dino_resnet50", "{}/nowhere/tiny"])
def test_names_that_are_none(tmp_path: Path, model: str) -> None:
    with pytest.raises(ObserverError, match="is neither OWNER/REPOSITORY/MODEL nor a folder"):
        trusted(model.format(tmp_path))
