"""Colour spaces: facts about the matrices, the published affine form, CIELAB, gradients."""

import numpy as np
import pytest
import torch

from fechner.human import colour_matching
from fechner.stimuli import ATD, OPPONENT, OPPONENT_CAI2025, display, gamut_limit
from fechner.stimuli.colour import (
    D65_XYZ,
    SRGB_TO_XYZ,
    XYZ_TO_ATD,
    XYZ_TO_LMS1975,
    XYZ_TO_LMS2006,
    as_matrix,
    as_triple,
    dkl_matrix,
    inverse,
    transform,
    xyz_to_lab,
)

with np.printoptions():  # it changes how NumPy prints, for everybody
    import colour

PUBLISHED_WHITE = (0.9505, 1.0, 1.0888)
PUBLISHED_GREY = (0.739876529525622, 0.320136241543338, 0.020793708751515)


def test_cone_matrix_and_the_inverse_the_papers_print() -> None:
    printed = [
        [2.629129278399650, -3.780202391780134, 10.294956387893450],
        [0.865649062438827, 1.215555811642301, -0.984175688105352],
        [-0.008886561474676, 0.081612628990755, 51.371024830897888],
    ]
    np.testing.assert_allclose(np.array(XYZ_TO_LMS2006) @ printed, np.eye(3), rtol=0, atol=3e-14)
    np.testing.assert_allclose(inverse(XYZ_TO_LMS2006), printed, rtol=1e-11)


def test_cone_responses_to_white() -> None:
    lms = transform(XYZ_TO_LMS2006, PUBLISHED_WHITE)
    np.testing.assert_allclose(lms, (0.734752, 0.316277, 0.020819), rtol=0, atol=5e-7)
    assert lms[0] + lms[1] == pytest.approx(1.0510, abs=5e-5)


def test_white_of_srgb_is_d65() -> None:
    np.testing.assert_allclose(transform(SRGB_TO_XYZ, (1.0, 1.0, 1.0)), D65_XYZ, rtol=0, atol=1e-6)


def test_the_published_grey_of_100_is_not_quite_grey() -> None:
    rgb = display("encoders-published").linear_rgb(OPPONENT_CAI2025.background_xyz(100.0))
    np.testing.assert_allclose(rgb, (100.011, 100.005, 99.980), rtol=0, atol=5e-4)


def test_published_dkl_matrix() -> None:
    expected = [[1, 1, 0], [1, -2.31113, 0], [-1, -1, 50.977571]]
    np.testing.assert_allclose(OPPONENT_CAI2025.dkl, expected, rtol=0, atol=5e-6)
    columns = [[0.697988, 0.302012, 0], [0.302012, -0.302012, 0], [0.019616, 0, 0.019616]]
    np.testing.assert_allclose(inverse(OPPONENT_CAI2025.dkl), columns, rtol=0, atol=5e-7)


def test_dkl_axes_are_silent_to_the_grey_itself() -> None:
    np.testing.assert_allclose(
        transform(dkl_matrix(PUBLISHED_GREY), PUBLISHED_GREY)[1:], 0, rtol=0, atol=1e-15
    )


def test_achromatic_contrast_in_the_published_space() -> None:
    luminance = 37.0
    modulation = OPPONENT_CAI2025.modulation_xyz("ach", luminance)
    assert modulation[1] / luminance == pytest.approx(0.95202, abs=5e-6)


@pytest.mark.parametrize("luminance", [0.1, 37.0, 200.0])
def test_achromatic_contrast_in_the_default_space(luminance: float) -> None:
    modulation = OPPONENT.modulation_xyz("ach", luminance)
    np.testing.assert_allclose(modulation, OPPONENT.background_xyz(luminance), rtol=1e-12)
    long, medium, _ = OPPONENT.background_lms(luminance)
    assert long + medium == pytest.approx(luminance, rel=1e-12)


@pytest.mark.parametrize(
    ("direction", "contrasts", "artefact"),
    [
        ("ach", (0.950, 0.955, 0.942), 0.952),
        ("rg", (0.411, -0.955, 0.0), -0.106),
        ("yv", (0.0, 0.0, 0.942), -0.019),
    ],
)
def test_cone_contrasts_in_the_published_space(
    direction: str, contrasts: tuple[float, ...], artefact: float
) -> None:
    modulation = np.array(OPPONENT_CAI2025.modulation_lms(direction, 20.0))
    background = np.array(OPPONENT_CAI2025.background_lms(20.0))
    np.testing.assert_allclose(modulation / background, contrasts, rtol=0, atol=5e-4)
    in_xyz = OPPONENT_CAI2025.modulation_xyz(direction, 20.0)
    assert in_xyz[1] / 20.0 == pytest.approx(artefact, abs=5e-4)


def test_directions_of_the_default_space_leave_the_other_cones_alone() -> None:
    long, medium, short = OPPONENT.modulation_lms("rg", 50.0)
    assert long + medium == pytest.approx(0, abs=1e-12)
    assert short == pytest.approx(0, abs=1e-12)
    long, medium, short = OPPONENT.modulation_lms("yv", 50.0)
    assert (long, medium) == pytest.approx((0, 0), abs=1e-12)
    assert short == pytest.approx(OPPONENT.background_lms(50.0)[2], rel=1e-12)


PUBLISHED_RGB = {
    "ach": (0.926502308, 0.960842502, 0.940315924),
    "rg": (6.448879567, -2.074854167, 0.100486266),
    "yv": (0.181670435, -0.190064027, 1.080345193),
}


def test_published_background_in_rgb() -> None:
    rgb = display("encoders-published").linear_rgb(OPPONENT_CAI2025.background_xyz(1.0))
    np.testing.assert_allclose(rgb, (1.00011462, 1.00004575, 0.99980445), rtol=0, atol=5.1e-9)


@pytest.mark.parametrize("direction", PUBLISHED_RGB)
def test_published_directions_in_rgb(direction: str) -> None:
    rgb = display("encoders-published").linear_rgb(OPPONENT_CAI2025.modulation_xyz(direction, 1.0))
    np.testing.assert_allclose(rgb, PUBLISHED_RGB[direction], rtol=0, atol=5.1e-10)


@pytest.mark.parametrize(
    ("direction", "limit", "digits"),
    [("ach", 1.04, 5e-3), ("rg", 0.155, 5e-4), ("yv", 0.925, 5e-4)],
)
def test_published_limits_of_the_gamut(direction: str, limit: float, digits: float) -> None:
    found = gamut_limit(
        display("encoders-published"),
        OPPONENT_CAI2025.background_xyz(100.0),
        OPPONENT_CAI2025.modulation_xyz(direction, 100.0),
    )
    assert found == pytest.approx(limit, abs=digits)


def test_unknown_direction() -> None:
    with pytest.raises(ValueError, match="one of ach, rg, yv, not 'red'"):
        OPPONENT.modulation_lms("red", 1.0)


def test_jameson_hurvich_and_back() -> None:
    x, y, z = 0.3, 0.5, 0.9
    achromatic, red_green, yellow_blue = transform(XYZ_TO_ATD, (x, y, z))
    assert (achromatic, red_green, yellow_blue) == pytest.approx((0.5, -0.2, -0.16))
    printed = (achromatic + red_green, achromatic, achromatic - yellow_blue / 0.4)
    assert printed == pytest.approx((x, y, z))
    np.testing.assert_allclose(
        transform(inverse(XYZ_TO_ATD), (achromatic, red_green, yellow_blue)),
        (x, y, z),
        rtol=0,
        atol=1e-15,
    )


@pytest.mark.parametrize(
    ("rgb", "lab"),
    [
        # Lindbloom's calculator, sRGB primaries and D65.
        ((1.0, 0.0, 0.0), (53.2408, 80.0925, 67.2032)),
        ((0.0, 1.0, 0.0), (87.7347, -86.1827, 83.1793)),
        ((0.0, 0.0, 1.0), (32.2970, 79.1875, -107.8602)),
        ((0.184187, 0.184187, 0.184187), (50.0, 0.0, 0.0)),
        ((1.0, 1.0, 1.0), (100.0, 0.0, 0.0)),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    ],
)
def test_known_values_of_lab(rgb: tuple[float, ...], lab: tuple[float, ...]) -> None:
    np.testing.assert_allclose(xyz_to_lab(transform(SRGB_TO_XYZ, rgb)), lab, rtol=0, atol=2e-3)


def test_lightness_is_the_903_3_line_below_its_knee() -> None:
    # CIE 015: L* = (29/3)^3 Y for Y <= (6/29)^3.
    lab = xyz_to_lab(0.004 * np.array(D65_XYZ))
    np.testing.assert_allclose(lab, ((29 / 3) ** 3 * 0.004, 0, 0), rtol=0, atol=1e-12)


@pytest.fixture
def colours() -> np.ndarray:
    colours = np.random.default_rng(0).uniform(0, 1.2, (4, 5, 3)) ** 4  # many near black
    colours[0, 0] = 0.0
    colours[0, 1] = (6 / 29) ** 3 * np.array(D65_XYZ)  # on the knee
    colours[0, 2] = 0.0114 * np.array(D65_XYZ)  # just above it
    return colours


def test_torch_equals_numpy(colours: np.ndarray) -> None:
    tensor = torch.from_numpy(colours)
    lab = xyz_to_lab(colours)
    np.testing.assert_allclose(xyz_to_lab(tensor).numpy(), lab, rtol=0, atol=1e-11)
    np.testing.assert_allclose(
        transform(XYZ_TO_LMS2006, tensor).numpy(),
        transform(XYZ_TO_LMS2006, colours),
        rtol=0,
        atol=1e-14,
    )
    single = transform(XYZ_TO_LMS2006, tensor.float())
    assert single.dtype == torch.float32
    np.testing.assert_allclose(single, transform(XYZ_TO_LMS2006, colours), rtol=0, atol=1e-6)


def test_tuples_and_lists_are_colours_too() -> None:
    assert transform(XYZ_TO_ATD, [0.3, 0.5, 0.9]) == pytest.approx((0.5, -0.2, -0.16))
    np.testing.assert_allclose(xyz_to_lab(D65_XYZ), (100, 0, 0), rtol=0, atol=1e-12)


def test_gradients_are_finite_at_black() -> None:
    black = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True)
    xyz_to_lab(black).square().sum().add(xyz_to_lab(black).sum()).backward()
    assert black.grad is not None
    assert black.grad.isfinite().all()
    # The straight part of the lightness curve: dL/dY = (29/3)^3, and a, b take theirs from X, Z.
    slope = (29 / 3) ** 3
    expected = [500 / 116 * slope / D65_XYZ[0], slope * (116 - 500 + 200) / 116, 0.0]
    expected[2] = -200 / 116 * slope / D65_XYZ[2]
    np.testing.assert_allclose(black.grad[0], expected, rtol=1e-12)


def test_gradients_agree_with_finite_differences(colours: np.ndarray) -> None:
    tensor = torch.from_numpy(colours[1:]).requires_grad_()
    assert torch.autograd.gradcheck(xyz_to_lab, tensor, eps=1e-9, atol=1e-3)


def test_matrices_and_spaces_are_hashable() -> None:
    assert len({OPPONENT, OPPONENT_CAI2025, OPPONENT}) == 2
    assert isinstance(hash(as_matrix(np.eye(3))), int)
    assert as_triple(np.array([1, 2, 3])) == (1.0, 2.0, 3.0)


@pytest.mark.parametrize(("direction", "axis"), [("ach", 0), ("rg", 1), ("yb", 2)])
def test_opponent_modulations_are_silent_to_the_other_axes(direction: str, axis: int) -> None:
    background = ATD.background_xyz(40.0)
    assert background == (40.0, 40.0, 40.0)
    np.testing.assert_allclose(transform(XYZ_TO_ATD, background), (40.0, 0.0, 0.0), atol=1e-12)
    modulation = ATD.modulation_xyz(direction, 40.0)
    np.testing.assert_allclose(
        transform(XYZ_TO_ATD, modulation), 40.0 * np.eye(3)[axis], atol=1e-12
    )
    cones = ATD.modulation_lms(direction, 40.0)
    np.testing.assert_allclose(cones, transform(XYZ_TO_LMS1975, modulation), rtol=1e-12)
    # Luminance of the cones is Y: colour alone does not change it.
    assert cones[0] + cones[1] == pytest.approx(40.0 * (axis == 0), abs=0.002)


def test_each_space_knows_its_own_directions() -> None:
    with pytest.raises(ValueError, match="one of ach, rg, yb, not 'yv'"):
        ATD.modulation_xyz("yv", 1.0)
    with pytest.raises(ValueError, match="one of ach, rg, yv, not 'yb'"):
        OPPONENT.modulation_xyz("yb", 1.0)


def test_cones_of_smith_and_pokorny() -> None:
    published = colour.MSDS_CMFS["Smith & Pokorny 1975 Normal Trichromats"]
    cones = transform(XYZ_TO_LMS1975, colour_matching(published.wavelengths))
    for mine, theirs in zip(cones.T, published.values.T, strict=True):
        assert np.corrcoef(mine, theirs)[0, 1] > 0.9996
