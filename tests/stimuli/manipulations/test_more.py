"""Geometry, filters, phases and noise, measured back from pictures."""

import math

import pytest
import torch
from photographs import path_of

from fechner.stimuli import Field
from fechner.stimuli.manipulations import MANIPULATIONS
from fechner.stimuli.manipulations.base import Manipulation
from fechner.stimuli.manipulations.geometry import block_matrices, zoom_matrices
from fechner.stimuli.manipulations.spectra import convolve, fourier, fourier_frequencies
from fechner.stimuli.pictures import photograph


def named(name: str) -> Manipulation:
    found = MANIPULATIONS[name]
    assert isinstance(found, Manipulation)
    return found


@pytest.fixture(scope="module")
def pixels() -> torch.Tensor:
    picture = photograph(path_of("skimage/data/chelsea.png"), "cat")
    return picture.draw(Field(64, 64, 32.0), None, "cpu")[None]


def grating(cycles: float, side: int = 128) -> torch.Tensor:
    """A picture of a cosine across x that its mirror images continue."""
    x = (torch.arange(side, dtype=torch.float64) + 0.5) / side
    wave = 0.5 + 0.2 * torch.cos(2 * math.pi * cycles * x)
    return wave.expand(1, 3, side, side).clone()


def contrast(picture: torch.Tensor) -> float:
    return float(picture.std(correction=0)) / (0.2 / math.sqrt(2))


def test_quarter_turns(pixels: torch.Tensor) -> None:
    up = named("rotation-up").apply(pixels, [90.0], [()])
    torch.testing.assert_close(up, pixels.rot90(1, (2, 3)), atol=1e-9, rtol=0)
    down = named("rotation-down").apply(pixels, [90.0], [()])
    torch.testing.assert_close(down, pixels.rot90(-1, (2, 3)), atol=1e-9, rtol=0)
    half = named("rotation-up").apply(pixels, [180.0], [()])
    torch.testing.assert_close(half, pixels.flip(2, 3), atol=1e-9, rtol=0)


def test_a_turned_square_has_grey_corners() -> None:
    turned = named("rotation-up").apply(torch.ones(1, 3, 41, 41), [45.0], [()])[0, 0]
    assert float(turned[0, 0]) == 0.5
    assert float(turned[20, 20]) == pytest.approx(1)


def test_size(pixels: torch.Tensor) -> None:
    smaller = named("scale-down").apply(torch.ones(1, 3, 64, 64), [1.0], [()])[0, 0]
    # Half of each side, a quarter of the area, on grey.
    assert float((smaller - 0.5).sum()) == pytest.approx(0.5 * 32 * 32, rel=1e-3)
    assert float(smaller[0, 0]) == 0.5
    assert float(smaller[32, 32]) == pytest.approx(1)
    larger = named("scale-up").apply(grating(8), [1.0], [()])
    torch.testing.assert_close(
        larger[0, 0, 0, 10:-10],
        (0.5 + 0.2 * torch.cos(2 * math.pi * 4 * (torch.arange(128.0).double() - 63.5) / 128))[
            10:-10
        ],
        atol=0.01,
        rtol=0,
    )
    # Made smaller, what pixels cannot hold any more is averaged and does not alias.
    fine = named("scale-down").apply(grating(50), [2.0], [()])[0, 0, 56:72, 56:72]
    assert float((fine - 0.5).abs().max()) < 0.02
    tiny = named("scale-down").apply(pixels, [12.0], [()])
    torch.testing.assert_close(tiny, torch.full_like(tiny, 0.5), atol=1e-3, rtol=0)


def test_zooms_add_up_to_one_inside() -> None:
    factors = torch.tensor([0.3, 0.77, 1.0, 1.9], dtype=torch.float64)
    matrices = zoom_matrices(factors, 101)
    middle = matrices[:, 45:56].sum(dim=2)
    torch.testing.assert_close(middle, torch.ones_like(middle))
    torch.testing.assert_close(matrices[2], torch.eye(101, dtype=torch.float64))


def test_blocks_average() -> None:
    blocks = block_matrices(torch.tensor([4.0, 2.5], dtype=torch.float64), 10)
    torch.testing.assert_close(blocks.sum(dim=2), torch.ones(2, 10, dtype=torch.float64))
    ramp = torch.arange(10, dtype=torch.float64)
    assert (blocks[0] @ ramp).tolist() == pytest.approx([1.5] * 4 + [5.5] * 4 + [8.5] * 2)
    assert len(set((blocks[1] @ ramp).round(decimals=6).tolist())) == 4


@pytest.mark.parametrize("cycles", [1, 4, 16, 48])
def test_filters_keep_one_side_of_the_cut_off(cycles: int) -> None:
    picture = grating(cycles)
    highest = math.sqrt(0.5) * 128
    for cut_off in (2.0, 8.0, 32.0):
        low = named("low-pass").apply(picture, [math.log2(highest / cut_off)], [()])
        high = named("high-pass").apply(picture, [cut_off], [()])
        assert contrast(low) == pytest.approx(float(cycles <= cut_off), abs=1e-6) or (
            cut_off < cycles < 2 * cut_off
        )
        assert contrast(high) == pytest.approx(float(cycles >= cut_off), abs=1e-6) or (
            cut_off / 2 < cycles < cut_off
        )
        for found in (low, high):
            torch.testing.assert_close(found.mean(dim=(2, 3)), picture.mean(dim=(2, 3)))


def test_phases_go_and_power_stays(pixels: torch.Tensor) -> None:
    # Of so little contrast that nothing is cut.
    faint = 0.5 + 0.05 * (pixels - pixels.mean(dim=(2, 3), keepdim=True))
    for size in (64, 63):
        part = faint[..., :size, :size]
        scrambled = named("phase-scramble").apply(part, [180.0], [(3,)])
        torch.testing.assert_close(fourier(scrambled).abs(), fourier(part).abs(), atol=1e-8, rtol=0)
        assert float((scrambled - part).abs().mean()) > 0.5 * float((part - 0.5).abs().mean())
    # All channels by the same shifts.
    shifts = torch.angle(fourier(scrambled) / fourier(part))[0, :, 1:20, 1:20]
    difference = torch.remainder(shifts[0] - shifts[1] + math.pi, 2 * math.pi) - math.pi
    assert float(difference.abs().max()) < 1e-5


def test_shifts_are_even_up_to_the_level() -> None:
    generator = torch.Generator().manual_seed(1)
    noise = 0.5 + 0.01 * torch.randn(1, 3, 64, 64, generator=generator, dtype=torch.float64)
    scrambled = named("phase-scramble").apply(noise, [40.0], [(5,)])
    shifts = torch.rad2deg(torch.angle(fourier(scrambled) / fourier(noise)))[0, 0, :, 1:-1]
    assert float(shifts.abs().max()) <= 40 + 1e-6
    assert float(shifts.std()) == pytest.approx(40 / math.sqrt(3), rel=0.05)


def test_noise_in_a_band() -> None:
    grey = torch.full((2, 3, 128, 128), 0.5, dtype=torch.float64)
    noisy = named("band-noise").apply(grey, [0.03, 0.06], [(1,), (1,)]) - 0.5
    rms = noisy.square().mean(dim=(1, 2, 3)).sqrt()
    assert rms.tolist() == pytest.approx([0.03, 0.06], rel=1e-3)
    power = fourier(noisy[:, 0]).abs().square()
    frequency = fourier_frequencies(128, 128, grey) * 128
    inside = (frequency >= 16 / 2**0.5) & (frequency <= 16 * 2**0.5)
    assert float(power[:, inside].sum() / power.sum()) > 0.999
    torch.testing.assert_close(noisy[1], 2 * noisy[0], atol=1e-9, rtol=0)


def test_uniform_noise() -> None:
    grey = torch.full((1, 3, 100, 100), 0.5, dtype=torch.float64)
    noise = named("uniform-noise").apply(grey, [0.3], [(1,)])[0] - 0.5
    assert torch.equal(noise[0], noise[1])
    assert float(noise.abs().max()) <= 0.3
    assert float(noise[0].std()) == pytest.approx(0.3 / math.sqrt(3), rel=0.03)


def test_kernels_are_convolved_with_mirror_images(pixels: torch.Tensor) -> None:
    from scipy.ndimage import convolve as scipys

    kernels = torch.rand(2, 7, 7, generator=torch.Generator().manual_seed(0)).double()
    kernels /= kernels.sum(dim=(1, 2), keepdim=True)
    both = pixels.expand(2, -1, -1, -1)[..., :20, :]
    found = convolve(both, kernels)
    for row in range(2):
        for channel in range(3):
            theirs = scipys(both[row, channel].numpy(), kernels[row].numpy(), mode="reflect")
            torch.testing.assert_close(found[row, channel], torch.from_numpy(theirs))
