"""Small finished runs to look at."""

from pathlib import Path

import pytest
from oddities import HOSTILE, afraid_of_the_dark, broken, constant, network

import fechner
from fechner import Run, observe


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
