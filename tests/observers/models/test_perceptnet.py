"""PerceptNet, Bio-UNet and the parametric PerceptNet: kernels measured back, layers, weights."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from fechner.errors import ObserverError
from fechner.observers import abilities, resolve
from fechner.observers.models.parametric import (
    Normalised,
    ParametricParameters,
    ParametricPerceptNet,
    bars,
    blob,
    centre_surround,
    gabor,
    grid,
)
from fechner.observers.models.perceptnet import (
    GDN,
    BioUNet,
    OpponentNetwork,
    PerceptNet,
    make,
    make_bio_unet,
)
from fechner.stimuli import Field, Frames, display

# PerceptNet, Bio-UNet and the parametric PerceptNet: formulas, weights, seeds and gradients


NAMES = ("perceptnet", "bio-unet", "parametric-perceptnet")


def pictures(n: int = 2, side: int = 64, seed: int = 0) -> Frames:
    pixels = torch.rand(n, 3, side, side, generator=torch.Generator().manual_seed(seed))
    return Frames(pixels, Field.of(pixels=side, ppd=64), display("decalogue"), "display")


def looked(observer: Any, frames: Frames) -> dict[str, Tensor]:
    seen: dict[str, Tensor] = {}

    def tap(layer: str) -> Callable[[Tensor], None]:
        return lambda activation: seen.update({layer: activation})

    observer.features(frames, {layer: tap(layer) for layer in observer.layers})
    return seen


# Divisive normalisation


def test_gdn_by_hand() -> None:
    gdn = GDN(2)
    with torch.no_grad():
        gdn.gamma.copy_(torch.tensor([[0.5, 0.25], [0.0, 2.0]])[:, :, None, None])
        gdn.beta.copy_(torch.tensor([1.0, 3.0]))
        out = gdn(torch.tensor([2.0, -4.0])[None, :, None, None]).flatten()
    assert out.tolist() == pytest.approx([2 / np.sqrt(1 + 2 + 4), -4 / np.sqrt(3 + 32)], rel=1e-5)


def test_an_independent_gdn_keeps_channels_apart() -> None:
    gdn = GDN(3, independent=True)
    x = torch.tensor([1.0, 2.0, 3.0])[None, :, None, None]
    more = x.clone()
    more[0, 2] = 100.0
    assert torch.equal(gdn(x)[0, :2], gdn(more)[0, :2])


def test_gdn_never_divides_by_nothing() -> None:
    gdn = GDN(1)
    with torch.no_grad():
        gdn.gamma.fill_(-1.0)
        gdn.beta.fill_(-1.0)
        assert bool(gdn(torch.randn(4, 1, 3, 3)).isfinite().all())


def test_a_fixed_pool_by_hand() -> None:
    pool = Normalised(np.full((2, 1, 1, 1), 0.5), beta=0.1, between=np.array([[1, 0], [1, 1]]))
    out = pool(torch.tensor([1.0, 2.0])[None, :, None, None]).flatten()
    assert out.tolist() == pytest.approx([1 / np.sqrt(0.6), 2 / np.sqrt(0.1 + 0.5 + 2.0)])


# All three


@pytest.mark.parametrize("name", NAMES)
def test_they_are_encoders_with_opponent_channels(name: str) -> None:
    observer = resolve(name)
    assert isinstance(observer, OpponentNetwork)
    assert observer.name == name
    assert "encodes" in abilities(observer)
    assert observer.layers[-1] == "output"
    assert set(observer.opponent_layers) < set(observer.layers)
    seen = looked(observer, pictures())
    for layer, channels in observer.opponent_layers.items():
        assert channels == 3
        assert next(i.shape[0] for i in observer.every_layer() if i.name == layer) == 3
        assert seen[layer].shape[1] % 3 == 0


@pytest.mark.parametrize("name", NAMES)
def test_pictures_do_not_depend_on_their_neighbours(name: str) -> None:
    observer, frames = resolve(name), pictures(3)
    together = looked(observer, frames)["output"]
    alone = looked(observer, replace(frames, pixels=frames.pixels[1:2]))["output"]
    assert torch.allclose(together[1:2], alone, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_reach_the_pixels(name: str) -> None:
    frames = pictures(1)
    pixels = frames.pixels.clone().requires_grad_()
    out = looked(resolve(name), replace(frames, pixels=pixels))["output"]
    (gradient,) = torch.autograd.grad(out.square().sum(), pixels)
    assert bool(gradient.isfinite().all())
    assert float(gradient.abs().max()) > 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("side", [61, 66])
def test_any_size(name: str, side: int) -> None:
    out = looked(resolve(name), pictures(1, side))["output"]
    assert bool(out.isfinite().all())


# Trained and untrained


def test_shapes_of_perceptnet() -> None:
    info = {layer.name: layer.shape for layer in make().every_layer()}
    assert info["conv1"] == (3, 226, 226)  # all convolutions have a margin of 1
    assert info["conv2"] == (6, 111, 111)
    assert info["gdn4"] == (128, 53, 53)
    assert sum(p.numel() for p in PerceptNet().parameters()) == 36368


def test_a_class_for_every_pixel() -> None:
    assert BioUNet(7)(pictures(2, 51).pixels).shape == (2, 7, 51, 51)


def test_untrained_controls_follow_from_their_seed() -> None:
    state = torch.get_rng_state()
    first, same, other = make(), make(seed=0), make(seed=1)
    assert torch.equal(torch.get_rng_state(), state)
    assert first.fingerprint == same.fingerprint != other.fingerprint
    frames = pictures(1)
    assert torch.equal(looked(first, frames)["output"], looked(same, frames)["output"])
    assert not torch.equal(looked(first, frames)["output"], looked(other, frames)["output"])


@pytest.mark.parametrize("ending", [".pt", ".safetensors"])
@pytest.mark.parametrize(("name", "build"), [("perceptnet", PerceptNet), ("bio-unet", BioUNet)])
def test_weights_from_a_file(
    ending: str, name: str, build: Callable[[], torch.nn.Module], tmp_path: Path
) -> None:
    torch.manual_seed(9)
    trained = build()
    for value in trained.parameters():
        torch.nn.init.uniform_(value, 0.01, 0.2)
    path = tmp_path / f"weights{ending}"
    save = save_file if ending == ".safetensors" else torch.save
    save(trained.state_dict(), path)  # type: ignore[operator]
    observer, frames = resolve(f"{name}@weights={path}"), pictures(1)
    with torch.no_grad():
        expected = trained(frames.pixels)
    assert torch.allclose(looked(observer, frames)["output"], expected, atol=1e-6)
    assert observer.fingerprint != resolve(name).fingerprint
    # Where the file lies does not matter.
    moved = path.rename(tmp_path / f"other{ending}")
    assert resolve(f"{name}@weights={moved}").fingerprint == observer.fingerprint


def test_weights_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    torch.save(PerceptNet().state_dict(), path)
    with pytest.raises(ObserverError, match="do not fit BioUNet"):
        resolve(f"bio-unet@weights={path}")
    with pytest.raises(ObserverError, match="there is no weights file"):
        make_bio_unet(weights=str(tmp_path / "none.pt"))


# Parametric


def test_opponent_colours_of_white() -> None:
    module = ParametricPerceptNet()
    white = module.opponent(torch.ones(1, 3, 2, 2))[0, :, 0, 0]
    # A is the luminance of the display's white, 171.2 cd/m2, over 163.5; T and D are small.
    expected = np.array([171.1976, -2.9361, -5.97124]) / 163.5217
    assert white.numpy() == pytest.approx(expected, rel=1e-4)


def test_the_last_channels() -> None:
    tuned = bars(ParametricParameters())
    assert [sum(bar.opponent == k for bar in tuned) for k in range(3)] == [64, 32, 32]
    assert len(set(tuned)) == 128


def test_the_parametric_network_prefers_what_its_channels_say() -> None:
    side, ppd = 128, 128.0
    x = torch.arange(side) / ppd
    grating = 0.5 + 0.05 * torch.cos(2 * np.pi * 8 * x)
    pixels = grating.expand(1, 3, side, side)
    with torch.no_grad():
        module = ParametricPerceptNet()
        out = module(pixels)[0, :, 8:24, 8:24].square().mean(dim=(1, 2))
    best = bars(ParametricParameters())[int(out.argmax())]
    assert (best.opponent, best.frequency_cpd, best.orientation_deg) == (0, 8.0, 0.0)


def test_edges_are_mirrored() -> None:
    module = ParametricPerceptNet()
    uniform = torch.full((1, 3, 32, 32), 0.3)
    with torch.no_grad():
        out = module.centre_surround(uniform)
    assert float(out.abs().max()) < 1e-6  # nothing stands out, not even at the edge


@pytest.mark.parametrize("name", NAMES)
def test_they_are_made_for_128_pixels_per_degree_unless_told_otherwise(name: str) -> None:
    own, other = resolve(name), resolve(f"{name}@ppd=64")
    assert (own.wants.ppd, other.wants.ppd) == (128.0, 64.0)
    assert own.fingerprint != other.fingerprint


def test_the_last_pool_is_across_frequency_and_orientation() -> None:
    """Jorgvt/paramperceptnet: a standard deviation of 0.4 of the frequency that is divided."""
    tuned = bars(ParametricParameters())
    between = ParametricPerceptNet().gabors_normalised.between
    assert between is not None
    at = {tuple(bar): k for k, bar in enumerate(tuned)}
    four, eight = at[0, 4.0, 0.0, 0.0], at[0, 8.0, 0.0, 0.0]
    assert float(between[four, four]) == 1
    assert float(between[eight, four]) == pytest.approx(np.exp(-((4 / 3.2) ** 2) / 2))
    assert float(between[four, eight]) == pytest.approx(np.exp(-((4 / 1.6) ** 2) / 2))
    turned = at[0, 4.0, 157.5, 0.0]
    assert float(between[four, turned]) == pytest.approx(np.exp(-((22.5 / 20) ** 2) / 2))
    assert float(between[four, at[0, 4.0, 0.0, 90.0]]) == 0
    assert float(between[at[1, 3.0, 0.0, 0.0], at[2, 3.0, 0.0, 0.0]]) == 0


# Kernels of the parametric PerceptNet, measured back


def spectrum(kernel: np.ndarray, ppd: float, side: int = 256) -> tuple[float, float]:
    """Return frequency and orientation at which the amplitude spectrum peaks."""
    power = np.abs(np.fft.fft2(kernel, (side, side)))
    axis = np.fft.fftfreq(side, 1 / ppd)
    row, column = np.unravel_index(power.argmax(), power.shape)
    return float(np.hypot(axis[row], axis[column])), float(
        np.degrees(np.arctan2(-axis[row], axis[column])) % 180
    )


@pytest.mark.parametrize("frequency", [4.0, 8.0])
@pytest.mark.parametrize("orientation", [0.0, 22.5, 90.0, 135.0])
@pytest.mark.parametrize("phase", [0.0, 90.0])
def test_a_gabor_is_tuned_to_what_it_says(
    frequency: float, orientation: float, phase: float
) -> None:
    across = frequency**0.9
    kernel = gabor(31, 32.0, frequency, orientation, phase, (across, 0.8 * across))
    found = spectrum(kernel, 32.0)
    assert found[0] == pytest.approx(frequency, rel=0.05)
    assert abs((found[1] - orientation + 90) % 180 - 90) < 3


def test_cosine_and_sine_are_even_and_odd() -> None:
    even, odd = (gabor(31, 32.0, 4.0, 30.0, phase, (3.5, 2.8)) for phase in (0.0, 90.0))
    assert even == pytest.approx(even[::-1, ::-1])
    assert odd == pytest.approx(-odd[::-1, ::-1])
    assert float(np.sum(even * odd)) == pytest.approx(0, abs=1e-12)


def test_a_wider_surround_lets_more_of_low_frequencies_through() -> None:
    def share_at(cycles: int, ratio: float) -> float:
        power = np.abs(np.fft.fft2(centre_surround(21, 21.0, 0.15, ratio), (84, 84)))[0]
        return float(power[cycles] / power.max())

    assert share_at(0, 1.1) == pytest.approx(0, abs=1e-9)
    assert share_at(2, 5.0) > 1.3 * share_at(2, 1.1)


def test_a_blob_is_as_wide_as_it_says() -> None:
    kernel = blob(41, 32.0, 0.1)
    x, _ = grid(41, 32.0)
    assert float((kernel.sum(axis=0) * x[0] ** 2).sum()) == pytest.approx(0.01, rel=1e-3)
    assert kernel == pytest.approx(kernel.T)
