"""SpEED-QA against its formulas written out in numpy, block by block."""

import math

import numpy as np
import pytest
import torch
from scipy.ndimage import correlate1d

from fechner.errors import ObserverError
from fechner.observers.metrics.speed_qa import (
    NOISE,
    PICTURES,
    VIDEOS,
    Settings,
    information,
    speed,
    speed_video,
    watch,
)


def texture(size: tuple[int, int], phase: float = 0.0) -> np.ndarray:
    """A picture of formulas whose blocks vary in every direction."""
    y, x = np.mgrid[: size[0], : size[1]].astype(float)
    large = 60 * np.sin(x / 7 + y**2 / 300 + phase) * np.cos(y / 5 + x**2 / 500)
    return 128 + large + 20 * np.sin(x * y / 50 + 2 * phase) + 10 * np.sin(x * 2.3 + y * y / 17)


def distorted(picture: np.ndarray) -> np.ndarray:
    y, x = np.mgrid[: picture.shape[-2], : picture.shape[-1]].astype(float)
    return 0.8 * picture + 25 + 3 * np.sin(1.1 * x) + 2 * np.cos(0.9 * y * np.sin(x))


def halved(picture: np.ndarray) -> np.ndarray:
    """Cubic convolution at half the rate: every output pixel from its own weights."""

    def cubic(x: np.ndarray) -> np.ndarray:
        x = np.abs(x)
        near = 1.5 * x**3 - 2.5 * x**2 + 1
        far = -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
        return np.where(x <= 1, near, np.where(x < 2, far, 0.0))

    for axis in (0, 1):
        size = picture.shape[axis]
        matrix = np.zeros((-(-size // 2), size))
        mirrored = np.concatenate([np.arange(size), np.arange(size)[::-1]])
        for row in range(len(matrix)):
            centre = 2 * row + 0.5
            taps = np.arange(math.floor(centre) - 4, math.floor(centre) + 6)
            weights = cubic((centre - taps) / 2)
            np.add.at(matrix[row], mirrored[taps % (2 * size)], weights / weights.sum())
        picture = np.moveaxis(np.tensordot(matrix, picture, axes=(1, axis)), 0, axis)
    return picture


def entropies(small: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray]:
    window = np.exp(-0.5 * (np.arange(-3, 4) / (7 / 6)) ** 2)
    local = small
    for axis in (0, 1):
        local = correlate1d(local, window / window.sum(), axis=axis, mode="nearest")
    rest = small - local
    height, width = (size // side * side for size in rest.shape)
    rest = rest[:height, :width]
    sliding = np.lib.stride_tricks.sliding_window_view(rest, (side, side)).reshape(-1, side**2)
    covariance = np.cov(sliding.T, bias=True)
    eigenvalues = np.linalg.eigvalsh(covariance)
    entropy, variance = [], []
    for top in range(0, height, side):
        for left in range(0, width, side):
            block = rest[top : top + side, left : left + side].ravel()
            variance.append(block @ np.linalg.inv(covariance) @ block / side**2)
            logs = np.log2(variance[-1] * eigenvalues + NOISE) + math.log(2 * math.pi * math.e)
            entropy.append(logs.sum())
    return np.array(entropy), np.array(variance)


def reduced(picture: np.ndarray, settings: Settings) -> np.ndarray:
    for _ in range(settings.halvings):
        picture = halved(picture)
    return picture


def as_luma(picture: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(picture)[None]


@pytest.mark.parametrize("size", [(96, 96), (75, 101)])
def test_pictures_by_the_formula(size: tuple[int, int]) -> None:
    reference = texture(size)
    said = []
    for picture in (distorted(reference), reference):
        entropy, variance = entropies(reduced(picture, PICTURES), PICTURES.block_px)
        said.append(entropy * np.log2(1 + variance))
        np.testing.assert_allclose(information(as_luma(picture))[0], said[-1], rtol=1e-6)
    found = speed(information(as_luma(distorted(reference))), information(as_luma(reference)))
    assert found.item() == pytest.approx(np.abs(said[0] - said[1]).mean(), rel=1e-6)


@pytest.mark.parametrize(
    ("settings", "size"), [(Settings(halvings=1, block_px=3), (40, 50)), (VIDEOS, (200, 240))]
)
def test_videos_by_the_formula(settings: Settings, size: tuple[int, int]) -> None:
    reference = np.stack([texture(size, phase) for phase in (0.0, 0.3, 0.9)])
    means = []
    for index in range(2):
        spatial, temporal = [], []
        for video in (distorted(reference), reference):
            now, after = (reduced(video[index + i], settings) for i in range(2))
            entropy, variance = entropies(now, settings.block_px)
            change, change_variance = entropies(after - now, settings.block_px)
            weight = np.log2(1 + variance)
            spatial.append(entropy * weight)
            temporal.append(change * weight * np.log2(1 + change_variance))
        means.append([np.abs(one - other).mean() for one, other in (spatial, temporal)])
    expected = np.prod(np.mean(means, axis=0))
    found = speed_video(
        watch(as_luma(distorted(reference)), settings), watch(as_luma(reference), settings)
    )
    assert found.item() == pytest.approx(expected, rel=1e-6)


def test_identical_pictures_and_uniform_ones_do_not_differ() -> None:
    said = information(as_luma(texture((60, 60))))
    assert speed(said, said).item() == 0
    flat = information(torch.tensor([10.0, 117.3, 200.0]).reshape(3, 1, 1).expand(3, 30, 30))
    assert flat.abs().max() == 0


def test_a_constant_changes_nothing() -> None:
    picture = texture((60, 60))
    np.testing.assert_allclose(
        information(as_luma(picture + 40)), information(as_luma(picture)), rtol=1e-6
    )


def test_at_threshold_it_jumps() -> None:
    # Local variance is relative to the picture's own covariance, so that the weights of a faint
    # pattern are those of a strong one, and its entropies those of noise alone.
    pattern = texture((60, 60)) - 128
    faint = [
        speed(information(as_luma(128 + scale * pattern)), torch.zeros(1, 25).double()).item()
        for scale in (1e-5, 1e-6)
    ]
    assert faint[0] == pytest.approx(faint[1], rel=1e-3)
    assert faint[1] > 1


def test_one_reference_serves_all_and_rows_do_not_mix() -> None:
    pictures = torch.cat([as_luma(texture((60, 62), phase)) for phase in (0.0, 0.4, 0.8)])
    said = information(pictures)
    alone = torch.cat([information(row[None]) for row in pictures])
    np.testing.assert_allclose(said, alone, rtol=1e-6)
    assert speed(said, said[1:2]).shape == (3,)
    assert speed(said, said[1:2])[1] == 0


def test_gradients_are_finite_for_uniform_and_identical_pictures_and_right() -> None:
    uniform = torch.full((1, 30, 30), 117.3, dtype=torch.float64, requires_grad=True)
    speed(information(uniform), information(uniform.detach())).sum().backward()
    assert uniform.grad is not None
    assert uniform.grad.isfinite().all()
    x = as_luma(texture((30, 31))).requires_grad_()
    known = information(x.detach())
    speed(information(x), known).sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    other = as_luma(distorted(texture((30, 31)))).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda y: speed(information(y), known), other, fast_mode=True, rtol=1e-2
    )


def test_what_is_too_small_or_too_short_is_named() -> None:
    with pytest.raises(ObserverError, match=r"at least 24 x 24 px, not 30 x 23"):
        information(torch.zeros(1, 23, 30))
    with pytest.raises(ObserverError, match=r"at least 160 x 160 px"):
        watch(torch.zeros(1, 2, 159, 200))
    with pytest.raises(ObserverError, match="at least two frames"):
        watch(torch.zeros(1, 1, 200, 200))
    assert VIDEOS == (4, 5)
