"""The mean responses to photographs that set the gains are those that the script finds."""

import importlib.util
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from fechner.observers.models.bio_parameters import BioParameters, NaturalMeans
from fechner.observers.models.natural import natural_means

FILE = Path(__file__).parents[3] / "benchmarks" / "natural_means.py"


@cache
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("natural_means_script", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def squares() -> torch.Tensor:
    found: torch.Tensor = script().squares()
    return found


def test_opponent_energy_of_all_photographs() -> None:
    xyz = squares()
    assert xyz.shape == (94, 3, 128, 128)
    x, y, z = xyz.unbind(dim=1)
    opponent = torch.stack([y, x - y, 0.4 * (y - z)], dim=1) / 100
    energy = opponent.abs().pow(1.25).mean(dim=(0, 2, 3))
    assert energy.numpy() == pytest.approx(NaturalMeans().opponent_energy, rel=1e-3)


def test_the_other_means_on_some_photographs() -> None:
    """A twelfth of the squares, whose means lie around those of all."""
    found, stored = natural_means(BioParameters(), squares()[::12], 64.0), NaturalMeans()
    for name in ("sensitivity_energy", "wavelet_energy", "wavelet_amplitude"):
        ratio = np.array(getattr(found, name)) / np.array(getattr(stored, name))
        assert 0.4 < ratio.min() < ratio.max() < 2.5


def test_means_do_not_depend_on_what_was_stored() -> None:
    some = squares()[:2]
    other = replace(BioParameters(), means=replace(NaturalMeans(), opponent_energy=(1.0, 2.0, 3.0)))
    assert natural_means(other, some, 64.0) == natural_means(BioParameters(), some, 64.0)
