"""What a screen shows of another display: the same light, and grey where that is grey."""

import numpy as np
import pytest
import torch

from fechner.report.screens import on_screen, shows_srgb
from fechner.stimuli import ATD, Display, Field, Stimulus, display, displays, paint
from fechner.stimuli.colour import SRGB_TO_XYZ, as_triple, xyz_to_lab

FIELD = Field(4, 4, 8.0)
TUBE = display("decalogue")
WHITE = as_triple(np.sum(TUBE.rgb_to_xyz, axis=1))


def light(values: torch.Tensor) -> np.ndarray:
    """Return XYZ of the first pixel on a screen whose white has a luminance of 1."""
    linear = Display("screen", peak_cdm2=1.0).decode(values.double())[0, :, 0, 0]
    return np.asarray(SRGB_TO_XYZ) @ linear.numpy()


def field(xyz: tuple[float, float, float], on: Display = TUBE):
    return paint([Stimulus(xyz)], FIELD, on)


def test_srgb_displays_are_left_alone() -> None:
    same = {name for name, each in displays().items() if shows_srgb(each)}
    assert set(displays()) - same == {"decalogue", "hdr-hlg-1000", "hdr-pq-1000", "phone"}
    for name in same:
        frames = field((0.3, 0.3, 0.3), displays()[name])
        assert on_screen(frames) is frames.pixels


@pytest.mark.parametrize("luminance", [0.5, 40.0, 70.0, 100.0])
def test_grey_is_neutral_and_as_light_as_it_was(luminance: float) -> None:
    seen = on_screen(field(ATD.background_xyz(luminance)), ATD.white_xyz)
    assert seen.amax() - seen.amin() < 2e-3
    assert light(seen)[1] == pytest.approx(luminance / TUBE.peak_cdm2, rel=1e-3)


def test_hdr_white_is_reference_white() -> None:
    """So that what is shown at 10 cd/m2 is not black on a page."""
    grey = (10 * 0.9505, 10.0, 10 * 1.0888)
    assert light(on_screen(field(grey, display("hdr-pq-1000"))))[1] == pytest.approx(10 / 203, 1e-3)


def test_white_is_white_unless_another_grey_is_meant() -> None:
    white = field(as_triple(TUBE.peak_cdm2 * np.array(WHITE)))
    assert on_screen(white).amin() > 0.999
    # Adapted to the equal-energy white, that of the display is bluish.
    red, _, blue = on_screen(white, ATD.white_xyz)[0, :, 0, 0]
    assert blue > red + 0.02


def test_colours_have_the_hue_they_are_named_after() -> None:
    grey = np.array(ATD.background_xyz(70.0))
    labs = {
        (channel, sign): xyz_to_lab(light(on_screen(field(as_triple(grey + step)), ATD.white_xyz)))
        for channel in ("rg", "yb")
        for sign in (-1, 1)
        for step in [sign * 15 * np.array(ATD.modulation_xyz(channel, 1.0))]
    }
    assert labs["rg", 1][1] > 10 > -10 > labs["rg", -1][1]
    assert labs["yb", 1][2] > 10 > -10 > labs["yb", -1][2]


def test_raw_light_is_encoded() -> None:
    frames = paint([Stimulus((50.0, 50.0, 50.0))], FIELD, TUBE, light="cdm2")
    assert on_screen(frames, ATD.white_xyz) == pytest.approx(
        on_screen(field((50.0, 50.0, 50.0)), ATD.white_xyz), abs=1e-5
    )
