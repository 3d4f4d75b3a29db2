"""``fechner fields`` as a person meets it."""

import sys
from pathlib import Path

import pytest

from fechner.cli.app import main

BANK = """
import sys
sys.path.insert(0, {tests!r})
from gabor_bank import gabor_bank, planted
from torch import nn

def make():
    return nn.Sequential(gabor_bank(planted(3)), nn.ReLU())
"""


@pytest.fixture
def fields(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    text = BANK.format(tests=str(Path(__file__).parents[1]))
    (tmp_path / "bank.py").write_text(text, "utf-8")

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fechner", "fields", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return call


def test_a_table_on_the_screen(fields) -> None:
    code, out, _ = fields("bank.py:make", "--layer", "0", "--units", 2)
    assert code == 0
    assert "0 oriented" in out
    assert "1 oriented" in out
    assert "2 oriented\n" not in out.replace("units: 2 oriented\n", "")
    assert out.endswith("0: 2 of 3 units: 2 oriented\n")


@pytest.mark.parametrize(
    "how",
    [
        ["--by", "deltas", "--contrast", "0.05", "--window", "0.1"],
        ["--by", "noise", "--pictures", "300", "--seed", "3", "--window", "0.1"],
        ["--of", "pixels", "--display", "encoders", "--luminance", "100", "--ppd", "32"],
    ],
)
def test_sheets_in_every_way(fields, how: list[str], tmp_path: Path) -> None:
    outs = ["--out", "sheet.html", "--out", "fits.csv"]
    code, out, err = fields("bank.py:make", "--layer", "0", "--units", 1, *how, *outs)
    assert code == 0, err
    assert out.startswith("sheet.html: 1 units\nfits.csv: 1 units\n0: 1 of 3 units: ")
    assert (tmp_path / "sheet.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["bank.py:make", "--out", "x.gif"], "should end in .pdf, .png, .svg, .html or .csv"),
        (["bank.py:make", "--out", "no/x.png"], "there is no folder 'no'"),
        (["bank.py:make", "--layer", "5"], "there is no layer named '5'"),
        (["bank.py:make", "--display", "decalog"], "did you mean 'decalogue'?"),
        (["bank.py:make", "--luminance", "1000"], "leaves no room"),
        (["bank.py:make", "--ppd", "0"], "positive number of pixels per degree"),
        (["standard-observer"], "is not an encoder"),
    ],
)
def test_mistakes_get_one_line(fields, arguments: list[str], sentence: str) -> None:
    code, out, err = fields(*arguments)
    assert code == 2
    assert sentence in err
    assert "Traceback" not in err
    assert out == ""
