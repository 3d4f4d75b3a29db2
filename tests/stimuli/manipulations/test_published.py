"""The paper's manipulations against Pillow, SciPy and scikit-image, and against geometry."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from photographs import path_of
from PIL import Image, ImageEnhance
from scipy.ndimage import gaussian_filter
from skimage.util import random_noise

from fechner.stimuli import Field
from fechner.stimuli.manipulations import MANIPULATIONS
from fechner.stimuli.manipulations.base import Manipulation
from fechner.stimuli.manipulations.blur import blurred
from fechner.stimuli.manipulations.geometry import covered_parts
from fechner.stimuli.manipulations.noise import SALT_PEPPER
from fechner.stimuli.manipulations.tone import mean_grey
from fechner.stimuli.pictures import photograph

FIELD = Field(96, 80, 32.0)
NAMES = ("skimage/data/chelsea.png", "skimage/data/coffee.png", "skimage/data/rocket.jpg")


def named(name: str) -> Manipulation:
    found = MANIPULATIONS[name]
    assert isinstance(found, Manipulation)
    return found


@pytest.fixture(scope="module")
def pixels() -> torch.Tensor:
    return torch.stack([photograph(path_of(name), "x").draw(FIELD, 8, "cpu") for name in NAMES])


def as_image(picture: torch.Tensor) -> Image.Image:
    return Image.fromarray((picture * 255).round().byte().permute(1, 2, 0).numpy())


@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.5, 9.0, 40.0, 300.0])
def test_blur_is_scipys(pixels: torch.Tensor, sigma: float) -> None:
    ours = named("blur").apply(pixels, [sigma] * 3, [()] * 3)
    for picture, found in zip(pixels.numpy(), ours.numpy(), strict=True):
        theirs = gaussian_filter(picture, (0, sigma, sigma), mode="reflect", truncate=8)
        np.testing.assert_allclose(found, theirs, atol=1e-9)


def test_blur_keeps_the_mean_and_ends_there(pixels: torch.Tensor) -> None:
    found = blurred(pixels, torch.tensor([3.0, 30.0, 1e5], dtype=torch.float64))
    torch.testing.assert_close(found.mean(dim=(2, 3)), pixels.mean(dim=(2, 3)))
    torch.testing.assert_close(found[2], pixels[2].mean(dim=(1, 2), keepdim=True).expand(3, 80, 96))


@pytest.mark.parametrize(
    ("name", "enhance"),
    [
        ("brightness", ImageEnhance.Brightness),
        ("contrast", ImageEnhance.Contrast),
        ("sharpness", ImageEnhance.Sharpness),
    ],
)
@pytest.mark.parametrize("step", [-1.0, -0.6, -0.1, 0.1, 0.5, 1.0, 4.0])
def test_enhancement_is_pillows(
    pixels: torch.Tensor, name: str, enhance: type, step: float
) -> None:
    manipulation = named(f"{name}-up" if step > 0 else f"{name}-down")
    ours = manipulation.apply(pixels, [abs(step)] * 3, [()] * 3)
    # Pillow cuts off fractions; what is smoothed is rounded before it is extrapolated.
    slack = 1.001 + (0.5 * max(abs(step), 1) if name == "sharpness" else 0)
    for picture, found in zip(pixels, ours, strict=True):
        theirs = np.asarray(enhance(as_image(picture)).enhance(1 + step), dtype=float)
        difference = np.abs(found.permute(1, 2, 0).numpy() * 255 - theirs)
        assert difference.max() <= slack
        assert difference.mean() < 0.6 * slack


def test_the_mean_of_grey_is_pillows(pixels: torch.Tensor) -> None:
    rows = pixels.unfold(2, 16, 16).unfold(3, 16, 16).permute(0, 2, 3, 1, 4, 5).flatten(0, 2)
    for dtype in (torch.float32, torch.float64):
        ours = mean_grey(rows.to(dtype)).flatten() * 255
        for row, found in zip(rows, ours, strict=True):
            # The most an image can be without contrast is its mean.
            flat = ImageEnhance.Contrast(as_image(row)).enhance(0.0)
            assert np.asarray(flat)[0, 0, 0] == pytest.approx(float(found), abs=1e-3)


@pytest.mark.parametrize("size", [(80, 96), (33, 50), (1, 7), (224, 224)])
def test_occlusion_covers_exactly_as_much(size: tuple[int, int]) -> None:
    parts = torch.linspace(0.001, 1, 60, dtype=torch.float64)
    angles = torch.linspace(0, 2 * np.pi, 60, dtype=torch.float64)  # level and upright ones too
    covered = covered_parts(parts, angles, size)
    torch.testing.assert_close(covered.mean(dim=(1, 2)), parts, atol=1e-9, rtol=0)
    assert covered.min() >= 0
    assert covered.max() <= 1
    single = covered_parts(parts.float(), angles.float(), size)
    torch.testing.assert_close(single.mean(dim=(1, 2)), parts.float(), atol=2e-6, rtol=0)


def test_occlusion_is_a_line() -> None:
    covered = covered_parts(torch.tensor([0.3]), torch.tensor([0.7]), (200, 100))[0]
    y, x = torch.meshgrid(torch.arange(200.0), torch.arange(100.0), indexing="ij")
    depth = np.cos(0.7) * x + np.sin(0.7) * y
    black, clear = covered == 1, covered == 0
    assert depth[black].max() < depth[clear].min()
    # No more than what the line goes through is in between.
    assert (~black & ~clear).sum() < 2 * (200 + 100)
    assert depth[clear].min() - depth[black].max() < 2


def test_occlusion_of_one_seed_is_nested(pixels: torch.Tensor) -> None:
    levels = [0.05, 0.2, 0.5, 0.9, 1.0]
    white = torch.ones(5, 3, 80, 96, dtype=torch.float64)
    shown = named("occlusion").apply(white, levels, [(4,)] * 5)
    assert (shown.diff(dim=0) <= 0).all()
    torch.testing.assert_close(1 - shown.mean(dim=(1, 2, 3)), torch.tensor(levels).double())
    assert (shown[4] == 0).all()


def test_occlusion_comes_from_all_sides() -> None:
    white = torch.ones(400, 3, 15, 15)
    shown = named("occlusion").apply(white, [0.5] * 400, [(seed,) for seed in range(400)])
    torch.testing.assert_close(
        shown.mean(dim=0), torch.full((3, 15, 15), 0.5), atol=4.5 * 0.5 / 20, rtol=0
    )


def test_salt_and_pepper_counts_as_scikit_image(pixels: torch.Tensor) -> None:
    grey = torch.full((20, 3, 64, 64), 0.5, dtype=torch.float64)
    seeds = [(seed,) for seed in range(20)]
    values = 20 * 64 * 64
    for amount in (0.02, 0.3, 0.9):
        shown = SALT_PEPPER.apply(grey, [amount] * 20, seeds)
        # Whole pixels, as likely white as black.
        assert torch.equal(shown[:, 0], shown[:, 2])
        apart = replace(SALT_PEPPER, per_channel=True).apply(grey, [amount] * 20, seeds)
        assert not torch.equal(apart[:, 0], apart[:, 2])
        theirs = random_noise(grey.numpy(), mode="s&p", amount=amount, rng=0)
        for found, n in ((shown[:, 0], values), (apart, 3 * values), (theirs, 3 * values)):
            slack = 4.5 * (amount * (1 - amount / 2) / n) ** 0.5
            for value in (0.0, 1.0):
                part = float((np.asarray(found) == value).mean())
                assert part == pytest.approx(amount / 2, abs=slack)


def test_salt_and_pepper_of_one_seed_is_nested() -> None:
    grey = torch.full((4, 3, 40, 40), 0.5)
    shown = SALT_PEPPER.apply(grey, [0.1, 0.3, 0.7, 1.0], [(9,)] * 4)
    for weaker, stronger in pairwise(shown):
        changed = weaker != 0.5
        assert torch.equal(weaker[changed], stronger[changed])
    assert not (shown[3] == 0.5).any()
