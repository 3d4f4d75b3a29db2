"""The part of a field that differs: enough for a mean over pixels."""

import pytest
import torch

from fechner.stimuli import OPPONENT, Field, Gabor, Grating, Layer, Noise, Stimulus, display, paint
from fechner.stimuli.parts import Part, part_that_differs

FIELD = Field(192, 120, 30.0)
GREY = OPPONENT.background_xyz(20.0)
MODULATION = OPPONENT.modulation_xyz("ach", 20.0)


def mean_square(target: Layer, masks: tuple[Layer, ...], part: Part | None) -> float:
    screen = display("metrics")
    both = [Stimulus(GREY, (*masks, target)), Stimulus(GREY, masks)]
    frames = paint(both, FIELD, screen, dtype=torch.float64, part=part)
    difference = frames.pixels[0] - frames.pixels[1]
    return frames.share * float(difference.square().mean())


@pytest.mark.parametrize("coordinates", ["centres", "endpoints"])
@pytest.mark.parametrize(
    ("pattern", "masks"),
    [
        (Gabor(3.0, 0.15), ()),
        (Gabor(3.0, 0.3, phase_deg=90), (Grating(3.0, phase_deg=90),)),
        (Gabor(3.0, 0.3), (Noise(0.0, 12.0, seed=3),)),
        (Gabor(3.0, 0.2, orientation_deg=45), ()),
        (Gabor(3.0, 2.0), ()),
    ],
)
def test_a_mean_over_the_part_is_a_mean_over_the_field(pattern, masks, coordinates) -> None:
    target = Layer(pattern, MODULATION, 0.3)
    below = tuple(Layer(mask, MODULATION, 0.1) for mask in masks)
    field = Field(192, 120, 30.0, coordinates=coordinates)
    part = part_that_differs((pattern,), masks, field)
    whole = mean_square(target, below, None)
    assert mean_square(target, below, part_that_differs((pattern,), masks, FIELD)) == (
        pytest.approx(whole, rel=1e-9)
    )
    assert 0 <= part.top < part.bottom <= 120
    assert 0 <= part.left < part.right <= 192


def test_only_the_upper_half_of_what_is_mirrored_is_shown() -> None:
    part = part_that_differs((Gabor(3.0, 0.15),), (), FIELD)
    assert part.bottom == 60
    # 5.7 standard deviations of 4.5 pixels to either side.
    assert part.right - part.left == pytest.approx(2 * 5.7 * 4.5, abs=3)
    both_halves = 2 * (part.bottom - part.top) * (part.right - part.left)
    assert part.share == pytest.approx(both_halves / (192 * 120))


def test_noise_under_the_target_is_not_mirrored() -> None:
    part = part_that_differs((Gabor(3.0, 0.15),), (Noise(0.0, 12.0, seed=3),), FIELD)
    assert part.top + part.bottom == 120
    assert part.bottom > 60


def test_a_grating_fills_the_field() -> None:
    part = part_that_differs((Grating(2.0, orientation_deg=30),), (), FIELD)
    assert part == Part(0, 120, 0, 192, 1.0)


def test_where_nothing_differs_one_pixel_tells() -> None:
    assert part_that_differs((), (Grating(2.0),), FIELD) == Part(0, 1, 0, 1, 1.0)
