"""Batches: as many stimuli as fit into memory, what several rows show counted once."""

import numpy as np
import pytest
import torch
from asking import Simulated, weibull

from fechner.errors import GamutError, ObserverError
from fechner.experiments import Presenter, Scene
from fechner.experiments.presenter import differences
from fechner.observers import ComparesFeatures, Wants, observe
from fechner.stimuli import OPPONENT, Clips, Field, Gabor, Layer, Stimulus, display, paint


def scene(side: int) -> Scene:
    return Scene(Field(side, side, 64.0), display("verbal"), OPPONENT)


PRESENTER = Presenter(Simulated(weibull(0.1, 3.0)), batch_size=4)


@pytest.mark.parametrize(("side", "size"), [(64, 4), (224, 4), (448, 1), (896, 1)])
def test_larger_pictures_count_for_more(side: int, size: int) -> None:
    assert PRESENTER.at_a_time(scene(side)) == size
    batches = list(PRESENTER.batches(range(9), scene(side)))
    assert [row for batch in batches for row in batch] == list(range(9))
    assert {len(batch) for batch in batches[:-1]} == {size}


def test_stimuli_that_rows_share_count_once() -> None:
    pairs = [(0, 1), (0, 2), (0, 3), (0, 4), (5, 6)]
    batches = PRESENTER.batches(range(5), scene(64), stimuli=lambda row: pairs[row])
    assert list(batches) == [[0, 1, 2], [3, 4]]


def test_a_row_that_does_not_fit_has_a_batch_of_its_own() -> None:
    batches = PRESENTER.batches([0, 1], scene(64), stimuli=lambda row: range(row, row + 6))
    assert list(batches) == [[0], [1]]
    assert list(PRESENTER.batches(range(9), scene(448), at_least=8)) == [list(range(8)), [8]]


SCENE = Scene(Field.of(pixels=32, ppd=30), display("encoders"), OPPONENT)


def uniform(luminance: float) -> Stimulus:
    return Stimulus(OPPONENT.background_xyz(luminance))


def gabor(luminance: float, contrast: float) -> Stimulus:
    layer = Layer(Gabor(2.0, 0.3), OPPONENT.modulation_xyz("ach", luminance), contrast)
    return Stimulus(OPPONENT.background_xyz(luminance), (layer,))


LUMINANCES = (10.0, 50.0, 100.0)
TESTS = [gabor(luminance, c) for luminance in LUMINANCES for c in (0.1, 0.2, 0.4, 0.8)]
REFERENCES = [uniform(luminance) for luminance in LUMINANCES for _ in range(4)]


class Counting:
    """Pixels, counting how often pictures are looked at."""

    name = "counting"
    wants = Wants()
    fingerprint = "counting/1"
    layers = ("pixels",)

    def __init__(self) -> None:
        self.seen: list[int] = []

    def features(self, frames, taps) -> None:
        self.seen.append(len(frames))
        for tap in taps.values():
            tap(frames.pixels)


@pytest.mark.parametrize("batch_size", [1, 2, 5, 12, 100])
def test_references_are_looked_at_once_and_batches_do_not_matter(batch_size: int) -> None:
    encoder = Counting()
    shown: list[int] = []
    presenter = Presenter(
        ComparesFeatures(encoder, ("l2",)), batch_size=batch_size, on_images=shown.append
    )
    answers = differences(presenter, TESTS, REFERENCES, SCENE)[:, 0, 0]
    assert sum(encoder.seen) == sum(shown) == len(TESTS) + len(LUMINANCES)
    assert max(encoder.seen) <= batch_size
    pictures = paint(TESTS, SCENE.field, SCENE.display, dtype=torch.float64).pixels
    references = paint(REFERENCES, SCENE.field, SCENE.display, dtype=torch.float64).pixels
    expected = (pictures - references).flatten(1).norm(dim=1)
    np.testing.assert_allclose(answers, expected, rtol=1e-5)


def test_order_does_not_matter() -> None:
    presenter = Presenter(ComparesFeatures(Counting(), ("angle",)), batch_size=5)
    order = np.random.default_rng(0).permutation(len(TESTS))
    straight = differences(presenter, TESTS, REFERENCES, SCENE)
    mixed = differences(presenter, [TESTS[i] for i in order], [REFERENCES[i] for i in order], SCENE)
    np.testing.assert_allclose(mixed, straight[order], rtol=1e-6)


def test_no_gradients_unless_asked_for() -> None:
    weight = torch.ones(1, requires_grad=True)
    grads: list[bool] = []

    def model(pictures: torch.Tensor) -> torch.Tensor:
        features = pictures.mean(dim=(2, 3)) * weight
        grads.append(features.requires_grad)
        return features

    presenter = Presenter(ComparesFeatures(observe(model)), batch_size=4)
    differences(presenter, TESTS[:4], REFERENCES[:4], SCENE)
    assert not any(grads)


def test_an_answer_of_the_wrong_shape_is_named() -> None:
    class Wrong:
        name, wants, fingerprint = "wrong", Wants(), None
        layers, readouts = ("a", "b"), ("x",)

        def remember(self, reference):
            return None

        def difference(self, test, memory, which):
            return torch.zeros(len(test), 1, 1)

    with pytest.raises(
        ObserverError, match=r"'wrong' answered with shape \(4, 1, 1\) where \(4, 2"
    ):
        differences(Presenter(Wrong(), batch_size=4), TESTS, REFERENCES, SCENE)


def test_contrast_out_of_gamut_is_one_sentence() -> None:
    with pytest.raises(GamutError, match=r"1 of 2 stimuli ask for light outside 0-400 cd/m2"):
        paint([gabor(100, 0.5), gabor(300, 0.9)], SCENE.field, SCENE.display, strict=True)
    paint([gabor(100, 0.99)], SCENE.field, SCENE.display, strict=True)
    coarse = Field.of(pixels=32, ppd=3.9)
    with pytest.raises(GamutError, match=r"2 cpd is above the 1.95 cpd that 3.9 pixels per degree"):
        paint([gabor(100, 0.5)], coarse, SCENE.display, strict=True)
    with pytest.raises(ValueError, match="light is one of display, cdm2, not 'lux'"):
        paint([gabor(100, 0.5)], SCENE.field, SCENE.display, light="lux")
    with pytest.raises(ValueError, match="sigma_deg is 0; it must be above 0"):
        Gabor(4.0, sigma_deg=0.0)


# Metrics


def squares(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    return (test - reference).square().mean(dim=(1, 2, 3))


def test_pixelwise_metrics_are_shown_what_differs_and_say_the_same() -> None:
    """A mean over the part, times its share, is the mean over the field."""
    scene = Scene(Field(128, 96, 30.0), display("metrics"), OPPONENT)
    tests = [gabor(20.0, 0.1), gabor(20.0, 0.4), gabor(40.0, 0.2)]
    references = [uniform(20.0), uniform(20.0), uniform(40.0)]
    shapes = []

    class Pixelwise:
        name = "pixelwise"
        wants = Wants(dtype="float64", pixelwise=True)
        fingerprint = "pixelwise/1"
        layers = ("output",)
        readouts = ("difference",)

        def remember(self, reference):
            return reference.pixels

        def difference(self, test, memory, which):
            shapes.append(tuple(test.pixels.shape[2:]))
            return (test.share * squares(test.pixels, memory[which])).reshape(-1, 1, 1)

    cut = differences(Presenter(Pixelwise(), batch_size=8), tests, references, scene)
    whole = differences(
        Presenter(observe(squares, name="whole", wants=Wants(dtype="float64")), batch_size=8),
        tests,
        references,
        scene,
    )
    np.testing.assert_allclose(cut, whole, rtol=1e-9)
    # 5.7 standard deviations of 9 pixels to either side, and only the upper half of that.
    assert set(shapes) == {(48, 102)}


@pytest.mark.parametrize(
    ("field", "batches"),
    [
        (Field(224, 224, 60.0), [6]),
        (Field(448, 224, 60.0), [4, 2]),
        (Field(896, 896, 60.0), [1] * 6),
        (Field(32, 32, 60.0), [6]),
    ],
)
def test_batches_of_larger_pictures_are_smaller(field: Field, batches: list[int]) -> None:
    seen: list[int] = []

    def counting(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        seen.append(len(test))
        return squares(test, reference)

    tests = [gabor(20.0, c) for c in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)]
    scene = Scene(field, display("metrics"), OPPONENT)
    presenter = Presenter(observe(counting, name="counting"), batch_size=8)
    differences(presenter, tests, [uniform(20.0)] * 6, scene)
    assert seen == batches


def test_videos_are_handed_over_unpainted_and_one_at_a_time() -> None:
    handed = []

    class Watching:
        name = "watching"
        wants = Wants(video=True)
        fingerprint = "watching/1"
        layers = ("output",)
        readouts = ("difference",)

        def remember(self, reference):
            return reference

        def difference(self, test, memory, which):
            handed.append((type(test), len(test), test.field.frames))
            return squares(test.frame(2).pixels, memory.frame(2).pixels).reshape(-1, 1, 1)

    scene = Scene(Field(64, 64, 30.0, frames=30), display("metrics"), OPPONENT)
    tests = [gabor(20.0, c) for c in (0.1, 0.2, 0.3)]
    found = differences(Presenter(Watching(), batch_size=8), tests, [uniform(20.0)] * 3, scene)
    assert handed == [(Clips, 3, 30)]
    assert (np.diff(found[:, 0, 0]) > 0).all()
    longer = Scene(Field(128, 128, 30.0, frames=30), display("metrics"), OPPONENT)
    differences(Presenter(Watching(), batch_size=8), tests, [uniform(20.0)] * 3, longer)
    assert handed[1:] == [(Clips, 1, 30)] * 3
