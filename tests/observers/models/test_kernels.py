"""Kernels of the parametric PerceptNet, measured back."""

import numpy as np
import pytest

from fechner.observers.models.kernels import blob, centre_surround, gabor, grid


def spectrum(kernel: np.ndarray, ppd: float, side: int = 256) -> tuple[float, float]:
    """Return frequency and orientation at which the amplitude spectrum peaks."""
    power = np.abs(np.fft.fft2(kernel, (side, side)))
    axis = np.fft.fftfreq(side, 1 / ppd)
    row, column = np.unravel_index(power.argmax(), power.shape)
    return float(np.hypot(axis[row], axis[column])), float(
        np.degrees(np.arctan2(-axis[row], axis[column])) % 180
    )


@pytest.mark.parametrize("frequency", [4.0, 8.0])
@pytest.mark.parametrize("orientation", [0.0, 22.5, 90.0, 135.0])
@pytest.mark.parametrize("phase", [0.0, 90.0])
def test_a_gabor_is_tuned_to_what_it_says(
    frequency: float, orientation: float, phase: float
) -> None:
    across = frequency**0.9
    kernel = gabor(31, 32.0, frequency, orientation, phase, (across, 0.8 * across))
    found = spectrum(kernel, 32.0)
    assert found[0] == pytest.approx(frequency, rel=0.05)
    assert abs((found[1] - orientation + 90) % 180 - 90) < 3


def test_cosine_and_sine_are_even_and_odd() -> None:
    even, odd = (gabor(31, 32.0, 4.0, 30.0, phase, (3.5, 2.8)) for phase in (0.0, 90.0))
    assert even == pytest.approx(even[::-1, ::-1])
    assert odd == pytest.approx(-odd[::-1, ::-1])
    assert float(np.sum(even * odd)) == pytest.approx(0, abs=1e-12)


def test_a_wider_surround_lets_more_of_low_frequencies_through() -> None:
    def share_at(cycles: int, ratio: float) -> float:
        power = np.abs(np.fft.fft2(centre_surround(21, 21.0, 0.15, ratio), (84, 84)))[0]
        return float(power[cycles] / power.max())

    assert share_at(0, 1.1) == pytest.approx(0, abs=1e-9)
    assert share_at(2, 5.0) > 1.3 * share_at(2, 1.1)


def test_a_blob_is_as_wide_as_it_says() -> None:
    kernel = blob(41, 32.0, 0.1)
    x, _ = grid(41, 32.0)
    assert float((kernel.sum(axis=0) * x[0] ** 2).sum()) == pytest.approx(0.01, rel=1e-3)
    assert kernel == pytest.approx(kernel.T)
