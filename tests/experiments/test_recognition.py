"""Asking which class a picture shows: by scores, in words, by labels; nothing is asked twice."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr
from bands import BANDS_CPD, FIELD, SeesOneBand, write_gratings
from photographs import write_album

from fechner.errors import BudgetError, ObserverError
from fechner.experiments import BandRobustness, Presenter, Scene
from fechner.experiments.presenter import PROBLEMS
from fechner.experiments.recognition import NONE_OF_THEM, NOT_SHOWN, prompt_for, recognise
from fechner.observers import Answer, Question, Wants, lift, resolve
from fechner.observers.chat.reply_parser import parse
from fechner.report.figures import contact_sheet
from fechner.report.page.stimuli import sprite
from fechner.runs.manifest import parameters
from fechner.runs.store import read_dataset, write_dataset
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


BAND_SCENE = Scene(FIELD, display("verbal"), OPPONENT)


def experiment(album: Album, kind="noise", rmse=(0.03, 0.06), scene=BAND_SCENE) -> BandRobustness:
    return BandRobustness(
        f"bands-{kind}", "Bands", "hernandez2025", scene, album, BANDS_CPD, rmse, kind
    )


def measured(asked: BandRobustness, observer: object) -> xr.Dataset:
    presenter = Presenter(lift(observer, "recognises", ()), batch_size=8)
    parts = [asked.measure(piece, presenter) for piece in asked.pieces()]
    return xr.concat(
        parts,
        dim=parts[0].attrs["along"],
        data_vars="minimal",
        coords="minimal",
        compat="equals",
        join="exact",
    )


@pytest.fixture(scope="module")
def gratings(tmp_path_factory: pytest.TempPathFactory) -> Album:
    return write_gratings(tmp_path_factory.mktemp("gratings") / "album")


@pytest.mark.parametrize("kind", ["noise", "suppressed"])
def test_who_sees_one_band_needs_that_band_only(gratings: Album, kind: str) -> None:
    data = measured(experiment(gratings, kind), SeesOneBand())
    assert data["band"].values.tolist() == [0.0, *BANDS_CPD]
    assert dict(data["right"].sizes) == {
        "band": 5,
        "rmse": 2,
        "picture": 32,
        "layer": 1,
        "readout": 1,
    }
    right = data["right"].values[..., 0, 0]
    assert (right[0] == right[0, :1]).all()  # what is unperturbed is so at every RMSE
    unperturbed, strongest = right[0, 0].mean(), np.nanmean(right[1:, 1], axis=1)
    assert unperturbed > 0.9
    assert strongest[2] < unperturbed - 0.3  # 4 cpd, with chance at 1/4
    assert (np.delete(strongest, 2) > unperturbed - 0.07).all()
    assert data.attrs["chance"] == 0.25
    assert data.attrs["reads"] == "nothing"
    assert data.attrs["classes"] == "flat|steep|tilted|upright"
    margin = data["margin"].values[..., 0]
    np.testing.assert_array_equal(margin[np.isfinite(margin)] > 0, right[np.isfinite(right)] == 1)


@pytest.mark.parametrize("kind", ["noise", "suppressed"])
def test_what_was_shown_has_the_rmse_or_is_marked(gratings: Album, kind: str) -> None:
    rmse = (0.03, 0.06, 0.12)
    data = measured(experiment(gratings, kind, rmse), SeesOneBand())
    shown, problem = data["rmse_shown"].values, data["problem"].values
    assert (shown[0] == 0).all()
    made = problem == 0
    expected = np.broadcast_to(np.array(rmse)[:, None], shown.shape[1:])
    for band in range(1, 5):
        np.testing.assert_allclose(shown[band][made[band]], expected[made[band]], rtol=0.01)
    assert np.isnan(shown[1:][~made[1:]]).all()
    np.testing.assert_array_equal(np.isnan(data["right"].values[..., 0, 0]), ~made)
    # Every band has 0.07 in it, so that 0.12 cannot be taken out.
    unreachable = problem[1:, 2] == PROBLEMS.index("unreachable")
    assert unreachable.all() == (kind == "suppressed")
    assert made[1:, :2].all()


def test_noise_is_the_same_whatever_else_is_shown(gratings: Album) -> None:
    whole = experiment(gratings)
    some = replace(whole, album=replace(gratings, photographs=gratings.photographs[::5]))
    a, b = (measured(each, SeesOneBand())["margin"].values for each in (whole, some))
    np.testing.assert_allclose(a[:, :, ::5], b, rtol=1e-9)
    other = measured(replace(some, seed=1), SeesOneBand())["margin"].values
    assert (other[0] == b[0]).all()
    assert (other[1:] != b[1:]).all()


def test_a_band_that_pixels_cannot_hold_is_not_shown(gratings: Album) -> None:
    asked = replace(experiment(gratings), bands_cpd=(4.0, 14.0))
    data = measured(asked, SeesOneBand())
    assert (data["problem"].values[2] == PROBLEMS.index("aliased")).all()
    assert np.isnan(data["right"].values[2]).all()
    assert np.isfinite(data["right"].values[:2]).all()


def test_broken_files_are_counted_and_the_rest_goes_on(tmp_path: Path) -> None:
    album = write_gratings(tmp_path / "album", per_class=2)
    (tmp_path / "album" / "flat" / "0.png").write_bytes(b"broken")
    album = open_album(tmp_path / "album")
    data = measured(experiment(album), SeesOneBand())
    problem = data["problem"].values
    assert (problem[:, :, 0] == PROBLEMS.index("unreadable")).all()
    assert (problem[:, :, 1:] == 0).all()
    assert data.attrs["unreadable"] == "flat/0.png is no picture in a format that is known."
    assert np.isfinite(data["right"].values[:, :, 1:]).all()


def test_answers_are_stored_and_read_back_as_they_are(gratings: Album, tmp_path: Path) -> None:
    asked = experiment(gratings)
    presenter = Presenter(lift(SeesOneBand(), "recognises", ()), batch_size=8)
    data = asked.measure(asked.pieces()[1], presenter)
    digest = write_dataset(tmp_path / "a.nc", data)
    xr.testing.assert_identical(read_dataset(tmp_path / "a.nc", digest), data)
    # What is stored depends on the pictures, not on where they are.
    plain = parameters(asked)
    assert plain["album"]["photographs"][0]["name"] == "flat/0.png"
    assert str(gratings.photographs[0].path.parent) not in str(plain)


class Replies:
    """Answers as one that sees one band, in words."""

    name = "chat"
    layers = ("reply",)
    readouts = ("choice",)
    reads = "questions"
    wants = Wants(bits=8)
    fingerprint = "chat/1"

    def choose(self, frames: Frames, questions: Sequence[Question]) -> Iterator[Answer]:
        assert frames.display.bits == 8
        scores = SeesOneBand().class_scores(frames)
        for index, question in enumerate(questions):
            assert question.prompt.options == SeesOneBand.classes
            yield Answer(index, int(scores[question.pictures[0]].argmax()))


def test_chat_models_answer_about_pictures_of_eight_bits(gratings: Album) -> None:
    asked = experiment(gratings)
    assert sum(piece.questions for piece in asked.pieces()) == 32 * (1 + 4 * 2)
    data = measured(asked, Replies())
    right = data["right"].values[..., 0, 0]
    assert right[0, 0].mean() > 0.9
    assert right[3, 1].mean() < right[0, 0].mean() - 0.3
    assert data.attrs["reads"] == "questions"
    np.testing.assert_allclose(data["rmse_shown"].values[1:, 0], 0.03, rtol=0.01)


def test_efficientnet_with_its_real_weights(tmp_path: Path) -> None:
    album = open_album(write_album(tmp_path / "album"))
    scene = Scene(Field(256, 256, 64.0), display("verbal"), OPPONENT)
    asked = replace(experiment(album, rmse=(0.32,), scene=scene), bands_cpd=(0.5, 8.0))
    data = measured(asked, resolve("efficientnet_lite0"))
    right = data["right"].values[:, 0, :, 0, 0].mean(axis=1)
    assert right[0] >= 5 / 6
    margin = data["margin"].values[:, 0, :, 0].mean(axis=1)
    assert margin[2] < margin[0] - 3  # noise of 8 cpd
    assert margin[2] < margin[1]
    assert data.attrs["seen_width_px"] == 224


def test_it_says_what_it_does_and_can_be_looked_at(gratings: Album) -> None:
    asked = experiment(gratings, "suppressed", (0.03, 0.12))
    assert "32 photographs of 4 classes" in asked.method
    assert "RMSE to the original" in asked.method
    assert "'Which of these is shown in the image: flat, steep, tilted, upright?" in asked.method
    assert [piece.name for piece in asked.pieces()] == ["unperturbed"] + [
        f"band-0{band}" for band in range(4)
    ]
    rows = asked.samples()
    assert [len(row) for row in rows] == [4, 4]
    assert [row[0].y for row in rows] == ["0.12", "0.03"]
    sheet = contact_sheet([asked])
    assert sheet.width > 4 * 64
    assert len(sprite(asked).samples) == 2
    # Where pictures are gone there is nothing to see, but no harm either.
    gone = Album.known(parameters(gratings), "nowhere")
    assert contact_sheet([replace(asked, album=gone)]).size == sheet.size
