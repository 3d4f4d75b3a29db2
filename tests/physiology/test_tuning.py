"""Colour weights of units whose colour is known."""

import numpy as np
import pytest
import torch
from torch import nn

from fechner import Wants, observe
from fechner.physiology import (
    Conditions,
    by_jacobian,
    colour_and_profile,
    colour_weights,
    describe,
    record,
)
from fechner.stimuli import OPPONENT, Field, display
from fechner.stimuli.colour import XYZ_TO_ATD

CONDITIONS = Conditions(field=Field.of(pixels=9, ppd=16))
RGB_TO_XYZ = np.asarray(CONDITIONS.display.rgb_to_xyz)


@pytest.mark.parametrize(("row", "axis"), [(0, "ach"), (1, "rg"), (2, "yb")])
def test_opponent_units_have_one_weight(row: int, axis: str) -> None:
    """A unit that says T says nothing to A or D alone."""
    found = colour_weights((np.asarray(XYZ_TO_ATD) @ RGB_TO_XYZ)[row], CONDITIONS)
    assert np.abs(found.atd) == pytest.approx(np.eye(3)[row], abs=1e-9)
    assert found.axis == axis


@pytest.mark.parametrize("cone", range(3))
def test_a_cone_has_one_weight(cone: int) -> None:
    found = colour_weights((np.asarray(OPPONENT.xyz_to_lms) @ RGB_TO_XYZ)[cone], CONDITIONS)
    assert found.cones == pytest.approx(np.eye(3)[cone], abs=1e-9)


def test_angles_in_dkl_space() -> None:
    lms = np.asarray(OPPONENT.xyz_to_lms) @ RGB_TO_XYZ
    grey = lms.sum(axis=1)  # what R = G = B = 1 gives
    angles = {
        "lum": (lms[0] + lms[1], None, 90.0),
        "reddish": (lms[0] - grey[0] / grey[1] * lms[1], 0.0, 0.0),
        "violet": ((grey[0] + grey[1]) / grey[2] * lms[2] - lms[0] - lms[1], 90.0, 0.0),
    }
    for weights, azimuth, elevation in angles.values():
        found = colour_weights(weights, CONDITIONS)
        assert found.elevation_deg == pytest.approx(elevation, abs=1e-6)
        if azimuth is not None:
            assert (found.azimuth_deg + 1) % 360 == pytest.approx(azimuth + 1, abs=1e-6)
    opposite = colour_weights(-angles["violet"][0], CONDITIONS)
    assert opposite.azimuth_deg == pytest.approx(270)


@pytest.mark.parametrize("of", ["light", "pixels"])
def test_a_field_is_a_colour_times_a_profile(of: str) -> None:
    """Whatever weights are of, colours are those of light."""
    profile = np.outer([1, -2, 1], [1, 0, -1]).astype(float)
    colour = (np.asarray(XYZ_TO_ATD) @ RGB_TO_XYZ)[2]
    bank = nn.Conv2d(3, 1, 3, bias=False)
    bank.weight.data[0] = torch.tensor(colour[:, None, None] * profile)
    observer = observe(bank, name="yellow", wants=Wants(light="cdm2"))
    conditions = Conditions(CONDITIONS.field, of=of)
    (field,) = by_jacobian(record(observer, conditions=conditions))
    found, over_space = colour_and_profile(field)
    assert found.separable == pytest.approx(1)
    assert found.axis == "yb"
    assert found.atd == pytest.approx((0, 0, 1), abs=1e-4)
    assert over_space.values / over_space.values.max() == pytest.approx(profile / 2, abs=1e-4)
    assert describe(field).kind == "small"


def test_two_colours_are_not_separable() -> None:
    bank = nn.Conv2d(3, 1, 3, bias=False)
    bank.weight.data.zero_()
    bank.weight.data[0, 0, 1, 1] = 1.0
    bank.weight.data[0, 1, 0, :] = -1.0
    observer = observe(bank, name="double", wants=Wants(light="cdm2"))
    (field,) = by_jacobian(record(observer, conditions=CONDITIONS))
    colour, _ = colour_and_profile(field)
    assert colour.separable == pytest.approx(3 / 4)


def test_equal_weights_of_red_green_and_blue_are_mostly_achromatic() -> None:
    for name in ("decalogue", "encoders"):
        found = colour_weights(np.ones(3), Conditions(display=display(name)))
        assert found.axis == "ach"
        assert found.atd[1] > 0.2  # but reddish: red counts less for luminance than green
