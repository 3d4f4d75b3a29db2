"""Metrics of luma: formulas against other implementations, near threshold, and gradients."""

import math

import mpmath
import numpy as np
import pytest
import pytorch_msssim
import torch
from skimage.metrics import structural_similarity

from fechner.errors import ObserverError
from fechner.observers.metrics.grey import (
    C1,
    C2,
    NORMALISATION,
    WINDOW,
    losses,
    mean_squared_error,
    moments,
    ms_ssim_loss,
    normalised_pyramid,
    pyramid_distance,
    scales,
    ssim_loss,
)
from fechner.observers.metrics.metric import BT709_WEIGHTS, luma

# Luma and the mean squared error


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


# SSIM and MS-SSIM: two packages on random pictures, a closed form near threshold


def pictures(n: int, height: int, width: int, noise: float) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(0)
    reference = rng.uniform(0, 1, (n, height, width))
    test = np.clip(reference + noise * rng.standard_normal(reference.shape), 0, 1)
    return torch.from_numpy(test), torch.from_numpy(reference)


@pytest.mark.parametrize("noise", [0.02, 0.3])
def test_ssim_as_in_two_packages(noise: float) -> None:
    test, reference = pictures(2, 40, 53, noise)
    found = 1 - ssim_loss(moments(test), moments(reference))
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
    found = 1 - ms_ssim_loss(scales(test, "black"), scales(reference, "black"))
    theirs = pytorch_msssim.ms_ssim(
        test[:, None], reference[:, None], data_range=1.0, size_average=False
    )
    np.testing.assert_allclose(found, theirs, atol=1e-6)
    if size == (176, 192):
        edge = 1 - ms_ssim_loss(scales(test), scales(reference))
        np.testing.assert_allclose(edge, found, rtol=1e-12)


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


# NLPD: numbers of another implementation on gratings, and the pyramid itself


def grating(size: tuple[int, int], contrast: float, x: float, y: float) -> torch.Tensor:
    rows = torch.arange(size[0], dtype=torch.float64)[:, None]
    columns = torch.arange(size[1], dtype=torch.float64)
    return (0.5 + contrast * (x * columns + y * rows).sin())[None]


def distance(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    return pyramid_distance(normalised_pyramid(test), normalised_pyramid(reference))


@pytest.mark.parametrize(
    ("size", "test", "reference", "expected"),
    [
        ((96, 96), (0.1, 0.7, 0.2), (0.0, 0.0, 0.0), 0.52510795),
        ((101, 75), (0.3, 0.2, 0.5), (0.2, 0.2, 0.5), 0.15108837),
        ((64, 130), (0.01, 1.5, 0.0), (0.0, 0.0, 0.0), 0.06287301),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_as_pyiqa_0_1_16_has_it(
    size: tuple[int, int],
    test: tuple[float, float, float],
    reference: tuple[float, float, float],
    expected: float,
    dtype: torch.dtype,
) -> None:
    found = distance(grating(size, *test).to(dtype), grating(size, *reference).to(dtype))
    assert found.item() == pytest.approx(expected, rel=1e-6)


def test_levels_halve_and_only_the_last_knows_the_mean() -> None:
    picture = grating((67, 90), 0.2, 0.9, 0.3)
    dark, light = normalised_pyramid(picture), normalised_pyramid(picture + 0.2)
    shapes = [tuple(level.shape[1:]) for level in dark]
    assert shapes == [(67, 90), (34, 45), (17, 23), (9, 12), (5, 6), (3, 3)]
    for one, other in zip(dark[:-1], light[:-1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    assert (light[-1] > dark[-1]).all()


def test_the_residual_of_grey_is_divided_by_itself() -> None:
    last = NORMALISATION[-1]
    level = normalised_pyramid(torch.full((1, 96, 96), 0.4, dtype=torch.float64))[-1]
    centre = 0.4 / (last.constant + 0.4 * (last.left + last.right))
    assert level[0, 1, 1].item() == pytest.approx(centre)
    # Beyond the left edge there is nothing to divide by.
    assert level[0, 1, 0].item() == pytest.approx(0.4 / (last.constant + 0.4 * last.right))


def test_weak_gratings_differ_in_proportion() -> None:
    grey = grating((64, 64), 0.0, 0.0, 0.0)
    weak, weaker = (distance(grating((64, 64), c, 1.0, 0.4), grey).item() for c in (1e-5, 1e-7))
    assert weaker == pytest.approx(weak / 100, rel=1e-3)


def test_one_reference_serves_all_and_rows_do_not_mix_nlpd() -> None:
    tests = torch.cat([grating((40, 50), 0.1, x, 0.3) for x in (0.2, 0.5, 0.9)])
    together = distance(tests, tests[1:2])
    alone = torch.cat([distance(row[None], tests[1:2]) for row in tests])
    assert together.dtype == torch.float64
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    assert together[1] == 0


def test_gradients_are_finite_for_identical_pictures_and_right() -> None:
    x = grating((32, 33), 0.0, 0.0, 0.0).requires_grad_()
    distance(x, x.detach()).sum().backward()
    assert x.grad is not None
    assert x.grad.abs().max() == 0
    test = grating((32, 32), 0.2, 0.8, 0.5).requires_grad_()
    reference = normalised_pyramid(grating((32, 32), 0.1, 0.5, 0.8))
    assert torch.autograd.gradcheck(
        lambda y: pyramid_distance(normalised_pyramid(y), reference), test, fast_mode=True
    )


def test_a_picture_that_is_too_small_is_named_nlpd() -> None:
    with pytest.raises(ObserverError, match=r"at least 32 x 32 px, not 31 x 40"):
        normalised_pyramid(torch.zeros(1, 40, 31))
