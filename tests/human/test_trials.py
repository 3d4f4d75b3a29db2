"""Trials of people: what is read, and what is said of files that cannot be."""

import csv
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from fechner.errors import FechnerError
from fechner.human.trials import (
    HumanTrial,
    HumanTrials,
    read_all_trials,
    read_raw_data,
    read_trials,
)
from fechner.scores.consistency import consistency_of, people_in, pooled

HEADER = "observer,test,class,level,response,correct,chance"
ROW = "ann,mafc-blur,cat,2.5,cat,1,0.3333333333333333"


def written(folder: Path, *lines: str, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_a_row_is_a_trial(tmp_path: Path) -> None:
    found = read_trials(written(tmp_path, HEADER, ROW, "", "bob,2afc-blur,dog,0,2,FALSE,.5"))
    assert list(found.rows) == [
        HumanTrial("ann", "mafc-blur", "cat", 2.5, "cat", True, 1 / 3),
        HumanTrial("bob", "2afc-blur", "dog", 0.0, "2", False, 0.5),
    ]
    assert found.people == ("ann", "bob")
    assert found.tests == ("2afc-blur", "mafc-blur")
    assert found.of_test("mafc-blur").people == ("ann",)
    assert hash(found) == hash(read_trials(tmp_path / "people.csv"))


def test_what_is_written_is_read_back_to_the_bit(tmp_path: Path) -> None:
    rows = [
        HumanTrial("Ann, the 'first'", "mafc-blur", 'a "cat"\nindeed', 0.1 + 0.2, "", True, 1 / 3),
        HumanTrial("Łucja", "2afc-blur", "貓", 1e-17, "right", False, 0.0, "12"),
    ]
    path = tmp_path / "it.csv"
    path.write_text(HumanTrials.of(rows).to_csv(), "utf-8", newline="")
    assert list(read_trials(path).rows) == rows


def test_columns_in_any_order_and_others_left_aside(tmp_path: Path) -> None:
    path = tmp_path / "excel.csv"
    text = (
        "rt_ms,Picture,chance, Correct ,response,level,class,test,observer\r\n"
        "312,7,0.5,True,left,2,cat,2afc-blur,ann\r\n"
    )
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())  # as spreadsheets save UTF-8
    expected = HumanTrial("ann", "2afc-blur", "cat", 2.0, "left", True, 0.5, "7")
    assert read_trials(path).rows == (expected,)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["observer,test,class,level,answer,correct,chance"], r"lacks the columns response"),
        (["observer,test,klass,level,response,correct"], "columns class, chance .'klass' may be"),
        ([HEADER.replace(",", ";"), ROW], "semicolons between its columns; save it with commas"),
        ([HEADER.replace(",", "\t")], "has tabs between"),
        ([HEADER + ",level", ROW + ",1"], "2 columns 'level'; keep one"),
        ([HEADER], "no trials"),
        ([HEADER, ROW, ROW.replace("2.5", "much")], "line 3: it has 'much' for level, which is no"),
        ([HEADER, ROW.replace("2.5", '"2,5"')], "'2,5' for level.*decimals with a point"),
        ([HEADER, ROW.replace("2.5", "")], "line 2: it has '' for level"),
        ([HEADER, ROW.replace("2.5", "nan")], "'nan' for level"),
        ([HEADER, ROW.replace("2.5", "-1")], "line 2: it has the level -1; levels are 0"),
        ([HEADER, ROW.replace(",1,", ",yes,")], "line 2: it has 'yes' for correct; write 1 or 0"),
        ([HEADER, ROW.replace("0.3333333333333333", "33")], "chance 33; it is a share from 0"),
        ([HEADER, ROW.replace("0.3333333333333333", "1")], "chance 1; it is a share from 0 to be"),
        ([HEADER, ROW.replace("ann", " ")], "line 2: it has no observer"),
        (
            [HEADER, "ann,mafc-blur,cat,1,Cat,0,0.5"],
            "'Cat', which is its class, and is not",
        ),
        ([HEADER, ROW + ",more"], "line 2: it has 8 cells, but there are 7 columns; put quotes"),
        ([HEADER, "", 'ann,"mafc', 'blur",cat'], "line 4: it has 3 cells"),
        ([HEADER, 'ann,"mafc'], "line 2: .*CSV"),
        (["", ""], "is empty; it needs the columns observer, test"),
    ],
)
def test_mistakes_are_sentences(tmp_path: Path, lines: list[str], said: str) -> None:
    path = written(tmp_path, *lines)
    with pytest.raises(FechnerError, match=said) as error:
        read_trials(path)
    assert str(error.value).startswith(str(path))
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_other_encodings_are_named(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "it.csv"
    path.write_bytes(f"{HEADER}\n{ROW.replace('ann', 'Zoë')}\n".encode(encoding))
    with pytest.raises(FechnerError, match="not text in UTF-8; save it as CSV in UTF-8"):
        read_trials(path)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FechnerError, match="No such file"):
        read_trials(tmp_path / "none.csv")
    with pytest.raises(FechnerError, match="is a folder"):
        read_trials(tmp_path)


def test_several_files_and_one_of_them_twice(tmp_path: Path) -> None:
    with_picture = (HEADER + ",picture", ROW + ",4")
    ann = written(tmp_path, *with_picture, name="ann.csv")
    bob = written(tmp_path, HEADER, ROW.replace("ann", "bob"), name="bob.csv")
    assert read_all_trials([ann, bob]).people == ("ann", "bob")
    changed = [line.replace("cat,1,", "dog,0,") for line in with_picture]
    again = written(tmp_path, *changed, name="ann (1).csv")
    with pytest.raises(FechnerError, match=r"ann answered the same trial .* leave one of them"):
        read_all_trials([ann, bob, again])
    # Without pictures nobody can tell whether it is the same trial or another like it.
    assert len(read_all_trials([bob, bob])) == 2


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
    found = consistency_of(combinations(people, 2), conditions, undefined=1.0).error
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
    assert consistency_of([(ann, ann)], ["c10"]).error.value == 1


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
    with pytest.raises(FechnerError, match=r"line 4: .*'dgo'"):
        read_raw_data(file)
    file.write_text(f"{header.replace('condition', 'cond')}\n{row.format('dog')}\n")
    with pytest.raises(FechnerError, match="lacks the columns condition"):
        read_raw_data(file)
    file.write_text(f"{header}\n{row.format('truck')}\n")
    assert len(read_raw_data(file)) == 1
