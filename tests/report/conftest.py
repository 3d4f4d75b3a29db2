"""Small finished runs to look at."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import fechner
from fechner import Run, observe

#: Names that must stay text wherever they are shown.
HOSTILE = (
    "<script>document.title = 'taken'</script>",
    "\"quotes\" & 'apostrophes'",
    "emoji 😀 ☃",
    "x" * 300,
    "</script></style><b>bold</b>",
)


def network(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(3, 4, 7, stride=4), nn.ReLU(), nn.Conv2d(4, 8, 5, stride=2))


def constant(test: Tensor, reference: Tensor) -> Tensor:
    """Answers the same to everything, so nothing can be scored."""
    return torch.zeros(len(test))


def afraid_of_the_dark(test: Tensor, reference: Tensor) -> Tensor:
    """Fails in the test that is shown in the dark."""
    if test.mean() < 0.2:
        raise RuntimeError("<i>too dark</i>")
    return (test - reference).abs().mean(dim=(1, 2, 3))


def broken(test: Tensor, reference: Tensor) -> Tensor:
    """Fails at the first look, so it is left out."""
    raise RuntimeError("never")


@pytest.fixture(scope="session")
def shown_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Three observers, one with layers, in a test with a surface and in a matching test."""
    return fechner.evaluate(
        "pixels",
        observe(network(0), name="network", version="1"),
        observe(network(1), name="timm/vit_small_patch16_224.dino", version="1"),
        tests=["masking-coherent", "matching-frequency"],
        readouts=["angle", "l2"],
        layers="*",
        out=tmp_path_factory.mktemp("runs") / "shown",
        progress=False,
    )


@pytest.fixture(scope="session")
def odd_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Hostile names, an observer without scores, one that fails, and one that is left out."""
    folder: Path = tmp_path_factory.mktemp("runs") / "odd"
    return fechner.evaluate(
        *(observe(network(i), name=name) for i, name in enumerate(HOSTILE)),
        observe(constant, name="constant"),
        observe(afraid_of_the_dark, name="afraid"),
        observe(broken, name="broken"),
        tests=["area", "matching-frequency"],
        scores_only=True,
        out=folder,
        progress=False,
    )
