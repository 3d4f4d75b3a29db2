"""Sensitivities in other units."""

import numpy as np
import pytest

from fechner.human import GREY_LMS_PER_CDM2, castle_csf, convert_sensitivity


@pytest.mark.parametrize(("direction", "factor"), [("ach", 1.0), ("rg", 1.591), ("yv", 1.732)])
def test_cone_contrast_as_dkl_amplitude(direction: str, factor: float) -> None:
    cone = castle_csf([1.0, 4.0], luminance_cdm2=100, area_deg2=np.pi, direction=direction)
    assert cone / convert_sensitivity(cone, to="dkl", direction=direction) == pytest.approx(
        factor, rel=5e-3
    )


def test_achromatic_sensitivity_is_one_over_michelson_contrast() -> None:
    # By definition of castleCSF's achromatic axis, to its own rounding of the grey.
    assert convert_sensitivity(100.0, to="michelson") == pytest.approx(100, rel=3e-3)
    assert convert_sensitivity(100.0, to="rms") == pytest.approx(100 * np.sqrt(2), rel=3e-3)


def test_there_and_back() -> None:
    direction, grey = (0.2, -0.1, 0.01), GREY_LMS_PER_CDM2 * 40
    there = convert_sensitivity(50.0, to="dkl", direction=direction, background_lms=grey)
    back = convert_sensitivity(
        there, unit="dkl", to="cone", direction=direction, background_lms=grey
    )
    assert back == pytest.approx(50)


def test_what_cannot_be_said() -> None:
    with pytest.raises(ValueError, match="has no michelson contrast"):
        convert_sensitivity(50.0, to="michelson", direction="rg")
    with pytest.raises(ValueError, match="use one of ach, rg, yv"):
        convert_sensitivity(50.0, to="dkl", direction="by")
