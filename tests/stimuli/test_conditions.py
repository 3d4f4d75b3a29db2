"""Experiments in the layout of model-vs-human as picture sets."""

import pickle
import shutil
from pathlib import Path

import pytest
from conditions import CATEGORIES, write_experiments

from fechner.errors import FechnerError, PictureError
from fechner.stimuli import Field
from fechner.stimuli.conditions import known_experiment, picture_name
from fechner.stimuli.picture_files import FolderPictures
from fechner.stimuli.picture_sets import known_pictures, open_pictures


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_experiments(tmp_path_factory.mktemp("conditions"), each=2, side=8)


def test_all_experiments_of_a_folder(datasets: Path) -> None:
    found = open_pictures(datasets)
    contrast, conflict = found.experiments
    assert (contrast.experiment, conflict.experiment) == ("contrast", "cue-conflict")
    assert found.classes == CATEGORIES
    assert found.counts == (8,) * 16
    assert contrast.conditions == ("c100", "c50", "c05")
    assert conflict.conditions == ("0",)
    assert [conflict.described(0, i).texture for i in range(2)] == ["airplane", "bottle"]
    assert {contrast.described(3, i).category for i in range(6)} == {"bird"}
    assert found.picture(0, 7).draw(Field(8, 8, 8.0), None, "cpu").shape == (3, 8, 8)
    assert found.name(0, 7) == "cue-conflict/airplane/airplane2-bottle2.png"


def test_one_experiment_is_the_same_as_in_its_folder(datasets: Path) -> None:
    together = open_pictures(datasets).experiments
    for part in together:
        alone = open_pictures(datasets / part.experiment)
        assert alone.experiments == (part,)


def test_sets_come_back_from_plain_values_and_pickles(datasets: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(datasets, tmp_path / "copy")
    found = open_pictures(copy)
    for again in (known_pictures(found.plain(), str(copy)), pickle.loads(pickle.dumps(found))):
        assert again == found
        assert again.experiments[0].described(5, 1) == found.experiments[0].described(5, 1)
    shutil.rmtree(copy)
    gone = open_pictures(datasets).plain()
    known = known_pictures(gone, str(copy))
    assert known.experiments[0].conditions == ("c100", "c50", "c05")
    with pytest.raises(PictureError):
        known.experiments[1].described(0, 0)


def test_folders_of_classes_are_what_they_were(datasets: Path, tmp_path: Path) -> None:
    """Named otherwise, or with other classes, they are no experiment."""
    other = shutil.copytree(datasets / "cue-conflict", tmp_path / "mine")
    assert isinstance(open_pictures(other), FolderPictures)
    named = shutil.copytree(datasets / "cue-conflict", tmp_path / "edge")
    (named / "airplane").rename(named / "aeroplane")
    assert isinstance(open_pictures(named), FolderPictures)


def test_files_named_otherwise_are_counted(datasets: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(datasets / "contrast", tmp_path / "contrast")
    session = copy / "dnn" / "session-1"
    first = next(session.iterdir())
    first.rename(session / "holiday.png")
    found = open_pictures(copy)
    assert len(found) == 95
    assert "holiday.png" in found.notes[0]


def test_a_single_category_is_refused(datasets: Path, tmp_path: Path) -> None:
    session = tmp_path / "contrast" / "dnn" / "session-1"
    session.mkdir(parents=True)
    for path in (datasets / "contrast" / "dnn" / "session-1").glob("*_cat_*"):
        shutil.copy(path, session)
    with pytest.raises(FechnerError, match="two classes are needed"):
        open_pictures(tmp_path)


def test_names_of_people_and_networks_are_of_the_same_picture() -> None:
    theirs = picture_name("0003_hp_s01_0.45_elephant_10_n02504458_582.png")
    ours = picture_name("1203_hp_dnn_0.450_elephant_10_n02504458_582.JPEG")
    assert theirs == ours
    assert picture_name("0001_ske_s01_0_boat_00_boat-0068-sketch-23.png").image == (
        "boat-0068-sketch-23"
    )
    assert picture_name("holiday.png") is None


def test_conditions_that_the_benchmark_leaves_out_are_conditions() -> None:
    for name in ("contrast", "high-pass", "eidolonIII", "uniform-noise"):
        known = known_experiment(name)
        assert set(known.left_out) < set(known.conditions)
