"""Oriented noise: measured back through a display, and the same in any field."""

import numpy as np
import pytest

from fechner.stimuli import (
    ATD,
    Field,
    Layer,
    OrientedNoise,
    Stimulus,
    contrast_limit,
    display,
    opponent_contrasts,
    paint,
)
from fechner.stimuli.colour import XYZ_TO_ATD, transform

FIELD = Field.of(degrees=2, ppd=64)
SCREEN = display("decalogue")
GREY = Stimulus(ATD.background_xyz(40.0))


def centroid(picture: np.ndarray, ppd: float = 64.0) -> tuple[float, float]:
    """Mean frequency and orientation of the power spectrum; rows run downwards."""
    power = np.abs(np.fft.fft2(picture - picture.mean())) ** 2
    fx = np.fft.fftfreq(picture.shape[1], 1 / ppd)[None, :]
    fy = -np.fft.fftfreq(picture.shape[0], 1 / ppd)[:, None]
    frequency = (power * np.hypot(fx, fy)).sum() / power.sum()
    angle = np.angle((power * np.exp(2j * np.arctan2(fy, fx))).sum()) / 2
    return float(frequency), float(np.degrees(angle))


def between(one_deg: float, other_deg: float) -> float:
    return abs((one_deg - other_deg + 90) % 180 - 90)


def shown_xyz(*layers: Layer) -> np.ndarray:
    """XYZ of a stimulus, painted, encoded, and decoded again; [h, w, 3]."""
    frames = paint([Stimulus(GREY.background_xyz, layers)], FIELD, SCREEN, strict=True)
    rgb = frames.cdm2()[0].double().permute(1, 2, 0).numpy()
    return transform(SCREEN.rgb_to_xyz, rgb)


@pytest.mark.parametrize("direction", ATD.directions)
@pytest.mark.parametrize("frequency", [1.0, 1.5, 3.0, 6.0, 12.0, 24.0])
def test_measured_back_at_every_level_in_gamut(frequency: float, direction: str) -> None:
    axis = ATD.directions.index(direction)
    modulation = ATD.modulation_xyz(direction, 40.0)
    kept = 0
    for seed, orientation in enumerate((0.0, 22.5, 90.0, 157.5)):
        noise = OrientedNoise(frequency, orientation, seed=seed)
        limit = contrast_limit(GREY, Layer(noise, modulation, 1.0), FIELD, SCREEN)
        for contrast in np.linspace(0.03, 0.3, 10):
            if contrast > limit:
                break
            kept += 1
            xyz = shown_xyz(Layer(noise, modulation, contrast))
            contrasts = opponent_contrasts(xyz)
            assert contrasts[axis] == pytest.approx(contrast, rel=0.01)
            assert max(np.delete(contrasts, axis)) < 1e-4
            assert xyz[..., 1].mean() == pytest.approx(40.0, rel=1e-4)
            if axis:
                assert np.abs(xyz[..., 1] / 40 - 1).max() < 0.005
        signal = transform(XYZ_TO_ATD, xyz)[..., axis]
        measured_cpd, measured_deg = centroid(signal)
        assert measured_cpd == pytest.approx(frequency, rel=0.02)
        assert between(measured_deg, orientation) < 0.5
    # Full contrast of luminance nearly always fits, and the CSF's 0.05 of colour always.
    assert kept >= (36 if direction == "ach" else 8)


@pytest.mark.parametrize("padding", [1, 4])
@pytest.mark.parametrize("seed", range(12))
def test_the_centroid_of_two_periods_is_right_for_each_noise(seed: int, padding: int) -> None:
    """However finely its spectrum is sampled."""
    picture = OrientedNoise(1.0, 45.0, seed=seed).draw(FIELD).numpy()
    measured_cpd, measured_deg = centroid(np.pad(picture, (0, 128 * (padding - 1))))
    assert measured_cpd == pytest.approx(1.0, rel=0.02)
    assert between(measured_deg, 45.0) < 0.02 * 180


def test_power_lies_in_the_ring_and_the_band_and_is_even_over_frequency() -> None:
    fx = np.fft.fftfreq(128, 1 / 64)[None, :]
    fy = -np.fft.fftfreq(128, 1 / 64)[:, None]
    radius, angle = np.hypot(fx, fy), np.degrees(np.arctan2(fy, fx))
    power = sum(
        np.abs(np.fft.fft2(OrientedNoise(12.0, 30.0, seed=seed).draw(FIELD).numpy())) ** 2
        for seed in range(12)
    )
    power = power / power.sum()
    off = np.abs((angle - 30 + 90) % 180 - 90)
    inside = (radius > 8.5) & (radius < 15.5) & (off < 18)
    assert power[inside].sum() > 0.98
    lower, upper = ((radius >= low) & (radius < low + 3) for low in (9.0, 12.0))
    assert power[lower].sum() / power[upper].sum() == pytest.approx(1.0, abs=0.15)
    left = ((angle - 30 + 90) % 180 - 90) > 0
    assert power[left].sum() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("frequency", [1.0, 6.0, 24.0])
def test_unit_contrast_and_no_mean_over_the_square(frequency: float) -> None:
    picture = OrientedNoise(frequency, 67.5, seed=5).draw(FIELD).numpy()
    assert picture.shape == (128, 128)
    assert np.sqrt(2) * picture.std() == pytest.approx(1.0, abs=1e-3)
    assert abs(picture.mean()) < 1e-4


def test_the_same_noise_in_larger_and_finer_fields() -> None:
    noise = OrientedNoise(6.0, 20.0, seed=2)
    picture = noise.draw(FIELD).numpy()
    larger = noise.draw(Field.of(pixels=(160, 192), ppd=64)).numpy()
    np.testing.assert_allclose(larger[16:-16, 32:-32], picture, atol=1e-12)
    larger[16:-16, 32:-32] = 0
    assert np.all(larger == 0)
    coarse = noise.draw(Field.of(pixels=129, ppd=64)).numpy()
    fine = noise.draw(Field.of(pixels=257, ppd=128)).numpy()
    np.testing.assert_allclose(fine[::2, ::2], coarse, atol=1e-12)


def test_a_smaller_square() -> None:
    picture = OrientedNoise(4.0, size_deg=1.0).draw(FIELD).numpy()
    inner = picture[32:96, 32:96]
    assert np.sqrt(2) * inner.std() == pytest.approx(1.0, abs=1e-3)
    assert np.count_nonzero(picture) == np.count_nonzero(inner)
    assert centroid(inner)[0] == pytest.approx(4.0, rel=0.02)


def test_orientation_is_that_of_a_grating() -> None:
    """At 30 deg, brightness changes least along the bars: 30 deg counter-clockwise from upright."""
    picture = OrientedNoise(3.0, 30.0, seed=1).draw(FIELD).numpy()
    rows, columns = np.gradient(picture)
    right, up = columns, -rows
    angle = np.degrees(np.arctan2((2 * right * up).sum(), (right**2 - up**2).sum())) / 2
    assert angle == pytest.approx(30.0, abs=3)


def test_seeds() -> None:
    pictures = {
        seed: OrientedNoise(24.0, seed=seed).draw(FIELD).numpy() for seed in (0, 1, (0, 1), (1, 0))
    }
    again = OrientedNoise(24.0, seed=0).draw(FIELD).numpy()
    np.testing.assert_array_equal(pictures[0], again)
    flat = np.array([picture.reshape(-1) for picture in pictures.values()])
    correlations = np.corrcoef(flat)[np.triu_indices(4, 1)]
    assert np.abs(correlations).max() < 0.3


def test_all_orientations() -> None:
    picture = OrientedNoise(8.0, band_deg=180.0, seed=3).draw(FIELD).numpy()
    rows, columns = np.gradient(picture)
    assert columns.std() / rows.std() == pytest.approx(1.0, abs=0.1)
    assert centroid(picture)[0] == pytest.approx(8.0, rel=0.02)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"frequency_cpd": 0.0}, "frequency_cpd is 0; it must be above 0"),
        ({"frequency_cpd": 4.0, "band_deg": 200.0}, "band_deg is 200; 180 are all"),
        ({"frequency_cpd": 4.0, "half_width": 1.0}, "half_width is 1; it must be 0 or more"),
        ({"frequency_cpd": 0.25}, "less than one period of 0.25 cpd; give a larger size_deg"),
    ],
)
def test_impossible_noise(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OrientedNoise(**settings)


def test_a_field_that_is_too_small() -> None:
    with pytest.raises(ValueError, match=r"noise of 2 deg does not fit a field of 1 x 1 deg"):
        OrientedNoise(4.0).draw(Field.of(pixels=64, ppd=64))
