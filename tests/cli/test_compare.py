"""``fechner compare`` as a person meets it."""

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

import fechner as package
from fechner.cli import app

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, one of which has one observer at two seeds' distance from the other."""
    place = tmp_path_factory.mktemp("compare")
    for name, observers, seed in (("a", ("pixels", "standard-observer"), 0), ("b", ("pixels",), 7)):
        package.evaluate(
            *observers,
            tests=["frequency-noise", "matching-frequency"],
            scores_only=True,
            seed=seed,
            out=place / name,
            progress=False,
        )
    (place / "figures.csv").write_text(
        "observer,top1,text\ncvvdp,90,x\ntimm/vit_small_patch16_224.dino,70,x\ntimm/vit_small_patch8_224.dino,72,x\n"
        "torch_hub/facebookresearch/dinov2/dinov2_vits14,80,x\ntorch_hub/facebookresearch/dinov2/dinov2_vitb14,83,x\nnobody,1,x\n"
    )
    return place


@pytest.fixture
def fechner(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Return a function that calls the command line and returns code, stdout and stderr."""
    monkeypatch.chdir(folder)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fechner", "compare", *arguments])
        with pytest.raises(SystemExit) as end:
            app.main()
        return (end.value.code or 0, *capsys.readouterr())

    return call


def test_a_reader_sees_which_differences_are_significant(fechner: Call) -> None:
    code, out, err = fechner("a")
    assert (code, err) == (0, "")
    verdict, table, *_ = out.split("\n\n")
    assert verdict == (
        "- pixels against standard-observer: standard-observer is closer to people in "
        "frequency-noise; not told apart in 1 of 2 tests."
    )
    heading, header, _, noise, matching = table.splitlines()
    assert heading == "pixels (first) against standard-observer (second)"
    assert header.split("  ")[-1].strip() == "closer to people"
    assert noise.split()[-3:] == ["<0.001", "<0.001", "second"]
    assert matching.split()[-1] == "·"
    assert "corrected for the 2 differences tested" in out


def test_two_runs_of_one_observer(fechner: Call) -> None:
    code, out, _ = fechner("a", "b", "--baseline", "pixels (a)", "--format", "csv")
    assert code == 0
    rows = [row for row in csv.DictReader(io.StringIO(out)) if row["what"] == "difference"]
    assert {(row["first"], row["second"]) for row in rows} == {
        ("standard-observer", "pixels (a)"),
        ("pixels (b)", "pixels (a)"),
    }
    same = next(
        row for row in rows if (row["first"], row["test"]) == ("pixels (b)", "matching-frequency")
    )
    # Seeds are for noise.
    assert (float(same["value"]), same["p"], same["closer"]) == (0.0, "1", "")


def test_published_tables(fechner: Call) -> None:
    code, out, _ = fechner(
        "@cai2025", "a", "--baseline", "cvvdp", "--observers", "standard-observer"
    )
    assert code == 0
    assert "Printed scores have no answers behind them" in out
    code, out, _ = fechner(
        "@cai2025", "--observers", "cvvdp,torch_hub/facebookresearch/dinov2/dinov2_vits14",
        "--format", "json",
        "--correction", "none",
    )  # fmt: skip
    read = json.loads(out)
    assert (read["differences"], read["correction"]) == ([], "none")
    assert read["over_tests"][0]["n"] == 9


def test_scores_against_a_figure(fechner: Call, tmp_path: Path) -> None:
    picture = tmp_path / "trend.png"
    code, out, err = fechner(
        "@cai2025", "--against", "figures.csv", "--column", "top1", "--tests", "area,luminance",
        "--out", str(picture),
    )  # fmt: skip
    assert code == 0
    assert out.startswith("- top1: ")
    assert "Scores against top1 of figures.csv" in out
    unknown, others, written = err.splitlines()
    assert unknown == "In figures.csv but not here: nobody."
    assert others.startswith("Here but not in figures.csv: pixels, ")
    assert written == f"The figure is in {picture}."
    with Image.open(picture) as drawn:
        assert drawn.width > 1000


def test_differences_are_drawn(fechner: Call, tmp_path: Path) -> None:
    picture = tmp_path / "it.pdf"
    code, _, err = fechner("a", "--out", str(picture))
    assert (code, err) == (0, f"The figure is in {picture}.\n")
    assert picture.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("format", ["md", "latex"])
def test_other_formats(fechner: Call, format: str) -> None:
    _, out, _ = fechner("a", "--format", format, "--correction", "bh")
    assert "Benjamini-Hochberg" in out
    assert "standard-observer" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["b"], "only 'pixels' is there; comparing takes two observers, or two runs of one."),
        (["nowhere", "a"], "nowhere does not exist"),
        (["@cai2025"], "45 observers make 990 pairs"),
        (["@cai2024"], "did you mean '@cai2025'?"),
        (["a", "--baseline", "pixls"], "did you mean 'pixels'?"),
        (["a", "b", "--baseline", "pixels"], "say 'pixels (a)' or 'pixels (b)'."),
        (["a", "--observers", "pixels, standrad-observer"], "did you mean 'standard-observer'?"),
        (["a", "--tests", "area"], "there is no test named 'area'"),
        (["a", "--layer", "conv1"], "there is no layer named 'conv1'"),
        (["a", "--readout", "angel"], "did you mean 'angle'?"),
        (["a", "--out", "it.gif"], "should end in .pdf, .png or .svg"),
        (["a", "--out", "no/such/it.pdf"], "cannot be written"),
        (["@cai2025", "--against", "nothing.csv"], "nothing.csv cannot be read: No such file"),
        (["@cai2025", "--against", "figures.csv"], "has top1, text: choose by --column."),
        (["@cai2025", "--against", "figures.csv", "--column", "top5"], "did you mean 'top1'?"),
        (["@cai2025", "--against", "figures.csv", "--column", "text"], "'x' in column 'text'"),
        (["a", "--against", "figures.csv", "--column", "top1"], "no name in column 'observer'"),
    ],
)
def test_mistakes_get_one_line(fechner: Call, arguments: list[str], sentence: str) -> None:
    code, _, err = fechner(*arguments)
    assert code == 2
    (line,) = err.splitlines()
    assert line.startswith("fechner: ")
    assert sentence in line


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["a", "--column", "top1"], "give that by --against"),
        (["a", "--against", "figures.csv", "--baseline", "pixels"], "choose one"),
        (["a", "--observers", ","], "name at least one"),
        ([], "Missing argument"),
    ],
)
def test_options_that_make_no_sense(fechner: Call, arguments: list[str], sentence: str) -> None:
    code, out, err = fechner(*arguments)
    assert (code, out) == (2, "")
    assert sentence in " ".join(err.replace("│", " ").split())
