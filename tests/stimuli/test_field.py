"""Fields: any two of three, where pixels lie, and bad input."""

import math

import numpy as np
import pytest
import torch

from fechner.stimuli import Field


def test_any_two_of_three_give_the_same_field() -> None:
    expected = Field(width_px=256, height_px=128, ppd=64.0)
    assert Field.of(pixels=(128, 256), ppd=64) == expected
    assert Field.of(degrees=(2.0, 4.0), ppd=64) == expected
    assert Field.of(pixels=(128, 256), degrees=(2.0, 4.0)) == expected


def test_one_number_makes_a_square() -> None:
    assert Field.of(pixels=224, ppd=60) == Field(224, 224, 60.0)
    assert Field.of(degrees=2, ppd=60) == Field(120, 120, 60.0)


def test_degrees_that_do_not_fill_whole_pixels_are_rounded() -> None:
    field = Field.of(degrees=1.0, ppd=60.4)
    assert field.width_px == 60
    assert field.width_deg == pytest.approx(60 / 60.4)


def test_sizes_in_degrees() -> None:
    field = Field(width_px=224, height_px=112, ppd=60.0)
    assert field.width_deg == pytest.approx(3.73333, abs=1e-5)
    assert field.height_deg == pytest.approx(1.86667, abs=1e-5)
    assert field.area_deg2 == pytest.approx(6.96889, abs=1e-5)
    assert field.nyquist_cpd == 30.0


@pytest.mark.parametrize("pixels", [1, 2, 7, 224])
def test_centres_are_one_pixel_apart_and_centred(pixels: int) -> None:
    x, y = Field.of(pixels=pixels, ppd=60).grid()
    x_px = 60 * x.numpy().ravel()
    np.testing.assert_allclose(x_px, np.arange(pixels) - (pixels - 1) / 2, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        60 * y.numpy().ravel(), -x_px, rtol=0, atol=1e-12
    )  # y points upwards


def test_endpoints_are_the_published_linspace() -> None:
    x, y = Field(224, 224, 60.0, coordinates="endpoints").grid()
    expected = np.linspace(-112, 112, 224) / 60
    np.testing.assert_allclose(x.numpy().ravel(), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(y.numpy().ravel(), -expected, rtol=0, atol=1e-13)
    step = np.diff(x.numpy().ravel()) * 60
    np.testing.assert_allclose(step, 224 / 223, rtol=1e-10)  # frequencies come out 0.45 % high
    assert step.mean() - 1 == pytest.approx(0.0045, abs=5e-5)


def test_a_field_of_one_pixel_with_endpoints_is_finite() -> None:
    x, y = Field(1, 1, 60.0, coordinates="endpoints").grid()
    assert math.isfinite(x.item())
    assert math.isfinite(y.item())


def test_grid_of_an_oblong_field_is_float64_and_broadcasts() -> None:
    x, y = Field(width_px=6, height_px=4, ppd=10.0).grid()
    assert x.shape == (1, 6)
    assert y.shape == (4, 1)
    assert x.dtype == y.dtype == torch.float64


def test_resizing_keeps_ppd_and_coordinates() -> None:
    field = Field(224, 224, 60.0, coordinates="endpoints").resized((100, 300))
    assert field == Field(width_px=300, height_px=100, ppd=60.0, coordinates="endpoints")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"ppd": 60},
        {"pixels": 224},
        {"degrees": 4.0},
        {"pixels": 224, "degrees": 4.0, "ppd": 56},
    ],
)
def test_other_than_two_of_three(given: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="exactly two of pixels, degrees and ppd"):
        Field.of(**given)


def test_pixels_that_are_not_square() -> None:
    with pytest.raises(ValueError, match=r"\(100, 200\).*give two ppd"):
        Field.of(pixels=(100, 200), degrees=(2.0, 2.0))


@pytest.mark.parametrize(
    ("width", "height", "ppd"), [(0, 4, 60.0), (4, -1, 60.0), (4, 4, 0.0), (4, 4, float("nan"))]
)
def test_impossible_fields_name_their_values(width: int, height: int, ppd: float) -> None:
    with pytest.raises(ValueError, match=f"width_px={width}, height_px={height}, ppd={ppd}"):
        Field(width, height, ppd)


def test_a_field_too_small_for_its_ppd() -> None:
    with pytest.raises(ValueError, match="a positive ppd and fps"):
        Field.of(degrees=0.001, ppd=60)
