"""Comparers that answer: a criterion from one anchor, the same everywhere."""

import pytest
import torch

from fechner.errors import ObserverError
from fechner.observers import AnswersByCriterion, Prompt, Question, lift, resolve
from fechner.stimuli import OPPONENT, Field, Frames, Layer, OctaveNoise, Stimulus, display, paint

FIELD, SCREEN = Field(64, 64, 64.0), display("encoders")
PROMPT = Prompt("", ("yes", "no"))


def noise(*contrasts: float, seed: int = 0) -> Frames:
    grey, along = OPPONENT.background_xyz(40.0), OPPONENT.modulation_xyz("ach", 40.0)
    return paint(
        [Stimulus(grey, (Layer(OctaveNoise(4.0, seed=seed), along, c),)) for c in contrasts],
        FIELD,
        SCREEN,
    )


@pytest.fixture
def pixels() -> AnswersByCriterion:
    observer = lift(resolve("pixels"), "answers", ("l2",))
    assert isinstance(observer, AnswersByCriterion)
    observer.calibrate(noise(0.0), noise(0.1, 0.1, 0.1))
    return observer


def choices(observer: AnswersByCriterion, frames: Frames, *pictures: tuple[int, ...]) -> list[int]:
    answers = observer.choose(frames, [Question(rows, PROMPT) for rows in pictures])
    return [answer.choice for answer in answers]


def test_yes_above_the_anchor_and_no_below(pixels: AnswersByCriterion) -> None:
    shown = noise(0.0, 0.05, 0.099, 0.101, 0.4)
    assert choices(pixels, shown, *((i,) for i in range(5))) == [1, 1, 1, 0, 0]


def test_of_several_pictures_the_one_that_differs_most(pixels: AnswersByCriterion) -> None:
    shown = noise(0.01, 0.02, 0.005)
    assert choices(pixels, shown, (0, 1), (1, 0), (2, 0, 1)) == [1, 0, 2]


def test_noise_inside_gives_probabilities() -> None:
    observer = AnswersByCriterion(lift(resolve("pixels"), "compares", ("l2",)), noise=0.5)
    observer.calibrate(noise(0.0), noise(0.1))
    answers = list(
        observer.choose(noise(0.0, 0.1, 0.2), [Question((i,), PROMPT) for i in range(3)])
    )
    yes = [answer.probabilities[0] for answer in answers]
    # Nothing lies two standard deviations below the criterion.
    assert yes[0] == pytest.approx(0.02275, abs=1e-4)
    assert yes[1] == pytest.approx(0.5, abs=1e-6)
    assert yes[2] == pytest.approx(0.977, abs=0.005)
    assert "noise=0.5" in observer.fingerprint


def test_one_answer_per_layer_and_readout() -> None:
    observer = lift(resolve("pixels"), "answers", ("l2", "linf"))
    observer.calibrate(noise(0.0), noise(0.1))
    answers = list(observer.choose(noise(0.3), [Question((0,), PROMPT)]))
    assert [answer.place for answer in answers] == [(0, 0), (0, 1)]
    assert all(answer.choice == 0 for answer in answers)


def test_without_an_anchor_it_does_not_answer() -> None:
    observer = lift(resolve("pixels"), "answers", ("l2",))
    with pytest.raises(ObserverError, match="not shown what counts"), torch.no_grad():
        list(observer.choose(noise(0.1), [Question((0,), PROMPT)]))
