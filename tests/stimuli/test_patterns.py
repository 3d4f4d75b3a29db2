"""Patterns, measured back from their pixels."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from fechner.stimuli import (
    Disk,
    Field,
    Gabor,
    Gaussian,
    Grating,
    Noise,
    OctaveNoise,
    Pattern,
    Product,
    Sum,
)
from fechner.stimuli.patterns import (
    area_deg2,
    can_vary,
    contrast_of,
    in_words,
    seed_of,
    share_inside,
    with_parameter,
    with_seed,
)
from fechner.stimuli.pictures import Recent

FIELD = Field.of(pixels=240, ppd=60)  # 4 deg: a whole number of cycles for multiples of 0.25 cpd


def image(pattern: Pattern, field: Field = FIELD) -> np.ndarray:
    drawn = pattern.draw(field)
    assert drawn.dtype == torch.float64
    return drawn.expand(field.height_px, field.width_px).numpy()


def peak_frequency(picture: np.ndarray, ppd: float) -> tuple[float, float]:
    """Return the strongest frequency in cpd and its direction in deg, counter-clockwise."""
    spectrum = np.abs(np.fft.fft2(picture - picture.mean()))
    row, column = np.unravel_index(np.argmax(spectrum), spectrum.shape)
    fy = -np.fft.fftfreq(picture.shape[0], 1 / ppd)[row]  # rows go down, y goes up
    fx = np.fft.fftfreq(picture.shape[1], 1 / ppd)[column]
    return math.hypot(fx, fy), math.degrees(math.atan2(fy, fx)) % 180


@pytest.mark.parametrize("frequency", [0.5, 2.0, 7.25, 24.0])
@pytest.mark.parametrize("orientation", [0.0, 90.0])
def test_frequency_of_a_grating(frequency: float, orientation: float) -> None:
    grating = image(Grating(frequency, orientation_deg=orientation, phase_deg=30))
    assert peak_frequency(grating, FIELD.ppd) == pytest.approx((frequency, orientation), abs=1e-9)


@pytest.mark.parametrize(("across", "up"), [(3.0, 4.0), (-2.0, 1.0), (5.0, 5.0), (-4.0, 7.5)])
def test_orientation_is_counter_clockwise_from_vertical_bars(across: float, up: float) -> None:
    # Frequencies that fit the field in both directions have all their energy in one pair of bins.
    angle = math.degrees(math.atan2(up, across)) % 180
    grating = image(Grating(math.hypot(across, up), orientation_deg=angle))
    assert peak_frequency(grating, FIELD.ppd) == pytest.approx(
        (math.hypot(across, up), angle), abs=1e-9
    )
    spectrum = np.abs(np.fft.fft2(grating)) ** 2
    top_two = np.sort(spectrum.ravel())[-2:].sum()
    assert top_two / spectrum.sum() == pytest.approx(1.0, abs=1e-12)


def test_a_grating_has_unit_amplitude_and_no_mean() -> None:
    grating = image(Grating(2.0))
    assert np.abs(grating).max() == pytest.approx(1.0, abs=0.01)
    assert grating.std() == pytest.approx(1 / math.sqrt(2), abs=1e-12)
    assert abs(grating.mean()) < 1e-12


@pytest.mark.parametrize("phase", [0.0, 30.0, 90.0, 180.0, 275.0])
def test_phase_at_the_centre(phase: float) -> None:
    odd = Field.of(pixels=241, ppd=60)
    centre = image(Grating(3.0, phase_deg=phase), odd)[120, 120]
    assert centre == pytest.approx(math.sin(math.radians(phase)), abs=1e-12)


def test_phase_zero_rises_to_the_right() -> None:
    row = image(Grating(1.0))[0]
    assert row[119] < 0 < row[120]  # the origin lies between the middle pixels


def test_published_coordinates_raise_the_frequency() -> None:
    # Counted in cycles per pixel, linspace(-112, 112, 224) gives 224/223 of what was meant.
    field = Field(224, 224, 60.0, coordinates="endpoints")
    row = image(Grating(6.0), field)[0]
    turns = np.unwrap(np.angle(_analytic(row)))
    slope = np.polyfit(np.arange(40, 184), turns[40:184], 1)[0] / (2 * math.pi) * 60
    assert slope == pytest.approx(6.0 * 224 / 223, rel=3e-4)


def test_a_grating_in_single_precision_is_off_near_its_left_edge() -> None:
    field = Field(420, 300, 60.0, coordinates="endpoints")
    exact = image(Grating(2.0, phase_deg=90), field)
    error = np.abs(image(Grating(2.0, phase_deg=90, in_float32=True), field) - exact).max(axis=0)
    assert 1e-4 < error[:10].max() < 1e-3
    assert error[100:].max() < 3e-5
    with pytest.raises(ValueError, match="vertical bars only"):
        Grating(2.0, orientation_deg=30, in_float32=True)


def _analytic(row: np.ndarray) -> np.ndarray:
    spectrum = np.fft.fft(row)
    spectrum[len(row) // 2 :] = 0
    return np.fft.ifft(2 * spectrum)


def test_square_wave_has_the_harmonics_of_fourier_series() -> None:
    # Odd harmonics at 4/(pi n); 0.25 cpd at 60 ppd has 240 samples in a cycle, few enough to alias
    # only weakly.
    square = image(Grating(0.25, wave="square"))
    assert set(np.unique(square)) == {-1.0, 1.0}
    spectrum = np.abs(np.fft.fft(square[0])) * 2 / 240
    for harmonic in (1, 3, 5, 7):
        assert spectrum[harmonic] == pytest.approx(4 / (math.pi * harmonic), rel=2e-3)
    np.testing.assert_allclose(spectrum[[0, 2, 4, 6]], 0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("sigma", [0.1, 0.3, 0.6])
def test_sigma_of_a_gabor_measured_back(sigma: float) -> None:
    # The squared length of the quadrature pair is the squared window, of half the variance.
    odd, even = (image(Gabor(8.0, sigma_deg=sigma, phase_deg=phase)) for phase in (0, 90))
    energy = odd**2 + even**2
    x, y = (axis.numpy() for axis in FIELD.grid())
    for axis in (x, y):
        variance = (energy * axis**2).sum() / energy.sum()
        assert math.sqrt(2 * variance) == pytest.approx(sigma, rel=1e-3)


def test_frequency_and_phase_of_a_gabor() -> None:
    odd = image(Gabor(8.0, sigma_deg=0.5, orientation_deg=90))
    assert peak_frequency(odd, FIELD.ppd) == pytest.approx((8.0, 90.0), abs=1e-9)
    assert abs(odd.mean()) < 1e-12  # sine phase has no mean
    np.testing.assert_allclose(odd, -odd[::-1], rtol=0, atol=1e-12)
    even = image(Gabor(8.0, sigma_deg=0.5, phase_deg=90))
    np.testing.assert_allclose(even, even[::-1, ::-1], rtol=0, atol=1e-12)


def test_an_oblong_window_turns_with_its_orientation() -> None:
    blob = image(Gaussian(0.2, sigma_along_deg=0.4, orientation_deg=30.0))
    x, y = np.broadcast_arrays(*(axis.numpy() for axis in FIELD.grid()))
    points, weights = np.stack([x.ravel(), y.ravel()]), blob.ravel()
    values, vectors = np.linalg.eigh(points * weights @ points.T / weights.sum())
    np.testing.assert_allclose(np.sqrt(values), (0.2, 0.4), rtol=2e-3)
    narrow = math.degrees(math.atan2(vectors[1, 0], vectors[0, 0])) % 180
    assert narrow == pytest.approx(30.0, abs=0.1)


@pytest.mark.parametrize("orientation", [0.0, 50.0])
def test_a_gaussian_can_be_moved(orientation: float) -> None:
    blob = image(Gaussian(0.2, 0.3, orientation_deg=orientation, x_deg=0.5, y_deg=-0.75))
    x, y = (axis.numpy() for axis in FIELD.grid())
    assert (blob * x).sum() / blob.sum() == pytest.approx(0.5, abs=1e-4)
    assert (blob * y).sum() / blob.sum() == pytest.approx(-0.75, abs=1e-4)
    assert blob.max() == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("radius", [0.1, 0.55, 1.5])
def test_area_of_a_disk(radius: float) -> None:
    disk = image(Disk(radius))
    assert disk.sum() / FIELD.ppd**2 == pytest.approx(math.pi * radius**2, rel=4e-3)
    assert disk.min() == 0
    assert disk.max() == 1
    edge = (disk > 0) & (disk < 1)
    assert edge.sum() < 2.5 * 2 * math.pi * radius * FIELD.ppd  # one pixel wide


def test_sum_and_product() -> None:
    first, second = Grating(2.0), Disk(0.5)
    np.testing.assert_allclose(
        image(Sum((first, second, first), (0.5, -2.0, 1.0))),
        1.5 * image(first) - 2.0 * image(second),
        rtol=0,
        atol=1e-14,
    )
    window = Gaussian(0.3)
    np.testing.assert_array_equal(
        image(Product(Grating(4.0, phase_deg=20), window)),
        image(Gabor(4.0, 0.3, phase_deg=20)),
    )


def test_highest_frequency_for_the_nyquist_check() -> None:
    assert Grating(3.0).highest_cpd == 3.0
    assert Gabor(7.0, 1.0).highest_cpd == 7.0
    assert Sum((Grating(3.0), Gabor(7.0, 1.0), Disk(1.0)), (1.0, 1.0, 1.0)).highest_cpd == 7.0
    assert Product(Grating(5.0), Gaussian(0.1)).highest_cpd == 5.0


def test_weights_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="zip"):
        Sum((Grating(1.0), Grating(2.0)), (1.0,)).draw(FIELD)


# What experiments ask of any pattern


@dataclass(frozen=True)
class Ramp:
    """A user's own pattern, with no more than it needs."""

    slope_deg: float
    label: str = "plain"

    def draw(self, field: Field, device: str = "cpu") -> torch.Tensor:
        return field.grid(device)[0] / self.slope_deg

    @property
    def highest_cpd(self) -> float:
        return 0.0


def test_a_pattern_needs_no_more_than_to_be_drawn() -> None:
    field = Field.of(degrees=2, ppd=16)
    assert contrast_of(Ramp(1.0)) == "amplitude"
    assert area_deg2(Ramp(1.0), field) == 4.0
    assert share_inside(Ramp(1.0), field) == 1.0
    assert with_seed(Ramp(1.0), 3) == Ramp(1.0)
    assert seed_of(Ramp(1.0)) == ()
    assert in_words(Ramp(1.5, "steep")) == "a ramp of slope 1.5 degrees, label steep"
    assert in_words(Ramp(1.5), without="slope_deg") == "a ramp of label plain"
    assert can_vary(Ramp(1.0), "slope_deg")
    assert not can_vary(Ramp(1.0), "area_deg2")
    assert with_parameter(Ramp(1.0), "slope_deg", 2.0) == Ramp(2.0)


def test_area_and_seed_of_patterns_that_have_one() -> None:
    field = Field.of(degrees=2, ppd=16)
    assert area_deg2(Disk(1.0), field) == pytest.approx(math.pi)
    oblong = Gabor(2.0, sigma_deg=0.5, sigma_along_deg=2.0)
    assert area_deg2(oblong, field) == pytest.approx(math.pi)
    assert with_parameter(Gabor(2.0, 1.0), "area_deg2", math.pi / 4).sigma_deg == 0.5
    noise = OctaveNoise(4.0, seed=7)
    assert (seed_of(noise), seed_of(with_seed(noise, 7, 2))) == ((7,), (7, 2))
    same = Noise(noise.low_cpd, noise.high_cpd, seed=7)
    assert contrast_of(noise) == contrast_of(same) == "rms"
    assert torch.equal(noise.draw(field), same.draw(field))
    assert in_words(OctaveNoise(4.0, octaves=2.0)) == "noise 2 octaves wide of 4 cycles/degree"
    assert in_words(Noise(0.0, 12.0, seed=3)) == "noise up to 12 cycles/degree"


def test_what_is_remembered_has_bounds() -> None:
    made: list[str] = []
    recent: Recent[str] = Recent(most=10)
    for name in ("a", "b", "a", "c", "a", "b"):
        if recent.get(name) is None:
            made.append(recent.keep(name, name, 4))
        assert recent.get(name) == name
    # b was not used for longest when c came.
    assert made == ["a", "b", "c", "b"]
    assert len(recent) == 2
    assert recent.keep("huge", "huge", 1000) == "huge"
    assert len(recent) == 1
