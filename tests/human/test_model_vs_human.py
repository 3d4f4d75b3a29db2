"""Answers of people as model-vs-human has them: figures by a plain computation of their own."""

import csv
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from fechner.errors import FechnerError
from fechner.human.model_vs_human import read_raw_data
from fechner.human.trials import read_all_trials
from fechner.scores.given_answers import (
    among_people,
    consistency_of,
    people_in,
    pooled,
    with_people,
)

FOLDER = Path(__file__).parent / "model_vs_human"


def rows(experiment: str) -> dict[str, list[dict[str, str]]]:
    """Read the files of an experiment by hand, person by person."""
    found: dict[str, list[dict[str, str]]] = {}
    for path in sorted((FOLDER / experiment).glob("*.csv")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["subj"], []).append(row)
    return found


def right_of(own: list[dict[str, str]], condition: str) -> dict[str, bool]:
    """Whether somebody was right, by the part of a picture's name that everybody's has."""
    return {
        row["imagename"].split("_", 3)[3]: row["object_response"] == row["category"]
        for row in own
        if row["condition"] == condition
    }


def kappa(a: dict[str, bool], b: dict[str, bool]) -> float:
    """Cohen's, from the definition."""
    shared = sorted(set(a) & set(b))
    p, q = (sum(each[name] for name in shared) / len(shared) for each in (a, b))
    observed = sum(a[name] == b[name] for name in shared) / len(shared)
    expected = p * q + (1 - p) * (1 - q)
    return 1.0 if observed == 1 else (observed - expected) / (1 - expected)


@pytest.fixture(scope="module")
def trials():
    return read_all_trials([FOLDER])


def test_accuracy_of_each_person_and_condition(trials) -> None:
    people = people_in(trials.of_test("given-contrast"))
    expected = rows("contrast")
    assert [each.name for each in people] == sorted(expected)
    for person in people:
        for condition in ("c10", "c50", "c100"):
            plain = right_of(expected[person.name], condition)
            found = person.within([condition]).accuracy()
            assert found.value == pytest.approx(sum(plain.values()) / len(plain), abs=1e-12)
            assert 0 <= found.ends[0] < found.value <= found.ends[1] <= 1


@pytest.mark.parametrize(
    ("experiment", "conditions"), [("contrast", ("c10", "c50", "c100")), ("cue-conflict", ("0",))]
)
def test_error_consistency_is_averaged_over_conditions_and_people(
    trials, experiment: str, conditions: tuple[str, ...]
) -> None:
    people = people_in(trials.of_test(f"given-{experiment}"))
    plain = rows(experiment)
    expected = []
    for a, b in combinations(people, 2):
        of_pair = []
        for condition in conditions:
            one, other = (right_of(plain[each.name], condition) for each in (a, b))
            found = consistency_of([(a, b)], [condition], undefined=1.0)
            of_pair.append(kappa(one, other))
            assert found.error.value == pytest.approx(of_pair[-1], abs=1e-12)
            assert found.trials == len(set(one) & set(other))
        expected.append(np.mean(of_pair))
    found = among_people(people, conditions, undefined=1.0).error
    assert found.value == pytest.approx(np.mean(expected), abs=1e-12)
    assert found.ends[0] < found.value < found.ends[1]


def test_shape_bias_of_each_person(trials) -> None:
    counts = {}
    for who, own in rows("cue-conflict").items():
        shape = texture = 0
        for row in own:
            other = re.sub(r"\d+\.png$", "", row["imagename"]).rpartition("-")[2]
            if other != row["category"]:
                shape += row["object_response"] == row["category"]
                texture += row["object_response"] == other
        counts[who] = shape, texture
    people = people_in(trials.of_test("given-cue-conflict"))
    for person in people:
        shape, texture = counts[person.name]
        assert person.shape_bias().value == pytest.approx(shape / (shape + texture), abs=1e-12)
    shape, texture = np.sum(list(counts.values()), axis=0)
    assert texture
    assert pooled(people).shape_bias().value == pytest.approx(shape / (shape + texture), abs=1e-12)


def test_who_is_always_right_with_another_is_left_out_unless_published() -> None:
    (ann, *_) = people_in(read_all_trials([FOLDER / "contrast"]))
    perfect = ann.where(ann.right)
    assert np.isnan(consistency_of([(perfect, perfect)], ["c100"]).error.value)
    assert consistency_of([(perfect, perfect)], ["c100"], undefined=1.0).error.value == 1
    assert with_people(ann, [ann], ["c10"]).error.value == 1


def test_a_folder_without_people_and_the_same_file_twice(tmp_path: Path) -> None:
    with pytest.raises(FechnerError, match="raw-data"):
        read_all_trials([tmp_path])
    file = next((FOLDER / "contrast").glob("*.csv"))
    with pytest.raises(FechnerError, match="leave one of them out"):
        read_all_trials([file, FOLDER / "contrast"])


def test_what_is_no_category_or_lacks_a_column_is_said(tmp_path: Path) -> None:
    header = "subj,session,trial,rt,object_response,category,condition,imagename"
    row = "subject-01,1,1,0.5,{},dog,c10,0001_con_dnn_c10_dog_10_n02088094_1.png"
    file = tmp_path / "contrast_subject-01_session_1.csv"
    file.write_text(f"{header}\n{row.format('dog')}\n{row.format('na')}\n{row.format('dgo')}\n")
    with pytest.raises(FechnerError, match=r"line 4: 'dgo' is none of the categories"):
        read_raw_data(file)
    file.write_text(f"{header.replace('condition', 'cond')}\n{row.format('dog')}\n")
    with pytest.raises(FechnerError, match=r"lacks the column condition\."):
        read_raw_data(file)
    file.write_text(f"{header}\n{row.format('truck')}\n")
    assert len(read_raw_data(file)) == 1
