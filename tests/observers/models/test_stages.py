"""Divisive normalisation and its filters, by hand."""

import math

import numpy as np
import pytest
import torch

from fechner.observers.models.stages import energies, filtered, frequencies, gain_at, gaussian


@pytest.mark.parametrize("size", [(16, 16), (15, 22)])
def test_a_grating_is_filtered_by_the_gain_at_its_frequency(size: tuple[int, int]) -> None:
    ppd, cycles = 32.0, 3
    x = torch.arange(size[1], dtype=torch.float64)
    grating = torch.cos(2 * math.pi * cycles * x / size[1]).expand(size)
    frequency, orientation = frequencies(size, ppd)
    blurred = filtered(grating, torch.tensor(gaussian(frequency, 0.05)))
    expected = math.exp(-2 * (math.pi * 0.05 * cycles * ppd / size[1]) ** 2)
    assert torch.allclose(blurred, expected * grating)
    assert orientation[0, 1:] == pytest.approx(0)
    assert frequency[0, cycles] == pytest.approx(cycles * ppd / size[1])


def test_a_blur_is_as_wide_as_it_says() -> None:
    frequency, _ = frequencies((64, 64), 32.0)
    delta = torch.zeros(64, 64, dtype=torch.float64)
    delta[32, 32] = 1.0
    spread = filtered(delta, torch.tensor(gaussian(frequency, 0.1)))
    x = (torch.arange(64) - 32) / 32.0
    assert float(spread.sum()) == pytest.approx(1.0)
    assert float((spread.sum(dim=0) * x**2).sum()) == pytest.approx(0.01, rel=1e-6)


@pytest.mark.parametrize("exponent", [0.6, 1.25, 1.5])
def test_energies_are_powers_with_a_slope_at_zero(exponent: float) -> None:
    y = torch.tensor([-3.0, 0.0, 0.2, 3.0], dtype=torch.float64, requires_grad=True)
    e, signed = energies(y, exponent, 1e-4)
    assert e.detach().numpy() == pytest.approx(np.abs(y.detach().numpy()) ** exponent, abs=5e-3)
    assert torch.equal(signed.sign(), y.sign())
    assert torch.allclose(signed.abs()[[0, 2, 3]], e[[0, 2, 3]], rtol=1e-6)
    (slope,) = torch.autograd.grad(signed.sum(), y)
    assert float(slope[1]) == pytest.approx(1e-4 ** (exponent - 1))
    assert float(slope[3]) == pytest.approx(exponent * 3 ** (exponent - 1), rel=1e-6)


def test_mean_energy_all_around_gives_the_level() -> None:
    e, level, b = torch.tensor([0.5, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor([0.1, 0.2])
    pooled = 1.5 * e
    gain = gain_at(e, level, b, pooled)
    assert torch.allclose(gain * e / (b + pooled), level)
