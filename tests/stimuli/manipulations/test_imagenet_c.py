"""ImageNet-C at its published severities, and between them."""

import colorsys
import io
import math

import numpy as np
import pytest
import torch
from photographs import path_of
from PIL import Image
from scipy import stats

from fechner.stimuli import Field
from fechner.stimuli.manipulations import IMAGENET_C, MANIPULATIONS
from fechner.stimuli.manipulations.base import Manipulation, parameter
from fechner.stimuli.manipulations.blur import trails
from fechner.stimuli.manipulations.noise import poisson
from fechner.stimuli.pictures import photograph

GREY = torch.full((1, 3, 128, 128), 0.5, dtype=torch.float64)


def at(name: str, pixels: torch.Tensor, severity: float, seed: int = 1) -> torch.Tensor:
    found = MANIPULATIONS[name]
    assert isinstance(found, Manipulation)
    return found.apply(pixels, [severity] * len(pixels), [(seed, i) for i in range(len(pixels))])


@pytest.fixture(scope="module")
def pixels() -> torch.Tensor:
    picture = photograph(path_of("skimage/data/coffee.png"), "cup")
    return picture.draw(Field(64, 64, 32.0), 8, "cpu")[None]


def test_parameters_run_through_the_published_ones() -> None:
    severities = torch.tensor([0.0, 0.25, 1.0, 2.0, 3.0, 3.5, 4.0, 5.0])
    found = parameter(severities, (0.4, 0.3, 0.2, 0.1, 0.05), 1)
    wanted = [1.0, 0.85, 0.4, 0.3, 0.2, 0.15, 0.1, 0.05]
    assert found.tolist() == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("severity", "sd"), [(1, 0.08), (2, 0.12), (3, 0.18), (2.5, 0.15), (0.5, 0.04)]
)
def test_gaussian_noise(severity: float, sd: float) -> None:
    noise = at("c-gaussian-noise", GREY, severity) - 0.5
    # Few values are cut.
    assert float(noise.std()) == pytest.approx(sd, rel=0.02)
    assert abs(float((noise[0, 0] * noise[0, 1]).mean())) < 4.5 * sd**2 / 128


@pytest.mark.parametrize(("severity", "sd"), [(1, 0.15), (3, 0.35)])
def test_speckle_noise_is_in_proportion(severity: float, sd: float) -> None:
    for value in (0.2, 0.4):
        noise = at("c-speckle-noise", GREY * 2 * value, severity) - value
        assert float(noise.std()) == pytest.approx(sd * value, rel=0.02)


@pytest.mark.parametrize(("severity", "part"), [(1, 0.03), (5, 0.27)])
def test_impulse_noise(severity: float, part: float) -> None:
    changed = at("c-impulse-noise", GREY, severity) != 0.5
    assert float(changed.double().mean()) == pytest.approx(part, rel=0.06)


@pytest.mark.parametrize(("severity", "photons"), [(0.1, 600), (1, 60), (2, 25), (4, 5), (5, 3)])
def test_shot_noise(severity: float, photons: float) -> None:
    counts = at("c-shot-noise", GREY * 0.2, severity) * photons
    torch.testing.assert_close(counts, counts.round(), atol=1e-6, rtol=0)
    # Next to nothing is cut at white.
    assert float(counts.mean()) == pytest.approx(0.1 * photons, rel=0.03)
    assert float(counts.var()) == pytest.approx(0.1 * photons, rel=0.05)


@pytest.mark.parametrize("mean", [0.3, 4.0, 5.99, 6.0, 9.0, 20.0, 60.0, 600.0])
def test_poisson_numbers_are_quantiles(mean: float) -> None:
    chances = (torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000
    ours = poisson(torch.full_like(chances, mean), chances).numpy()
    theirs = stats.poisson.ppf(chances.numpy(), mean)
    assert np.abs(ours - theirs).max() <= 1
    assert (ours != theirs).mean() <= (0 if mean < 6 else 0.015)


def test_defocus_is_a_disk() -> None:
    point = torch.zeros(1, 3, 41, 41, dtype=torch.float64)
    point[..., 20, 20] = 1
    y, x = torch.meshgrid(torch.arange(-20, 21), torch.arange(-20, 21), indexing="ij")
    for severity, radius in ((1, 3), (3, 6), (5, 10)):
        found = at("c-defocus-blur", point, severity)[0, 0]
        assert float(found.sum()) == pytest.approx(1, abs=1e-6)
        # The second moment of a disk is half the square of its radius.
        moment = float((found * (x**2 + y**2)).sum())
        assert moment == pytest.approx((radius + 0.25) ** 2 / 2, rel=0.15)
        assert float(found[20, 20 + radius + 3]) < 1e-4


def test_motion_leaves_a_trail() -> None:
    trail = trails(torch.tensor([10.0]), torch.tensor([3.0]), torch.tensor([0.0]))[0]
    middle = trail.shape[0] // 2
    line = trail[middle, middle:]
    assert float(line.sum()) == pytest.approx(1)
    assert float(line[3] / line[0]) == pytest.approx(math.exp(-0.5))
    assert float(line[21]) == 0
    steep = trails(torch.tensor([10.0]), torch.tensor([3.0]), torch.tensor([math.pi / 2]))[0]
    torch.testing.assert_close(steep, trail.T)


def test_zoom_keeps_the_middle(pixels: torch.Tensor) -> None:
    odd = pixels[..., :63, :63]
    zoomed = at("c-zoom-blur", odd, 5)
    torch.testing.assert_close(zoomed[..., 31, 31], odd[..., 31, 31])


def test_glass_takes_pixels_from_nearby() -> None:
    ramp = torch.linspace(0.1, 0.9, 128, dtype=torch.float64).expand(1, 3, 128, 128)
    moved = (at("c-glass-blur", ramp, 5) - ramp)[..., 16:-16] / (0.8 / 127)
    assert 0.3 < float(moved.std()) < 4
    assert abs(float(moved.mean())) < 0.1


def test_brightness_is_the_value_of_hsv(pixels: torch.Tensor) -> None:
    found = at("c-brightness", pixels, 3)[0]
    for y, x in ((3, 5), (20, 40), (60, 10)):
        hue, saturation, value = colorsys.rgb_to_hsv(*pixels[0, :, y, x].tolist())
        wanted = colorsys.hsv_to_rgb(hue, saturation, min(value + 0.3, 1))
        assert found[:, y, x].tolist() == pytest.approx(wanted)
    black = at("c-brightness", GREY * 0, 2)
    torch.testing.assert_close(black, GREY * 0.4)


@pytest.mark.parametrize(
    ("severity", "factor", "added"),
    [(1, 0.3, 0), (2, 0.1, 0), (3, 2, 0), (4, 5, 0.1), (5, 20, 0.2), (2.5, 0, 0), (2.51, 2, 0)],
)
def test_saturation_is_that_of_hsv(
    pixels: torch.Tensor, severity: float, factor: float, added: float
) -> None:
    found = at("c-saturate", pixels, severity)[0]
    for y, x in ((3, 5), (20, 40), (60, 10)):
        hue, saturation, value = colorsys.rgb_to_hsv(*pixels[0, :, y, x].tolist())
        wanted = colorsys.hsv_to_rgb(hue, min(saturation * factor + added, 1), value)
        assert found[:, y, x].tolist() == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(("severity", "factor"), [(1, 0.4), (5, 0.05)])
def test_contrast_is_of_each_channel(pixels: torch.Tensor, severity: float, factor: float) -> None:
    found = at("c-contrast", pixels, severity)
    torch.testing.assert_close(found.std(dim=(2, 3)), factor * pixels.std(dim=(2, 3)))
    torch.testing.assert_close(found.mean(dim=(2, 3)), pixels.mean(dim=(2, 3)))


def test_pixels_are_pillows(pixels: torch.Tensor) -> None:
    # 0.25 of 64 pixels are 16: whole blocks.
    found = at("c-pixelate", pixels, 5)[0]
    image = Image.fromarray((pixels[0] * 255).round().byte().permute(1, 2, 0).numpy())
    small = image.resize((16, 16), Image.Resampling.BOX)
    theirs = np.asarray(small.resize((64, 64), Image.Resampling.BOX), dtype=float)
    assert np.abs(found.permute(1, 2, 0).numpy() * 255 - theirs).max() <= 1.01


@pytest.mark.parametrize(("severity", "quality"), [(1, 25), (5, 7), (0.5, 62)])
def test_jpeg_is_pillows(pixels: torch.Tensor, severity: float, quality: int) -> None:
    image = Image.fromarray((pixels[0] * 255).round().byte().permute(1, 2, 0).numpy())
    file = io.BytesIO()
    image.save(file, "JPEG", quality=quality)
    theirs = torch.from_numpy(np.array(Image.open(file))).permute(2, 0, 1) / 255
    found = at("c-jpeg", pixels, severity)[0]
    torch.testing.assert_close(found, theirs.double(), atol=1e-6, rtol=0)


def test_weather_brightens_and_hides(pixels: torch.Tensor) -> None:
    for name in ("c-snow", "c-fog"):
        changed = at(name, pixels, 5)
        assert float(changed.mean()) > float(pixels.mean())
    for name in ("c-snow", "c-fog", "c-frost", "c-spatter"):
        weak, strong = at(name, pixels, 1), at(name, pixels, 5)
        assert correlation(strong, pixels) < correlation(weak, pixels) < 1


def test_mud_is_brown() -> None:
    changed = at("c-spatter", GREY, 5)[0]
    brown = torch.tensor([63, 42, 20], dtype=torch.float64)[:, None, None] / 255
    muddy = (0.5 - changed) / (0.5 - brown)
    torch.testing.assert_close(muddy, muddy[:1].expand(3, -1, -1))
    covered = muddy[0] > 0
    assert 0.1 < float(covered.double().mean()) < 0.5
    assert float(muddy[0][covered].min()) >= 0.8


def test_what_is_next_to_a_severity_is_next_to_its_picture(pixels: torch.Tensor) -> None:
    for manipulation in IMAGENET_C:
        if manipulation.name in ("c-shot-noise", "c-glass-blur", "c-jpeg", "c-pixelate"):
            continue  # photons, qualities and whole pixels jump
        for severity in (1.0, 2.0, 3.0, 4.0):
            near = at(manipulation.name, pixels, severity + 1e-4)
            here = at(manipulation.name, pixels, severity)
            assert float((near - here).abs().mean()) < 2e-3, manipulation.name


def correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    return float(torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1])
