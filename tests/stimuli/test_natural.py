"""Bands of photographs: what is in them, and which photograph it is."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from fechner.errors import PictureError
from fechner.stimuli import Field, NaturalBand, Photograph
from fechner.stimuli.photographs import photograph

FIELD = Field(128, 128, 32.0)


def wave(halves: float, size: int = 128) -> np.ndarray:
    """Half cycles over the width, which go on smoothly in the mirror image."""
    return np.cos(np.pi * halves * (np.arange(size) + 0.5) / size)[None].repeat(size, axis=0)


def written(path: Path, luminance: np.ndarray) -> Photograph:
    """Write a grey picture of a luminance, and return it."""
    encoded = np.where(
        luminance <= 0.0031308, 12.92 * luminance, 1.055 * luminance ** (1 / 2.4) - 0.055
    )
    Image.fromarray(np.rint(255 * encoded).astype(np.uint8)).save(path)
    return photograph(path, "grey")


def test_what_is_outside_of_the_band_is_gone(tmp_path: Path) -> None:
    # 32 half cycles on 4 degrees are 4 cpd; the others are 0.5 and 12.
    low, inside, high = wave(4), wave(32), wave(96)
    shown = written(tmp_path / "a.png", 0.3 + 0.1 * low + 0.02 * inside + 0.1 * high)
    drawn = NaturalBand(4.0, (shown,)).draw(FIELD).numpy()
    assert drawn.std() == pytest.approx(1)
    assert drawn.mean() == pytest.approx(0, abs=1e-9)
    assert np.corrcoef(drawn.ravel(), inside.ravel())[0, 1] > 0.99


def test_edges_that_do_not_fit_together_add_nothing(tmp_path: Path) -> None:
    """One side is dark, the other bright; without mirrors their border would be all there is."""
    ramp = np.linspace(0.1, 0.9, 128)[None].repeat(128, axis=0)
    shown = written(tmp_path / "a.png", ramp + 0.02 * wave(32))
    drawn = NaturalBand(4.0, (shown,)).draw(FIELD).numpy()
    assert np.corrcoef(drawn.ravel(), wave(32).ravel())[0, 1] > 0.98


def test_the_seed_is_the_photograph(tmp_path: Path) -> None:
    shown = tuple(written(tmp_path / f"{k}.png", 0.3 + 0.1 * wave(k)) for k in (24, 28, 32, 36, 40))
    drawn = {
        tuple(NaturalBand(4.0, shown, seed=(7, seed)).draw(FIELD)[0].tolist()) for seed in range(60)
    }
    assert len(drawn) == len(shown)
    again = [NaturalBand(4.0, shown, seed=(3,)).draw(FIELD) for _ in range(2)]
    assert torch.equal(*again)


def test_photographs_that_cannot_be_shown_are_passed_over(tmp_path: Path) -> None:
    flat = written(tmp_path / "flat.png", np.full((128, 128), 0.3))
    gone = Photograph("gone.png", "grey", "", str(tmp_path))
    good = written(tmp_path / "good.png", 0.3 + 0.1 * wave(32))
    for seed in range(10):
        drawn = NaturalBand(18**0.5, (flat, gone, good), seed=(seed,)).draw(FIELD)
        assert torch.equal(drawn, NaturalBand(18**0.5, (good,)).draw(FIELD))
    with pytest.raises(PictureError, match=r"no photograph has anything from 3 to 6 cpd .*: flat"):
        NaturalBand(18**0.5, (flat,)).draw(FIELD)
