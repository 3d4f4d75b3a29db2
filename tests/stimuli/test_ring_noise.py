"""Noise of the published decalogue, and stimuli that are added after encoding."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fechner.stimuli import (
    ATD,
    ATD_VILA_TOMAS2026,
    Field,
    Grating,
    Layer,
    RingNoise,
    Stimulus,
    display,
    paint,
)

FIELD = Field.of(degrees=2, ppd=64)
SCREEN = display("decalogue")


def test_contrast_is_over_the_whole_square() -> None:
    for window_deg in (0.3, None):
        drawn = RingNoise(6.0, window_deg=window_deg, seed=3).draw(FIELD)
        assert float(drawn.mean()) == pytest.approx(0, abs=1e-12)
        assert float(drawn.std(correction=0)) == pytest.approx(0.5**0.5)
    inside = RingNoise(6.0, seed=3).draw(FIELD)[13:52, 13:52]
    assert float(inside.abs().max()) > 5


@pytest.mark.parametrize("orientation_deg", [0.0, 45.0, 112.5])
def test_power_is_in_the_ring_and_the_band_only(orientation_deg: float) -> None:
    noise = RingNoise(12.0, orientation_deg, 0.25, window_deg=None, seed=1)
    power = np.abs(np.fft.fft2(noise.draw(FIELD).numpy())) ** 2
    frequency = np.fft.fftfreq(128, 1 / 64)
    x, y = np.meshgrid(frequency, frequency)
    there = power > 1e-9 * power.max()
    assert (np.abs(np.hypot(x, y)[there] - 12) < 3).all()
    apart = (np.degrees(np.arctan2(y, x)) - orientation_deg + 90) % 180 - 90
    assert (np.abs(apart[there]) < 15).all()
    assert there.sum() > 100


def test_a_larger_field_has_nothing_around_it() -> None:
    noise = RingNoise(6.0, seed=(0, 1))
    large = noise.draw(Field.of(pixels=224, ppd=64))
    np.testing.assert_array_equal(large[48:176, 48:176], noise.draw(FIELD))
    assert float(large[:48].abs().max()) == 0
    assert (noise.draw(FIELD) != replace(noise, seed=(1, 0)).draw(FIELD)).any()


def test_what_cannot_be_drawn_is_a_sentence() -> None:
    with pytest.raises(ValueError, match="does not fit a field of 1 x 1 deg"):
        RingNoise(6.0).draw(Field.of(degrees=1, ppd=64))
    with pytest.raises(ValueError, match=r"no Fourier component within 0\.125 of 1\.5 cpd"):
        RingNoise(1.5, size_deg=1.0).draw(FIELD)
    with pytest.raises(ValueError, match="window_deg is 0; it must be above 0, or None"):
        RingNoise(1.5, window_deg=0.0)


def test_published_colours_modulate_luminance_as_well() -> None:
    for direction, expected in (("ach", (1, 0, 0)), ("rg", (1, 1, 0)), ("yb", (1, 0, 1))):
        xyz = np.array(ATD_VILA_TOMAS2026.modulation_xyz(direction, 1.0))
        np.testing.assert_allclose(np.array(ATD.axes) @ xyz, expected, atol=1e-12)


def test_overlays_are_added_to_encoded_values_less_their_mean() -> None:
    background = ATD.background_xyz(40.0)
    layer = Layer(Grating(4.0), background, 0.3)
    overlay = Stimulus(background, (layer,))
    test = Stimulus(background, (replace(layer, pattern=Grating(9.0)),), overlay)
    shown = [test, replace(test, overlay=None), overlay, Stimulus(background)]
    both, alone, added, plain = paint(shown, FIELD, SCREEN, dtype=torch.float64).pixels
    torch.testing.assert_close(both, alone + added - added.mean())
    assert not torch.equal(both, alone)
    # Nobody is shown light that a display does not have.
    frames = paint([test], FIELD, SCREEN, light="cdm2", dtype=torch.float64)
    torch.testing.assert_close(SCREEN.encode(frames.pixels)[0], both.clamp(0, 1))
    assert float(plain.std()) > 0  # its three channels differ
    strong = replace(test, layers=(replace(test.layers[0], contrast=0.99),))
    (cut,) = paint([strong], FIELD, SCREEN).pixels
    assert float(cut.min()) == 0
    (kept,) = paint([strong], FIELD, replace(SCREEN, clips=False)).pixels
    assert float(kept.min()) < 0
