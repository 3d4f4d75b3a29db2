"""People on the command line: kept, shown, removed; experiments for them."""

import sys
from pathlib import Path

import pytest
from recognised import Measured

from fechner.cli import app
from fechner.cli.people import read_levels

ROWS = """observer,test,class,level,response,correct,chance
ann,mafc-blur,n02123045,2,tabby,1,0.3333333333333333
ann,mafc-blur,espresso,2,tabby,0,0.3333333333333333
bob,mafc-blur,garbage_truck,2,garbage truck,1,0.3333333333333333
bob,2afc-blur,espresso,4,espresso,true,0.5
"""


@pytest.fixture
def fechner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Return a function that calls the command line and returns code, stdout and stderr."""
    monkeypatch.setattr("fechner.Run", Measured)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fechner", *arguments])
        with pytest.raises(SystemExit) as end:
            app.main()
        return (end.value.code or 0, *capsys.readouterr())

    return call


def test_people_are_kept_shown_and_removed(fechner) -> None:
    assert fechner("people", "run") == (
        0,
        "",
        "run has no trials of people; name files to keep some.\n",
    )
    Path("trials.csv").write_text(ROWS, "utf-8")
    code, out, err = fechner("people", "run", "trials.csv")
    assert (code, err) == (0, "")
    assert out.splitlines()[2].split()[:5] == ["2afc-blur", "4", "1", "1", "1"]
    assert out.splitlines()[3].split()[:6] == ["mafc-blur", "2", "2", "3", "2", "0.667"]
    assert "4 trials of 2 people. Intervals are of 95 %, with people as clusters." in out
    kept = Path("run/people.csv").read_text("utf-8")
    assert "ann,mafc-blur,tabby,2.0,tabby,1,0.3333333333333333,,\n" in kept
    assert fechner("people", "run") == (0, out, "")
    again = fechner("people", "run", "trials.csv")
    assert again == (0, out, "The 4 trials that were kept before are gone.\n")
    assert fechner("people", "run", "--remove")[2] == "run has no trials of people any more.\n"
    assert not Path("run/people.csv").exists()
    assert fechner("people", "run", "--remove")[2] == "run has no trials of people.\n"


def test_several_files(fechner) -> None:
    header, *rows = ROWS.splitlines()
    for person in ("ann", "bob"):
        own = [row for row in rows if row.startswith(person)]
        Path(f"{person}.csv").write_text("\n".join([header, *own]), "utf-8")
    code, out, _ = fechner("people", "run", "ann.csv", "bob.csv")
    assert code == 0
    assert "4 trials of 2 people" in out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("mafc-blur,espresso", "mafc-bluur,espresso", "did you mean 'mafc-blur'"),
        (",2,tabby,0", ",two,tabby,0", "trials.csv, line 3: it has 'two' for level"),
    ],
)
def test_mistakes_are_a_line(fechner, old: str, new: str, said: str) -> None:
    Path("trials.csv").write_text(ROWS.replace(old, new), "utf-8")
    code, out, err = fechner("people", "run", "trials.csv")
    assert (code, out) == (2, "")
    assert said in err
    assert err.startswith("fechner: ")
    assert len(err.splitlines()) == 1
    assert not Path("run/people.csv").exists()


def test_removing_takes_no_files(fechner) -> None:
    code, _, err = fechner("people", "run", "trials.csv", "--remove")
    assert code == 2
    assert "give it without files" in err


def test_an_experiment_for_people(fechner) -> None:
    code, out, err = fechner(
        "export-trials", "run", "--observer", "vgg", "--out", "people", "--people", "2",
        "--trials", "3", "--tests", "mafc-blur,2afc-blur", "--level", "2afc-blur=2.5",
    )  # fmt: skip
    assert code == 0
    assert out.startswith("people: 2 lists with 6 trials each, ")
    assert "mafc-blur: level 4 (threshold of vgg: 3." in err
    assert "2afc-blur: level 2.5 (threshold of vgg: 3." in err
    assert len(list(Path("people").glob("conditions_*.csv"))) == 2
    code, _, err = fechner("export-trials", "run", "--observer", "vgg", "--out", "people")
    assert code == 2
    assert "people holds other things" in err


@pytest.mark.parametrize("level", ["mafc-blur", "mafc-blur=x", "-1", "nan", "1,2", "a=inf"])
def test_levels_that_are_none(fechner, level: str) -> None:
    code, _, err = fechner(
        "export-trials", "run", "--observer", "vgg", "--out", "people", "--level", level
    )
    assert code == 2
    assert "level" in err
    assert not Path("people").exists()


def test_levels() -> None:
    assert read_levels(None) is None
    assert read_levels(" 3 ") == 3.0
    assert read_levels("a=0") == {"a": 0.0}
