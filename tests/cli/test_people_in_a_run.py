"""People in a run that was measured: asked what a metric was asked, kept, compared with it."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from photographs import PHOTOGRAPHS, write_album
from PIL import Image

from fechner import Run, evaluate
from fechner.cli import app
from fechner.experiments.item_tasks import Shown
from fechner.experiments.preferred_views import Item
from fechner.human.trials import HumanTrial, HumanTrials
from fechner.runs.run import people_of

TESTS = ("2afc-blur", "2afc-salt-pepper")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("people")
    return evaluate(
        "pixels",
        suite="recognition",
        images=write_album(folder / "photographs", side=64, crops=2),
        tests=list(TESTS),
        levels=4,
        show="drawn",
        out=folder / "run",
        progress=False,
    )


@pytest.fixture
def fechner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["fechner", *arguments])
        with pytest.raises(SystemExit) as end:
            app.main()
        out, err = capsys.readouterr()
        assert not end.value.code, err
        return out

    return call


def test_from_lists_of_trials_to_the_same_errors(fechner, run: Run) -> None:
    place = str(run.folder)
    fechner(
        "export-trials", place, "--observer", "pixels", "--out", "trials", "--people", "4",
        "--trials", "3", "--seed", "5",
    )  # fmt: skip
    lists = sorted(Path("trials").glob("conditions_*.csv"))
    assert len(lists) == 4
    asked = {path.stem.removeprefix("conditions_"): _rows(path) for path in lists}
    # People who answer as the metric did.
    for person, rows in asked.items():
        answers = [_as_pixels_did(run, person, row) for row in rows]
        Path(f"{person}.csv").write_text(HumanTrials.of(answers).to_csv(), "utf-8")
    table = fechner("people", place, *(f"{person}.csv" for person in asked))
    assert "24 trials of 4 people" in table
    kept = people_of(run.folder)
    assert kept is not None
    assert kept.tests == TESTS
    compared = list(csv.DictReader(fechner("consistency", place, "--format", "csv").splitlines()))
    assert [(row["test"], row["second"], row["trials"]) for row in compared] == [
        (test, "people", "12") for test in TESTS
    ]
    assert {float(row["observed"]) for row in compared} == {1.0}


def test_people_see_what_the_observer_saw(fechner, run: Run) -> None:
    """Also where a manipulation is random: the same pixels are changed."""
    fechner(
        "export-trials", str(run.folder), "--observer", "pixels", "--out", "trials",
        "--people", "1", "--trials", "2",
    )  # fmt: skip
    field = run.data("pixels", TESTS[0]).attrs
    experiments = {test.id: test.experiment for test in run.tests}
    for row in _rows(Path("trials/conditions_person-01.csv")):
        shown = np.asarray(Image.open(Path("trials") / row["image"]))
        assert shown.shape == (field["drawn_height_px"], field["drawn_width_px"], 3)
        experiment = experiments[row["test"]]
        item = Item(_label(row), int(row["picture"]))
        recipe = experiment.picture(Shown(item, float(row["level"]), 0))
        size = (int(field["drawn_height_px"]), int(field["drawn_width_px"]))
        pixels = recipe.draw(experiment.scene.field.resized(size), 8, "cpu")
        assert (shown == pixels.mul(255).round().byte().permute(1, 2, 0).numpy()).all()
        original = np.asarray(Image.open(Path("trials") / row[f"option_{row['correct']}_image"]))
        assert (shown != original).any()


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _label(row: dict[str, str]) -> int:
    from fechner.observers.classes import readable_names

    return readable_names(sorted(PHOTOGRAPHS)).index(row["class"])


def _as_pixels_did(run: Run, person: str, row: dict[str, str]) -> HumanTrial:
    data = run.data("pixels", row["test"])
    assert data is not None
    same = (
        (data["class_of"] == _label(row))
        & (data["index"] == int(row["picture"]))
        & (data["level"] == float(row["level"]))
    )
    (right,) = data["right"].values[same.values, -1, 0]
    return HumanTrial(
        person,
        row["test"],
        row["class"],
        float(row["level"]),
        "",
        bool(right),
        float(row["chance"]),
        row["picture"],
    )
