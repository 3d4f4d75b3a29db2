"""Trials of people: what is read, and what is said of files that cannot be."""

from pathlib import Path

import pytest

from fechner.errors import FechnerError
from fechner.human.trials import HumanTrial, HumanTrials, read_all_trials, read_trials

HEADER = "observer,test,class,level,response,correct,chance"
ROW = "ann,mafc-blur,cat,2.5,cat,1,0.3333333333333333"


def written(folder: Path, *lines: str, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_a_row_is_a_trial(tmp_path: Path) -> None:
    found = read_trials(written(tmp_path, HEADER, ROW, "", "bob,2afc-blur,dog,0,2,FALSE,.5"))
    assert found.rows == [
        HumanTrial("ann", "mafc-blur", "cat", 2.5, "cat", True, 1 / 3),
        HumanTrial("bob", "2afc-blur", "dog", 0.0, "2", False, 0.5),
    ]
    assert found.people == ("ann", "bob")
    assert found.tests == ("2afc-blur", "mafc-blur")
    assert found.of_test("mafc-blur").observer == ("ann",)
    assert hash(found) == hash(read_trials(tmp_path / "people.csv"))


def test_what_is_written_is_read_back_to_the_bit(tmp_path: Path) -> None:
    rows = [
        HumanTrial("Ann, the 'first'", "mafc-blur", 'a "cat"\nindeed', 0.1 + 0.2, "", True, 1 / 3),
        HumanTrial("Łucja", "2afc-blur", "貓", 1e-17, "right", False, 0.0, "12"),
    ]
    path = tmp_path / "it.csv"
    path.write_text(HumanTrials.of(rows).to_csv(), "utf-8", newline="")
    assert read_trials(path).rows == rows


def test_columns_in_any_order_and_others_left_aside(tmp_path: Path) -> None:
    path = tmp_path / "excel.csv"
    text = (
        "rt_ms,Picture,chance, Correct ,response,level,class,test,observer\r\n"
        "312,7,0.5,True,left,2,cat,2afc-blur,ann\r\n"
    )
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())  # as spreadsheets save UTF-8
    expected = HumanTrial("ann", "2afc-blur", "cat", 2.0, "left", True, 0.5, "7")
    assert read_trials(path).rows == [expected]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["observer,test,class,level,answer,correct,chance"], r"lacks the column response"),
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
        ([HEADER, 'ann,"mafc'], "is no row of a CSV"),
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
