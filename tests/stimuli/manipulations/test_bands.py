"""Bands of pictures: the RMSE and the spectrum are measured back from what is shown."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from photographs import PHOTOGRAPHS, path_of

from fechner.errors import PictureError
from fechner.stimuli import Band, BandNoise, Field, Manipulated, Suppressed, display, paint
from fechner.stimuli.manipulations.spectra import TOLERANCE, AtRmse, rmse_between
from fechner.stimuli.pictures import Photograph, photograph, picture_drawn, rounded

FIELD = Field(128, 128, 32.0)


@pytest.fixture(scope="module")
def photographs() -> list[Photograph]:
    return [photograph(path_of(name), label) for label, name in PHOTOGRAPHS.items()]


@pytest.fixture(scope="module")
def pixels(photographs: list[Photograph]) -> torch.Tensor:
    return torch.stack([each.draw(FIELD, 8, "cpu") for each in photographs])


def radius(field: Field = FIELD) -> torch.Tensor:
    fx = torch.fft.rfftfreq(field.width_px, 1 / field.ppd, dtype=torch.float64)
    fy = torch.fft.fftfreq(field.height_px, 1 / field.ppd, dtype=torch.float64)
    return torch.hypot(fx[None], fy[:, None])


def grey(rows: int = 3) -> torch.Tensor:
    """Pictures far from black and white, so that nothing is cut."""
    generator = torch.Generator().manual_seed(0)
    return 0.5 + 0.1 * (
        torch.rand(rows, 3, 128, 128, generator=generator, dtype=torch.float64) - 0.5
    )


def changed(
    manipulation: AtRmse,
    rmse: float,
    pixels: torch.Tensor,
    seeds: Sequence[tuple[int, ...]],
    bits: int | None = None,
) -> tuple[torch.Tensor, list[str]]:
    """Return pictures at an RMSE, and what is wrong with each."""
    found = [
        manipulation.changed(picture, rmse, FIELD, seed, bits)
        for picture, seed in zip(pixels, seeds, strict=True)
    ]
    return torch.stack([picture for picture, _ in found]), [problem for _, problem in found]


def test_bands() -> None:
    band = Band.octaves(4.0)
    assert band.high_cpd / band.low_cpd == pytest.approx(2)
    assert Band.octaves(4.0, 2.0).high_cpd == pytest.approx(8)
    assert band.fits(FIELD)
    assert not Band.octaves(12.0).fits(FIELD)  # its upper edge is above the 16 that pixels hold
    assert not Band(0.01, 0.02).fits(FIELD)  # no frequency of the field lies in it
    kept = radius()[band.mask(FIELD)]
    assert kept.min() >= band.low_cpd
    assert kept.max() <= band.high_cpd
    with pytest.raises(ValueError, match="not from 0 to 1"):
        Band(0, 1)


@pytest.mark.parametrize("bits", [None, 8])
@pytest.mark.parametrize("rmse", [0.01, 0.03])
@pytest.mark.parametrize("kind", [Suppressed, BandNoise])
def test_rmse_as_shown(pixels: torch.Tensor, kind: type, rmse: float, bits: int | None) -> None:
    for centre in (1.0, 3.0, 8.0):
        seeds = [(1, i) for i in range(6)]
        shown, problems = changed(kind(Band.octaves(centre)), rmse, pixels, seeds, bits)
        made = [not problem for problem in problems]
        assert sum(made) >= 3
        found = rmse_between(shown, pixels)[made]
        np.testing.assert_allclose(found, rmse, rtol=TOLERANCE)
        assert shown.min() >= 0
        assert shown.max() <= 1
        if bits:
            steps = shown * 255
            np.testing.assert_allclose(steps, steps.round(), atol=1e-9)


def test_only_the_band_changes() -> None:
    original = grey()
    before = torch.fft.rfft2(original)
    for centre in (1.0, 4.0, 8.0):
        band = Band.octaves(centre)
        inside = band.mask(FIELD)
        suppressed, _ = changed(Suppressed(band), 0.001, original, [()] * 3)
        after = torch.fft.rfft2(suppressed)
        torch.testing.assert_close(after[..., ~inside], before[..., ~inside])
        # Every term of the band by the same factor, between taking it out and leaving it.
        factor = (after[..., inside] / before[..., inside]).abs()
        gain = factor.flatten(1).mean(dim=1)
        assert ((gain > 0) & (gain < 1)).all()
        torch.testing.assert_close(factor, gain[:, None, None].expand_as(factor))
        noisy, _ = changed(BandNoise(band), 0.05, original, [(i,) for i in range(3)])
        noise = torch.fft.rfft2(noisy - original)
        assert noise[..., ~inside].abs().max() < 1e-9 * noise.abs().max()


def test_noise_is_grey_seeded_and_gaussian() -> None:
    original = grey(2)
    noise = BandNoise(Band(2.0, 12.0))
    first = changed(noise, 0.02, original, [(1,), (2,)])[0] - original
    torch.testing.assert_close(first[:, 0], first[:, 1])
    torch.testing.assert_close(first[:, 0], first[:, 2])
    again = changed(noise, 0.02, original, [(2,), (1,)])[0] - original
    torch.testing.assert_close(again[0], first[1])
    assert (first[0] - first[1]).abs().max() > 0.01
    values = (first[0, 0] / first[0, 0].std()).flatten()
    assert abs(float((values**4).mean()) - 3) < 0.2


def test_level_0_is_the_identity_to_the_bit(pixels: torch.Tensor) -> None:
    for kind in (Suppressed, BandNoise):
        shown, problems = changed(kind(Band.octaves(4.0)), 0.0, pixels, [(0,)] * 6, 8)
        assert torch.equal(shown, pixels)
        assert problems == [""] * 6


def test_unreachable_where_the_band_has_too_little() -> None:
    original = grey()
    band = Band.octaves(4.0)
    content = torch.fft.irfft2(torch.fft.rfft2(original) * band.mask(FIELD), s=(128, 128))
    most = float(content.square().mean(dim=(1, 2, 3)).sqrt().min())
    assert changed(Suppressed(band), 0.99 * most, original, [()] * 3)[1] == [""] * 3
    shown, problems = changed(Suppressed(band), 1.3 * most, original, [()] * 3)
    assert "unreachable" in problems
    # The nearest is the picture without the band, never one with the band inverted.
    row = problems.index("unreachable")
    torch.testing.assert_close(shown[row], (original - content)[row])


def test_clipped_where_noise_would_be_cut_off() -> None:
    black = torch.zeros(1, 3, 128, 128, dtype=torch.float64)
    half, problems = changed(BandNoise(Band.octaves(4.0)), 0.05, black, [(0,)])
    # Half of the noise is cut, so that it must be 1.41 times as strong.
    assert problems == [""]
    assert float(half.max()) == pytest.approx(0.05 * 2**0.5 * 4, rel=0.25)
    white = torch.ones(1, 3, 128, 128, dtype=torch.float64)
    assert changed(BandNoise(Band.octaves(4.0)), 0.6, white, [(0,)])[1] == ["clipped"]


def test_a_manipulated_photograph_is_a_recipe_that_is_painted(
    photographs: list[Photograph],
) -> None:
    noise = BandNoise(Band.octaves(4.0))
    recipe = Manipulated(photographs[0], noise, 0.05, (3, 4))
    assert recipe == Manipulated(photographs[0], BandNoise(Band.octaves(4.0)), 0.05, (3, 4))
    assert len({recipe, Manipulated(photographs[0], noise, 0.05, (3, 5))}) == 2
    assert recipe.source is recipe
    screen = display("srgb-8bit")
    shown = paint([photographs[0], recipe], FIELD, screen)
    assert shown.pixels.shape == (2, 3, 128, 128)
    assert shown.pixels.dtype == torch.float32
    assert float(rmse_between(*shown.pixels[:, None].double())) == pytest.approx(0.05, rel=0.01)
    light = paint([recipe], FIELD, screen, light="cdm2", dtype=torch.float64)
    torch.testing.assert_close(light.pixels[0], screen.decode(picture_drawn(recipe, FIELD, 8)))


def test_what_cannot_be_made_is_a_sentence(photographs: list[Photograph]) -> None:
    band = Band.octaves(8.0)
    recipe = Manipulated(photographs[0], Suppressed(band), 0.3)
    with pytest.raises(PictureError, match=r"chelsea.png cannot be changed by an RMSE of 0.3") as e:
        paint([recipe], FIELD, display("verbal"))
    assert e.value.problem == "unreachable"
    nearest = Manipulated(photographs[0], Suppressed(band, nearest=True), 0.3)
    assert paint([nearest], FIELD, display("verbal")).pixels.shape == (1, 3, 128, 128)


def test_rounding() -> None:
    values = torch.tensor([-0.1, 0.5, 1.2])
    torch.testing.assert_close(rounded(values, None), torch.tensor([0.0, 0.5, 1.0]))
    torch.testing.assert_close(rounded(values, 1), torch.tensor([0.0, 0.0, 1.0]))
