"""Scores and panels of item-response curves and of views."""

import dataclasses
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from known import Blueing, KnownClassifier, flat_set

from fechner.experiments import (
    AdaptiveLevels,
    EveryLevel,
    ItemResponse,
    Matching,
    Naming,
    PreferredViews,
    Presenter,
)
from fechner.experiments.base import Scene
from fechner.human.trials import HumanTrial, HumanTrials
from fechner.observers import lift, observe
from fechner.scores import ItemPanels, ItemScores, ViewPanels, ViewScores
from fechner.scores.panels import Gallery, Line, Points, Vertical
from fechner.stimuli import OPPONENT, Field, display

SCENE = Scene(Field(8, 8, 32.0), display("verbal"), OPPONENT)
LEVELS = (0.0, *np.geomspace(0.01, 1.0, 41))
NAMING = Naming()
CLASSES = 30

#: Thresholds of classes, a decade apart.
THRESHOLDS = np.geomspace(0.03, 0.3, CLASSES)


def steps(label: np.ndarray, level: np.ndarray) -> np.ndarray:
    return (level < THRESHOLDS[label]).astype(float)


def experiment(task: Any = NAMING, placement: Any = None, name: str = "mafc-blueing") -> Any:
    return ItemResponse(
        name,
        "Blueing",
        "richardwebster2018",
        SCENE,
        flat_set(CLASSES),
        Blueing(),
        placement or EveryLevel(LEVELS),
        task,
    )


def measured(test: Any, shown_by: Any) -> xr.Dataset:
    parts = [test.measure(piece, shown_by, None) for piece in test.pieces()]
    return xr.concat(parts, "trial", data_vars="minimal")


@pytest.fixture(scope="module")
def answers() -> xr.Dataset:
    known = Presenter(lift(KnownClassifier(CLASSES, steps), "recognises", ()), batch_size=64)
    return measured(experiment(), known)


def scores(data: xr.Dataset, *others: Any, **settings: Any) -> dict[str, Any]:
    return {score.name: score for score in ItemScores(**settings)(data, *others)}


def test_threshold_and_area_of_known_steps(answers: xr.Dataset) -> None:
    found = scores(answers)
    # Half-way between 1 and a chance of 1/30, along the decade of thresholds.
    assert found["threshold"].value == pytest.approx(0.3 * 10 ** -((1 + 1 / CLASSES) / 2), rel=0.02)
    assert found["threshold"].low < found["threshold"].value < found["threshold"].high
    # The mean of log thresholds between the ends of the tested levels, less half a step.
    share = np.log(THRESHOLDS / 0.01).mean() / np.log(100)
    assert found["area"].value == pytest.approx(share, abs=0.02)
    assert found["accuracy-original"].value == 1
    assert found["accuracy-end"].value == 0
    assert found["accuracy-end"].high > 0.05  # thirty classes do not make it certain
    assert {score.resampled for score in found.values()} == {"classes"}


def test_an_interval_ends_where_levels_do(answers: xr.Dataset) -> None:
    most = scores(answers)["threshold"].value * 1.001
    assert scores(answers.assign_attrs(most=most))["threshold"].high == most


def test_a_curve_that_never_falls_has_a_bound() -> None:
    always = KnownClassifier(CLASSES, lambda label, level: np.ones(len(label)))
    known = Presenter(lift(always, "recognises", ()), batch_size=64)
    found = scores(measured(experiment(), known))
    assert found["area"].value == pytest.approx(1)
    assert np.isnan(found["threshold"].value)
    assert "above 1" in found["threshold"].note
    assert found["threshold"].high == np.inf


def test_an_observer_that_is_always_wrong_has_no_threshold() -> None:
    never = KnownClassifier(CLASSES, lambda label, level: np.zeros(len(label)))
    known = Presenter(lift(never, "recognises", ()), batch_size=64)
    found = scores(measured(experiment(), known))
    assert "nothing to fall" in found["threshold"].note
    assert np.isnan(found["threshold"].low)


def test_adaptive_levels_have_the_same_threshold_and_area(answers: xr.Dataset) -> None:
    known = Presenter(lift(KnownClassifier(CLASSES, steps), "recognises", ()), batch_size=64)
    adaptive = experiment(placement=AdaptiveLevels(LEVELS, 44, shape="logistic"))
    found, constant = scores(measured(adaptive, known)), scores(answers)
    assert found["threshold"].value == pytest.approx(constant["threshold"].value, rel=0.05)
    assert found["area"].value == pytest.approx(constant["area"].value, abs=0.03)


def test_other_directions_are_compared_class_by_class(answers: xr.Dataset) -> None:
    up = answers.assign_attrs(manipulation="blueing-up", axis="blue")
    down = answers.assign_attrs(manipulation="blueing-down")
    harder = down.copy()
    harder["right"] = harder["right"] * (harder["level"] < 0.02)
    found = scores(up, harder)["up-minus-down"]
    assert found.value > 0.1
    assert found.low > 0
    assert scores(harder, up)["up-minus-down"].value == pytest.approx(found.value)
    alike = scores(up, down)["up-minus-down"]
    assert alike.value == 0
    assert alike.low < -0.01 < 0.01 < alike.high
    # Of a direction that goes farther, what lies beyond the other's levels does not count.
    farther = up.copy(deep=True).assign_attrs(strongest=float(up.attrs["strongest"]) * 10)
    farther["level"] = farther["level"].where(farther["level"] < 1, 10.0)
    farther["right"] = farther["right"].where(farther["level"] < 1, 1.0)
    found = scores(farther, down)["up-minus-down"]
    assert 0 < found.value < 0.02
    assert f"to {float(up.attrs['strongest']):.3g}" in found.note


def test_people_stand_beside_corrected_for_chance(answers: xr.Dataset) -> None:
    rows = [
        HumanTrial(f"p{person}", "mafc-blueing", f"class{k:03d}", 0.1, "", k < 4, 1 / 3)
        for person in range(10)
        for k in range(5)
    ]
    people = HumanTrials.of(rows)
    found = scores(answers, people=people)["people-difference"]
    ours = np.interp(np.log(0.1), np.log(LEVELS[1:]), _accuracy(answers)[1:])
    chance = 1 / CLASSES
    expected = (ours - chance) / (1 - chance) - (0.8 - 1 / 3) / (1 - 1 / 3)
    assert found.value == pytest.approx(expected, abs=1e-6)
    assert found.low < found.value < found.high
    assert "10 people (50 trials, chance 0.333)" in found.note
    (panel, *_) = ItemPanels(ItemScores(people=people))(experiment(), _part(answers))
    (points,) = [mark for mark in panel.marks if isinstance(mark, Points)]
    assert points.human
    assert points.y[0] == pytest.approx(chance + (1 - chance) * 0.7)
    beyond = HumanTrials.of([dataclasses.replace(row, level=77.7) for row in rows])
    nothing = scores(answers, people=beyond)["people-difference"]
    assert np.isnan(nothing.value)
    assert nothing.note == "not computable: nothing beyond 1 was shown"


def _accuracy(data: xr.Dataset) -> np.ndarray:
    right = data["right"].values[:, 0, 0].reshape(CLASSES, len(LEVELS))
    return right.mean(axis=0)


def _part(data: xr.Dataset) -> xr.Dataset:
    return data.isel(layer=-1, readout=0)


def test_panels_of_a_curve(answers: xr.Dataset) -> None:
    panels = ItemPanels(ItemScores())(experiment(), _part(answers))
    kinds = [panel.kind for panel in panels]
    assert kinds[:4] == ["accuracy", "classes by level", "thresholds of classes", "lost first"]
    assert kinds.count("curves of classes") == 16
    curve = panels[0]
    assert curve.x.reversed
    assert curve.x.named == ((experiment().original_at, "original"),)
    (line, chance) = [mark for mark in curve.marks if isinstance(mark, Line)]
    assert line.y[0] == 1
    assert chance.style == "guide"
    assert any(isinstance(mark, Vertical) for mark in curve.marks)
    gallery = next(panel.gallery for panel in panels if panel.kind == "lost first")
    assert isinstance(gallery, Gallery)
    assert [item.title for item in gallery.items[:2]] == ["class000", "class001"]
    assert gallery.items[0].text == "lost at about 0.0298"  # between two levels around 0.03


def test_classes_that_are_never_lost_do_not_count_as_lost(answers: xr.Dataset) -> None:
    changed = answers.copy(deep=True)
    right, of = changed["right"].values, changed["class_of"].values
    right[of == 0] = 1
    right[(of == 1) & (changed["level"].values == 0)] = 0
    panels = {p.kind: p for p in ItemPanels(ItemScores())(experiment(), _part(changed))}
    points = panels["thresholds of classes"].marks[0]
    assert len(points.x) == CLASSES - 1
    assert points.y.max() == pytest.approx(1 - 1 / CLASSES)
    assert "class000" not in points.names
    assert panels["classes by level"].y.ticks[-1] == "class000"
    first = panels["lost first"].gallery.items[0]
    assert (first.title, first.text) == ("class001", "lost from the start")
    right[:] = 1
    kinds = [p.kind for p in ItemPanels(ItemScores())(experiment(), _part(changed))]
    assert not {"thresholds of classes", "lost first"} & set(kinds)


def test_published_curves_are_smoothed_and_their_fits_are_not(answers: xr.Dataset) -> None:
    plain, smooth = ItemScores(), ItemScores(window=15)
    lines = [
        ItemPanels(scorer)(experiment(), _part(answers))[0].marks[0] for scorer in (plain, smooth)
    ]
    assert np.abs(np.diff(lines[1].y)).max() < np.abs(np.diff(lines[0].y)).max()
    assert plain(answers)[1] == smooth(answers)[1]


def test_dropout_has_a_fan_and_a_spread(answers: xr.Dataset) -> None:
    runs = []
    for run in (1, 2, 3):
        data = answers.assign_coords(
            dropout_run=("trial", np.full(answers.sizes["trial"], run, np.int16))
        )
        if run == 3:
            data = data.copy()
            data["right"] = data["right"] * (data["class_of"] > 2)
        runs.append(data)
    together = xr.concat(runs, "trial", data_vars="minimal")
    found = scores(together)["dropout-spread"]
    assert found.value == pytest.approx(3 / CLASSES)
    assert "3 runs" in found.note
    marks = ItemPanels(ItemScores())(experiment(), _part(together))[0].marks
    assert sum(isinstance(mark, Line) and mark.style == "fan" for mark in marks) == 3


def test_matching_has_a_level_of_three_quarters_and_counts_what_is_undefined() -> None:
    shown_by = Presenter(
        lift(observe(lambda p: p.mean(dim=(2, 3)), name="colours"), "compares", ("correlation",)),
        batch_size=8,
    )
    found = scores(measured(experiment(Matching(), name="2afc-blueing"), shown_by))
    assert found["area"].chance == 0
    assert "threshold-75" in found
    assert found["undefined"].value == 0


def test_two_observers_are_paired_by_class(answers: xr.Dataset) -> None:
    scorer = ItemScores()
    fewer = answers.isel(trial=np.flatnonzero(answers["class_of"].values > 4))
    first, second = scorer.shared(_part(answers), _part(fewer))
    ours, theirs = scorer.resample(first), scorer.resample(second)
    assert ours.clusters.tolist() == theirs.clusters.tolist() == list(range(5, CLASSES))
    assert np.array_equal(ours.values, theirs.values)


def test_nothing_that_could_be_shown_is_said(answers: xr.Dataset) -> None:
    nothing = answers.copy(deep=True)
    nothing["right"][:] = np.nan
    nothing["problem"][:] = 1
    (score,) = ItemScores()(nothing)
    assert np.isnan(score.value)
    assert "nothing could be shown" in score.note
    assert ItemPanels(ItemScores())(experiment(), _part(nothing)) == []


@pytest.fixture(scope="module")
def views() -> tuple[PreferredViews, xr.Dataset]:
    test = PreferredViews("views", "Views", "richardwebster2018", SCENE, flat_set(CLASSES, each=4))

    def half(label: np.ndarray, level: np.ndarray) -> np.ndarray:
        return np.where(label % 2, 1.0, -1.0)

    known = Presenter(lift(KnownClassifier(CLASSES, half), "recognises", ()), batch_size=64)
    return test, xr.concat([test.measure(p, known) for p in test.pieces()], "picture")


def test_accuracy_of_pictures_as_they_are(views: tuple[PreferredViews, xr.Dataset]) -> None:
    accuracy, recognised = ViewScores()(views[1])
    assert accuracy.value == recognised.value == 0.5
    # Whole classes are right or wrong: thirty of them, not 120 pictures.
    error = 0.5 / np.sqrt(CLASSES)
    assert accuracy.high - 0.5 == pytest.approx(2 * error, rel=0.1)
    assert recognised.note == "0 of 30 classes have ties"


def test_pictures_that_both_were_shown(views: tuple[PreferredViews, xr.Dataset]) -> None:
    data = views[1].isel(layer=-1, readout=0)
    fewer = data.isel(picture=np.arange(7, 100))
    first, second = ViewScores().shared(data, fewer)
    assert first["index"].values.tolist() == second["index"].values.tolist()
    assert len(first["index"]) == 93
    assert ViewScores().resample(first).score == ViewScores().resample(second).score


def test_panels_of_views(views: tuple[PreferredViews, xr.Dataset]) -> None:
    test, data = views
    scores_, gallery = ViewPanels()(test, data.isel(layer=-1, readout=0))
    assert (np.diff(scores_.marks[0].y) >= 0).all()
    assert gallery.gallery is not None
    assert len(gallery.gallery.items) == 12
    # Of a class that is always right the surest picture is the last.
    assert replace(gallery.gallery.items[-1].picture, label=0).place == 3
