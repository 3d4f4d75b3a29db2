"""SSIM and MS-SSIM: two packages on random pictures, a closed form near threshold."""

import math

import mpmath
import numpy as np
import pytest
import pytorch_msssim
import torch
from skimage.metrics import structural_similarity

from fechner.errors import ObserverError
from fechner.observers.metrics.structure import (
    C1,
    C2,
    WINDOW,
    losses,
    moments,
    ms_ssim,
    ms_ssim_loss,
    scales,
    ssim,
    ssim_loss,
)


def pictures(n: int, height: int, width: int, noise: float) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(0)
    reference = rng.uniform(0, 1, (n, height, width))
    test = np.clip(reference + noise * rng.standard_normal(reference.shape), 0, 1)
    return torch.from_numpy(test), torch.from_numpy(reference)


@pytest.mark.parametrize("noise", [0.02, 0.3])
def test_ssim_as_in_two_packages(noise: float) -> None:
    test, reference = pictures(2, 40, 53, noise)
    found = ssim(moments(test), moments(reference))
    theirs = pytorch_msssim.ssim(
        test[:, None], reference[:, None], data_range=1.0, size_average=False
    )
    np.testing.assert_allclose(found, theirs, atol=1e-6)  # its window is in float32
    for i, value in enumerate(found.tolist()):
        _, whole = structural_similarity(
            test[i].numpy(),
            reference[i].numpy(),
            data_range=1.0,
            gaussian_weights=True,
            sigma=1.5,
            use_sample_covariance=False,
            full=True,
        )
        assert value == pytest.approx(whole[5:-5, 5:-5].mean(), abs=1e-12)


@pytest.mark.parametrize("size", [(176, 192), (175, 189)])
def test_ms_ssim_as_in_a_package(size: tuple[int, int]) -> None:
    # Sizes that are odd at some scale are halved with a black line there.
    test, reference = pictures(2, *size, 0.2)
    found = ms_ssim(scales(test, "black"), scales(reference, "black"))
    theirs = pytorch_msssim.ms_ssim(
        test[:, None], reference[:, None], data_range=1.0, size_average=False
    )
    np.testing.assert_allclose(found, theirs, atol=1e-6)
    if size == (176, 192):
        np.testing.assert_allclose(ms_ssim(scales(test), scales(reference)), found, rtol=1e-12)


def grating_loss(contrast: float, mean: float, cycles_per_px: float, width: int) -> float:
    """1 - SSIM of a horizontal sine against its mean, from the window's gain, in 30 digits."""
    mpmath.mp.dps = 30
    offsets = range(-5, 6)

    def gain(frequency: mpmath.mpf) -> mpmath.mpf:
        return mpmath.fsum(
            weight * mpmath.cos(2 * mpmath.pi * frequency * i)
            for weight, i in zip(WINDOW, offsets, strict=True)
        )

    f, a, m = mpmath.mpf(cycles_per_px), mpmath.mpf(contrast) * mean, mpmath.mpf(mean)
    once, twice = gain(f), gain(2 * f)
    values = []
    for x in range(5, width - 5):
        average = a * once * mpmath.sin(2 * mpmath.pi * f * x)
        square = a**2 / 2 * (1 - twice * mpmath.cos(4 * mpmath.pi * f * x))
        variance = square - average**2
        luminance = (2 * m * (m + average) + C1) / (m**2 + (m + average) ** 2 + C1)
        values.append(1 - luminance * C2 / (variance + C2))
    return float(mpmath.fsum(values) / len(values))


@pytest.mark.parametrize("cycles_per_px", [0.01, 0.07, 0.3])
@pytest.mark.parametrize("contrast", [1e-4, 1e-2])
def test_near_threshold_all_digits_are_there(contrast: float, cycles_per_px: float) -> None:
    width, mean = 120, 0.5
    x = torch.arange(width, dtype=torch.float64)
    wave = (2 * math.pi * cycles_per_px * x).sin().expand(1, 12, width)
    grey = torch.full_like(wave, mean)
    expected = grating_loss(contrast, mean, cycles_per_px, width)
    found = ssim_loss(moments(mean + contrast * mean * wave), moments(grey))
    assert found.item() == pytest.approx(expected, rel=1e-9)
    single = ssim_loss(moments((mean + contrast * mean * wave).float()), moments(grey.float()))
    # What is left is the rounding of the picture itself.
    assert single.item() == pytest.approx(expected, rel=1e-3)


def test_the_map_is_that_of_the_published_formula() -> None:
    x, y = pictures(1, 30, 30, 0.2)
    luminance, structure = losses(moments(x), moments(y))
    assert luminance.shape == (1, 20, 20)
    line = torch.tensor(WINDOW, dtype=torch.float64)
    window = torch.outer(line, line)
    patch_x, patch_y = x[0, 4:15, 7:18], y[0, 4:15, 7:18]
    mean_x, mean_y = (window * patch_x).sum(), (window * patch_y).sum()
    var_x = (window * (patch_x - mean_x) ** 2).sum()
    var_y = (window * (patch_y - mean_y) ** 2).sum()
    cov = (window * (patch_x - mean_x) * (patch_y - mean_y)).sum()
    first = (2 * mean_x * mean_y + C1) / (mean_x**2 + mean_y**2 + C1)
    second = (2 * cov + C2) / (var_x + var_y + C2)
    assert 1 - luminance[0, 4, 7].item() == pytest.approx(first.item(), abs=1e-12)
    assert 1 - structure[0, 4, 7].item() == pytest.approx(second.item(), abs=1e-12)


def test_one_reference_serves_all_and_rows_do_not_mix() -> None:
    test, reference = pictures(3, 170, 165, 0.1)
    one = reference[:1]
    together = ms_ssim_loss(scales(test), scales(one))
    alone = torch.cat([ms_ssim_loss(scales(row[None]), scales(one)) for row in test])
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    together = ssim_loss(moments(test), moments(one))
    alone = torch.cat([ssim_loss(moments(row[None]), moments(one)) for row in test])
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_identical_pictures_lose_nothing_and_have_a_gradient() -> None:
    x = pictures(1, 161, 161, 0.1)[0].requires_grad_()
    loss = ssim_loss(moments(x), moments(x.detach())) + ms_ssim_loss(scales(x), scales(x.detach()))
    assert loss.item() == 0
    loss.sum().backward()
    assert x.grad is not None
    assert x.grad.abs().max() == 0


def test_gradients_are_right() -> None:
    test, reference = pictures(1, 12, 13, 0.1)
    known = moments(reference)
    assert torch.autograd.gradcheck(
        lambda x: ssim_loss(moments(x), known), test.clone().requires_grad_()
    )


def test_the_opposite_of_a_picture_has_nothing_left() -> None:
    x = pictures(1, 161, 161, 0)[1].requires_grad_()
    loss = ms_ssim_loss(scales(1 - x), scales(x.detach()))
    assert loss.item() == 1
    loss.sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_a_picture_that_is_too_small_is_named() -> None:
    with pytest.raises(ObserverError, match=r"SSIM needs .* 11 x 11 px, not 12 x 10"):
        moments(torch.zeros(1, 10, 12))
    with pytest.raises(ObserverError, match=r"MS-SSIM needs .* 161 x 161 px, not 160 x 200"):
        scales(torch.zeros(1, 200, 160))
