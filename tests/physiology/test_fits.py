"""Fits give back what was planted, with errors that mean what they say."""

import math

import numpy as np
import pytest
from gabor_bank import turned

from fechner.physiology import DogFit, GaborFit, Profile, fit_dog, fit_gabor, kind_of
from fechner.physiology.fits import _Dog, _Gabor
from fechner.stimuli import Field, Gabor

FIELD = Field.of(pixels=24, ppd=32)
X, Y = (axis.numpy() for axis in FIELD.grid())


def profile(values: np.ndarray) -> Profile:
    return Profile(values, X, Y, FIELD.ppd)


def dog(centre: float, surround: float, weight: float, x: float = 0.0, y: float = 0.0):
    model = _Dog(X, Y, FIELD.ppd)
    return model(np.array([1.0, -weight, math.log(centre), math.log(surround / centre), x, y]))


def test_conventions_are_those_of_stimuli() -> None:
    stimulus = Gabor(5.0, 0.12, orientation_deg=70.0, phase_deg=-130.0, sigma_along_deg=0.2)
    drawn = stimulus.draw(FIELD).numpy()
    found = fit_gabor(profile(drawn))
    assert found.frequency_cpd == pytest.approx(5)
    assert found.orientation_deg == pytest.approx(70)
    assert found.phase_deg == pytest.approx(-130)
    assert (found.sigma_deg, found.sigma_along_deg) == pytest.approx((0.12, 0.2))
    assert found.amplitude == pytest.approx(1)
    assert found.draw(X, Y) == pytest.approx(drawn, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_gabors_anywhere_of_any_shape_are_found(seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(6):
        frequency = random.uniform(3, 10)
        truth = GaborFit(
            amplitude=random.uniform(0.1, 10),
            frequency_cpd=frequency,
            orientation_deg=random.uniform(0, 180),
            phase_deg=random.uniform(-180, 180),
            sigma_deg=random.uniform(0.35, 0.8) / frequency,
            sigma_along_deg=random.uniform(0.35, 1.0) / frequency,
            x_deg=random.uniform(-0.1, 0.1),
            y_deg=random.uniform(-0.1, 0.1),
            r2=1.0,
        )
        found = fit_gabor(profile(truth.draw(X, Y)))
        assert found.r2 > 0.999
        assert found.frequency_cpd == pytest.approx(truth.frequency_cpd, rel=0.02)
        assert turned(found.orientation_deg, truth.orientation_deg) < 1
        assert (found.x_deg, found.y_deg) == pytest.approx((truth.x_deg, truth.y_deg), abs=0.02)


def test_errors_of_gabors_cover() -> None:
    """Over 60 noisy pictures z scores have unit variance."""
    truth = GaborFit(1.0, 5.0, 40.0, 60.0, 0.12, 0.15, 0.03, -0.05, 1.0)
    clean, random, scores = truth.draw(X, Y), np.random.default_rng(0), []
    names = ("frequency_cpd", "orientation_deg", "phase_deg", "sigma_deg", "n_y", "x_deg", "aspect")
    for _ in range(60):
        found = fit_gabor(profile(clean + random.normal(0, 0.1, clean.shape)))
        scores.append(
            [(getattr(found, name) - getattr(truth, name)) / found.errors[name] for name in names]
        )
    spread = np.std(scores, axis=0)
    assert np.abs(np.mean(scores, axis=0)).max() < 0.45
    assert spread == pytest.approx(np.ones(len(names)), abs=0.35)
    assert np.sqrt(np.mean(np.square(scores))) == pytest.approx(1, abs=0.1)


def test_errors_of_differences_of_gaussians_cover() -> None:
    clean, random, scores = dog(0.06, 0.18, 0.9, 0.02), np.random.default_rng(0), []
    truth = {"centre_sigma_deg": 0.06, "surround_sigma_deg": 0.18, "x_deg": 0.02}
    for _ in range(40):
        noisy = clean + random.normal(0, 0.03 * np.abs(clean).max(), clean.shape)
        found = fit_dog(profile(noisy))
        scores.append([(getattr(found, k) - v) / found.errors[k] for k, v in truth.items()])
    assert np.sqrt(np.mean(np.square(scores))) == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("sign", [1, -1])
def test_centre_and_surround_are_told_apart(sign: int) -> None:
    found = fit_dog(profile(sign * 3 * dog(0.05, 0.15, 0.8, 0.1, -0.05)))
    assert (found.centre_sigma_deg, found.surround_sigma_deg) == pytest.approx((0.05, 0.15))
    assert found.centre_weight == pytest.approx(3 * sign)
    assert found.antagonism == pytest.approx(0.8)
    assert (found.x_deg, found.y_deg) == pytest.approx((0.1, -0.05))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (Gabor(5.0, 0.1, 20.0, 0.0).draw(FIELD).numpy(), "oriented"),
        (Gabor(5.0, 0.1, 110.0, 90.0).draw(FIELD).numpy(), "oriented"),
        (dog(0.05, 0.15, 0.9), "centre-surround"),
        (-dog(0.05, 0.15, 0.9), "centre-surround"),
        (dog(0.1, 0.3, 0.0), "blob"),
        (np.random.default_rng(0).normal(size=(24, 24)), "other"),
        (Gabor(5, 0.1).draw(FIELD).numpy() + Gabor(5, 0.1, 90).draw(FIELD).numpy() * 3, "oriented"),
    ],
)
def test_kinds(values: np.ndarray, kind: str) -> None:
    assert kind_of(fit_gabor(profile(values)), fit_dog(profile(values))) == kind


def test_slopes_are_derivatives() -> None:
    for model, at in (
        (_Gabor(X, Y), np.array([0.7, -0.4, 4.0, 0.6, -2.0, -1.8, 0.03, -0.02])),
        (_Dog(X, Y, FIELD.ppd), np.array([1.0, -0.6, -2.8, 0.9, 0.03, -0.02])),
    ):
        for k in range(len(at)):
            step = np.eye(len(at))[k] * 1e-6
            slope = (model(at + step) - model(at - step)) / 2e-6
            assert model.slopes(at)[k] == pytest.approx(slope, abs=1e-6)


def test_bandwidth_is_that_of_the_spectrum() -> None:
    fit = GaborFit(1.0, 4.0, 0.0, 90.0, 0.2, 0.2, 0.0, 0.0, 1.0)
    x = np.arange(-4096, 4096) / 256
    spectrum = np.abs(np.fft.rfft(fit.draw(x[None, :], np.zeros((1, 1)))[0]))
    frequencies = np.fft.rfftfreq(len(x), 1 / 256)
    above = frequencies[spectrum >= spectrum.max() / 2]
    measured = math.log2(above[-1] / above[0])
    assert fit.bandwidth_octaves == pytest.approx(measured, abs=0.05)
    assert frequencies[np.argmax(spectrum)] == pytest.approx(fit.peak_cpd, abs=0.05)
    assert GaborFit(1, 1.0, 0, 0, 0.05, 0.05, 0, 0, 1.0).bandwidth_octaves == math.inf


def test_a_derivative_of_a_gaussian_has_the_frequency_it_prefers() -> None:
    """Its carrier can be anything low, the peak of its spectrum is 1/(2 pi sigma)."""
    values = X / 0.1 * np.exp(-0.5 * (X**2 + Y**2) / 0.1**2)
    found = fit_gabor(profile(values))
    assert found.r2 > 0.99
    assert found.peak_cpd == pytest.approx(1 / (2 * math.pi * 0.1), rel=0.05)


def test_numbers_that_follow() -> None:
    fit = DogFit(0.1, 0.2, 0.0, 1.0, 0.0, 0.0, 1.0)
    assert math.isnan(fit.antagonism)
