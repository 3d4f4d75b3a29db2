"""S-CIELAB: filters against scipy, what they leave of gratings, and CIELAB on uniform fields."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.ndimage import correlate1d

from fechner.observers.metrics.colour import (
    CODED_GAUSSIANS,
    GAUSSIANS,
    XYZ_TO_OPPONENT,
    Version,
    line_spread,
    seen_lab,
)
from fechner.stimuli.colour import D65_XYZ, inverse
from fechner.stimuli.colour_difference import delta_e_1976, delta_e_2000, lab, recolour

GREY = torch.tensor(D65_XYZ, dtype=torch.float64).mul(0.2).reshape(1, 3, 1, 1)


def scielab(test: torch.Tensor, reference: torch.Tensor, ppd: float, **how: Any) -> torch.Tensor:
    """Return the map of S-CIELAB differences of two XYZ pictures."""
    return delta_e_1976(*(seen_lab(each, ppd, **how) for each in (test, reference)))


def grating(
    ppd: float, frequency_cpd: float, contrast: float, channel: int, size: tuple[int, int]
) -> torch.Tensor:
    """A grating of one opponent channel around grey, in XYZ."""
    x_deg = (torch.arange(size[1], dtype=torch.float64) + 0.5) / ppd
    wave = (2 * math.pi * frequency_cpd * x_deg).cos().expand(1, 1, *size)
    direction = torch.zeros(1, 3, 1, 1, dtype=torch.float64)
    direction[:, channel] = contrast
    return GREY + recolour(inverse(XYZ_TO_OPPONENT), direction * wave)


@pytest.mark.parametrize("ppd", [20.0, 33.3, 60.0, 250.0])
@pytest.mark.parametrize(("version", "table"), [("paper", GAUSSIANS), ("code", CODED_GAUSSIANS)])
def test_filters_as_in_scipy(
    version: Version, table: tuple[tuple[tuple[float, float], ...], ...], ppd: float
) -> None:
    xyz = torch.from_numpy(np.random.default_rng(0).uniform(0.1, 0.9, (2, 3, 37, 52)))
    opponent = recolour(XYZ_TO_OPPONENT, xyz).numpy()
    blurred = np.zeros_like(opponent)
    for channel, gaussians in enumerate(table):
        total = sum(weight for weight, _ in gaussians)
        for weight, width in gaussians:
            part, kernel = opponent[:, channel], line_spread(width, ppd, version)
            for axis in (1, 2):
                part = correlate1d(part, kernel, axis=axis, mode="reflect")
            blurred[:, channel] += weight / total * part
    expected = lab(recolour(inverse(XYZ_TO_OPPONENT), torch.from_numpy(blurred)))
    np.testing.assert_allclose(seen_lab(xyz, ppd, version=version), expected, atol=1e-10)


@pytest.mark.parametrize("ppd", [17.3, 60.0, 224.0, 301.0])
@pytest.mark.parametrize("spread_deg", [0.0283, 0.386, 4.336])
def test_a_line_spread_is_symmetric_sums_to_one_and_ends_at_half_a_degree(
    spread_deg: float, ppd: float
) -> None:
    kernel = line_spread(spread_deg, ppd)
    np.testing.assert_allclose(kernel, kernel[::-1], atol=1e-16)
    assert kernel.sum() == pytest.approx(1, abs=1e-14)
    assert kernel.min() >= 0
    assert len(kernel) // 2 <= ppd / 2 + 1
    assert len(kernel) // 2 >= ppd / 2 - 1


def test_a_narrow_gaussian_has_its_printed_width() -> None:
    # exp(-x^2 / s^2) has variance s^2 / 2; linear interpolation adds a sixth of a squared pixel,
    # less what its own grid of four samples per pixel leaves out.
    ppd, spread = 60.0, 0.0536
    kernel = line_spread(spread, ppd)
    x = np.arange(len(kernel)) - len(kernel) // 2
    steps = math.ceil(224 / ppd)
    expected = (spread * ppd) ** 2 / 2 + (1 - 1 / steps**2) / 6
    assert (kernel * x**2).sum() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("ppd", [50.0, 60.0, 66.0, 224.0])
@pytest.mark.parametrize("width_deg", [0.05, 0.6451, 7.0])
def test_the_code_to_the_letter(width_deg: float, ppd: float) -> None:
    # A Gaussian on a fine grid, convolved with the triangle of linear interpolation, and every
    # steps-th sample of it.
    steps = math.ceil(224 / ppd)
    size = math.ceil(steps * ppd / 2) * 2 - 1
    narrowness = 2 * math.sqrt(math.log(2)) / (width_deg * steps * ppd - 1)
    fine = np.exp(-((narrowness * (np.arange(size) - size // 2)) ** 2))
    triangle = 1 - np.abs(np.arange(1 - steps, steps)) / steps
    interpolated = np.convolve(fine / fine.sum(), triangle, mode="same")
    expected = interpolated[size // 2 % steps :: steps]
    np.testing.assert_allclose(line_spread(width_deg, ppd, "code"), expected, atol=1e-15)


def test_both_versions_are_nearly_the_same() -> None:
    test = grating(60.0, 8.0, 0.01, 0, (60, 120))
    grey = GREY.expand_as(test)
    paper, code = (scielab(test, grey, 60.0, version=v).mean() for v in ("paper", "code"))
    assert paper.item() == pytest.approx(code.item(), rel=0.05)
    assert paper.item() != pytest.approx(code.item(), rel=0.01)
    drift = (seen_lab(grey, 60.0, version="code") - lab(grey)).abs().max()
    assert 0.01 < drift < 0.2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_uniform_field_is_seen_as_it_is(dtype: torch.dtype) -> None:
    colours = torch.tensor([[0.3, 0.2, 0.5], [0.01, 0.02, 0.005]], dtype=dtype)
    field = colours.reshape(2, 3, 1, 1).expand(2, 3, 23, 31)
    tolerance = 1e-4 if dtype == torch.float32 else 1e-10
    np.testing.assert_allclose(seen_lab(field, 60.0), lab(field), atol=tolerance)
    found = scielab(field[:1], field[1:], 60.0)
    np.testing.assert_allclose(found, delta_e_1976(lab(field[:1]), lab(field[1:])), rtol=1e-5)


def test_fine_gratings_are_blurred_away_and_colour_before_luminance() -> None:
    def mean(channel: int, frequency: float) -> float:
        test = grating(60.0, frequency, 0.01, channel, (64, 120))
        return scielab(test, GREY.expand_as(test), 60.0).mean().item()

    for channel in range(3):
        coarse, fine = mean(channel, 1.0), mean(channel, 15.0)
        assert fine < 0.35 * coarse
    kept = [mean(channel, 7.5) / mean(channel, 1.0) for channel in range(3)]
    assert kept[0] > 1.2 * kept[1] > 1.2 * kept[2]


def test_the_answer_hardly_depends_on_pixels() -> None:
    found = [
        scielab(
            grating(ppd, 4.0, 0.01, 0, (int(ppd), int(2 * ppd))),
            GREY.expand(1, 3, int(ppd), int(2 * ppd)),
            ppd,
        )
        .mean()
        .item()
        for ppd in (60.0, 120.0)
    ]
    assert found[0] == pytest.approx(found[1], rel=0.05)


def test_another_formula_on_what_was_seen() -> None:
    test = grating(60.0, 4.0, 0.01, 1, (40, 60))
    one, other = seen_lab(test, 60.0), seen_lab(GREY.expand_as(test), 60.0)
    found = delta_e_2000(one, other)
    assert found.shape == (1, 40, 60)
    assert 0.2 < (found / delta_e_1976(one, other)).mean() < 2


def test_one_reference_serves_all_and_identical_pictures_do_not_differ() -> None:
    tests = torch.cat([grating(60.0, f, 0.01, 0, (30, 40)) for f in (2.0, 4.0)])
    found = scielab(tests, tests[:1], 60.0)
    assert found[0].abs().max() == 0
    np.testing.assert_allclose(found[1:], scielab(tests[1:], tests[:1], 60.0), rtol=1e-9)


def test_gradients_are_finite_for_identical_pictures_and_right() -> None:
    x = GREY.repeat(1, 1, 12, 14).requires_grad_()
    scielab(x, x.detach(), 30.0).sum().backward()
    assert x.grad is not None
    assert x.grad.abs().max() == 0
    test = grating(30.0, 4.0, 0.02, 1, (4, 5)).requires_grad_()
    reference = GREY.expand(1, 3, 4, 5)
    assert torch.autograd.gradcheck(lambda y: scielab(y, reference, 30.0).mean(), test)
