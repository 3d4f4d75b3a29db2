"""Showing pairs of pictures to metrics under test."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from fechner.observers import Compares
from fechner.stimuli import OPPONENT, Field, Frames, Gabor, Grating, Layer, Stimulus, display, paint


def gabors(
    observer: Compares, contrasts: Sequence[float], side: int = 64, mask: float = 0.0
) -> Frames:
    """Return Gabors on grey of 21.4 cd/m2, or on a grating, as an observer wants them."""
    background = OPPONENT.background_xyz(21.4)
    modulation = OPPONENT.modulation_xyz("ach", 21.4)
    grating = (Layer(Grating(3.0), modulation, mask),) if mask else ()
    gabor = Gabor(4.0, 0.2)
    return paint(
        [Stimulus(background, (*grating, Layer(gabor, modulation, c))) for c in contrasts],
        Field(side, side, 60.0),
        replace(display("encoders"), peak_cdm2=100.0),
        light=observer.wants.light,
        dtype=getattr(torch, observer.wants.dtype),
    )


def photos(observer: Compares, n: int = 3, side: int = 64) -> Frames:
    """Return colourful pictures that vary slowly, as photographs do, and have much in common."""
    drawn = torch.rand(n + 1, 3, 8, 8, generator=torch.Generator().manual_seed(3))
    coarse = 0.7 * drawn[:1] + 0.3 * drawn[1:]
    size = (side, side)
    pixels = torch.nn.functional.interpolate(coarse, size, mode="bicubic").clamp(0, 1)
    pixels = pixels.to(getattr(torch, observer.wants.dtype))
    return Frames(pixels, Field(side, side, 60.0), display("encoders"), "display")


def pick(frames: Frames, *rows: int) -> Frames:
    """Return some of the pictures."""
    return replace(frames, pixels=frames.pixels[list(rows)])


def differences(observer: Compares, test: Frames, reference: Frames) -> torch.Tensor:
    """Return how different tests are from the one reference, or each from its own, [n]."""
    which = torch.arange(len(test)) if len(reference) > 1 else torch.zeros(len(test)).long()
    with torch.no_grad():
        answer = observer.difference(test, observer.remember(reference), which)
    assert answer.shape == (len(test), 1, 1)
    assert answer.dtype == torch.float64
    return answer.flatten()


def check_manners(observer: Compares, side: int = 64) -> None:
    """Check what holds for every metric: zero, growth, batches, one reference for all."""
    grey, tests = gabors(observer, [0.0], side), gabors(observer, [0.05, 0.2, 0.8], side)
    same = differences(observer, grey, grey)
    assert same.abs() < 1e-9
    assert (torch.cat([same, differences(observer, tests, grey)]).diff() > 0).all()
    check_batches(observer, side)


def check_batches(observer: Compares, side: int = 64, rtol: float = 1e-5) -> None:
    """Check that pictures do not change each other's answers, nor does repeating the reference."""
    pictures = photos(observer, 3, side)
    reference = pick(pictures, 2)
    found = differences(observer, pictures, reference)
    assert found[2].abs() < 1e-6
    alone = [differences(observer, pick(pictures, row), reference) for row in range(3)]
    repeated = differences(observer, pictures, pick(pictures, 2, 2, 2))
    for other in (torch.cat(alone), repeated):
        torch.testing.assert_close(other, found, rtol=rtol, atol=1e-9)
    mixed = differences(observer, pictures, pick(pictures, 2, 0, 1))
    expected = [differences(observer, pick(pictures, a), pick(pictures, b)) for a, b in _PAIRS]
    torch.testing.assert_close(mixed, torch.cat(expected), rtol=rtol, atol=1e-9)
    assert len(set(mixed.tolist())) == 3


_PAIRS = ((0, 2), (1, 0), (2, 1))
