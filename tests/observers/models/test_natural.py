"""The mean energy of photographs is that which the script finds."""

from functools import cache

import numpy as np
import pytest
import torch
from scripts import script

from fechner.observers.models.bio_multilayer import BioParameters

natural_means = script("natural_means")


@cache
def squares() -> torch.Tensor:
    found: torch.Tensor = natural_means.squares()
    return found


def test_energy_of_some_photographs() -> None:
    """A twelfth of the squares, whose means lie around those of all."""
    assert squares().shape == (94, 3, 128, 128)
    found = natural_means.natural_energy(BioParameters(), squares()[::12], 64.0)
    ratio = np.array(found) / np.array(BioParameters().wavelets.natural_energy)
    assert 0.5 < ratio.min() < ratio.max() < 2


@pytest.mark.slow
def test_energy_of_all_photographs() -> None:
    found = natural_means.natural_energy(BioParameters(), squares(), 64.0)
    stored = BioParameters().wavelets.natural_energy
    assert np.array(found) == pytest.approx(np.array(stored), rel=1e-2)
