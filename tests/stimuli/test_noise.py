"""Noise: its band, its spread, its seed, and the published pipeline rebuilt in plain NumPy."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from fechner.errors import GamutError, PictureError
from fechner.stimuli import (
    ATD,
    ATD_VILA_TOMAS2026,
    Field,
    Grating,
    Layer,
    NaturalBand,
    Noise,
    OctaveNoise,
    Photograph,
    RingNoise,
    Stimulus,
    display,
    paint,
)
from fechner.stimuli.pictures import photograph

FIELD = Field(width_px=224, height_px=224, ppd=60.0)
OBLONG = Field(width_px=151, height_px=96, ppd=30.0)


def radii(field: Field) -> np.ndarray:
    fx = np.fft.fftfreq(field.width_px, 1 / field.ppd)
    fy = np.fft.fftfreq(field.height_px, 1 / field.ppd)
    return np.hypot(fx[None, :], fy[:, None])


@pytest.mark.parametrize("field", [FIELD, OBLONG])
@pytest.mark.parametrize(("low", "high"), [(2.0, 4.0), (0.0, 5.0), (3.3, 50.0)])
def test_no_energy_outside_the_band_and_all_of_it_inside(
    field: Field, low: float, high: float
) -> None:
    drawn = Noise(low, high, seed=3).draw(field).numpy()
    spectrum = np.abs(np.fft.fft2(drawn))
    radius = radii(field)
    outside = (radius < low) | (radius > high) | (radius == 0)
    assert spectrum[outside].max() < 1e-9 * spectrum.max()
    # No ring is missing: white noise has energy at every frequency.
    assert (spectrum[~outside] > 1e-6 * spectrum.max()).all()


@pytest.mark.parametrize("field", [FIELD, OBLONG])
def test_unit_spread_and_no_mean(field: Field) -> None:
    drawn = Noise(1.0, 6.0).draw(field).numpy()
    assert drawn.shape == (field.height_px, field.width_px)
    assert drawn.std() == pytest.approx(1.0, abs=1e-12)
    assert abs(drawn.mean()) < 1e-12


def test_both_edges_belong_to_the_band() -> None:
    # Frequencies of a 64 px field at 64 ppd are whole numbers: exactly on the edges.
    field = Field.of(pixels=64, ppd=64)
    spectrum = np.abs(np.fft.fft2(Noise(4.0, 5.0).draw(field).numpy()))
    radius = radii(field)
    assert (spectrum[radius == 4.0] > 1e-6).all()
    assert (spectrum[radius == 5.0] > 1e-6).all()  # also (3, 4), whose root need not be exact


def test_an_octave_is_an_octave() -> None:
    band = OctaveNoise(4.0)
    assert band.high_cpd / band.low_cpd == pytest.approx(2.0)
    assert np.sqrt(band.low_cpd * band.high_cpd) == pytest.approx(4.0)
    two = OctaveNoise(4.0, octaves=2.0)
    assert (two.low_cpd, two.high_cpd) == pytest.approx((2.0, 8.0))
    assert two.highest_cpd == two.high_cpd


def test_a_seed_is_a_picture() -> None:
    first = OctaveNoise(4.0, seed=5).draw(FIELD)
    assert torch.equal(first, OctaveNoise(4.0, seed=5).draw(FIELD))
    for other in (6, (5, 1), (0, 5)):
        drawn = OctaveNoise(4.0, seed=other).draw(FIELD)
        assert abs(np.corrcoef(first.numpy().ravel(), drawn.numpy().ravel())[0, 1]) < 0.2


def test_neither_reads_nor_moves_global_generators() -> None:
    expected = OctaveNoise(4.0, seed=5).draw(FIELD)
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    for generator in ("pcg64", "numpy-legacy"):
        drawn = OctaveNoise(4.0, seed=5, generator=generator).draw(FIELD)
        if generator == "pcg64":
            assert torch.equal(drawn, expected)
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002


def test_the_white_noise_comes_from_numpy() -> None:
    # With all frequencies kept, what is left is NumPy's own draw: the same on every device.
    white = np.random.default_rng((1, 2)).standard_normal((96, 151))
    white -= white.mean()
    drawn = Noise(0.0, 1000.0, seed=(1, 2)).draw(OBLONG, device="cpu").numpy()
    np.testing.assert_allclose(drawn, white / white.std(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("keep_mean", [False, True])
@pytest.mark.parametrize(("low", "high"), [(2 / 2**0.5, 2 * 2**0.5), (0.0, 12.0)])
def test_published_pipeline(low: float, high: float, keep_mean: bool) -> None:
    """Cai et al. (2025): RandomState(8), full FFT, hard edges, divided by its std."""
    white = np.random.RandomState(8).randn(224, 224)
    spectrum = np.fft.fftshift(np.fft.fft2(white))
    axis = np.arange(-112, 112) * 60 / 224
    radius = np.sqrt(axis[None, :] ** 2 + axis[:, None] ** 2)
    spectrum[(radius < low) | (radius > high)] = 0
    if not keep_mean:
        spectrum[112, 112] = 0
    expected = np.real(np.fft.ifft2(np.fft.ifftshift(spectrum)))
    expected /= np.std(expected)
    drawn = Noise(low, high, seed=8, generator="numpy-legacy", keep_mean=keep_mean).draw(FIELD)
    np.testing.assert_allclose(drawn.numpy(), expected, rtol=0, atol=1e-11)


def test_published_edge() -> None:
    """Hammou et al. (2025): the real part of a full FFT, cut by radii that are rounded."""
    white = torch.randn((300, 300), generator=torch.Generator().manual_seed(2)).double()
    axis = ((0.5 + torch.arange(300, dtype=torch.float32) / 300) % 1 - 0.5) * 60
    radius = (axis[None, :] ** 2 + axis[:, None] ** 2).sqrt()
    spectrum = torch.fft.fft2(white)
    spectrum[radius > 12] = 0
    expected = torch.fft.ifft2(spectrum).real
    expected /= expected.std(correction=0)
    noise = Noise(0.0, 12.0, seed=2, generator="torch", keep_mean=True, halve_edge=True)
    drawn = noise.draw(Field(300, 300, 60.0))
    np.testing.assert_allclose(drawn.numpy(), expected.numpy(), rtol=0, atol=1e-11)


def test_keeping_the_mean_of_low_pass_noise() -> None:
    kept = Noise(0.0, 12.0, seed=8, keep_mean=True).draw(FIELD).numpy()
    gone = Noise(0.0, 12.0, seed=8).draw(FIELD).numpy()
    assert abs(kept.mean()) > 1e-3
    np.testing.assert_allclose(kept - kept.mean(), gone, rtol=0, atol=1e-12)
    # A band that starts above 0 has no mean to keep.
    band = Noise(1.0, 12.0, seed=8, keep_mean=True).draw(FIELD).numpy()
    assert abs(band.mean()) < 1e-12


@pytest.mark.parametrize(("low", "high"), [(0.3, 0.35), (50.0, 60.0), (4.0, 2.0)])
def test_a_band_without_frequencies(low: float, high: float) -> None:
    with pytest.raises(GamutError, match=rf"224 px field at 60 ppd lies in {low:g}-{high:g} cpd"):
        Noise(low, high).draw(FIELD)


def test_the_mean_alone_is_no_noise() -> None:
    # The lowest frequency of the field is 0.27 cpd.
    with pytest.raises(GamutError, match="no frequency of a 224 px field"):
        Noise(0.0, 0.1, keep_mean=True).draw(FIELD)


def test_the_legacy_generator_takes_one_seed() -> None:
    with pytest.raises(ValueError, match="takes one seed"):
        Noise(1.0, 2.0, seed=(8, 1), generator="numpy-legacy").draw(FIELD)


RING_FIELD = Field.of(degrees=2, ppd=64)
SCREEN = display("decalogue")


def test_contrast_is_over_the_whole_square() -> None:
    for window_deg in (0.3, None):
        drawn = RingNoise(6.0, window_deg=window_deg, seed=3).draw(RING_FIELD)
        assert float(drawn.mean()) == pytest.approx(0, abs=1e-12)
        assert float(drawn.std(correction=0)) == pytest.approx(0.5**0.5)
    inside = RingNoise(6.0, seed=3).draw(RING_FIELD)[13:52, 13:52]
    assert float(inside.abs().max()) > 5


@pytest.mark.parametrize("orientation_deg", [0.0, 45.0, 112.5])
def test_power_is_in_the_ring_and_the_band_only(orientation_deg: float) -> None:
    noise = RingNoise(12.0, orientation_deg, 0.25, window_deg=None, seed=1)
    power = np.abs(np.fft.fft2(noise.draw(RING_FIELD).numpy())) ** 2
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
    np.testing.assert_array_equal(large[48:176, 48:176], noise.draw(RING_FIELD))
    assert float(large[:48].abs().max()) == 0
    assert (noise.draw(RING_FIELD) != replace(noise, seed=(1, 0)).draw(RING_FIELD)).any()


def test_what_cannot_be_drawn_is_a_sentence() -> None:
    with pytest.raises(ValueError, match="does not fit a field of 1 x 1 deg"):
        RingNoise(6.0).draw(Field.of(degrees=1, ppd=64))
    with pytest.raises(ValueError, match=r"no Fourier component within 0\.125 of 1\.5 cpd"):
        RingNoise(1.5, size_deg=1.0).draw(RING_FIELD)
    with pytest.raises(ValueError, match="window_deg is 0; it must be above 0"):
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
    both, alone, added, plain = paint(shown, RING_FIELD, SCREEN, dtype=torch.float64).pixels
    torch.testing.assert_close(both, alone + added - added.mean())
    assert not torch.equal(both, alone)
    # Nobody is shown light that a display does not have.
    frames = paint([test], RING_FIELD, SCREEN, light="cdm2", dtype=torch.float64)
    torch.testing.assert_close(SCREEN.encode(frames.pixels)[0], both.clamp(0, 1))
    assert float(plain.std()) > 0  # its three channels differ
    strong = replace(test, layers=(replace(test.layers[0], contrast=0.99),))
    (cut,) = paint([strong], RING_FIELD, SCREEN).pixels
    assert float(cut.min()) == 0
    (kept,) = paint([strong], RING_FIELD, replace(SCREEN, clips=False)).pixels
    assert float(kept.min()) < 0


NATURAL_FIELD = Field(128, 128, 32.0)


def wave(halves: float, size: int = 128) -> np.ndarray:
    """Half cycles over the width, which go on smoothly in the mirror image."""
    return np.cos(np.pi * halves * (np.arange(size) + 0.5) / size)[None].repeat(size, axis=0)


def written(path: Path, luminance: np.ndarray) -> Photograph:
    """Write a grey picture of a luminance, and return it."""
    encoded = np.where(
        luminance <= 0.0031308, 12.92 * luminance, 1.055 * luminance ** (1 / 2.4) - 0.055
    )
    Image.fromarray(np.rint(255 * encoded).astype(np.uint8)).save(path)
    return photograph(path, "grey")


def test_what_is_outside_of_the_band_is_gone(tmp_path: Path) -> None:
    # 32 half cycles on 4 degrees are 4 cpd; the others are 0.5 and 12.
    low, inside, high = wave(4), wave(32), wave(96)
    shown = written(tmp_path / "a.png", 0.3 + 0.1 * low + 0.02 * inside + 0.1 * high)
    drawn = NaturalBand(4.0, (shown,)).draw(NATURAL_FIELD).numpy()
    assert drawn.std() == pytest.approx(1)
    assert drawn.mean() == pytest.approx(0, abs=1e-9)
    assert np.corrcoef(drawn.ravel(), inside.ravel())[0, 1] > 0.99


def test_edges_that_do_not_fit_together_add_nothing(tmp_path: Path) -> None:
    """One side is dark, the other bright; without mirrors their border would be all there is."""
    ramp = np.linspace(0.1, 0.9, 128)[None].repeat(128, axis=0)
    shown = written(tmp_path / "a.png", ramp + 0.02 * wave(32))
    drawn = NaturalBand(4.0, (shown,)).draw(NATURAL_FIELD).numpy()
    assert np.corrcoef(drawn.ravel(), wave(32).ravel())[0, 1] > 0.98


def test_the_seed_is_the_photograph(tmp_path: Path) -> None:
    shown = tuple(written(tmp_path / f"{k}.png", 0.3 + 0.1 * wave(k)) for k in (24, 28, 32, 36, 40))
    drawn = {
        tuple(NaturalBand(4.0, shown, seed=(7, seed)).draw(NATURAL_FIELD)[0].tolist())
        for seed in range(60)
    }
    assert len(drawn) == len(shown)
    again = [NaturalBand(4.0, shown, seed=(3,)).draw(NATURAL_FIELD) for _ in range(2)]
    assert torch.equal(*again)


def test_photographs_that_cannot_be_shown_are_passed_over(tmp_path: Path) -> None:
    flat = written(tmp_path / "flat.png", np.full((128, 128), 0.3))
    gone = Photograph("gone.png", "grey", "", str(tmp_path))
    good = written(tmp_path / "good.png", 0.3 + 0.1 * wave(32))
    for seed in range(10):
        drawn = NaturalBand(18**0.5, (flat, gone, good), seed=(seed,)).draw(NATURAL_FIELD)
        assert torch.equal(drawn, NaturalBand(18**0.5, (good,)).draw(NATURAL_FIELD))
    with pytest.raises(PictureError, match=r"no photograph has anything from 3 to 6 cpd .*: flat"):
        NaturalBand(18**0.5, (flat,)).draw(NATURAL_FIELD)
