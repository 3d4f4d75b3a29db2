"""The Standard Spatial Observer and its companions against published values and ModelFest."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from fechner.human import (
    APERTURE_SD_DEG,
    POOLING_EXPONENT,
    chromatic_rg_csf,
    chromatic_yb_csf,
    load,
    oblique_effect,
    standard_spatial_observer,
    watson_ahumada_csf,
)

# cpd, SSO at 0 and 90 deg, SSO at 45 deg, red-green, yellow-blue, Watson-Ahumada HPmH.
VALUES = np.array(
    [
        [0.5, 52.3181, 48.5363, 140.0263, 98.0962, 69.6734],
        [1, 84.3515, 72.5976, 129.8713, 86.9150, 106.5555],
        [2, 169.7504, 125.7391, 111.7169, 68.2295, 182.0406],
        [3, 201.3444, 128.3598, 96.0999, 53.5603, 214.6132],
        [4, 188.8416, 103.6136, 82.6658, 42.0444, 214.2039],
        [6, 145.0567, 58.9544, 61.1685, 25.9075, 177.1968],
        [8, 110.2148, 33.1801, 45.2612, 15.9636, 135.1431],
        [12, 63.6234, 10.5093, 24.7808, 6.0607, 75.7203],
        [16, 36.7277, 3.3287, 13.5675, 2.3009, 43.1148],
        [24, 12.2390, 0.3339, 4.0669, 0.3316, 15.0273],
        [32, 4.0785, 0.0335, 1.2190, 0.0478, 5.6402],
    ]
)
CURVES = (chromatic_rg_csf, chromatic_yb_csf, standard_spatial_observer, watson_ahumada_csf)
FREQUENCY = VALUES[:, 0]


@pytest.mark.parametrize(
    ("column", "curve"),
    [
        (1, standard_spatial_observer(FREQUENCY)),
        (1, standard_spatial_observer(FREQUENCY, 90)),
        (2, standard_spatial_observer(FREQUENCY, 45)),
        (3, chromatic_rg_csf(FREQUENCY)),
        (4, chromatic_yb_csf(FREQUENCY)),
        (5, watson_ahumada_csf(FREQUENCY)),
    ],
    ids=["sso", "sso-90", "sso-45", "rg", "yb", "hpmh"],
)
def test_published_values(column: int, curve: np.ndarray) -> None:
    np.testing.assert_allclose(curve, VALUES[:, column], rtol=0, atol=5.1e-5)


def test_peak_and_half_height_of_the_standard_spatial_observer() -> None:
    best = minimize_scalar(
        lambda f: -standard_spatial_observer(f), bounds=(1, 8), options={"xatol": 1e-6}
    )
    assert best.x == pytest.approx(3.054, abs=5e-4)
    assert -best.fun == pytest.approx(201.408, abs=5e-4)

    def above_half(frequency: float) -> float:
        return float(standard_spatial_observer(frequency)) + best.fun / 2

    assert brentq(above_half, 0.5, 3) == pytest.approx(1.184, abs=5e-4)
    assert brentq(above_half, 3, 20) == pytest.approx(8.657, abs=5e-4)
    assert standard_spatial_observer(40.0) == pytest.approx(1.36, abs=5e-3)


@pytest.mark.parametrize(
    ("curve", "top", "half_cpd", "crossing_cpd", "acuity_cpd"),
    [(chromatic_rg_csf, 150.98, 4.60, 1.41, 33.3), (chromatic_yb_csf, 110.71, 2.86, 1.02, 19.4)],
)
def test_landmarks_of_the_chromatic_curves(
    curve, top: float, half_cpd: float, crossing_cpd: float, acuity_cpd: float
) -> None:
    assert curve(0.0) == pytest.approx(top, abs=6e-3)
    half = brentq(lambda f: curve(f) - curve(0.0) / 2, 0.1, 20)
    assert half == pytest.approx(half_cpd, abs=6e-3)
    crossing = brentq(lambda f: curve(f) - standard_spatial_observer(f), 0.5, 3)
    assert crossing == pytest.approx(crossing_cpd, abs=6e-3)
    assert brentq(lambda f: curve(f) - 1, 5, 60) == pytest.approx(acuity_cpd, abs=0.06)


def test_chromatic_curves_are_low_pass_and_nearly_exponential() -> None:
    frequency = np.linspace(0, 40, 200)
    for curve, width in ((chromatic_rg_csf, 6.64), (chromatic_yb_csf, 4.13)):
        values = curve(frequency)
        assert np.all(np.diff(values) < 0)
        np.testing.assert_allclose(values / values[0], np.exp(-frequency / width), rtol=1e-3)


@pytest.mark.parametrize("orientation", [0, 12, 45, 77])
def test_orientation_has_the_symmetry_of_a_square(orientation: float) -> None:
    same = [orientation, -orientation, 90 - orientation, 90 + orientation, 180 + orientation]
    for values in (standard_spatial_observer(10.0, same), oblique_effect(10.0, same)):
        np.testing.assert_allclose(values, values[0], rtol=1e-12)


def test_oblique_effect_starts_at_its_corner_and_spares_the_axes() -> None:
    assert np.all(oblique_effect([0.0, 1.0, 3.481], 45.0) == 1)
    assert np.all(oblique_effect(np.linspace(0, 60, 30), 0.0) == 1)
    oblique = oblique_effect(np.linspace(3.481, 60, 30), 45.0)
    assert np.all(np.diff(oblique) < 0)
    assert np.all(oblique > 0)
    assert oblique_effect(3.481 + 13.57, 45.0) == pytest.approx(np.exp(-1))


def test_the_grid_of_a_fourier_transform() -> None:
    axis = np.fft.fftfreq(64, 1 / 60)
    fx, fy = np.meshgrid(axis, axis)
    frequency, orientation = np.hypot(fx, fy), np.degrees(np.arctan2(fy, fx))
    for curve in CURVES:
        grid = curve(frequency)
        assert grid.shape == (64, 64)
        assert grid.dtype == np.float64
        assert np.all(np.isfinite(grid))
        assert np.all(grid > 0)
    grid = standard_spatial_observer(frequency, orientation)
    # The published form: the oblique factor in Cartesian frequencies, 1e-4 cpd in place of 0.
    f = np.where(frequency > 0, frequency, 1e-4)
    radial = 330.74 * (np.exp(-f / 7.28) - 0.837 * np.exp(-(f**2) / 1.809**2))
    loss = 4 * (1 - np.exp(-f / 6.664)) * fx**2 * fy**2 / f**4
    np.testing.assert_allclose(grid, radial * (1 - loss), rtol=1e-9)
    assert grid[0, 0] == pytest.approx(330.74 * 0.163, rel=1e-3)
    assert oblique_effect(frequency, orientation)[0, 0] == 1


def test_high_frequencies_do_not_overflow() -> None:
    for curve in CURVES:
        assert curve(1e5) == pytest.approx(0, abs=1e-12)


def test_scalars_give_a_float_and_arrays_broadcast() -> None:
    for curve in CURVES:
        assert isinstance(curve(4), np.float64)
        assert curve([[1, 2], [3, 4]]).shape == (2, 2)
    assert isinstance(oblique_effect(4, 45), np.float64)
    assert standard_spatial_observer(np.ones((3, 1)), np.ones(4)).shape == (3, 4)


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_bad_frequency(curve, bad: float) -> None:
    with pytest.raises(ValueError, match=f"frequency_cpd is {bad:g}"):
        curve([1.0, bad])


def test_watson_ahumada_model_predicts_modelfest() -> None:
    """Filter, aperture and pooling together: stimuli 1-29, with no free parameter."""
    modelfest, size, ppd = load("modelfest"), 256, 120
    axis = (np.arange(size) - size // 2) / ppd
    x, y = np.meshgrid(axis, axis)
    frequencies = np.fft.fftfreq(2 * size, 1 / ppd)
    fx, fy = np.meshgrid(frequencies, frequencies)
    frequency = np.hypot(fx, fy)
    gain = watson_ahumada_csf(frequency) * oblique_effect(frequency, np.degrees(np.arctan2(fy, fx)))
    aperture = np.exp(-(x**2 + y**2) / (2 * APERTURE_SD_DEG**2))

    errors = []
    for row in range(29):
        window = np.exp(
            -(y**2) / (2 * modelfest["sigma_across_deg"][row] ** 2)
            - x**2 / (2 * modelfest["sigma_along_deg"][row] ** 2)
        )
        pair = [modelfest[name][row] for name in ("frequency_cpd", "second_frequency_cpd")]
        carriers = [np.cos(2 * np.pi * f * y) for f in pair if np.isfinite(f)]
        pattern = window * (np.mean(carriers, axis=0) if carriers else 1.0)
        seen = np.fft.ifft2(np.fft.fft2(pattern, gain.shape) * gain).real[:size, :size] * aperture
        energy = np.sum(np.abs(seen) ** POOLING_EXPONENT) / ppd**2
        predicted_db = -20 * np.log10(energy) / POOLING_EXPONENT
        errors.append(predicted_db - modelfest["mean_db"][row])
    assert np.sqrt(np.mean(np.square(errors))) < 0.65
    assert np.max(np.abs(errors)) == pytest.approx(1.63, abs=0.01)
