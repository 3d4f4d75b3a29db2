"""NLPD: numbers of another implementation on gratings, and the pyramid itself."""

import numpy as np
import pytest
import torch

from fechner.errors import ObserverError
from fechner.observers.metrics.nlpd import NORMALISATION, nlpd, normalised_pyramid


def grating(size: tuple[int, int], contrast: float, x: float, y: float) -> torch.Tensor:
    rows = torch.arange(size[0], dtype=torch.float64)[:, None]
    columns = torch.arange(size[1], dtype=torch.float64)
    return (0.5 + contrast * (x * columns + y * rows).sin())[None]


def distance(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    return nlpd(normalised_pyramid(test), normalised_pyramid(reference))


@pytest.mark.parametrize(
    ("size", "test", "reference", "expected"),
    [
        ((96, 96), (0.1, 0.7, 0.2), (0.0, 0.0, 0.0), 0.52510795),
        ((101, 75), (0.3, 0.2, 0.5), (0.2, 0.2, 0.5), 0.15108837),
        ((64, 130), (0.01, 1.5, 0.0), (0.0, 0.0, 0.0), 0.06287301),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_as_pyiqa_0_1_16_has_it(
    size: tuple[int, int],
    test: tuple[float, float, float],
    reference: tuple[float, float, float],
    expected: float,
    dtype: torch.dtype,
) -> None:
    found = distance(grating(size, *test).to(dtype), grating(size, *reference).to(dtype))
    assert found.item() == pytest.approx(expected, rel=1e-6)


def test_levels_halve_and_only_the_last_knows_the_mean() -> None:
    picture = grating((67, 90), 0.2, 0.9, 0.3)
    dark, light = normalised_pyramid(picture), normalised_pyramid(picture + 0.2)
    shapes = [tuple(level.shape[1:]) for level in dark]
    assert shapes == [(67, 90), (34, 45), (17, 23), (9, 12), (5, 6), (3, 3)]
    for one, other in zip(dark[:-1], light[:-1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    assert (light[-1] > dark[-1]).all()


def test_the_residual_of_grey_is_divided_by_itself() -> None:
    last = NORMALISATION[-1]
    level = normalised_pyramid(torch.full((1, 96, 96), 0.4, dtype=torch.float64))[-1]
    centre = 0.4 / (last.constant + 0.4 * (last.left + last.right))
    assert level[0, 1, 1].item() == pytest.approx(centre)
    # Beyond the left edge there is nothing to divide by.
    assert level[0, 1, 0].item() == pytest.approx(0.4 / (last.constant + 0.4 * last.right))


def test_weak_gratings_differ_in_proportion() -> None:
    grey = grating((64, 64), 0.0, 0.0, 0.0)
    weak, weaker = (distance(grating((64, 64), c, 1.0, 0.4), grey).item() for c in (1e-5, 1e-7))
    assert weaker == pytest.approx(weak / 100, rel=1e-3)


def test_one_reference_serves_all_and_rows_do_not_mix() -> None:
    tests = torch.cat([grating((40, 50), 0.1, x, 0.3) for x in (0.2, 0.5, 0.9)])
    together = distance(tests, tests[1:2])
    alone = torch.cat([distance(row[None], tests[1:2]) for row in tests])
    assert together.dtype == torch.float64
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    assert together[1] == 0


def test_gradients_are_finite_for_identical_pictures_and_right() -> None:
    x = grating((32, 33), 0.0, 0.0, 0.0).requires_grad_()
    distance(x, x.detach()).sum().backward()
    assert x.grad is not None
    assert x.grad.abs().max() == 0
    test = grating((32, 32), 0.2, 0.8, 0.5).requires_grad_()
    reference = normalised_pyramid(grating((32, 32), 0.1, 0.5, 0.8))
    assert torch.autograd.gradcheck(
        lambda y: nlpd(normalised_pyramid(y), reference), test, fast_mode=True
    )


def test_a_picture_that_is_too_small_is_named() -> None:
    with pytest.raises(ObserverError, match=r"at least 32 x 32 px, not 31 x 40"):
        normalised_pyramid(torch.zeros(1, 40, 31))
