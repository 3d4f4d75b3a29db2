"""Short filters against scipy, and gradients where roots and angles have none."""

import math

import numpy as np
import pytest
import torch
from scipy.ndimage import correlate1d

from fechner.observers.metrics.filtering import extend, gaussian_window, smooth
from fechner.stimuli.colour import root
from fechner.stimuli.colour_difference import angle, length

KERNEL = (0.1, 0.2, 0.4, 0.2, 0.1)


def picture(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).standard_normal(shape))


@pytest.mark.parametrize(("border", "mode"), [("repeat", "nearest"), ("mirror", "reflect")])
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("shape", [(2, 9, 12), (1, 4, 4), (1, 1, 2)])
def test_borders_as_in_scipy(
    border: str, mode: str, step: int, shape: tuple[int, int, int]
) -> None:
    x = picture(*shape)
    expected = x.numpy()
    for axis in (1, 2):
        expected = correlate1d(expected, KERNEL, axis=axis, mode=mode)
    found = smooth(x, KERNEL, step=step, border=border)  # type: ignore[arg-type]
    np.testing.assert_allclose(found, expected[:, ::step, ::step], atol=1e-14)


def test_without_a_border_only_where_the_kernel_fits() -> None:
    x = picture(2, 9, 12)
    expected = x.numpy()
    for axis in (1, 2):
        expected = correlate1d(expected, KERNEL, axis=axis)
    np.testing.assert_allclose(smooth(x, KERNEL), expected[:, 2:-2, 2:-2], atol=1e-14)


def test_an_even_kernel_lies_between_pixels() -> None:
    row = torch.arange(6.0).expand(1, 2, 6)
    assert smooth(row, (0.5, 0.5), step=2, border="mirror").tolist() == [[[0.5, 2.5, 4.5]]]


def test_a_mirror_goes_on_mirroring() -> None:
    row = torch.tensor([1.0, 2.0])
    assert extend(row, 0, 3, 4, "mirror").tolist() == [2, 2, 1, 1, 2, 2, 1, 1, 2]


def test_a_window_sums_to_one_and_has_its_width() -> None:
    window = np.array(gaussian_window(61, 5.0))
    assert window.sum() == pytest.approx(1, abs=1e-15)
    assert (window * np.arange(-30, 31) ** 2).sum() == pytest.approx(25, rel=1e-6)


def test_filters_are_differentiable() -> None:
    x = picture(1, 5, 6).requires_grad_()
    assert torch.autograd.gradcheck(lambda y: smooth(y, KERNEL, step=2, border="mirror"), x)
    assert torch.autograd.gradcheck(lambda y: smooth(y, KERNEL), x)


def test_gradients_are_those_of_the_functions_and_zero_where_there_are_none() -> None:
    x = torch.tensor([0.0, 0.0, 3.0, -1.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.0, 2.0, 4.0, 0.0], dtype=torch.float64, requires_grad=True)
    (length(x, y) + angle(y, x)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == pytest.approx([0, -0.5, 0.6 - 0.16, -1])
    assert y.grad is not None
    assert y.grad.tolist() == pytest.approx([0, 1, 0.8 + 0.12, -1])
    assert angle(y, x).tolist() == pytest.approx([0, math.pi / 2, math.atan2(4, 3), math.pi])


def test_a_root_keeps_what_is_not_a_number() -> None:
    assert math.isnan(root(torch.tensor(math.nan)).item())
