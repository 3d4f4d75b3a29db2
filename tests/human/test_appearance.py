"""Brightness and colour on backgrounds: the curves of Vila-Tomás et al. (2026), and CIEDE2000."""

import numpy as np
import pytest

from fechner.human import (
    brightness,
    colour_difference_2000,
    colour_response,
    whittle_brightness,
)

with np.printoptions():  # it changes how NumPy prints, for everybody
    import colour

#: CIEDE2000 from the darkest test, numbers 1, 4, 9, 14 and 19 of 20 between 0.1 and 120 cd/m2.
BRIGHTNESS = {
    1.0: [79.7147, 96.6549, 104.361, 107.939, 110.177],
    40.75: [32.2232, 73.8043, 100.967, 104.313, 106.662],
    80.5: [22.1108, 48.9702, 80.6797, 100.846, 103.215],
    120.25: [17.5539, 39.0054, 62.6483, 82.9606, 99.1311],
    160.0: [14.7867, 33.2484, 52.8811, 69.0533, 84.0984],
}

#: Tests 0, 3, 6, 8, 11 and 14 of 15 at 70 cd/m2, on backgrounds of 90 cd/m2 that are displaced.
COLOUR = {
    ("rg", -150 / 7): [-18.6237, 12.0445, 23.7663, 25.7922, 28.4431, 30.742],
    ("rg", -60 / 7): [-25.0902, -16.9081, 10.9029, 19.9818, 25.0402, 27.1466],
    ("rg", 0.0): [-26.5054, -22.7839, -10.49, 10.3011, 21.6627, 25.2761],
    ("rg", 60 / 7): [-27.9893, -25.0431, -19.0562, -9.95426, 14.5963, 22.7538],
    ("rg", 150 / 7): [-29.8489, -26.812, -24.3047, -20.7326, -9.29913, 13.5979],
    ("yb", -150 / 7): [-9.17301, 6.995, 15.0911, 19.7461, 25.5909, 31.0112],
    ("yb", -60 / 7): [-17.2117, -10.4814, 7.72218, 14.7496, 23.243, 30.2308],
    ("yb", 0.0): [-22.0866, -17.1293, -8.22918, 8.55065, 20.5523, 29.4392],
    ("yb", 60 / 7): [-26.5691, -23.1286, -16.9941, -9.38967, 15.5606, 28.1939],
    ("yb", 150 / 7): [-32.9335, -31.1912, -28.3483, -25.0904, -13.2581, 23.5313],
}


def displaced(channel: str, luminance: float, by: np.ndarray | float) -> np.ndarray:
    """XYZ of grey with T or D added."""
    by = np.asarray(by, dtype=float)
    grey = np.full(by.shape, luminance)
    x = grey + by if channel == "rg" else grey
    z = grey - by / 0.4 if channel == "yb" else grey
    return np.stack([x, grey, z], axis=-1)


@pytest.mark.parametrize("background", BRIGHTNESS)
def test_brightness(background: float) -> None:
    found = brightness(np.linspace(0.1, 120, 20), background, formula="ciede2000")
    assert found[0] == 0
    np.testing.assert_allclose(found[[1, 4, 9, 14, 19]], BRIGHTNESS[background], rtol=6e-6)


@pytest.mark.parametrize(("channel", "shift"), COLOUR)
def test_colour(channel: str, shift: float) -> None:
    # The authors' tests run from -20 to 20 at 60 cd/m2, scaled to 70.
    tests = displaced(channel, 70.0, np.linspace(-20, 20, 15) * 7 / 6)
    found = colour_response(tests, displaced(channel, 90.0, shift), channel)
    picked = found[[0, 3, 6, 8, 11, 14]]
    np.testing.assert_allclose(picked, COLOUR[channel, shift], rtol=6e-6)
    # Where the test has the background's colour, only luminance differs, and there is no side.
    neutral = np.argmin(np.abs(np.linspace(-20, 20, 15) * 1.5 - shift))
    assert found[neutral] == 0
    assert np.all(
        np.sign(np.delete(found, neutral))
        == np.sign(np.arange(15) - neutral)[np.arange(15) != neutral]
    )


@pytest.mark.parametrize("channel", ["rg", "yb"])
@pytest.mark.parametrize("shift", [-150 / 7, 0.0, 60 / 7])
def test_at_equal_luminance_the_zero_is_the_background(channel: str, shift: float) -> None:
    """Saturation on both sides, and the curve moves with the background."""
    away = np.linspace(-12, 12, 25)
    tests = displaced(channel, 70.0, shift + away)
    found = colour_response(tests, displaced(channel, 70.0, shift), channel)
    assert abs(found[12]) < 1e-9
    assert np.all(np.diff(found) > 0)
    slope = np.diff(found)
    assert slope[11:13].min() > 1.2 * max(slope[0], slope[-1])


def test_brightness_saturates_and_falls_with_the_background() -> None:
    luminance = np.geomspace(0.5, 120, 40)
    curves = np.array([whittle_brightness(luminance, b) for b in np.linspace(1, 160, 5)])
    assert np.all(np.diff(curves, axis=1) > 0)
    assert np.all(np.diff(curves, axis=0) < 0)
    # Straight in log luminance far from the background, on both sides.
    slope = np.diff(curves, axis=1) / np.diff(np.log(luminance))
    assert slope[0, -1] == pytest.approx(1, abs=0.02)
    assert slope[-1, 0] == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("background", [1.0, 40.0, 160.0])
def test_brightness_is_steepest_at_the_background(background: float) -> None:
    """Crispening; and an increment counts as much as the decrement of the same ratio."""
    ratio = np.geomspace(1 / 8, 8, 61)
    steps = whittle_brightness(background * ratio, background)
    np.testing.assert_allclose(steps, -steps[::-1], atol=1e-12)
    assert np.argmax(np.diff(steps)) in (29, 30)
    whole = brightness(background * ratio, background)
    np.testing.assert_allclose(whole, steps - steps[0])


@pytest.mark.parametrize("formula", ["whittle", "ciede2000"])
def test_a_darkest_of_ones_own(formula) -> None:
    alone = brightness(20.0, 40.0, darkest_cdm2=5.0, formula=formula)
    assert alone == pytest.approx(brightness([5.0, 20.0], 40.0, formula=formula)[1])
    assert isinstance(alone, np.float64)


def test_colour_difference_against_another_implementation() -> None:
    rng = np.random.default_rng(0)
    lab, other = (
        np.column_stack([rng.uniform(0, 100, 400), rng.uniform(-80, 80, (400, 2))]) for _ in "12"
    )
    other[:200] = lab[:200] + rng.normal(size=(200, 3))
    found = colour_difference_2000(lab, other)
    np.testing.assert_allclose(found, colour.delta_E(lab, other, method="CIE 2000"), rtol=1e-9)
    np.testing.assert_allclose(found, colour_difference_2000(other, lab), rtol=1e-9)


@pytest.mark.parametrize(
    ("lab", "other", "difference"),
    [
        # Sharma, Wu & Dalal (2005), Table 1, where hues are opposite or missing.
        ((50, 0, 0), (50, -1, 2), 2.3669),
        ((50, 2.49, -0.001), (50, -2.49, 0.0009), 7.1792),
        ((50, 2.49, -0.001), (50, -2.49, 0.0011), 7.2195),
        ((50, -0.001, 2.49), (50, 0.0009, -2.49), 4.8045),
        ((50, 2.5, 0), (50, 3.1736, 0.5854), 1.0),
        ((2.0776, 0.0795, -1.135), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_published_colour_differences(lab, other, difference: float) -> None:
    assert colour_difference_2000(lab, other) == pytest.approx(difference, abs=5.1e-5)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="channel is 'ach'; use rg or yb"):
        colour_response([1.0, 1.0, 1.0], (1.0, 1.0, 1.0), "ach")
    with pytest.raises(ValueError, match="background_cdm2 is 0"):
        brightness([1.0], 0.0)
