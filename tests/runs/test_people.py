"""Trials of people in a run folder: checked, in one spelling, whole or not at all."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from recognised import Measured

from fechner.errors import FechnerError
from fechner.human.trials import HumanTrial, HumanTrials
from fechner.runs.people import keep_people, remove_people
from fechner.runs.run import people_of
from fechner.runs.store import PEOPLE


@pytest.fixture
def run(tmp_path: Path) -> Measured:
    return Measured(tmp_path)


def trial(**change: object) -> HumanTrial:
    values = {"label": "tabby", "picture": "3"} | change
    return HumanTrial(
        **{
            "observer": "ann",
            "test": "mafc-blur",
            "level": 0.1 + 0.2,
            "response": "espresso",
            "correct": False,
            "chance": 1 / 3,
            **values,
        }
    )


def test_what_is_kept_is_handed_out(run: Measured) -> None:
    assert people_of(run.folder) is None
    kept = keep_people(run, HumanTrials.of([trial(), trial(observer="bob", correct=True)]))
    assert people_of(run.folder) == kept
    assert people_of(str(run.folder)) is people_of(run.folder)  # read once
    assert [path.name for path in run.folder.iterdir()] == [PEOPLE]
    other = keep_people(run, HumanTrials.of([trial(level=7.0)]))
    assert people_of(run.folder) == other != kept
    assert remove_people(run.folder)
    assert people_of(run.folder) is None
    assert not remove_people(run.folder)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"label": "n02123045"}, {"label": "tabby"}),
        ({"label": "garbage_truck"}, {"label": "garbage truck"}),
        ({"label": "garbage truck"}, {"label": "garbage truck"}),
        ({"label": "espresso", "picture": "espresso/2.png"}, {"label": "espresso", "picture": "2"}),
        ({"label": "espresso", "picture": "2.png"}, {"label": "espresso", "picture": "2"}),
        ({"picture": ""}, {"picture": ""}),
    ],
)
def test_one_spelling(run: Measured, given: dict[str, str], kept: dict[str, str]) -> None:
    assert keep_people(run, HumanTrials.of([trial(**given)])).rows == (trial(**kept),)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"test": "mafc-blurr"},
            "trial 2 of 2: there is no test named 'mafc-blurr'; did you mean 'mafc-blur'",
        ),
        ({"test": "views"}, r"no test named 'views'; .*people can be asked mafc-blur, mafc-noise"),
        ({"label": "tabi"}, "no class named 'tabi'; did you mean 'tabby'.* and 35 more"),
        ({"picture": "4"}, "no picture named '4'; .*or numbers from 0 to 3"),
        ({"picture": "n02123045/1.pn"}, "did you mean 'n02123045/1.png'"),
        ({"picture": "-1"}, "no picture named '-1'"),
    ],
)
def test_what_the_run_does_not_have(run: Measured, given: dict[str, str], said: str) -> None:
    before = keep_people(run, HumanTrials.of([trial()]))
    with pytest.raises(FechnerError, match=said):
        keep_people(run, HumanTrials.of([trial(), trial(**given)]))
    assert people_of(run.folder) == before


def test_runs_that_ask_people_nothing(tmp_path: Path) -> None:
    run = Measured(tmp_path, names=())
    with pytest.raises(FechnerError, match="no test whose trials people are asked"):
        keep_people(run, HumanTrials.of([trial()]))


def test_a_folder_that_cannot_be_written(run: Measured) -> None:
    blocked = SimpleNamespace(folder=run.folder / "none" / PEOPLE, tests=run.tests)
    (run.folder / "none").touch()
    with pytest.raises(FechnerError, match="cannot be written"):
        keep_people(blocked, HumanTrials.of([trial()]))
