"""Colour differences: the test data of Sharma et al., colour-science, and gradients at kinks."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
import torch

from fechner.stimuli.colour_difference import (
    BT709_TO_BT2020,
    delta_e_1976,
    delta_e_2000,
    delta_itp,
    hyab,
    ictcp,
    lab,
    recolour,
)

with np.printoptions():  # it changes how NumPy prints, for everybody
    import colour

#: Sharma, Wu & Dalal (2005), Table 1: two colours in CIELAB and their CIEDE2000.
SHARMA = np.array(
    [
        [50.0000, 2.6772, -79.7751, 50.0000, 0.0000, -82.7485, 2.0425],
        [50.0000, 3.1571, -77.2803, 50.0000, 0.0000, -82.7485, 2.8615],
        [50.0000, 2.8361, -74.0200, 50.0000, 0.0000, -82.7485, 3.4412],
        [50.0000, -1.3802, -84.2814, 50.0000, 0.0000, -82.7485, 1.0000],
        [50.0000, -1.1848, -84.8006, 50.0000, 0.0000, -82.7485, 1.0000],
        [50.0000, -0.9009, -85.5211, 50.0000, 0.0000, -82.7485, 1.0000],
        [50.0000, 0.0000, 0.0000, 50.0000, -1.0000, 2.0000, 2.3669],
        [50.0000, -1.0000, 2.0000, 50.0000, 0.0000, 0.0000, 2.3669],
        [50.0000, 2.4900, -0.0010, 50.0000, -2.4900, 0.0009, 7.1792],
        [50.0000, 2.4900, -0.0010, 50.0000, -2.4900, 0.0010, 7.1792],
        [50.0000, 2.4900, -0.0010, 50.0000, -2.4900, 0.0011, 7.2195],
        [50.0000, 2.4900, -0.0010, 50.0000, -2.4900, 0.0012, 7.2195],
        [50.0000, -0.0010, 2.4900, 50.0000, 0.0009, -2.4900, 4.8045],
        [50.0000, -0.0010, 2.4900, 50.0000, 0.0010, -2.4900, 4.8045],
        [50.0000, -0.0010, 2.4900, 50.0000, 0.0011, -2.4900, 4.7461],
        [50.0000, 2.5000, 0.0000, 50.0000, 0.0000, -2.5000, 4.3065],
        [50.0000, 2.5000, 0.0000, 73.0000, 25.0000, -18.0000, 27.1492],
        [50.0000, 2.5000, 0.0000, 61.0000, -5.0000, 29.0000, 22.8977],
        [50.0000, 2.5000, 0.0000, 56.0000, -27.0000, -3.0000, 31.9030],
        [50.0000, 2.5000, 0.0000, 58.0000, 24.0000, 15.0000, 19.4535],
        [50.0000, 2.5000, 0.0000, 50.0000, 3.1736, 0.5854, 1.0000],
        [50.0000, 2.5000, 0.0000, 50.0000, 3.2972, 0.0000, 1.0000],
        [50.0000, 2.5000, 0.0000, 50.0000, 1.8634, 0.5757, 1.0000],
        [50.0000, 2.5000, 0.0000, 50.0000, 3.2592, 0.3350, 1.0000],
        [60.2574, -34.0099, 36.2677, 60.4626, -34.1751, 39.4387, 1.2644],
        [63.0109, -31.0961, -5.8663, 62.8187, -29.7946, -4.0864, 1.2630],
        [61.2901, 3.7196, -5.3901, 61.4292, 2.2480, -4.9620, 1.8731],
        [35.0831, -44.1164, 3.7933, 35.0232, -40.0716, 1.5901, 1.8645],
        [22.7233, 20.0904, -46.6940, 23.0331, 14.9730, -42.5619, 2.0373],
        [36.4612, 47.8580, 18.3852, 36.2715, 50.5065, 21.2231, 1.4146],
        [90.8027, -2.0831, 1.4410, 91.1528, -1.6435, 0.0447, 1.4441],
        [90.9257, -0.5406, -0.9208, 88.6381, -0.8985, -0.7239, 1.5381],
        [6.7747, -0.2908, -2.4247, 5.8714, -0.0985, -2.2286, 0.6377],
        [2.0776, 0.0795, -1.1350, 0.9033, -0.0636, -0.5514, 0.9082],
    ]
)

Difference: TypeAlias = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

DIFFERENCES: list[Difference] = [delta_e_1976, delta_e_2000, hyab, delta_itp]


def as_pictures(colours: np.ndarray) -> torch.Tensor:
    """Colours [n, 3] as one picture of one row."""
    return torch.from_numpy(np.ascontiguousarray(colours.T))[None, :, None, :]


def random_pairs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    one = rng.uniform([0, -100, -100], [100, 100, 100], (3000, 3))
    other = rng.uniform([0, -100, -100], [100, 100, 100], (3000, 3))
    other[:1000] = one[:1000] + 1e-3 * rng.standard_normal((1000, 3))
    one[1000:1100, 1:] = 0
    other[1050:1150, 1:] = 0
    return one, other


def test_the_34_pairs_of_sharma() -> None:
    one, other = as_pictures(SHARMA[:, :3]), as_pictures(SHARMA[:, 3:6])
    np.testing.assert_allclose(delta_e_2000(one, other)[0, 0], SHARMA[:, 6], atol=5e-5)
    np.testing.assert_allclose(delta_e_2000(other, one)[0, 0], SHARMA[:, 6], atol=5e-5)


def test_differences_as_in_colour_science() -> None:
    one, other = random_pairs()
    for ours, theirs in [
        (delta_e_1976, colour.difference.delta_E_CIE1976),
        (delta_e_2000, colour.difference.delta_E_CIE2000),
        (hyab, colour.difference.delta_E_HyAB),
        (delta_itp, colour.difference.delta_E_ITP),
    ]:
        found = ours(as_pictures(one), as_pictures(other))[0, 0]
        np.testing.assert_allclose(found, theirs(one, other), rtol=1e-9)


def test_a_tiny_difference_keeps_its_digits() -> None:
    # CIEDE2000 is a quadratic form of small differences: a hundredth of one is a hundredth of it.
    base = torch.tensor([40.0, 30.0, -20.0], dtype=torch.float64).reshape(1, 3, 1, 1)
    step = torch.tensor([1e-5, 2e-5, -1e-5], dtype=torch.float64).reshape(1, 3, 1, 1)
    large, small = (delta_e_2000(base + scale * step, base).item() for scale in (1, 1e-2))
    assert small == pytest.approx(large / 100, rel=1e-5)


def test_ictcp_as_in_colour_science() -> None:
    rgb = np.random.default_rng(0).uniform(0, 300, (500, 3))
    matrix = colour.matrix_RGB_to_RGB(
        "ITU-R BT.709", "ITU-R BT.2020", chromatic_adaptation_transform=None
    )
    np.testing.assert_allclose(BT709_TO_BT2020, matrix, atol=1e-11)
    found = ictcp(as_pictures(rgb))[0, :, 0].T
    np.testing.assert_allclose(found, colour.RGB_to_ICtCp(rgb @ matrix.T), atol=1e-10)


def test_tritan_differences_count_half_unless_told() -> None:
    one = torch.zeros(1, 3, 1, 1)
    other = torch.tensor([0.0, 0.01, 0.0]).reshape(1, 3, 1, 1)
    assert delta_itp(one, other).item() == pytest.approx(3.6)
    assert delta_itp(one, other, tritan=0.5**0.5).item() == pytest.approx(3.6 * 2**0.5)


def test_colours_lie_along_dimension_one() -> None:
    xyz = torch.rand(2, 3, 4, 5, dtype=torch.float64)
    theirs = colour.XYZ_to_Lab(
        xyz.movedim(1, -1).numpy(), colour.XYZ_to_xy(np.array([0.95047, 1.0, 1.08883]))
    )
    np.testing.assert_allclose(lab(xyz).movedim(1, -1), theirs, atol=1e-9)
    swapped = recolour(((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), xyz)
    assert torch.equal(swapped, xyz[:, [1, 0, 2]])


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_one_reference_serves_all(difference: Difference) -> None:
    test, reference = torch.rand(3, 3, 4, 5), torch.rand(1, 3, 4, 5)
    found = difference(test, reference)
    assert found.shape == (3, 4, 5)
    assert torch.equal(found, difference(test, reference.expand(3, 3, 4, 5)))


@pytest.mark.parametrize("difference", DIFFERENCES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((50, 0, 0), (50, 0, 0)),
        ((0, 0, 0), (0, 0, 0)),
        ((50, 0, 0), (60, 0, 0)),
        ((50, 0, 0), (50, 10, -5)),
        ((50, 10, -5), (50, 10, -5)),
        ((50, 10, 0), (50, -10, 0)),
        ((50, 1e-6, 1e-6), (50, 1e-6, -1e-6)),
        ((50, 1e-14, 0), (50.1, 0, 1e-14)),
    ],
)
def test_gradients_are_finite_at_all_kinks(
    difference: Difference, dtype: torch.dtype, one: tuple[float, ...], other: tuple[float, ...]
) -> None:
    x, y = (
        torch.tensor(each, dtype=dtype).reshape(1, 3, 1, 1).requires_grad_()
        for each in (one, other)
    )
    difference(x, y).sum().backward()
    for leaf in (x, y):
        assert leaf.grad is not None
        assert leaf.grad.abs().max() < 1000


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_gradients_are_right(difference: Difference) -> None:
    one, other = random_pairs()
    x = as_pictures(one[2000:2010]).requires_grad_()
    assert torch.autograd.gradcheck(difference, (x, as_pictures(other[2000:2010])), atol=1e-4)
