"""``fechner figure`` as a person meets it."""

import sys
from pathlib import Path

import pytest

import fechner
from fechner import Run
from fechner.cli.app import main


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return fechner.evaluate(
        "pixels",
        "standard-observer",
        tests=["masking-coherent", "matching-frequency"],
        scores_only=True,
        out=tmp_path_factory.mktemp("cli") / "run",
        progress=False,
    )


@pytest.fixture
def figure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fechner", "figure", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return call


def test_scores_without_a_test(figure, run: Run, tmp_path: Path) -> None:
    code, out, err = figure(run.folder, "--out", "scores.svg", "--columns", 1)
    assert (code, err) == (0, "")
    assert out.startswith("scores.svg: 85 x ")
    assert out.endswith(" mm\n")
    assert (tmp_path / "scores.svg").read_text("utf-8").startswith("<?xml")


def test_the_first_panel_of_a_test_as_pdf_by_default(figure, run: Run, tmp_path: Path) -> None:
    code, out, _ = figure(run.folder, "matching-frequency", "--observers", "pixels")
    assert code == 0
    assert out.startswith("matching-frequency.pdf: 178 x ")
    assert (tmp_path / "matching-frequency.pdf").read_bytes().startswith(b"%PDF")
    assert figure(run.folder, "--kind", "scores")[1].startswith("scores.pdf: ")


def test_more_runs_and_pixels(figure, run: Run, tmp_path: Path) -> None:
    arguments = [run.folder, "masking-coherent", "--with", run.folder, "--dpi", "60"]
    code, out, _ = figure(*arguments, "--kind", "responses", "--out", "x.png")
    assert code == 0
    assert out.startswith("x.png: ")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("table", ["cai2025", "hammou2025"])
def test_a_published_table_needs_no_run(figure, table: str, tmp_path: Path) -> None:
    code, out, err = figure(f"@{table}", "--out", "table.png", "--dpi", "60")
    assert (code, err) == (0, "")
    assert out.startswith("table.png: 178 x ")
    assert (tmp_path / "table.png").read_bytes().startswith(b"\x89PNG")


def test_one_test_of_a_published_table(figure, tmp_path: Path) -> None:
    code, out, _ = figure("@cai2025", "frequency-ach", "--columns", 1)
    assert code == 0
    assert out.startswith("cai2025-frequency-ach.pdf: 85 x ")
    assert (tmp_path / "cai2025-frequency-ach.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["@cai2024"], "did you mean '@cai2025'? there are @cai2025, @hammou2025, "),
        (["@cai2025", "frequency-akh"], "did you mean 'frequency-ach'?"),
        (["@cai2025", "--observers", "pixls"], "did you mean 'pixels'?"),
        (["@cai2025", "--kind", "layers"], "a published table has scores only"),
        (["@cai2025", "--with", "runs/mine"], "a published table is drawn alone"),
        (["runs/mine", "--with", "@cai2025"], "a published table is drawn alone"),
        (["@richardwebster2018"], "has observers but no scores"),
    ],
)
def test_mistakes_with_a_published_table(figure, arguments: list[str], sentence: str) -> None:
    code, out, err = figure(*arguments)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert sentence in line


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--out", "x.jpg"], "should end in .pdf, .png or .svg"),
        (["masking-coherant"], "did you mean 'masking-coherent'?"),
        (["--observers", "pixls"], "did you mean 'pixels'?"),
        (["masking-coherent", "--layer", "pixel"], "did you mean 'pixels'?"),
        (["masking-coherent", "--readout", "angel"], "did you mean 'angle'?"),
        (["masking-coherent", "--kind", "surface"], "run it without --scores-only"),
        (["--kind", "layers"], "no observer was measured at several layers"),
        (["--with", "nowhere"], "nowhere does not exist"),
        (["--columns", "3"], "1 or 2 columns wide, not 3"),
        (["--observers", ","], "an empty list"),
        (["--out", "no/such/x.pdf"], "cannot be written"),
    ],
)
def test_mistakes_get_one_line(
    figure, run: Run, arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    code, out, err = figure(run.folder, *arguments)
    assert code == 2
    assert sentence in err
    assert "Traceback" not in err
    assert out == ""
    assert list(tmp_path.iterdir()) == []
