"""Functions of two batches: scores become differences, pictures and videos are handed over."""

import math

import pytest
import torch

from fechner.observers import Wants, observe
from fechner.stimuli import OPPONENT, Clips, Disk, Field, Flicker, Layer, Stimulus, display, paint

FIELD = Field(16, 12, 10.0)
GREY = OPPONENT.background_xyz(20.0)
MODULATION = OPPONENT.modulation_xyz("ach", 20.0)


def disk(contrast: float, flicker: Flicker | None = None) -> Stimulus:
    return Stimulus(GREY, (Layer(Disk(0.4), MODULATION, contrast, flicker),))


def shown(*contrasts: float):
    return paint([disk(c) for c in contrasts], FIELD, display("metrics"), dtype=torch.float64)


def difference(observer, test, reference) -> list[float]:
    which = torch.zeros(len(test), dtype=torch.long)
    return observer.difference(test, observer.remember(reference), which).flatten().tolist()


def error(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    return (test - reference).abs().mean(dim=tuple(range(1, test.ndim)))


def test_a_score_that_is_better_when_higher_becomes_a_difference() -> None:
    lower = observe(error, name="error")
    higher = observe(lambda t, r: 1 - error(t, r), name="likeness", higher_is_better=True, best=1)
    expected = difference(lower, shown(0.1, 0.2), shown(0.0))
    assert difference(higher, shown(0.1, 0.2), shown(0.0)) == pytest.approx(expected)
    assert 0 < expected[0] < expected[1]


def test_the_best_score_is_asked_once_of_a_grey_picture() -> None:
    calls = []

    def likeness(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        calls.append(tuple(test.shape))
        return 5 - error(test, reference)

    observer = observe(likeness, name="likeness", higher_is_better=True)
    first = difference(observer, shown(0.1), shown(0.0))
    second = difference(observer, shown(0.1), shown(0.0))
    assert first == second
    assert first[0] == pytest.approx(float(error(shown(0.1).pixels, shown(0.0).pixels)))
    assert calls == [(1, 3, 224, 224), (1, 3, 12, 16), (1, 3, 12, 16)]


def test_a_best_score_that_is_no_number_is_0() -> None:
    psnr = observe(lambda t, r: -20 * error(t, r).log10(), name="psnr", higher_is_better=True)
    (found,) = difference(psnr, shown(0.1), shown(0.0))
    assert found == pytest.approx(20 * math.log10(float(error(shown(0.1).pixels, shown(0).pixels))))


@pytest.mark.parametrize("kind", [float, lambda value: torch.tensor(value)])
def test_a_single_number_is_enough_for_a_single_pair(kind) -> None:
    observer = observe(lambda t, r: kind(float(error(t, r)[0])), name="single")
    assert difference(observer, shown(0.1), shown(0.0)) == pytest.approx(
        error(shown(0.1).pixels, shown(0.0).pixels).tolist()
    )


def test_videos_come_whole() -> None:
    shapes = []

    def watching(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        shapes.append((tuple(test.shape), tuple(reference.shape)))
        return error(test, reference)

    observer = observe(watching, name="watching", wants=Wants(video=True))
    field = Field(16, 12, 10.0, frames=6)
    tests = tuple(disk(c, Flicker(10.0)) for c in (0.1, 0.2))
    test = Clips(tests, field, display("metrics"), "display", torch.float32)
    reference = Clips((Stimulus(GREY),), field, display("metrics"), "display", torch.float32)
    first, second = difference(observer, test, reference)
    assert shapes == [((2, 3, 6, 12, 16), (2, 3, 6, 12, 16))]
    assert 0 < first < second


def test_settings_change_the_fingerprint() -> None:
    prints = {
        observe(error, name="e", version="1").fingerprint,
        observe(error, name="e", version="1", higher_is_better=True).fingerprint,
        observe(error, name="e", version="1", best=2.0).fingerprint,
        observe(error, name="e", version="1", wants=Wants(video=True)).fingerprint,
    }
    assert len(prints) == 4
