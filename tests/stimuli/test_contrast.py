"""Contrast units and what one is in another."""

import math

import numpy as np
import pytest

from fechner.stimuli import (
    OPPONENT,
    convert_contrast,
    measure_contrast,
    opponent_contrasts,
)
from fechner.stimuli.contrast import UNITS, cone_contrasts

CASTLE_GREY = (0.6991, 0.3009, 0.0198)  # LMS per cd/m2 of the default background of castleCSF


def test_a_luminance_modulation_has_the_same_contrast_in_three_units() -> None:
    modulation = tuple(0.3 * value for value in CASTLE_GREY)
    assert measure_contrast(modulation, CASTLE_GREY, "michelson") == pytest.approx(0.3)
    assert measure_contrast(modulation, CASTLE_GREY, "cone") == pytest.approx(0.3)
    assert measure_contrast(modulation, CASTLE_GREY, "dkl") == pytest.approx(0.3)
    assert measure_contrast(modulation, CASTLE_GREY, "rms") == pytest.approx(0.3 / math.sqrt(2))


def test_rms_is_the_spread_of_a_sinusoid() -> None:
    luminance = 1 + 0.4 * np.sin(2 * np.pi * np.arange(1000) / 100)
    modulation = tuple(0.4 * value for value in CASTLE_GREY)
    assert measure_contrast(modulation, CASTLE_GREY, "rms") == pytest.approx(
        luminance.std() / luminance.mean()
    )


def test_cone_unit_is_the_root_mean_square_of_cone_contrasts() -> None:
    modulation = (0.1, -0.02, 0.005)
    contrasts = (0.1 / 0.6991, -0.02 / 0.3009, 0.005 / 0.0198)
    np.testing.assert_allclose(cone_contrasts(modulation, CASTLE_GREY), contrasts)
    assert measure_contrast(modulation, CASTLE_GREY, "cone") == pytest.approx(
        math.sqrt(sum(value**2 for value in contrasts) / 3)
    )


@pytest.mark.parametrize("unit", UNITS)
def test_contrast_scales_with_the_modulation_and_not_with_the_light(unit: str) -> None:
    modulation = np.array((0.3, 0.1, 0.02))
    background = np.array(CASTLE_GREY)
    one = measure_contrast(tuple(modulation), tuple(background), unit)
    assert measure_contrast(tuple(-3 * modulation), tuple(background), unit) == pytest.approx(
        3 * one
    )
    assert measure_contrast(tuple(50 * modulation), tuple(50 * background), unit) == pytest.approx(
        one
    )


@pytest.mark.parametrize(("axis", "factor"), [(0, 1.0), (1, 1.585), (2, 1.748)])
def test_factors_between_dkl_amplitude_and_cone_contrast(axis: int, factor: float) -> None:
    # The axes of Cai et al. (2025) on castleCSF's grey: an amplitude is this many cone contrasts.
    columns = [[0.697988, 0.302012, 0], [0.302012, -0.302012, 0], [0.019616, 0, 0.019616]]
    modulation = tuple(np.array(columns)[:, axis])
    cone = measure_contrast(modulation, CASTLE_GREY, "cone")
    assert 1 / cone == pytest.approx(factor, abs=5e-3 if axis == 0 else 5e-4)


def test_factors_of_the_default_space() -> None:
    # With axes through the background itself: rg changes M by 1 and L by -M/L, yv changes S by 1.
    long, medium, _ = OPPONENT.background_lms(1.0)
    expected = {"ach": 1.0, "rg": math.sqrt(3 / ((medium / long) ** 2 + 1)), "yv": math.sqrt(3)}
    for direction, factor in expected.items():
        found = convert_contrast(
            0.01,
            unit="cone",
            to="dkl",
            modulation_lms=OPPONENT.modulation_lms(direction, 80.0),
            background_lms=OPPONENT.background_lms(80.0),
        )
        assert found == pytest.approx(0.01 * factor, rel=1e-10)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("to", UNITS)
def test_there_and_back(unit: str, to: str) -> None:
    colours = {"modulation_lms": (0.3, 0.1, 0.02), "background_lms": CASTLE_GREY}
    values = np.array([0.001, 0.2])
    there = convert_contrast(values, unit=unit, to=to, **colours)
    np.testing.assert_allclose(convert_contrast(there, unit=to, to=unit, **colours), values)


@pytest.mark.parametrize("unit", ["michelson", "rms", "rms_sqrt2"])
@pytest.mark.parametrize("direction", ["rg", "yv"])
def test_isoluminant_directions_have_no_luminance_contrast(direction: str, unit: str) -> None:
    modulation, grey = OPPONENT.modulation_lms(direction, 1.0), OPPONENT.background_lms(1.0)
    with pytest.raises(ValueError, match=f"no {unit} contrast.*use 'cone' or 'dkl'"):
        convert_contrast(0.1, unit=unit, to="cone", modulation_lms=modulation, background_lms=grey)


def test_unknown_unit() -> None:
    with pytest.raises(ValueError, match=r"one of michelson, .*, not 'weber'"):
        measure_contrast(CASTLE_GREY, CASTLE_GREY, "weber")


@pytest.mark.parametrize("direction", ["ach", "rg", "yv"])
def test_rms_of_dkl_is_that_of_a_sinusoid(direction: str) -> None:
    modulation, grey = OPPONENT.modulation_lms(direction, 40.0), OPPONENT.background_lms(40.0)
    assert measure_contrast(modulation, grey, "dkl") == pytest.approx(1.0)
    assert measure_contrast(modulation, grey, "dkl_rms") == pytest.approx(0.5**0.5)
    if direction == "ach":
        assert measure_contrast(modulation, grey, "rms") == pytest.approx(0.5**0.5)


def test_sqrt2_rms_of_a_sinusoid_is_its_michelson_contrast() -> None:
    luminance = 1 + 0.4 * np.sin(2 * np.pi * np.arange(1000) / 100)
    modulation = tuple(0.4 * value for value in CASTLE_GREY)
    found = measure_contrast(modulation, CASTLE_GREY, "rms_sqrt2")
    assert found == pytest.approx(0.4)
    assert found == pytest.approx(math.sqrt(2) * luminance.std() / luminance.mean())


def test_contrasts_of_a_picture_in_three_opponent_channels() -> None:
    wave, other = (np.sin(2 * np.pi * k * np.arange(64) / 64) for k in (3, 5))
    luminance, red_green, yellow_blue = 1 + 0.3 * wave, 0.05 * other, 0.1 * wave
    xyz = 40 * np.stack([luminance + red_green, luminance, luminance - yellow_blue / 0.4], axis=-1)
    np.testing.assert_allclose(opponent_contrasts(xyz), (0.3, 0.05, 0.1), rtol=1e-12)
    np.testing.assert_allclose(opponent_contrasts(xyz.reshape(8, 8, 3)), (0.3, 0.05, 0.1))
