"""The gamut, pixel by pixel: what fits is painted as meant, what does not is refused."""

import numpy as np
import pytest

from fechner.errors import GamutError
from fechner.stimuli import (
    ATD,
    Display,
    Field,
    Grating,
    Layer,
    OrientedNoise,
    Square,
    Stimulus,
    contrast_limit,
    display,
    fits_gamut,
    gamut_limit,
    paint,
)

FIELD = Field.of(degrees=2, ppd=64)
SCREEN = display("decalogue")
GREY = Stimulus(ATD.background_xyz(40.0))


def test_room_for_colour_from_white_alone() -> None:
    """Of a full white, green can be added only by taking from red, and so on."""
    white = tuple(np.asarray(SCREEN.rgb_to_xyz).sum(axis=1) * 40)
    for direction, sign in (("rg", -1), ("yb", 1)):
        patch = Layer(Square(1.0), ATD.modulation_xyz(direction, sign * 40.0), 1.0)
        limit = contrast_limit(Stimulus(white), patch, FIELD, SCREEN)
        assert limit == pytest.approx({"rg": 0.30, "yb": 0.39}[direction], abs=0.01)


@pytest.mark.parametrize("direction", ATD.directions)
@pytest.mark.parametrize("frequency", [1.5, 12.0])
def test_the_limit_of_noise_is_where_it_stops_fitting(frequency: float, direction: str) -> None:
    layer = Layer(OrientedNoise(frequency), ATD.modulation_xyz(direction, 40.0), 1.0)
    limit = contrast_limit(GREY, layer, FIELD, SCREEN)
    for ratio, fits in ((0.999, True), (1.001, False)):
        layer = Layer(layer.pattern, layer.modulation_xyz, ratio * limit)
        stimulus = Stimulus(GREY.background_xyz, (layer,))
        assert fits_gamut(stimulus, FIELD, SCREEN) is fits
        if fits:
            paint([stimulus], FIELD, SCREEN, strict=True)
        else:
            with pytest.raises(GamutError):
                paint([stimulus], FIELD, SCREEN, strict=True)


@pytest.mark.parametrize("direction", ATD.directions)
def test_a_grating_has_the_limit_that_needs_no_drawing(direction: str) -> None:
    modulation = ATD.modulation_xyz(direction, 40.0)
    field = Field.of(pixels=129, ppd=64)
    drawn = contrast_limit(GREY, Layer(Grating(4.0, phase_deg=90), modulation, 1.0), field, SCREEN)
    assert drawn == pytest.approx(gamut_limit(SCREEN, GREY.background_xyz, modulation), rel=1e-4)


def test_masks_take_room() -> None:
    luminance = ATD.modulation_xyz("ach", 40.0)
    noise = OrientedNoise(6.0)
    alone = contrast_limit(GREY, Layer(noise, luminance, 1.0), FIELD, SCREEN)
    masked = Stimulus(GREY.background_xyz, (Layer(noise, luminance, 0.1),))
    on_itself = contrast_limit(masked, Layer(noise, luminance, 1.0), FIELD, SCREEN)
    assert on_itself == pytest.approx(alone - 0.1, rel=1e-3)
    on_another = contrast_limit(
        masked, Layer(OrientedNoise(6.0, 90.0), luminance, 1.0), FIELD, SCREEN
    )
    assert on_itself < on_another < alone


def test_nothing_fits_on_what_does_not_fit() -> None:
    too_strong = Stimulus(
        GREY.background_xyz, (Layer(Grating(3.0), ATD.modulation_xyz("ach", 40.0), 1.2),)
    )
    target = Layer(Grating(6.0), ATD.modulation_xyz("ach", 40.0), 1.0)
    assert not fits_gamut(too_strong, FIELD, SCREEN)
    assert contrast_limit(too_strong, target, FIELD, SCREEN) == -np.inf


def test_what_changes_nothing_has_no_limit() -> None:
    nothing = Layer(Grating(6.0), (0.0, 0.0, 0.0), 1.0)
    assert contrast_limit(GREY, nothing, FIELD, SCREEN) == np.inf


def test_black_is_the_lowest_light() -> None:
    grey = Display("grey", peak_cdm2=100.0, black_cdm2=10.0)
    light = tuple(np.asarray(grey.rgb_to_xyz).sum(axis=1) * 40)
    grating = Layer(Grating(4.0, phase_deg=90), light, 1.0)
    limit = contrast_limit(Stimulus(light), grating, Field.of(pixels=65, ppd=64), grey)
    assert limit == pytest.approx(0.75, abs=1e-4)
