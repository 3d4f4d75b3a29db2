"""Painting: flicker and video as one more multiply-add, and the part of a field that differs."""

import math

import numpy as np
import pytest
import torch

from fechner.stimuli import (
    OPPONENT,
    Clips,
    Disk,
    Field,
    Flicker,
    Frames,
    Gabor,
    Grating,
    Layer,
    Noise,
    Stimulus,
    display,
    paint,
)
from fechner.stimuli.painting import Part, part_that_differs

FIELD = Field(24, 20, 10.0, frames=12, fps=60.0)
SCREEN = display("metrics")
GREY = OPPONENT.background_xyz(20.0)
MODULATION = OPPONENT.modulation_xyz("ach", 20.0)


def flickering(contrast: float = 0.4, flicker: Flicker | None = None) -> Stimulus:
    steady = Layer(Gabor(2.0, 0.5), OPPONENT.modulation_xyz("rg", 20.0), 0.02)
    disk = Layer(Disk(0.6), MODULATION, contrast, flicker or Flicker(7.0, phase_deg=30.0))
    return Stimulus(GREY, (steady, disk))


def clips(*stimuli: Stimulus) -> Clips:
    return Clips(stimuli, FIELD, SCREEN, "cdm2", torch.float64)


def test_flicker_is_a_sine_with_a_phase() -> None:
    assert Flicker(8.0)(0.0) == 0.0
    assert Flicker(8.0)(1 / 32) == pytest.approx(1.0)
    assert Flicker(8.0, phase_deg=90)(1 / 16) == pytest.approx(-1.0)
    assert Flicker(0.0, phase_deg=90)(3.0) == pytest.approx(1.0)


def test_a_moment_of_a_stimulus_is_steady() -> None:
    moment = flickering().at(0.02)
    assert [layer.flicker for layer in moment.layers] == [None, None]
    assert moment.layers[0].contrast == 0.02
    expected = 0.4 * math.sin(2 * math.pi * 7 * 0.02 + math.radians(30))
    assert moment.layers[1].contrast == pytest.approx(expected, rel=1e-12)


def test_times_of_frames_begin_at_0() -> None:
    assert FIELD.times_s[:3] == (0.0, 1 / 60, 2 / 60)
    assert len(FIELD.times_s) == 12
    assert FIELD.is_video
    assert not FIELD.still().is_video
    assert FIELD.still().frames == 1


@pytest.mark.parametrize("wrong", [{"frames": 0}, {"fps": 0.0}, {"fps": -1.0}])
def test_a_field_has_frames_at_a_rate(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="a positive ppd and fps"):
        Field(8, 8, 60.0, **wrong)


@pytest.mark.parametrize("light", ["cdm2", "display"])
def test_a_video_is_its_moments_painted_one_by_one(light: str) -> None:
    stimuli = [flickering(0.4), flickering(0.1)]
    video = paint(stimuli, FIELD, SCREEN, light=light, dtype=torch.float64)
    assert video.pixels.shape == (2, 3, 12, 20, 24)
    for row, stimulus in enumerate(stimuli):
        for frame, time in enumerate(FIELD.times_s):
            still = paint(
                [stimulus.at(time)], FIELD.still(), SCREEN, light=light, dtype=torch.float64
            )
            torch.testing.assert_close(video.pixels[row, :, frame], still.pixels[0])


def test_luminance_at_the_centre_follows_the_wave() -> None:
    disk = Stimulus(GREY, (Layer(Disk(0.6), MODULATION, 0.5, Flicker(5.0)),))
    video = paint([disk], FIELD, SCREEN, light="cdm2", dtype=torch.float64)
    centre = Frames(video.pixels[0].transpose(0, 1), FIELD, SCREEN, "cdm2").luminance()[:, 10, 12]
    waves = np.sin(2 * np.pi * 5 * np.array(FIELD.times_s))
    np.testing.assert_allclose(centre.numpy(), 20 * (1 + 0.5 * waves), rtol=1e-5)


def test_clips_give_the_same_frames_one_by_one_and_all_at_once() -> None:
    two = clips(flickering(0.4), flickering(0.1))
    assert len(two) == 2
    whole = two.whole().pixels
    for number, frame in enumerate(two):
        torch.testing.assert_close(frame.pixels, whole[:, :, number], rtol=0, atol=0)
        assert not frame.field.is_video
    assert number == 11
    assert two.rows([1, 1, 0]).stimuli == (two.stimuli[1], two.stimuli[1], two.stimuli[0])


PART_FIELD = Field(192, 120, 30.0)
PART_GREY = OPPONENT.background_xyz(20.0)
PART_MODULATION = OPPONENT.modulation_xyz("ach", 20.0)


def mean_square(target: Layer, masks: tuple[Layer, ...], part: Part | None) -> float:
    screen = display("metrics")
    both = [Stimulus(PART_GREY, (*masks, target)), Stimulus(PART_GREY, masks)]
    frames = paint(both, PART_FIELD, screen, dtype=torch.float64, part=part)
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
    target = Layer(pattern, PART_MODULATION, 0.3)
    below = tuple(Layer(mask, PART_MODULATION, 0.1) for mask in masks)
    field = Field(192, 120, 30.0, coordinates=coordinates)
    part = part_that_differs((pattern,), masks, field)
    whole = mean_square(target, below, None)
    assert mean_square(target, below, part_that_differs((pattern,), masks, PART_FIELD)) == (
        pytest.approx(whole, rel=1e-9)
    )
    assert 0 <= part.top < part.bottom <= 120
    assert 0 <= part.left < part.right <= 192


def test_only_the_upper_half_of_what_is_mirrored_is_shown() -> None:
    part = part_that_differs((Gabor(3.0, 0.15),), (), PART_FIELD)
    assert part.bottom == 60
    # 5.7 standard deviations of 4.5 pixels to either side.
    assert part.right - part.left == pytest.approx(2 * 5.7 * 4.5, abs=3)
    both_halves = 2 * (part.bottom - part.top) * (part.right - part.left)
    assert part.share == pytest.approx(both_halves / (192 * 120))


def test_noise_under_the_target_is_not_mirrored() -> None:
    part = part_that_differs((Gabor(3.0, 0.15),), (Noise(0.0, 12.0, seed=3),), PART_FIELD)
    assert part.top + part.bottom == 120
    assert part.bottom > 60


def test_a_grating_fills_the_field() -> None:
    part = part_that_differs((Grating(2.0, orientation_deg=30),), (), PART_FIELD)
    assert part == Part(0, 120, 0, 192, 1.0)


def test_where_nothing_differs_one_pixel_tells() -> None:
    assert part_that_differs((), (Grating(2.0),), PART_FIELD) == Part(0, 1, 0, 1, 1.0)
