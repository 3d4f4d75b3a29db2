"""Thresholds by divisive inhibition, fitted to Foley (1994)."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from fechner.human import foley_response, foley_threshold, load

TABLE = load("foley1994")
ANGLE, MASK, THRESHOLD_DB = (
    TABLE[name] for name in ("mask_orientation_deg", "mask_contrast", "threshold_db")
)
#: What a mask excites and inhibits, by its angle.
WEIGHTS = {0: (1.0, 1.0), 45: (1.112, 1.811), 90: (0.141, 0.539)}


def rms_db(model: np.ndarray, rows: np.ndarray) -> float:
    return float(np.sqrt(np.mean((20 * np.log10(model) - THRESHOLD_DB)[rows] ** 2)))


def test_the_data_within_a_decibel() -> None:
    weights = np.array([WEIGHTS[angle] for angle in ANGLE.astype(int)])
    model = foley_threshold(MASK, excitation=weights[:, 0], inhibition=weights[:, 1])
    assert rms_db(model, ANGLE == 0) == pytest.approx(0.87, abs=0.01)
    assert rms_db(model, ANGLE >= 0) == pytest.approx(0.61, abs=0.01)


def test_free_exponents_land_on_the_published_ones() -> None:
    """2.4 and 2.0, when the gain, the half contrast and the weights are free as well."""

    def misses(parameters: np.ndarray) -> np.ndarray:
        a, p, q, half, e45, i45, e90, i90 = parameters
        e, i = (
            np.select([ANGLE == 0, ANGLE == 45], pair, other)
            for pair, other in (((1.0, e45), e90), ((1.0, i45), i90))
        )

        def response(contrast: np.ndarray) -> np.ndarray:
            return a * (contrast + e * MASK) ** p / (half**q + (contrast + i * MASK) ** q)

        low, high = np.zeros(len(MASK)), np.full(len(MASK), 10.0)
        for _ in range(50):
            middle = (low + high) / 2
            seen = response(middle) - response(np.zeros(len(MASK))) >= 1
            low, high = np.where(seen, low, middle), np.where(seen, middle, high)
        return 20 * np.log10(high) - THRESHOLD_DB

    start = [9.0, 2.2, 1.8, 0.03, 0.9, 1.5, 0.2, 0.6]
    fit = least_squares(misses, start, x_scale=start, diff_step=1e-6)
    assert fit.x[1] == pytest.approx(2.4, abs=0.05)
    assert fit.x[2] == pytest.approx(2.0, abs=0.06)
    assert np.sqrt(np.mean(fit.fun**2)) == pytest.approx(0.60, abs=0.01)


@pytest.mark.parametrize(("angle", "slope"), [(0, 0.83), (45, 0.61), (90, 0.51)])
def test_slopes_of_the_data_where_masks_are_strong(angle: int, slope: float) -> None:
    rows = (angle == ANGLE) & (MASK > 0.03)
    found = np.polyfit(np.log10(MASK[rows]), THRESHOLD_DB[rows] / 20, 1)[0]
    assert found == pytest.approx(slope, abs=5e-3)


def test_slope_of_masking_by_noise() -> None:
    table = load("gegenfurtner_kiper1992")
    strong = table["mask_contrast"] > 0.04
    logs = (np.log10(table[name][strong]) for name in ("mask_contrast", "threshold_contrast"))
    assert np.polyfit(*logs, 1)[0] == pytest.approx(0.94, abs=5e-3)


def test_a_threshold_is_where_the_response_is_one_more() -> None:
    mask = np.array([0.0, 0.005, 0.02, 0.1, 0.4])
    for excitation, inhibition in WEIGHTS.values():
        weights = {"excitation": excitation, "inhibition": inhibition}
        threshold = foley_threshold(mask, **weights)
        rise = foley_response(threshold, mask, **weights) - foley_response(0.0, mask, **weights)
        np.testing.assert_allclose(rise, 1.0, rtol=1e-9)


def test_the_dipper() -> None:
    mask = np.geomspace(1e-4, 0.5, 200)
    relative_db = 20 * np.log10(foley_threshold(mask) / foley_threshold(0.0))
    assert relative_db[0] == pytest.approx(0, abs=0.1)
    assert relative_db.min() < -3
    assert 0.005 < mask[relative_db.argmin()] < 0.03
    assert relative_db[-1] > 15
    # A mask that only inhibits never helps.
    across = foley_threshold(mask, excitation=0.0, inhibition=0.5)
    assert np.all(across >= foley_threshold(0.0) * (1 - 1e-9))


def test_shapes_and_refusals() -> None:
    assert isinstance(foley_threshold(0.1), np.float64)
    assert foley_threshold(np.ones((2, 1)), inhibition=np.ones(3)).shape == (2, 3)
    with pytest.raises(ValueError, match="mask_contrast is -1"):
        foley_threshold(-1.0)
