"""Contrast increments, their integral and masking: the curves of Vila-Tomás et al. (2026).

The values are those of the closed formulas of the authors' public code, computed independently.
"""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, least_squares

from fechner.human import (
    castle_csf,
    chromatic_rg_csf,
    chromatic_yb_csf,
    colour_matching_ratios,
    contrast_increment,
    contrast_response,
    convert_sensitivity,
    foley_response,
    foley_threshold,
    kulikowski_match,
    load,
    standard_spatial_observer,
    threshold_elevation,
)

CONTRASTS = (0.01, 0.05, 0.1, 0.2)
CPD = (1.5, 3.0, 6.0, 12.0, 24.0)

#: Response at CONTRASTS, summed up in steps of 0.01; a line for each of CPD. Properties 6 and 7.
RESPONSES = {
    "ach": [
        [0.892452, 2.7731, 4.14551, 5.97267],
        [1.46884, 4.31407, 6.19809, 8.5309],
        [1.4067, 4.58174, 6.71389, 9.30308],
        [0.740679, 3.07271, 4.76564, 6.72807],
        [0.131851, 0.736432, 1.58193, 3.13409],
    ],
    "rg": [
        [1.20174, 4.0612, 6.04151, 8.48356],
        [1.01208, 3.6978, 5.64599, 8.07152],
        [0.670398, 2.94144, 4.86621, 7.35701],
        [0.268699, 1.41147, 2.71018, 4.62749],
        [0.0414857, 0.215245, 0.448784, 0.96095],
    ],
    "yb": [
        [0.834167, 3.30224, 5.20296, 7.60525],
        [0.585857, 2.61585, 4.38706, 6.72424],
        [0.273673, 1.40074, 2.69603, 4.75712],
        [0.0616307, 0.317068, 0.652108, 1.35048],
        [0.00331929, 0.0166256, 0.0333239, 0.0669363],
    ],
}

#: The same on masks of contrast 0, 0.075, 0.15, 0.225 and 0.3, like the pattern. Property 8.
MASKED = {
    3.0: [
        [1.46884, 4.31407, 6.19809, 8.5309],
        [0.719583, 2.11345, 3.03643, 4.17927],
        [0.508822, 1.49444, 2.14708, 2.95519],
        [0.415452, 1.2202, 1.75309, 2.4129],
        [0.359792, 1.05673, 1.51822, 2.08964],
    ],
    12.0: [
        [0.740679, 3.07271, 4.76564, 6.72807],
        [0.362857, 1.50531, 2.33468, 3.29607],
        [0.256579, 1.06442, 1.65087, 2.33067],
        [0.209496, 0.869093, 1.34793, 1.90299],
        [0.181429, 0.752657, 1.16734, 1.64803],
    ],
}

#: Elevation after adapting to 2, 3, 4, 6, 8, 10 and 12 cpd, at five frequencies. Property 5.
ADAPTED = [
    [1.36091, 1.36091, 1.08122, 1.00127, 1.00002],
    [1.08955, 1.50757, 1.34375, 1.02328, 1.00106],
    [1.01914, 1.31736, 1.51601, 1.10346, 1.00959],
    [1.00097, 1.06964, 1.33463, 1.38668, 1.09419],
    [1.00006, 1.01366, 1.12976, 1.52145, 1.27424],
    [1.00001, 1.00278, 1.04535, 1.43493, 1.44832],
    [1.0, 1.00061, 1.01564, 1.29114, 1.5206],
]


@pytest.mark.parametrize("channel", RESPONSES)
def test_responses_to_contrast(channel: str) -> None:
    found = contrast_response(CONTRASTS, np.array(CPD)[:, None], channel, step=0.01)
    np.testing.assert_allclose(found, RESPONSES[channel], rtol=6e-6)


@pytest.mark.parametrize("frequency", MASKED)
def test_responses_on_masks_like_the_pattern(frequency: float) -> None:
    masks = np.array([0, 0.075, 0.15, 0.225, 0.3])[:, None]
    found = contrast_response(CONTRASTS, frequency, mask_contrast=masks, step=0.01)
    np.testing.assert_allclose(found, MASKED[frequency], rtol=6e-6)


def test_adaptation() -> None:
    frequency = np.geomspace(0.5, 32, 40)[[10, 16, 20, 26, 30]]
    adapted = np.array([2, 3, 4, 6, 8, 10, 12])[:, None]
    found = threshold_elevation(frequency, adapted, 0.0125 / 0.3)
    np.testing.assert_allclose(found, ADAPTED, rtol=0, atol=5.1e-6)


@pytest.mark.parametrize(
    ("frequency", "elevations"),
    [
        (3.0, [1.32637, 3.33333, 1.32637, 1.00365, 1.0]),
        (12.0, [1, 1.00365, 1.32637, 3.33333, 1.32637]),
    ],
)
def test_masks_of_other_frequencies(frequency: float, elevations: list[float]) -> None:
    found = threshold_elevation(frequency, CPD, 0.2)
    np.testing.assert_allclose(found, elevations, rtol=0, atol=5.1e-6)


@pytest.mark.parametrize("frequency", [3.0, 12.0])
def test_masks_of_other_orientations(frequency: float) -> None:
    found = threshold_elevation(frequency, frequency, 0.2, np.arange(0, 181, 22.5))
    half = [3.33333, 2.07559, 1.55724, 1.30819]
    np.testing.assert_allclose(found, [*half, 1.17697, *half[::-1]], rtol=0, atol=5.1e-6)


def test_widths_of_masking() -> None:
    """1.38 octaves and 31 degrees, in the exponent; 2.6 times the 17.3 deg of 1966."""

    def exponent(ratio: float, angle: float) -> float:
        return float(np.log(threshold_elevation(4.0 * ratio, 4.0, 0.3, angle)))

    top = exponent(1.0, 0.0)
    edge = brentq(lambda decades: exponent(10**decades, 0.0) - top / 2, 0, 1)
    assert 2 * edge == pytest.approx(0.416, abs=5e-4)
    assert 2 * edge * np.log2(10) == pytest.approx(1.38, abs=5e-3)
    half_deg = brentq(lambda angle: exponent(1.0, angle) - top / 2, 0, 90)
    assert half_deg == pytest.approx(31, abs=0.5)
    assert half_deg / 12 == pytest.approx(2.6, abs=0.05)


def test_masking_grows_at_most_with_the_root_and_only_from_a_contrast_on() -> None:
    weak = np.array([0.0, 0.01, 0.018])
    assert np.all(threshold_elevation(6.0, 6.0, weak) == 1)
    strong = np.geomspace(0.02, 1, 20)
    slope = np.diff(np.log(threshold_elevation(6.0, 6.0, strong))) / np.diff(np.log(strong))
    np.testing.assert_allclose(slope, 0.5, rtol=1e-9)


@pytest.mark.parametrize(
    ("channel", "order"),
    [("ach", [6.0, 3.0, 12.0, 1.5, 24.0]), ("rg", sorted(CPD)), ("yb", sorted(CPD))],
)
@pytest.mark.parametrize("step", [0.01, None])
def test_order_of_the_frequencies(channel: str, order: list[float], step: float | None) -> None:
    responses = contrast_response(0.2, CPD, channel, step=step)
    assert [CPD[index] for index in np.argsort(-responses)] == order


@pytest.mark.parametrize(
    ("channel", "sensitivity"),
    [("ach", standard_spatial_observer), ("rg", chromatic_rg_csf), ("yb", chromatic_yb_csf)],
)
def test_at_no_contrast_the_increment_is_the_threshold(channel: str, sensitivity) -> None:
    frequency = np.geomspace(0.5, 32, 40)
    found = 1 / contrast_increment(0.0, frequency, channel)
    np.testing.assert_allclose(found, sensitivity(frequency), rtol=1e-12)
    values = {
        "ach": [52.3181, 125.624, 201.406, 110.215, 18.7666, 4.0785],
        "rg": [140.026, 121.319, 95.1792, 45.2612, 6.49813, 1.21903],
        "yb": [98.0962, 77.8997, 52.7377, 15.9636, 0.704511, 0.0477985],
    }
    picked = found[[0, 10, 17, 26, 35, 39]]
    np.testing.assert_allclose(picked, values[channel], rtol=6e-6)


def test_the_formula_in_cartesian_frequencies() -> None:
    """Written out once more, one condition at a time, as in the authors' code."""
    rng = np.random.default_rng(1)
    for channel in ("ach", "rg", "yb"):
        for _ in range(200):
            f, fm = np.exp(rng.uniform(np.log(0.3), np.log(32), 2))
            contrast, mask = rng.uniform(0, 0.5, 2)
            # Upright for the test: the oblique effect is not part of these curves.
            angle = rng.uniform(0, 180)
            fxm, fym = fm * np.cos(np.radians(angle)), fm * np.sin(np.radians(angle))
            csf = {"ach": standard_spatial_observer, "rg": chromatic_rg_csf, "yb": chromatic_yb_csf}
            d0 = 1 / float(csf[channel](f))
            big = max(f, 0.03 if channel == "ach" else 4)
            e = (0.8 * big**1.7) / (0.5 + big**1.7)
            b = -0.03 * np.log10(big) + 0.3
            g = max(0.6, 2 * big / 25) * (b * contrast**e - d0) / ((b / d0) ** (-1 / e) + contrast)
            theta = np.degrees(np.arctan2(fym, fxm))
            away = min(abs(theta), abs(theta - 180), abs(theta + 180))
            n = 0.5 * np.exp(-((np.log10(f) - np.log10(np.hypot(fxm, fym))) ** 2) / 0.25**2)
            n *= np.exp(-away / 45)
            m = (100 * mask / 1.8) ** n if 100 * mask >= 1.8 else 1.0
            found = contrast_increment(
                contrast,
                f,
                channel,
                mask_frequency_cpd=fm,
                mask_contrast=mask,
                mask_angle_deg=angle,
            )
            assert found == pytest.approx((d0 + contrast * g) * m, rel=1e-11)


@pytest.mark.parametrize("channel", ["ach", "rg", "yb"])
@pytest.mark.parametrize("frequency", [0.5, 3.0, 24.0])
def test_the_integral(channel: str, frequency: float) -> None:
    expected = quad(
        lambda c: 1 / float(contrast_increment(c, frequency, channel)), 0, 0.3, epsrel=1e-11
    )[0]
    found = contrast_response(0.3, frequency, channel)
    assert found == pytest.approx(expected, rel=1e-7)
    # The sum comes as close as its steps are small.
    fine = contrast_response(0.3, frequency, channel, step=1e-4)
    assert fine == pytest.approx(expected, rel=0.01)


def test_increments_stay_positive_and_responses_saturate() -> None:
    contrast, frequency = np.linspace(0, 1, 101), np.geomspace(0.3, 32, 25)[:, None]
    for channel in ("ach", "rg", "yb"):
        assert np.all(contrast_increment(contrast, frequency, channel) > 0)
        responses = contrast_response(contrast, frequency, channel)
        assert np.all(np.diff(responses, axis=1) > 0)
    curve = contrast_response([0.1, 0.2, 0.3], 3.0)
    assert curve[2] - curve[1] < curve[1] - curve[0] < curve[0]


def test_shapes() -> None:
    assert isinstance(contrast_response(0.1, 3.0), np.float64)
    assert isinstance(contrast_increment(0.1, 3.0), np.float64)
    assert isinstance(threshold_elevation(3.0, 3.0, 0.1), np.float64)
    assert contrast_response(np.ones((2, 1)), np.ones(3)).shape == (2, 3)
    assert contrast_response(0.0, 3.0) == 0
    assert contrast_response([0.0], 3.0, step=0.1).tolist() == [0.0]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="channel is 'yv'; use one of ach, rg, yb"):
        contrast_increment(0.1, 3.0, "yv")
    with pytest.raises(ValueError, match=r"contrast is -0\.1; it must be finite and 0 or more"):
        contrast_increment(-0.1, 3.0)
    with pytest.raises(ValueError, match=r"not multiples of the step of 0\.02"):
        contrast_response([0.01, 0.02], 3.0, step=0.02)


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


def test_the_ratios_of_hammou_et_al() -> None:
    ratios = colour_matching_ratios()
    assert list(ratios) == ["ach", "rg", "yv"]
    assert ratios["ach"] == 1
    assert ratios["rg"] == pytest.approx(0.610649, rel=1e-9)
    assert ratios["yv"] == pytest.approx(4.203636, rel=1e-9)


def test_one_ratio_holds_at_all_contrasts() -> None:
    table = load("switkes_crognale1999")
    for direction, ratio in colour_matching_ratios().items():
        rows = table["direction"] == direction
        matched = ratio * table["achromatic_contrast"][rows]
        np.testing.assert_allclose(table["dkl_amplitude"][rows], matched, rtol=1e-9)


def test_a_change_of_the_answer_does_not_change_the_next() -> None:
    colour_matching_ratios()["rg"] = 2.0
    assert colour_matching_ratios()["rg"] == pytest.approx(0.610649)


def _rms_log10(thresholds: np.ndarray) -> float:
    """Miss of equal steps above threshold, on the matches of Georgeson & Sullivan (1975)."""
    table = load("georgeson_sullivan1975")
    frequencies, which = np.unique(table["test_frequency_cpd"], return_inverse=True)
    assert frequencies.tolist() == [0.25, 0.5, 1, 2, 5, 10, 15, 20, 25]
    predicted = kulikowski_match(table["reference_contrast"], thresholds[4], thresholds[which])
    return float(np.sqrt(np.mean(np.log10(predicted / table["matched_contrast"]) ** 2)))


def test_equal_steps_above_threshold_explain_contrast_constancy() -> None:
    fitted = [0.0492, 0.0159, 0.0064, 0.0059, 0.0071, 0.0058, 0.0158, 0.0399, 0.0902]
    assert _rms_log10(np.array(fitted)) == pytest.approx(0.075, abs=5e-4)
    # With thresholds of castleCSF, which are higher at high frequencies.
    frequency = np.array([0.25, 0.5, 1, 2, 5, 10, 15, 20, 25])
    sensitivity = castle_csf(frequency, area_deg2=20.0, luminance_cdm2=10.0)
    castle = 1 / convert_sensitivity(sensitivity, to="michelson")
    assert _rms_log10(castle) == pytest.approx(0.228, abs=5e-4)
    # Perfect constancy is equal thresholds; contrasts in proportion to thresholds miss most.
    assert _rms_log10(np.full(9, 1e-9)) == pytest.approx(0.333, abs=5e-4)
    table = load("georgeson_sullivan1975")
    which = np.searchsorted(frequency, table["test_frequency_cpd"])
    proportional = table["reference_contrast"] * castle[which] / castle[4]
    misses = np.log10(proportional / table["matched_contrast"])
    assert np.sqrt(np.mean(misses**2)) == pytest.approx(0.58, abs=5e-3)


def test_a_pattern_matches_itself_above_threshold() -> None:
    contrasts = np.array([0.02, 0.1, 0.9])
    np.testing.assert_allclose(kulikowski_match(contrasts, 0.01, 0.01), contrasts)
    assert kulikowski_match(0.005, 0.01, 0.03) == 0.03
    with pytest.raises(ValueError, match="threshold is 0; it must be finite and above 0"):
        kulikowski_match(0.1, 0.0, 0.1)
