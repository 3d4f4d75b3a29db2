"""Whether observers and people err on the same trials: known answers, what is shared."""

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from recognised import CLASSES, LEVELS, Measured, answers

from fechner.errors import FechnerError
from fechner.human.trials import HumanTrial, HumanTrials
from fechner.observers.classes import readable_names
from fechner.report.consistency import PEOPLE, consistency, summarise_consistency
from fechner.runs.people import keep_people

NAMES = readable_names(CLASSES)


@dataclass
class Known(Measured):
    """Observers whose errors are known: a twin, an independent one, and one with other pictures."""

    names: tuple[str, ...] = ("mafc-blur", "2afc-blur")
    observers: tuple[str, ...] = ("vgg", "twin", "alone", "elsewhere")

    def data(self, observer: str, test: str, for_scores: bool | None = None) -> xr.Dataset:
        task = test.split("-")[0]
        seed = {"alone": 1, "elsewhere": 0}.get(observer, 0)
        found = answers(test, seed=seed, task=task)
        if observer == "elsewhere":
            found["index"] = (found["index"] + 2) % 4
        return found


def people(*, like: xr.Dataset, flip: float, seed: int = 0, number: int = 4) -> HumanTrials:
    """Return people who answer as an observer did, but for a share of trials."""
    generator = np.random.default_rng(seed)
    rows = []
    for place in np.flatnonzero((like["level"] == LEVELS[7]) & (like["problem"] == 0)):
        label = int(like["class_of"][place])
        for person in range(number):
            right = bool(like["right"][place, 0, 0]) != (generator.random() < flip)
            level = float(f"{LEVELS[7]:.9g}")  # as another program writes it
            picture = str(int(like["index"][place]))
            rows.append(
                HumanTrial(
                    f"p{person}", "mafc-blur", NAMES[label], level, "", right, 1 / 3, picture
                )
            )
    return HumanTrials.of(rows)


@pytest.fixture
def run(tmp_path: Path) -> Known:
    return Known(tmp_path)


def pairs(found: list, test: str = "mafc-blur") -> dict[tuple[str, str], float]:
    return {(each.first, each.second): each for each in found if each.test == test}


def test_twins_strangers_and_others(run: Known) -> None:
    found, problems = consistency([run])
    assert problems == []
    by = pairs(found)
    assert len(by) == 6
    twins = by["vgg", "twin"]
    shown = len(CLASSES) - 1  # one could not be read
    assert (twins.kappa, twins.trials, twins.classes) == (1.0, shown * len(LEVELS), shown)
    strangers = by["vgg", "alone"]
    assert strangers.trials == twins.trials
    assert strangers.low < strangers.kappa < strangers.high
    assert 0.2 < strangers.kappa < 0.9  # both fail where levels are strong
    nothing = by["vgg", "elsewhere"]
    assert (nothing.trials, nothing.classes) == (0, 0)
    assert np.isnan([nothing.kappa, nothing.low, nothing.high]).all()


def test_independent_errors_have_no_kappa(run: Known) -> None:
    """At one level, errors of independent observers meet by chance."""
    one = {
        name: run.data(name, "mafc-blur").isel(
            trial=run.data(name, "mafc-blur")["level"] == LEVELS[6]
        )
        for name in ("vgg", "alone")
    }
    run.observers = ("vgg", "alone")
    run.data = lambda observer, test, for_scores=None: one[observer]
    (pair,) = consistency([run], tests=["mafc-blur"])[0]
    assert pair.low < 0 < pair.high


def test_people_together_and_one_by_one(run: Known) -> None:
    keep_people(run, people(like=run.data("vgg", "mafc-blur"), flip=0.1))
    by = pairs(consistency([run])[0])
    together = by["vgg", PEOPLE]
    shown = len(CLASSES) - 1
    assert together.trials == 4 * shown  # every answer, with the observer's to the same trial
    assert together.kappa == pytest.approx(0.8, abs=0.12)
    assert together.observed == pytest.approx(0.9, abs=0.05)
    assert by["alone", PEOPLE].kappa < 0.4
    assert by["elsewhere", PEOPLE].trials == 0
    assert (PEOPLE, "p0") not in by
    each = pairs(consistency([run], each_person=True)[0])
    assert each["vgg", "p0"].trials == shown
    assert each["p0", "p3"].trials == shown
    assert each["p0", "p3"].kappa == pytest.approx(0.64, abs=0.3)
    assert (PEOPLE, "p0") not in each  # who is one of them
    assert PEOPLE not in {
        name for pair in pairs(consistency([run])[0], "2afc-blur") for name in pair
    }


def test_people_without_pictures_are_said(run: Known) -> None:
    whole = people(like=run.data("vgg", "mafc-blur"), flip=0.0, number=1)
    rows = [HumanTrial("q", "mafc-blur", "espresso", 2.0, "", True, 0.5), *whole.rows]
    keep_people(run, HumanTrials.of(rows))
    found, problems = consistency([run], observers=["vgg", PEOPLE])
    assert problems == [
        "mafc-blur: trials of people that do not say which picture was shown are not compared, "
        "1 of 40."
    ]
    assert [pair.kappa for pair in found] == [1.0]


def test_a_file_that_somebody_changed_is_a_sentence(run: Known) -> None:
    keep_people(run, people(like=run.data("vgg", "mafc-blur"), flip=0.0, number=1))
    path = run.folder / "people.csv"
    path.write_text(path.read_text("utf-8").replace("espresso", "espreso"), "utf-8")
    with pytest.raises(FechnerError, match="no class named 'espreso'; did you mean 'espresso'"):
        consistency([run])


def test_several_runs(run: Known, tmp_path: Path) -> None:
    other = Known(tmp_path / "other", names=("mafc-blur",), observers=("vgg", "alone"))
    found, _ = consistency([run, other], observers=["vgg", "vgg (other)"])
    assert [(pair.second, pair.kappa) for pair in found] == [("vgg (other)", 1.0)]


def test_other_pictures_are_not_compared(run: Known, tmp_path: Path) -> None:
    other = Known(tmp_path / "other", observers=("vgg",))
    for test in (tests := other.tests)[1:]:
        object.__setattr__(test.experiment.pictures, "digest", "others")
    other.__class__ = type("Other", (Known,), {"tests": tests})
    found, problems = consistency([run, other], tests=["mafc-blur"])
    assert len(found) == 6
    (line,) = problems
    assert line == (
        f"{other.folder} shows other pictures in mafc-blur than {run.folder}, and is left out "
        "there."
    )


def test_dropout_is_compared_run_by_run_and_with_people_once(run: Known) -> None:
    def dropped(observer: str, test: str, for_scores: bool | None = None) -> xr.Dataset:
        parts = [answers(test, seed=seed) for seed in (1, 2)]
        for number, part in enumerate(parts, 1):
            part["dropout_run"] = part["dropout_run"] + number
        return xr.concat(parts, "trial", data_vars="minimal")

    run.observers = ("vgg", "twin")
    run.data = dropped
    keep_people(run, people(like=answers("mafc-blur", seed=1), flip=0.0, number=1))
    by = pairs(consistency([run], tests=["mafc-blur"])[0])
    shown = len(CLASSES) - 1
    assert (by["vgg", "twin"].kappa, by["vgg", "twin"].trials) == (1.0, 2 * shown * len(LEVELS))
    assert (by["vgg", PEOPLE].kappa, by["vgg", PEOPLE].trials) == (1.0, shown)


def test_who_is_always_right_tells_nothing(run: Known) -> None:
    perfect = run.data("vgg", "mafc-blur")
    perfect["right"] = perfect["right"] * 0 + 1
    whole = {"vgg": run.data("vgg", "mafc-blur"), "twin": perfect, "alone": perfect}
    run.observers = tuple(whole)
    run.data = lambda observer, test, for_scores=None: whole[observer]
    by = pairs(consistency([run], tests=["mafc-blur"])[0])
    one = by["vgg", "twin"]
    assert one.second_accuracy == 1 > one.first_accuracy
    assert np.isnan([one.kappa, one.low, one.high]).all()
    assert np.isnan(by["twin", "alone"].kappa)


def test_tables(run: Known) -> None:
    found, _ = consistency([run], tests=["mafc-blur"])
    text = summarise_consistency(found).write().splitlines()
    assert text[0].split() == ["mafc-blur", "vgg", "twin", "alone"]
    shown = (len(CLASSES) - 1) * len(LEVELS)
    assert text[2].split() == ["twin", "1.000", "[0.820,", "1.000]", f"({shown})"]
    assert text[4].split()[:4] == ["elsewhere", "no", "shared", "trial"]
    assert "95 % intervals over classes" in text[-1]
    rows = list(csv.DictReader(io.StringIO(summarise_consistency(found).write("csv"))))
    assert [row["kappa"] for row in rows if row["second"] == "twin"] == ["1"]
    assert [row["kappa"] for row in rows if row["second"] == "elsewhere"] == ["", "", ""]
    assert len(json.loads(summarise_consistency(found).write("json"))) == 6
    assert summarise_consistency([]).write() == "nothing to compare.\n"


def test_names_that_nobody_has(run: Known) -> None:
    with pytest.raises(FechnerError, match="did you mean 'mafc-blur'"):
        consistency([run], tests=["mafc-blurr"])
    with pytest.raises(FechnerError, match="no observer named 'twim'; did you mean 'twin'"):
        consistency([run], observers=["vgg", "twim"])
    with pytest.raises(FechnerError, match="at least one run"):
        consistency([])
