"""Metrics that take light give the same answer whatever display the light comes from."""

import math

import pytest
import torch

from fechner.observers import resolve
from fechner.stimuli import (
    OPPONENT,
    Display,
    Field,
    Frames,
    Gabor,
    Layer,
    Stimulus,
    display,
    paint,
)
from fechner.stimuli.colour import PRIMARIES

FIELD = Field.of(pixels=64, ppd=60)
SCREENS = {
    "p3": Display("p3", 400.0, rgb_to_xyz=PRIMARIES["p3-d65"]),
    "pq": Display("pq", 400.0, eotf="pq", rgb_to_xyz=PRIMARIES["bt2020"]),
    "hlg": Display("hlg", 400.0, 0.01, "hlg", rgb_to_xyz=PRIMARIES["bt2020"]),
    "room": Display("room", 396.0, 1.0, ambient_lux=400 * math.pi, reflectivity=0.01),
}


def gabors(luminance: float = 40.0) -> list[Stimulus]:
    background = OPPONENT.background_xyz(luminance)
    return [
        Stimulus(
            background,
            (Layer(Gabor(4.0, 0.2), OPPONENT.modulation_xyz(direction, luminance), contrast),),
        )
        for direction, contrast in (("ach", 0.0), ("ach", 0.1), ("rg", 0.05), ("yv", 0.3))
    ]


def differences(name: str, screen: Display) -> list[float]:
    observer = resolve(name)
    dtype = getattr(torch, observer.wants.dtype)
    frames = paint(gabors(), FIELD, screen, light=observer.wants.light, dtype=dtype)
    first = Frames(frames.pixels[:1], FIELD, screen, frames.light)
    which = torch.zeros(len(frames), dtype=torch.long)
    found: list[float] = observer.difference(frames, observer.remember(first), which).tolist()
    return torch.tensor(found).flatten()[1:].tolist()


@pytest.mark.parametrize("name", ["cvvdp", "ictcp", "ciede2000", "hyab", "scielab"])
def test_the_same_light_is_the_same_difference(name: str) -> None:
    expected = differences(name, display("encoders"))
    for where, screen in SCREENS.items():
        if where != "room" or name in ("cvvdp", "ictcp"):  # CIELAB is relative to the peak
            # cvvdp computes in single precision.
            assert differences(name, screen) == pytest.approx(expected, rel=2e-4, abs=2e-6), where


def test_cvvdp_sees_colours_beyond_bt709() -> None:
    """Two greens of BT.2020 that both lie outside of BT.709: cut to it, they would be the same."""
    observer, screen = resolve("cvvdp"), SCREENS["pq"]
    greens = torch.tensor([[0.0, 80.0, 0.0], [8.0, 80.0, 0.0]])[:, :, None, None]
    frames = Frames(greens.expand(2, 3, 64, 64).contiguous(), FIELD, screen, "cdm2")
    first = Frames(frames.pixels[:1], FIELD, screen, "cdm2")
    answer = observer.difference(frames, observer.remember(first), torch.zeros(2).long()).flatten()
    assert answer[0] == pytest.approx(0, abs=1e-6)
    assert answer[1] > 0.02


@pytest.mark.parametrize("name", ["hdr-pq-1000", "hdr-hlg-1000"])
def test_encoded_values_are_those_of_the_display(name: str) -> None:
    frames = paint(gabors(), FIELD, display(name))
    light = paint(gabors(), FIELD, display(name), light="cdm2")
    torch.testing.assert_close(frames.cdm2(), light.pixels, rtol=2e-5, atol=0)
    srgb = paint(gabors(), FIELD, display("encoders"))
    torch.testing.assert_close(frames.luminance(), srgb.luminance(), rtol=5e-5, atol=0)
