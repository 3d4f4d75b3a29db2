"""Backbones of metrics, drawn at random, where torchvision looks for what it has fetched."""

from pathlib import Path
from urllib.error import URLError

import pytest
import torch

from fechner.observers.metrics.deep import weights_file
from fechner.observers.torchvision_fix import import_torchvision

import_torchvision()


def random_backbone(name: str) -> dict[str, torch.Tensor]:
    """Return weights under the names and in the shapes of torchvision, few of them distinct."""
    from torchvision import models

    with torch.device("meta"):
        shapes = models.get_model(name, weights=None).state_dict()
    generator = torch.Generator().manual_seed(5)

    def draw(key: str, like: torch.Tensor) -> torch.Tensor:
        if not key.startswith("features"):  # which no metric looks at
            return torch.zeros(1).expand(like.shape)
        if like.ndim == 1:
            return torch.full(like.shape, 0.01)
        return torch.randn(like.shape, generator=generator) * (2 / like[0].numel()) ** 0.5

    return {key: draw(key, like) for key, like in shapes.items()}


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave networks undrawn that are filled anyway: it takes seconds."""
    for name in ("kaiming_normal_", "kaiming_uniform_", "normal_", "uniform_", "constant_"):
        monkeypatch.setattr(f"torch.nn.init.{name}", lambda tensor, *args, **kwargs: tensor)


@pytest.fixture(scope="session")
def torch_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of torch with the backbones in it."""
    home: Path = tmp_path_factory.mktemp("torch")
    checkpoints = home / "hub" / "checkpoints"
    checkpoints.mkdir(parents=True)
    for name in ("alexnet", "squeezenet1_1", "vgg16"):
        torch.save(random_backbone(name), checkpoints / weights_file(name))
    return home


@pytest.fixture
def cached(torch_home: Path, undrawn: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let torch look there, and say where the files are."""
    monkeypatch.setenv("TORCH_HOME", str(torch_home))
    return torch_home / "hub" / "checkpoints"


@pytest.fixture
def offline(tmp_path: Path, undrawn: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache and no network."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise URLError("Name or service not known")

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr("torch.hub.urlopen", refuse)
