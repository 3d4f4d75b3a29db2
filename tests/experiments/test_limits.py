"""What cannot be shown is flagged with its reason."""

from dataclasses import replace

import numpy as np
import pytest

from fechner.experiments.limits import REASONS, flag_contrasts, realised_contrasts, realised_mask
from fechner.stimuli import (
    OPPONENT,
    Display,
    Field,
    Gabor,
    Gaussian,
    Grating,
    Layer,
    Noise,
    OctaveNoise,
    Stimulus,
    display,
)
from fechner.stimuli.patterns import Product, share_inside
from fechner.stimuli.shapes import Disk, Square

FIELD = Field.of(pixels=128, ppd=60)
DISPLAY = display("encoders")


def reasons(
    reference: Stimulus, target: Layer, contrasts: list[float], screen: Display = DISPLAY
) -> list[str]:
    flags = flag_contrasts(reference, target, np.array(contrasts), screen, FIELD)
    return [REASONS[flag] for flag in flags]


def layer(pattern, direction: str = "ach", luminance: float = 100.0, contrast: float = 1.0):
    return Layer(pattern, OPPONENT.modulation_xyz(direction, luminance), contrast)


def grey(luminance: float = 100.0, *masks: Layer) -> Stimulus:
    return Stimulus(OPPONENT.background_xyz(luminance), masks)


def test_at_and_above_nyquist() -> None:
    assert reasons(grey(), layer(Gabor(29.9, 0.3)), [0.1]) == ["kept"]
    assert reasons(grey(), layer(Gabor(30.0, 0.3)), [0.1, 0.2]) == ["aliased"] * 2
    # The mask counts too, and a noise band by its upper edge.
    masked = grey(100.0, layer(Grating(31.0), contrast=0.1))
    assert reasons(masked, layer(Gabor(2.0, 0.3)), [0.1]) == ["aliased"]
    assert reasons(grey(), layer(OctaveNoise(22.0)), [0.01]) == ["aliased"]
    assert reasons(grey(), layer(OctaveNoise(21.0)), [0.01]) == ["kept"]


def test_above_nyquist_after_resampling() -> None:
    target, contrast = layer(Gabor(12.0, 0.3)), np.array([0.1])
    for seen, expected in (
        (replace(FIELD, ppd=30.0), "kept"),
        (replace(FIELD, ppd=20.0), "aliased"),
    ):
        (flag,) = flag_contrasts(grey(), target, contrast, DISPLAY, FIELD, seen)
        assert REASONS[flag] == expected


def test_a_window_that_the_field_cuts_off() -> None:
    # A field of 2.13 deg; the energy of a window of sigma s inside is erf(1.067 / s) squared.
    assert reasons(grey(), layer(Gabor(8.0, 0.77)), [0.1]) == ["kept"]
    assert reasons(grey(), layer(Gabor(8.0, 0.78)), [0.1, 0.2]) == ["window-cut"] * 2
    # The mask counts too; gratings and noise fill any field.
    masked = grey(100.0, layer(Gabor(2.0, 0.8), contrast=0.1))
    assert reasons(masked, layer(Gabor(2.0, 0.3)), [0.1]) == ["window-cut"]
    assert reasons(grey(), layer(Grating(2.0)), [0.1]) == ["kept"]


@pytest.mark.parametrize(
    "pattern",
    [
        Gaussian(0.9),
        Gaussian(0.3, sigma_along_deg=1.5),
        Gaussian(0.6, x_deg=0.7, y_deg=-0.4),
        Gabor(6.0, 1.2),
        Product(Grating(6.0), Gaussian(0.8)),
        Disk(1.4),
        Square(3.0),
    ],
    ids=lambda pattern: type(pattern).__name__,
)
def test_shares_are_those_of_the_drawn_energy(pattern) -> None:
    def energy(field: Field) -> float:
        return float(pattern.draw(field).expand(field.height_px, field.width_px).square().sum())

    field = Field(128, 96, 60.0)
    share = energy(field) / energy(field.resized((800, 800)))
    assert share_inside(pattern, field) == pytest.approx(share, abs=0.004)
    assert share < 0.9


def test_gamut_and_contrast_above_one() -> None:
    gabor = Gabor(2.0, 0.3)
    assert reasons(grey(), layer(gabor), [0.99, 1.0, 1.01]) == ["kept"] * 2 + ["contrast-above-1"]
    # Three times 300 cd/m2 would be more than the peak of 400.
    assert reasons(grey(300), layer(gabor, luminance=300), [0.33, 0.34]) == ["kept", "out-of-gamut"]
    assert reasons(grey(), layer(gabor, "rg"), [0.14, 0.16]) == ["kept", "out-of-gamut"]
    mask = layer(Grating(2.0), contrast=0.6)
    assert reasons(grey(100.0, mask), layer(gabor), [0.39, 0.41]) == ["kept", "contrast-above-1"]


def test_noise_that_loses_pixels() -> None:
    noise = layer(OctaveNoise(4.0, seed=1))
    # A pixel is cut where the noise is below -1/contrast: 0.6 % at 0.4, 2.3 % at 0.5.
    assert reasons(grey(), noise, [0.3, 0.4, 0.5]) == ["kept", "kept", "noise-clipped"]
    mask = layer(Noise(0, 12, seed=1), contrast=0.5)
    assert reasons(grey(100.0, mask), layer(Gabor(2.0, 0.3)), [0.01]) == ["noise-clipped"]


def test_realised_contrast() -> None:
    noise = layer(OctaveNoise(4.0, seed=1))
    asked = np.array([0.1, 1.0])
    got = realised_contrasts(grey(), noise, asked, DISPLAY, FIELD)
    assert got[0] == pytest.approx(0.1, rel=1e-6)
    # Expectation of a normal variable cut at 0: sd/mean of max(0, 1 + n), 0.866/1.083.
    assert got[1] == pytest.approx(0.80, abs=0.05)
    gabor = layer(Gabor(2.0, 0.3))
    np.testing.assert_array_equal(realised_contrasts(grey(), gabor, asked, DISPLAY, FIELD), asked)
    mask = layer(Noise(0, 12, seed=1), contrast=0.5)
    assert realised_mask(grey(100.0, mask), DISPLAY, FIELD) == pytest.approx(0.48, abs=0.01)
    assert np.isnan(realised_mask(grey(), DISPLAY, FIELD))


def test_chromatic_noise_that_loses_pixels_in_one_channel() -> None:
    # Gabors fit up to 0.148 (red-green) and 0.872 (yellow-violet), where a channel is black; of
    # noise, 1 % lies more than 2.33 standard deviations below the mean.
    noise = layer(OctaveNoise(4.0, seed=1), "rg")
    assert reasons(grey(), noise, [0.06, 0.07]) == ["kept", "noise-clipped"]
    noise = layer(OctaveNoise(4.0, seed=1), "yv")
    assert reasons(grey(), noise, [0.35, 0.42]) == ["kept", "noise-clipped"]


@pytest.mark.parametrize("direction", ["rg", "yv"])
def test_realised_contrast_of_chromatic_noise(direction: str) -> None:
    noise = layer(OctaveNoise(4.0, seed=1), direction)
    asked = np.array([0.01, 2.0])
    got = realised_contrasts(grey(), noise, asked, DISPLAY, FIELD)
    assert got[0] == pytest.approx(0.01, rel=1e-6)
    assert 0.1 < got[1] < 1.5


@pytest.mark.parametrize("pattern", [Gabor(2.0, 0.3), OctaveNoise(4.0)])
def test_a_background_that_the_display_cannot_show(pattern) -> None:
    dim = Display("dim", 80.0, 0.1, ambient_lux=100 * np.pi, reflectivity=0.01)
    for luminance in (90.0, 0.9):
        target = layer(pattern, luminance=luminance)
        assert reasons(grey(luminance), target, [1e-4, 0.3], dim) == ["out-of-gamut"] * 2
    # The reflection of 1 cd/m2 adds to both ends.
    assert reasons(grey(80.5), layer(pattern, luminance=80.5), [1e-4], dim) == ["kept"]
