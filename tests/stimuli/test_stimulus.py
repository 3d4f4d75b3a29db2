"""Painting: background + sum of contrast x pattern x direction, through the display."""

import numpy as np
import pytest
import torch

from fechner.errors import GamutError
from fechner.stimuli import (
    ATD,
    OPPONENT,
    OPPONENT_CAI2025,
    Display,
    Field,
    Frames,
    Gabor,
    Grating,
    Layer,
    Noise,
    OrientedNoise,
    Pattern,
    Square,
    Stimulus,
    contrast_limit,
    display,
    fits_gamut,
    gamut_limit,
    paint,
)

FIELD = Field(width_px=48, height_px=32, ppd=30.0)
BACKGROUND = OPPONENT.background_xyz(60.0)


def layer(pattern: Pattern, direction: str, contrast: float) -> Layer:
    return Layer(pattern, OPPONENT.modulation_xyz(direction, 60.0), contrast)


COLOURED = Stimulus(
    BACKGROUND,
    (
        layer(Grating(3.0, 30.0), "ach", 0.4),
        layer(Gabor(5.0, 0.2), "rg", 0.05),
        layer(Noise(1.0, 6.0, seed=2), "yv", 0.1),
    ),
)
GREY = Stimulus(BACKGROUND, (layer(Grating(3.0), "ach", 0.7), layer(Gabor(5.0, 0.2), "ach", 0.2)))
PLAIN = Stimulus(OPPONENT.background_xyz(5.0))


def by_hand(stimulus: Stimulus, field: Field, screen: Display) -> np.ndarray:
    """Sum in XYZ with NumPy in float64; return light in cd/m2, [3, h, w]."""
    xyz = np.tile(
        np.array(stimulus.background_xyz)[:, None, None], (field.height_px, field.width_px)
    )
    for part in stimulus.layers:
        pattern = part.pattern.draw(field).expand(field.height_px, field.width_px).numpy()
        xyz += part.contrast * np.array(part.modulation_xyz)[:, None, None] * pattern
    back = np.linalg.inv(screen.rgb_to_xyz) if screen.xyz_to_rgb is None else screen.xyz_to_rgb
    return np.einsum("ij,jhw->ihw", np.array(back), xyz)


def srgb(linear: np.ndarray) -> np.ndarray:
    return np.where(
        linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 1e-9) ** (1 / 2.4) - 0.055
    )


@pytest.mark.parametrize("stimulus", [COLOURED, GREY, PLAIN])
@pytest.mark.parametrize("field", [FIELD, Field(31, 17, 30.0, coordinates="endpoints")])
def test_paint_is_the_sum_written_out(stimulus: Stimulus, field: Field) -> None:
    screen = display("encoders")
    expected = by_hand(stimulus, field, screen).clip(0, 400)
    light = paint([stimulus], field, screen, light="cdm2", dtype=torch.float64)
    # Grey is painted in one channel: the matrices make D65 grey to 2e-7 only.
    np.testing.assert_allclose(light.pixels[0], expected, rtol=5e-7)
    encoded = paint([stimulus], field, screen, dtype=torch.float64)
    np.testing.assert_allclose(encoded.pixels[0], srgb(expected / 400), rtol=5e-7)


def test_published_display_passes_on_what_is_above_the_peak() -> None:
    screen = display("encoders-published")
    bright = Stimulus(
        OPPONENT_CAI2025.background_xyz(300.0),
        (Layer(Grating(3.0), OPPONENT_CAI2025.modulation_xyz("ach", 300.0), 1.2),),
    )
    expected = by_hand(bright, FIELD, screen).clip(1e-4, None)
    assert expected.max() > 500
    assert (expected == 1e-4).any()
    encoded = paint([bright], FIELD, screen, dtype=torch.float64).pixels[0]
    np.testing.assert_allclose(encoded, srgb(expected / 400), rtol=1e-12)
    assert encoded.max() > 1


def test_a_modulation_of_contrast_one_reaches_black_and_twice_the_background() -> None:
    full = Stimulus(BACKGROUND, (layer(Grating(7.5, phase_deg=45), "ach", 1.0),))
    luminance = paint([full], FIELD, display("encoders"), light="cdm2").luminance()[0]
    high, low = luminance.max().item(), luminance.min().item()
    # Samples at 45 and 135 deg of phase: 1 +- sqrt(1/2).
    samples = {1 + np.sin(np.pi / 4 + np.pi / 2 * (k + 0.5)) for k in range(4)}
    assert high / 60 == pytest.approx(max(samples), rel=1e-5)
    assert low / 60 == pytest.approx(min(samples), abs=1e-5)


def test_light_on_the_display_is_the_light_asked_for() -> None:
    stimuli = [COLOURED, GREY, PLAIN]
    screen = display("encoders")
    light = paint(stimuli, FIELD, screen, light="cdm2", dtype=torch.float64)
    encoded = paint(stimuli, FIELD, screen, dtype=torch.float64)
    np.testing.assert_allclose(screen.decode(encoded.pixels), light.pixels, rtol=1e-7)
    np.testing.assert_allclose(encoded.luminance(), light.luminance(), rtol=1e-7)


def test_luminance_is_y() -> None:
    stimuli = [COLOURED, PLAIN]
    screen = display("encoders")
    frames = paint(stimuli, FIELD, screen, light="cdm2", dtype=torch.float64)
    assert frames.luminance().shape == (2, 32, 48)
    xyz = np.einsum("ij,njhw->nihw", np.array(screen.rgb_to_xyz), frames.pixels.numpy())
    np.testing.assert_allclose(frames.luminance(), xyz[:, 1], rtol=1e-12)
    np.testing.assert_allclose(frames.luminance()[1], 5.0, rtol=1e-6)


def test_frames_know_what_they_are() -> None:
    frames = paint([GREY, PLAIN], FIELD, display("encoders"))
    assert isinstance(frames, Frames)
    assert len(frames) == 2
    assert frames.pixels.shape == (2, 3, 32, 48)
    assert frames.pixels.dtype == torch.float32
    assert frames.pixels.is_contiguous()
    assert (frames.field, frames.display.name, frames.light) == (FIELD, "encoders", "display")


SERIES = [
    Stimulus(BACKGROUND, (layer(Grating(3.0), direction, contrast),))
    for direction in ("rg", "yv")
    for contrast in (0.01, 0.03, 0.1)
]


@pytest.mark.parametrize("light", ["display", "cdm2"])
@pytest.mark.parametrize("name", ["encoders", "encoders-published", "srgb-8bit-dithered"])
def test_a_picture_does_not_depend_on_its_batch(light: str, name: str) -> None:
    # Whole, one by one, in reverse, with doubles: the same pixels.
    screen = display(name)

    def pixels(stimuli: list[Stimulus]) -> torch.Tensor:
        return paint(stimuli, FIELD, screen, light=light).pixels

    whole = pixels(SERIES)
    assert len({picture.numpy().tobytes() for picture in whole}) == len(SERIES)
    step = {"rtol": 0, "atol": 2e-7 if light == "display" else 2e-5}
    torch.testing.assert_close(torch.cat([pixels([one]) for one in SERIES]), whole, **step)
    torch.testing.assert_close(pixels(SERIES[::-1]).flip(0), whole, **step)
    doubled = [one for one in SERIES for _ in range(2)]
    torch.testing.assert_close(pixels(doubled)[::2], whole, **step)
    mixed = [SERIES[0], PLAIN, SERIES[3], SERIES[1]]
    torch.testing.assert_close(pixels(mixed)[[0, 2, 3]], whole[[0, 3, 1]], **step)


def test_many_pictures_are_painted_as_few() -> None:
    # More pixels than are encoded at a time.
    field = Field.of(pixels=300, ppd=60)
    contrasts = np.linspace(0.0, 0.9, 7)
    stimuli = [Stimulus(BACKGROUND, (layer(Gabor(4.0, 1.0), "ach", c),)) for c in contrasts]
    whole = paint(stimuli, field, display("encoders")).pixels
    single = torch.cat([paint([one], field, display("encoders")).pixels for one in stimuli])
    torch.testing.assert_close(whole, single, rtol=0, atol=2e-7)
    spread = whole.std(dim=(1, 2, 3))
    assert (spread.diff() > 0).all()


@pytest.mark.parametrize("light", ["display", "cdm2"])
@pytest.mark.parametrize("name", ["encoders", "srgb-8bit", "srgb-8bit-dithered"])
def test_grey_alone_equals_grey_among_colours(light: str, name: str) -> None:
    # Alone it is painted in one channel, beside a coloured picture in three.
    screen = display(name)
    alone = paint([GREY], FIELD, screen, light=light, dtype=torch.float64).pixels[0]
    beside = paint([COLOURED, GREY], FIELD, screen, light=light, dtype=torch.float64).pixels[1]
    assert torch.equal(alone[0], alone[1])
    assert torch.equal(alone[0], alone[2])
    torch.testing.assert_close(alone, beside, rtol=5e-7, atol=1e-9)


def test_a_display_whose_channels_differ_is_never_painted_in_one() -> None:
    crt = Display("crt", peak_cdm2=170.0, eotf="gamma", gamma=(2.2, 2.2, 2.1))
    pixels = paint([GREY], FIELD, crt, dtype=torch.float64).pixels[0]
    expected = (by_hand(GREY, FIELD, crt) / 170).clip(0, 1)
    for channel, gamma in enumerate((2.2, 2.2, 2.1)):
        np.testing.assert_allclose(pixels[channel], expected[channel] ** (1 / gamma), rtol=1e-6)


@pytest.mark.parametrize("stimulus", [COLOURED, GREY])
def test_single_precision_is_close_to_double(stimulus: Stimulus) -> None:
    for light, tolerance in (("display", 5e-7), ("cdm2", 6e-5)):
        single = paint([stimulus], FIELD, display("encoders"), light=light)
        double = paint([stimulus], FIELD, display("encoders"), light=light, dtype=torch.float64)
        torch.testing.assert_close(single.pixels.double(), double.pixels, rtol=0, atol=tolerance)


def test_the_weakest_contrasts_survive_single_precision() -> None:
    # Half the lowest human threshold is about 0.002; ten times less is still told apart.
    weak = [Stimulus(BACKGROUND, (layer(Grating(3.0), "ach", c),)) for c in (0.0, 2e-4)]
    pixels = paint(weak, FIELD, display("encoders"), light="cdm2").pixels.double()
    pattern = Grating(3.0).draw(FIELD).expand(32, 48)
    amplitude = ((pixels[1] - pixels[0])[1] * pattern).sum() / pattern.square().sum()
    assert amplitude.item() / 60 == pytest.approx(2e-4, rel=1e-3)


def test_recipes_are_hashable_and_equal_by_value() -> None:
    twin = Stimulus(
        OPPONENT.background_xyz(60.0),
        (layer(Grating(3.0), "ach", 0.7), layer(Gabor(5.0, 0.2), "ach", 0.2)),
    )
    assert twin == GREY
    assert len({twin, GREY, PLAIN, COLOURED}) == 3


def test_painting_twice_gives_the_same_and_leaves_what_it_remembers_alone() -> None:
    first = paint([COLOURED], FIELD, display("encoders")).pixels
    kept = first.clone()
    first.zero_()
    assert torch.equal(paint([COLOURED], FIELD, display("encoders")).pixels, kept)


GAMUT_FIELD = Field.of(degrees=2, ppd=64)
SCREEN = display("decalogue")
GAMUT_GREY = Stimulus(ATD.background_xyz(40.0))


def test_room_for_colour_from_white_alone() -> None:
    """Of a full white, green can be added only by taking from red, and so on."""
    white = tuple(np.asarray(SCREEN.rgb_to_xyz).sum(axis=1) * 40)
    for direction, sign in (("rg", -1), ("yb", 1)):
        patch = Layer(Square(1.0), ATD.modulation_xyz(direction, sign * 40.0), 1.0)
        limit = contrast_limit(Stimulus(white), patch, GAMUT_FIELD, SCREEN)
        assert limit == pytest.approx({"rg": 0.30, "yb": 0.39}[direction], abs=0.01)


@pytest.mark.parametrize("direction", ATD.directions)
@pytest.mark.parametrize("frequency", [1.5, 12.0])
def test_the_limit_of_noise_is_where_it_stops_fitting(frequency: float, direction: str) -> None:
    layer = Layer(OrientedNoise(frequency), ATD.modulation_xyz(direction, 40.0), 1.0)
    limit = contrast_limit(GAMUT_GREY, layer, GAMUT_FIELD, SCREEN)
    for ratio, fits in ((0.999, True), (1.001, False)):
        layer = Layer(layer.pattern, layer.modulation_xyz, ratio * limit)
        stimulus = Stimulus(GAMUT_GREY.background_xyz, (layer,))
        assert fits_gamut(stimulus, GAMUT_FIELD, SCREEN) is fits
        if fits:
            paint([stimulus], GAMUT_FIELD, SCREEN, strict=True)
        else:
            with pytest.raises(GamutError):
                paint([stimulus], GAMUT_FIELD, SCREEN, strict=True)


@pytest.mark.parametrize("direction", ATD.directions)
def test_a_grating_has_the_limit_that_needs_no_drawing(direction: str) -> None:
    modulation = ATD.modulation_xyz(direction, 40.0)
    field = Field.of(pixels=129, ppd=64)
    drawn = contrast_limit(
        GAMUT_GREY, Layer(Grating(4.0, phase_deg=90), modulation, 1.0), field, SCREEN
    )
    assert drawn == pytest.approx(
        gamut_limit(SCREEN, GAMUT_GREY.background_xyz, modulation), rel=1e-4
    )


def test_masks_take_room() -> None:
    luminance = ATD.modulation_xyz("ach", 40.0)
    noise = OrientedNoise(6.0)
    alone = contrast_limit(GAMUT_GREY, Layer(noise, luminance, 1.0), GAMUT_FIELD, SCREEN)
    masked = Stimulus(GAMUT_GREY.background_xyz, (Layer(noise, luminance, 0.1),))
    on_itself = contrast_limit(masked, Layer(noise, luminance, 1.0), GAMUT_FIELD, SCREEN)
    assert on_itself == pytest.approx(alone - 0.1, rel=1e-3)
    on_another = contrast_limit(
        masked, Layer(OrientedNoise(6.0, 90.0), luminance, 1.0), GAMUT_FIELD, SCREEN
    )
    assert on_itself < on_another < alone


def test_nothing_fits_on_what_does_not_fit() -> None:
    too_strong = Stimulus(
        GAMUT_GREY.background_xyz, (Layer(Grating(3.0), ATD.modulation_xyz("ach", 40.0), 1.2),)
    )
    target = Layer(Grating(6.0), ATD.modulation_xyz("ach", 40.0), 1.0)
    assert not fits_gamut(too_strong, GAMUT_FIELD, SCREEN)
    assert contrast_limit(too_strong, target, GAMUT_FIELD, SCREEN) == -np.inf


def test_what_changes_nothing_has_no_limit() -> None:
    nothing = Layer(Grating(6.0), (0.0, 0.0, 0.0), 1.0)
    assert contrast_limit(GAMUT_GREY, nothing, GAMUT_FIELD, SCREEN) == np.inf


def test_black_is_the_lowest_light() -> None:
    grey = Display("grey", peak_cdm2=100.0, black_cdm2=10.0)
    light = tuple(np.asarray(grey.rgb_to_xyz).sum(axis=1) * 40)
    grating = Layer(Grating(4.0, phase_deg=90), light, 1.0)
    limit = contrast_limit(Stimulus(light), grating, Field.of(pixels=65, ppd=64), grey)
    assert limit == pytest.approx(0.75, abs=1e-4)
