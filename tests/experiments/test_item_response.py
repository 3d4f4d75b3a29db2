"""Item-response curves of observers whose answers are known."""

from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from known import Blueing, Flat, KnownClassifier, flat_set
from recognised import CLASSES, experiment

from fechner.errors import ObserverError
from fechner.experiments import (
    AdaptiveLevels,
    EveryLevel,
    ItemResponse,
    Matching,
    Naming,
    PreferredViews,
    Presenter,
    SecondLook,
)
from fechner.experiments.base import Scene, question_size
from fechner.experiments.item_tasks import Shown
from fechner.experiments.preferred_views import Item, preferred
from fechner.observers import lift, observe
from fechner.observers.abilities import Wants
from fechner.observers.dropout import Dropout
from fechner.stimuli import OPPONENT, Field, display

SCENE = Scene(Field(8, 8, 32.0), display("verbal"), OPPONENT)
NAMING = Naming()
LEVELS = (0.0, *np.geomspace(0.01, 1.0, 20))


def steps(label: np.ndarray, level: np.ndarray) -> np.ndarray:
    """A threshold of its own for each class."""
    return (level < 0.02 * 1.2**label).astype(float)


def views_of(pictures: Any) -> PreferredViews:
    return PreferredViews("views", "Views", "richardwebster2018", SCENE, pictures)


def curve_of(pictures: Any, task: Any = NAMING, **more: Any) -> ItemResponse:
    settings = {"placement": EveryLevel(LEVELS), **more}
    return ItemResponse(
        "mafc-blueing",
        "Blueing",
        "richardwebster2018",
        SCENE,
        pictures,
        Blueing(),
        task=task,
        **settings,
    )


def recogniser(observer: Any, batch_size: int = 8) -> Presenter:
    return Presenter(lift(observer, "recognises", ()), batch_size=batch_size)


def presenter(observer: Any, batch_size: int = 8) -> Presenter:
    return Presenter(lift(observer, "compares", ("correlation",)), batch_size=batch_size)


def whole(experiment: Any, shown_by: Any, *answers: Any) -> xr.Dataset:
    parts = [experiment.measure(piece, shown_by, *answers) for piece in experiment.pieces()]
    return xr.concat(parts, parts[0].attrs["along"], data_vars="minimal")


def test_every_picture_has_a_decision_score() -> None:
    pictures = flat_set(5, each=3)
    data = whole(views_of(pictures), recogniser(KnownClassifier(5, steps)))
    assert data["class_of"].values.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]
    assert data["index"].values.tolist() == [0, 1, 2] * 5
    # The softmax of one score of 5, 6 or 7 among four of 0.
    expected = [np.exp(s) / (np.exp(s) + 4) for s in (5, 6, 7)]
    assert data["score"].values[:, 0, 0] == pytest.approx(np.tile(expected, 5), rel=1e-5)
    assert data.attrs["chance"] == 1 / 5


def test_wrong_choices_have_negative_scores() -> None:
    never = KnownClassifier(4, lambda label, level: np.zeros(len(label)))
    data = whole(views_of(flat_set(4)), recogniser(never))
    assert (data["score"] < 0).all()
    assert (data["right"] == 0).all()


def test_the_best_picture_of_each_class_is_preferred() -> None:
    pictures = flat_set(6, each=4)
    views = whole(views_of(pictures), recogniser(KnownClassifier(6, steps)))
    for label in range(6):
        assert preferred(pictures, label, 2, 0, views) == [(label, 3), (label, 2)]


def test_ties_are_drawn_by_seed() -> None:
    pictures = flat_set(3, each=20)
    views = whole(views_of(pictures), recogniser(KnownClassifier(3, steps)))
    views["score"][:] = 0.5
    first = [preferred(pictures, 1, 1, seed, views)[0].place for seed in range(50)]
    assert len(set(first)) > 10
    assert first == [preferred(pictures, 1, 1, seed, views)[0].place for seed in range(50)]


def test_an_observer_that_names_nothing_is_shown_pictures_drawn_by_seed() -> None:
    pictures = flat_set(3, each=20)
    assert preferred(pictures, 2, 5, 0, None) == preferred(pictures, 2, 9, 0, None)[:5]
    assert len(set(preferred(pictures, 2, 20, 0, None))) == 20


def test_a_table_of_trials() -> None:
    pictures = flat_set(7)
    known = recogniser(KnownClassifier(7, steps))
    views = whole(views_of(pictures), known)
    data = whole(curve_of(pictures), known, views)
    assert data.sizes["trial"] == 7 * 21
    assert data["level"].values[:21] == pytest.approx(LEVELS)
    expected = steps(data["class_of"].values, data["level"].values)
    assert (data["right"].values[:, 0, 0] == expected).all()
    assert (data["index"] == 2).all()
    assert data.attrs["task"] == "mafc"


def test_batches_change_nothing() -> None:
    pictures = flat_set(5)

    def coin(label: np.ndarray, level: np.ndarray) -> np.ndarray:
        return np.full(len(label), 0.5)

    tables = [
        whole(curve_of(pictures, per_class=2), recogniser(KnownClassifier(5, coin), size), None)
        for size in (1, 3, 64)
    ]
    assert 0.3 < tables[0]["right"].mean() < 0.7
    for other in tables[1:]:
        xr.testing.assert_identical(tables[0], other)


def test_other_pictures_of_a_set_do_not_change_what_is_drawn() -> None:
    curve, larger = curve_of(flat_set(5, each=3)), curve_of(flat_set(5, each=9))
    shown = Shown(Item(1, 2), 0.5, 0)
    assert curve.seed_of(shown) == larger.seed_of(shown)
    assert curve.seed_of(shown) != curve.seed_of(shown._replace(level=0.6))


def test_pieces_cover_all_classes_once() -> None:
    curve = curve_of(flat_set(230), per_class=3)
    pieces = curve.pieces()
    assert [piece.start for piece in pieces] == [0, *(p.stop for p in pieces[:-1])]
    assert pieces[-1].stop == 230
    assert sum(piece.images for piece in pieces) == 230 * 3 * 21
    assert max(piece.images for piece in pieces) <= 256


def test_adaptive_levels_find_the_threshold_of_each_class() -> None:
    pictures = flat_set(6)
    known = recogniser(KnownClassifier(6, steps))
    levels = (0.0, *np.geomspace(0.01, 1.0, 200))
    data = whole(
        curve_of(pictures, placement=AdaptiveLevels(levels, 44, shape="logistic")), known, None
    )
    assert data.sizes["trial"] == 6 * (4 + 40)
    assert (data["level"] == 0).sum() >= 6 * 4
    for label in range(6):
        own = data.isel(trial=np.flatnonzero(data["class_of"].values == label))
        right = own["right"].values[:, 0, 0] > 0
        highest, lowest = own["level"].values[right].max(), own["level"].values[~right].min()
        assert lowest / highest < 1.3
        assert highest < 0.02 * 1.2**label <= lowest


def test_a_second_look_shows_the_best_again() -> None:
    pictures = flat_set(4, each=9)
    known = recogniser(KnownClassifier(4, steps))
    views = whole(views_of(pictures), known)
    again = whole(SecondLook("look", "Look", views_of(pictures), best=3), known, views)
    assert again["index"].values.tolist() == [6, 7, 8] * 4
    assert preferred(pictures, 2, 1, 0, again) == [(2, 8)]


def mean_colours(pictures: torch.Tensor) -> torch.Tensor:
    return pictures.mean(dim=(2, 3))


def test_matching_asks_any_observer_that_compares() -> None:
    pictures = flat_set(9)
    shown_by = presenter(observe(mean_colours, name="colours"))
    data = whole(curve_of(pictures, Matching()), shown_by, None)
    assert data.attrs["chance"] == 0.5
    assert data.sizes["readout"] == 1
    right = data["right"].values[:, 0, 0]
    assert right[data["level"].values == 0].all()  # nothing is more like it than itself
    assert not data["undefined"].any()


def test_which_picture_stood_beside_is_stored() -> None:
    pictures = flat_set(30)
    met = []
    for others in (7, None):
        data = whole(
            curve_of(pictures, Matching(others=others)),
            presenter(observe(mean_colours, name="colours")),
            None,
        )
        own, other = data["class_of"].values, data["other_class"].values
        assert (own != other).all()
        assert set(data["other_index"].values) <= set(range(max(pictures.counts)))
        met.append([len(set(other[own == label])) for label in range(30)])
    few, all_of_them = np.array(met)
    assert few.max() <= 7
    # 21 trials of each class, each with another of 29.
    assert 12 <= all_of_them.mean() <= 17


def test_naming_has_no_picture_beside() -> None:
    data = whole(curve_of(flat_set(3)), recogniser(KnownClassifier(3, steps)), None)
    assert "other_class" not in data.coords


def test_constant_features_are_counted_and_wrong() -> None:
    shown_by = presenter(observe(lambda p: torch.ones(len(p), 5), name="blind"))
    data = whole(curve_of(flat_set(3), Matching()), shown_by, None)
    assert (data["right"] == 0).all()
    assert data["undefined"].all()
    assert data["score"].isnull().all()


def test_one_look_at_a_sample_or_two_are_the_same() -> None:
    pictures = flat_set(9)
    exact = observe(mean_colours, wants=Wants(dtype="float64"))
    once = whole(curve_of(pictures, Matching()), presenter(exact, 8), None)
    twice = whole(curve_of(pictures, Matching()), presenter(exact, 2), None)
    xr.testing.assert_allclose(once, twice, rtol=1e-6)


def test_metrics_match_too() -> None:
    shown_by = presenter(observe(lambda t, r: (t - r).abs().mean(dim=(1, 2, 3)), name="mae"))
    data = whole(curve_of(flat_set(5), Matching()), shown_by, None)
    assert data["right"].values[data["level"].values == 0].all()


class Little(torch.nn.Module):
    """A classifier of mean colours."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.hidden = torch.nn.Linear(3, 64)
        self.out = torch.nn.Linear(64, 4)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return self.out(self.hidden(pictures.mean(dim=(2, 3))).relu())


def little() -> Any:
    return observe(Little(), classes=[f"class{i:03d}" for i in range(4)])


def test_dropout_has_a_table_row_for_each_run() -> None:
    task = Naming(dropout=Dropout(("hidden",), 0.5, 3))
    curve = curve_of(flat_set(4), task)
    data = whole(curve, recogniser(little()), None)
    assert data.sizes["trial"] == 4 * 21 * 3
    assert sorted(set(data["dropout_run"].values.tolist())) == [1, 2, 3]
    by_run = [data["score"].values[data["dropout_run"].values == run] for run in (1, 2, 3)]
    assert not np.array_equal(by_run[0], by_run[1])
    again = whole(curve, recogniser(little(), 3), None)
    assert again["score"].values == pytest.approx(data["score"].values, abs=1e-6)


@pytest.mark.parametrize(
    ("layers", "words"),
    [(("hiden",), "did you mean 'hidden'"), (("",), "no layer named ''")],
)
def test_dropout_of_a_layer_that_is_not_there(layers: tuple[str, ...], words: str) -> None:
    curve = curve_of(flat_set(4), Naming(dropout=Dropout(layers)))
    with pytest.raises(Exception, match=words):
        whole(curve, recogniser(little()), None)


def test_nothing_can_be_dropped_in_what_is_no_network() -> None:
    curve = curve_of(flat_set(4), Naming(dropout=Dropout(("hidden",))))
    with pytest.raises(ObserverError, match="no torch network"):
        whole(curve, recogniser(KnownClassifier(4, steps)), None)


def test_an_observer_that_does_not_know_a_class_says_so() -> None:
    curve = curve_of(flat_set(6))
    with pytest.raises(ObserverError, match="has no class for 'class004'"):
        whole(curve, recogniser(little()), None)


def test_samples_show_the_original_first() -> None:
    (row,) = curve_of(flat_set(3)).samples()
    assert row[0].x == "original"
    assert row[0].at < row[1].at
    assert row[-1].at == pytest.approx(1.0)
    assert isinstance(row[0].stimulus.source, Flat)


def test_a_question_in_words_names_all_classes() -> None:
    """Costs of a run are estimated from its length; matching asks nothing in words."""
    pictures, words = question_size(experiment("mafc-blur"))
    assert pictures == 1
    assert words > len(CLASSES)
    assert question_size(experiment("2afc-blur")) == (1, 0.0)
