"""Transfer functions against colour-science, their inverses, their digits and their gradients."""

import numpy as np
import pytest
import torch

from fechner.stimuli import display
from fechner.stimuli.colour import (
    hlg_encode,
    hlg_gamma,
    hlg_scene,
    hlg_show,
    pq_decode,
    pq_encode,
)

with np.printoptions():  # it changes how NumPy prints, for everybody
    from colour.models import (
        eotf_BT2100_HLG,
        eotf_inverse_BT2100_HLG,
        eotf_inverse_ST2084,
        eotf_ST2084,
    )
    from colour.models.rgb.transfer_functions.itur_bt_2100 import gamma_function_BT2100_HLG

LIGHT = np.concatenate([[0.0], np.geomspace(1e-5, 1e4, 400)])
CODES = np.linspace(0, 1, 401)
RGB = np.random.default_rng(0).uniform(0, 1, (300, 3))


def test_pq_as_in_colour_science() -> None:
    encoded, theirs = pq_encode(torch.from_numpy(LIGHT)), eotf_inverse_ST2084(LIGHT)
    np.testing.assert_allclose(encoded[1:], theirs[1:], rtol=0, atol=1e-13)
    assert encoded[0].item() == pytest.approx(theirs[0], abs=1e-9)  # 7e-7 for no light at all
    decoded = pq_decode(torch.from_numpy(CODES))
    np.testing.assert_allclose(decoded, eotf_ST2084(CODES), rtol=1e-10, atol=1e-12)


def test_pq_in_single_precision_keeps_its_digits() -> None:
    light = torch.from_numpy(LIGHT)
    error = pq_encode(light.float()).double() - pq_encode(light)
    assert error.abs().max() < 2.5e-7
    codes = torch.from_numpy(CODES[20:])
    np.testing.assert_allclose(pq_decode(codes.float()), pq_decode(codes), rtol=1e-5)


@pytest.mark.parametrize("peak", [400.0, 1000.0, 1800.0, 2000.0])
def test_system_gamma_as_in_colour_science(peak: float) -> None:
    assert hlg_gamma(peak) == pytest.approx(gamma_function_BT2100_HLG(peak), rel=1e-12)


@pytest.mark.parametrize(("peak", "gamma"), [(100.0, 0.846), (4000.0, 1.481)])
def test_system_gamma_beyond_the_usual_range(peak: float, gamma: float) -> None:
    assert hlg_gamma(peak) == pytest.approx(gamma, abs=5e-4)


@pytest.mark.parametrize("peak", [600.0, 1000.0])
def test_hlg_as_in_colour_science(peak: float) -> None:
    """In colour: the system gamma works on luminance, not on each channel."""
    weights = torch.tensor([0.2627, 0.6780, 0.0593], dtype=torch.float64)
    gamma = hlg_gamma(peak)
    scene = hlg_scene(torch.from_numpy(RGB))
    light = hlg_show(scene, (scene @ weights)[:, None], gamma)
    np.testing.assert_allclose(peak * light, eotf_BT2100_HLG(RGB, L_W=peak), rtol=1e-9)
    back = hlg_encode(light, (light @ weights)[:, None], gamma)
    np.testing.assert_allclose(back, RGB, rtol=0, atol=1e-9)
    with np.errstate(invalid="ignore"):
        theirs = eotf_inverse_BT2100_HLG(peak * light.numpy(), L_W=peak)
    np.testing.assert_allclose(back, theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["hdr-pq-1000", "hdr-hlg-1000"])
@pytest.mark.parametrize("shape", [(5,), (1, 4, 4), (2, 3, 4, 4)])
def test_gradients_are_finite_at_black_and_right_elsewhere(
    name: str, shape: tuple[int, ...]
) -> None:
    screen = display(name)
    light = torch.rand(shape, dtype=torch.float64) * 900 + 1
    light.requires_grad_()
    assert torch.autograd.gradcheck(screen.encode, light, eps=1e-4, atol=1e-8)
    encoded = screen.encode(light).detach().requires_grad_()
    assert torch.autograd.gradcheck(screen.decode, encoded, eps=1e-6, atol=1e-2, rtol=1e-4)
    for function in (screen.encode, screen.decode):
        black = torch.zeros(shape, requires_grad=True)
        function(black).sum().backward()
        assert black.grad is not None
        assert black.grad.isfinite().all()
