"""Asking which class a picture shows: by scores, in words, by labels; nothing is asked twice."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from photographs import write_album

from fechner.errors import BudgetError, ObserverError
from fechner.experiments import Presenter, Scene
from fechner.experiments.recognition import NONE_OF_THEM, NOT_SHOWN, prompt_for, recognise
from fechner.observers import Answer, Question, Wants, lift, resolve
from fechner.observers.chat.reading import parse
from fechner.runs.trials import Budget, Trials
from fechner.stimuli import (
    OPPONENT,
    Album,
    Band,
    Field,
    Frames,
    Manipulated,
    Photograph,
    Suppressed,
    display,
    open_album,
)

SCENE = Scene(Field(224, 224, 64.0), display("verbal"), OPPONENT)


@pytest.fixture(scope="module")
def album(tmp_path_factory: pytest.TempPathFactory) -> Album:
    return open_album(write_album(tmp_path_factory.mktemp("album") / "pictures"))


class Mean:
    """Recognises by the mean of the picture: known in advance, so that it can be checked."""

    name = "mean"
    wants = Wants(size_px=(32, 32), dtype="float64")
    fingerprint = "mean/1"
    classes = ("dark", "bright", "other")

    def class_scores(self, frames: Frames) -> torch.Tensor:
        mean = frames.pixels.mean(dim=(1, 2, 3))
        return torch.stack([1 - mean, mean, torch.zeros_like(mean)], dim=1)


class Chat:
    """Answers with words that are looked up by what it is shown."""

    name = "chat"
    wants = Wants(bits=8)
    layers = ("reply",)

    def __init__(self, replies: Sequence[str], reads="questions", graded=False) -> None:
        self.replies = replies
        self.reads = reads
        self.readouts = ("choice", "probability") if graded else ("choice",)
        self.fingerprint = "chat/1"
        self.asked: list[Question] = []

    def choose(self, frames: Frames, questions: Sequence[Question]) -> Iterator[Answer]:
        # Out of order, as servers do.
        for index in reversed(range(len(questions))):
            question = questions[index]
            reply = self.replies[len(self.asked)]
            self.asked.append(question)
            choice = parse(reply, question.prompt.options)
            likely = None
            if len(self.readouts) > 1 and choice is not None:
                likely = np.full(len(question.prompt.options), 0.1)
                likely[choice] = 1 - 0.1 * (len(likely) - 1)
            yield Answer(index, choice, None if likely is None else tuple(likely), reply=reply)


def test_efficientnet_recognises_photographs_by_synset(album: Album) -> None:
    observer = lift(resolve("efficientnet_lite0"), "recognises", ("angle",))
    presenter = Presenter(observer, batch_size=4)
    found = recognise(presenter, album.photographs, album.classes, SCENE)
    assert presenter.layers == ["class-scores"]
    assert presenter.readouts == ["choice"]
    assert presenter.reads == "nothing"
    right = found.right(album.labels, presenter.readouts)
    assert right.shape == (6, 1, 1)
    assert right.mean() >= 5 / 6
    assert found.scores.shape == (6, 1, 6)
    margin = found.margin(album.labels)
    np.testing.assert_array_equal(margin[..., None] > 0, right == 1)


def test_classifiers_are_shown_batches_of_any_size(album: Album) -> None:
    expected = None
    for batch_size in (1, 4, 100):
        counted: list[int] = []
        presenter = Presenter(
            lift(Mean(), "recognises", ()), batch_size=batch_size, on_images=counted.append
        )
        found = recognise(presenter, album.photographs, ["bright", "dark"], SCENE)
        assert sum(counted) == len(album)
        assert max(counted) <= batch_size
        expected = expected if expected is not None else found.scores
        np.testing.assert_allclose(found.scores, expected, rtol=1e-12)
    assert set(found.chosen.ravel().tolist()) == {0, 1}
    # Scores are in the order of the classes asked about, not of its own.
    np.testing.assert_allclose(found.scores.sum(axis=2), 1)
    np.testing.assert_array_equal(found.chosen[:, 0, 0], found.scores[:, 0].argmax(axis=1))


def test_a_class_that_a_classifier_does_not_have() -> None:
    observer = lift(Mean(), "recognises", ())
    with pytest.raises(ObserverError, match="'mean' cannot be asked: it has no class for 'grey'"):
        observer.scores_of(None, ["dark", "grey"])


def test_scores_that_cannot_be_used(album: Album) -> None:
    class Odd(Mean):
        value = float("nan")

        def class_scores(self, frames: Frames) -> torch.Tensor:
            return torch.full((len(frames), 3), self.value)

    class Short(Mean):
        def class_scores(self, frames: Frames) -> torch.Tensor:
            return torch.zeros(1, 3)

    for observer, why in ((Odd(), "NaN or infinity for 6 of 6"), (Short(), "with shape")):
        presenter = Presenter(lift(observer, "recognises", ()), batch_size=8)
        with pytest.raises(ObserverError, match=why):
            recognise(presenter, album.photographs, ["dark", "bright"], SCENE)


def test_chat_models_are_asked_one_question_about_each_picture(album: Album) -> None:
    replies = ["It is a daisy.", "A tabby.", "no idea", "a tabby or a daisy", "Espresso", "Moped!"]
    observer = Chat(replies)
    counted: list[int] = []
    presenter = Presenter(lift(observer, "recognises", ()), batch_size=3, on_images=counted.append)
    found = recognise(presenter, album.photographs, album.classes, SCENE)
    assert sum(counted) == 6
    assert presenter.reads == "questions"
    text = observer.asked[0].prompt.text
    assert text == (
        "Which of these is shown in the image: tabby, moped, palace, tripod, espresso, daisy? "
        "Respond with one of them only"
    )
    assert {question.prompt.text for question in observer.asked} == {text}
    # Batches of three, answered from the last to the first.
    none = NONE_OF_THEM
    assert found.chosen[:, 0, 0].tolist() == [none, 0, 5, 1, 4, none]
    # A reply that is none of them, or several, is wrong.
    right = found.right(album.labels, presenter.readouts)[:, 0, 0]
    assert right.tolist() == [0, 0, 0, 0, 1, 0]
    assert np.isnan(found.margin(album.labels)).all()


def test_contrastive_models_are_given_labels(album: Album) -> None:
    labels = prompt_for(album.classes, labels=True).options
    observer = Chat([*labels[:5], "none"], reads="labels", graded=True)
    presenter = Presenter(lift(observer, "recognises", ()), batch_size=1)
    found = recognise(presenter, album.photographs, album.classes, SCENE)
    assert observer.asked[0].prompt.text == ""
    assert observer.asked[0].prompt.options[0] == "a photo of a tabby"
    right = found.right(album.labels, presenter.readouts)[:, 0]
    assert right[:, 0].tolist() == [1, 1, 1, 1, 1, 0]
    np.testing.assert_allclose(right[:5, 1], 0.5)
    assert np.isnan(right[5, 1])  # nothing is known of it
    np.testing.assert_allclose(found.margin(album.labels)[:5, 0], 0.4)


def test_answers_are_logged_and_not_asked_for_again(album: Album, tmp_path: Path) -> None:
    def ask(replies: Sequence[str], budget: Budget | None = None) -> tuple[Chat, np.ndarray]:
        observer = Chat(replies)
        trials = Trials(tmp_path / "trials.sqlite", "chat", budget)
        presenter = Presenter(lift(observer, "recognises", ()), batch_size=2, log=trials)
        found = recognise(presenter, album.photographs, album.classes, SCENE)
        return observer, found.chosen

    with pytest.raises(BudgetError):
        ask(["tabby"] * 6, Budget(max_trials=4))
    rest, chosen = ask(["daisy"] * 6)
    assert len(rest.asked) == 2
    assert chosen[:, 0, 0].tolist() == [0, 0, 0, 0, 5, 5]
    nobody, again = ask([])
    assert not nobody.asked
    np.testing.assert_array_equal(again, chosen)


def test_pictures_that_cannot_be_made_are_not_shown(album: Album) -> None:
    gone = Photograph("gone.png", album.classes[0], "0", "nowhere")
    empty = Manipulated(album.photographs[0], Suppressed(Band.octaves(8.0)), 0.4)
    pictures = [gone, album.photographs[1], empty]
    looked: list[int] = []
    for observer in (Mean(), Chat(["moped"])):
        looked.clear()
        presenter = Presenter(lift(observer, "recognises", ()), batch_size=8)
        classes = ["dark", "bright"] if isinstance(observer, Mean) else album.classes
        found = recognise(
            presenter, pictures, classes, SCENE, look=lambda row, pixels: looked.append(row)
        )
        assert looked == [1]
        assert [problem for problem, _ in found.problems] == ["unreadable", "", "unreachable"]
        assert found.problems[0][1].startswith("gone.png cannot be read")
        assert found.chosen[[0, 2]].tolist() == [[[NOT_SHOWN]]] * 2
        assert found.chosen[1, 0, 0] >= 0
        right = found.right([0, 1, 0], presenter.readouts)
        assert np.isnan(right[[0, 2]]).all()


def test_whoever_reads_nothing_cannot_be_asked(album: Album) -> None:
    presenter = Presenter(Chat([], reads="nothing"), batch_size=8)
    with pytest.raises(ObserverError, match="reads no words, so it cannot be asked what"):
        recognise(presenter, album.photographs, album.classes, SCENE)


def test_names_with_commas_are_kept_apart() -> None:
    text = prompt_for(["n03710721", "n03710637"], labels=False).text
    assert "maillot, tank suit; maillot?" in text
