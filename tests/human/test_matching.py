"""Matching contrasts across colour directions and across frequencies."""

import numpy as np
import pytest

from fechner.human import (
    castle_csf,
    colour_matching_ratios,
    convert_sensitivity,
    kulikowski_match,
    load,
)


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
