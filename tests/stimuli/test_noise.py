"""Noise: its band, its spread, its seed, and the published pipeline rebuilt in plain NumPy."""

import numpy as np
import pytest
import torch

from fechner.stimuli import Field, Noise, OctaveNoise

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
    band = OctaveNoise(4.0).band
    assert band.high_cpd / band.low_cpd == pytest.approx(2.0)
    assert np.sqrt(band.low_cpd * band.high_cpd) == pytest.approx(4.0)
    two = OctaveNoise(4.0, octaves=2.0).band
    assert (two.low_cpd, two.high_cpd) == pytest.approx((2.0, 8.0))
    assert OctaveNoise(4.0, octaves=2.0).highest_cpd == two.high_cpd


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
    with pytest.raises(ValueError, match=rf"224 px field at 60 ppd lies in {low:g}-{high:g} cpd"):
        Noise(low, high).draw(FIELD)


def test_the_mean_alone_is_no_noise() -> None:
    # The lowest frequency of the field is 0.27 cpd.
    with pytest.raises(ValueError, match="no frequency of a 224 px field"):
        Noise(0.0, 0.1, keep_mean=True).draw(FIELD)


def test_the_legacy_generator_takes_one_seed() -> None:
    with pytest.raises(ValueError, match="takes one seed"):
        Noise(1.0, 2.0, seed=(8, 1), generator="numpy-legacy").draw(FIELD)
