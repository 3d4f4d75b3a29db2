"""Luma and the mean squared error."""

import pytest
import torch

from fechner.observers.metrics.luma import BT709_WEIGHTS, luma, mean_squared_error


def test_luma_weighs_encoded_channels() -> None:
    pure = torch.eye(3, dtype=torch.float64).reshape(3, 3, 1, 1)
    assert luma(pure).flatten().tolist() == pytest.approx(BT709_WEIGHTS, rel=1e-15)
    assert luma(torch.full((1, 3, 2, 2), 0.25)).unique().tolist() == pytest.approx([0.25])


def test_luma_of_a_video_is_a_video() -> None:
    assert luma(torch.rand(2, 3, 4, 5, 6)).shape == (2, 4, 5, 6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_mean_squared_error_of_pictures_with_one_reference(dtype: torch.dtype) -> None:
    reference = torch.full((1, 3, 40, 50), 0.5, dtype=dtype)
    offsets = torch.tensor([0.0, 1e-4, 0.25], dtype=dtype).reshape(3, 1, 1, 1)
    found = mean_squared_error(reference + offsets, reference)
    assert found.dtype == torch.float64
    assert found.tolist() == pytest.approx([0, 1e-8, 0.0625], rel=1e-3)


def test_its_gradient_is_finite_for_identical_pictures() -> None:
    x = torch.rand(2, 5, 5, requires_grad=True)
    mean_squared_error(x, x.detach()).sum().backward()
    assert x.grad is not None
    assert x.grad.abs().max() == 0
