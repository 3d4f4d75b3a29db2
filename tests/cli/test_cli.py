"""The command line as a person meets it."""

import csv
import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

COMMAND = [sys.executable, "-c", "from fechner.cli.app import main; main()"]


def fechner(*arguments: str, cwd: Path | None = None, code: int = 0):
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, cwd=cwd, timeout=300
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "first"
    done = fechner(
        "run", "pixels", "standard-observer", "--published", "--scores-only",
        "--tests", "masking-coherent,matching-frequency", "--out", str(folder),
    )  # fmt: skip
    assert "alignment ↑       0.503 [" in done.stdout
    assert str(folder) in done.stderr
    return folder


def test_csv_has_the_promised_columns_and_numbers(run_folder: Path) -> None:
    text = fechner("scores", str(run_folder), "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert text.splitlines()[0] == (
        "observer,suite,test,score,value,low,high,higher_is_better,mode"
    )
    values = {(row["observer"], row["score"]): row for row in rows}
    row = values["pixels", "alignment"]
    assert float(row["value"]) == pytest.approx(0.5034, abs=1e-4)
    assert (row["suite"], row["test"], row["mode"], row["higher_is_better"]) == (
        "encoders", "masking-coherent", "published", "true",
    )  # fmt: skip
    assert float(values["pixels", "matching-error"]["value"]) == pytest.approx(0.2655, abs=1e-4)


def test_other_formats(run_folder: Path) -> None:
    rows = json.loads(fechner("scores", str(run_folder), "--format", "json").stdout)
    assert {"value", "low", "high", "chance", "best", "resampled", "note"} <= set(rows[0])
    assert fechner("scores", str(run_folder), "--format", "md").stdout.startswith("| test | score")
    latex = fechner("scores", str(run_folder), "--format", "latex").stdout
    assert r"\toprule" in latex
    assert r"alignment $\uparrow$" in latex


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "pixls"], "did you mean 'pixels'?"),
        (["run", "pixels", "--tests", "aera"], "did you mean 'area'?"),
        (["run", "pixels", "--suite", "encodrs"], "did you mean 'encoders'?"),
        (["run", "pixels", "--readout", "angel"], "did you mean 'angle'?"),
        (["run", "nowhere.py:make", "--tests", "area"], "there is no file 'nowhere.py'"),
        (["run", "model.py"], "name the function or class in it"),
        (["run", "pixels", "--ppd", "-5"], "pixels per degree are a number above 0, not -5"),
        (["run", "pixels", "--ppd", "abc"], "is not a list of numbers"),
        (["run", "pixels", "--tests", ""], "name at least one"),
        (["run", "pixels", "--device", "cuda:99"], "device 'cuda:99' cannot be used here"),
        (["scores", "nowhere"], "nowhere does not exist"),
        (["show", "encoder"], "did you mean 'encoders'?"),
        (["show", "encoders", "--tests", "area", "--out", "no/such/x.png"], "cannot be written"),
    ],
)
def test_mistakes_get_one_line(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    done = fechner(*arguments, cwd=tmp_path, code=2)
    assert not (tmp_path / "runs").exists()
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_lists(run_folder: Path) -> None:
    assert "standard-observer" in fechner("list", "observers").stdout
    assert "Nine contrast tests" in fechner("list", "suites").stdout
    tests = fechner("list", "tests").stdout
    assert "matching-frequency" in tests
    assert "lifted: distance between features" in tests
    assert "not applicable: a reply in words has no size to compare" in tests
    assert "castle" in fechner("list", "human").stdout.lower()
    assert "srgb-8bit" in fechner("list", "displays").stdout


@pytest.mark.parametrize("arguments", [["--help"], ["list", "tests"], ["list", "observers"]])
def test_nothing_heavy_is_imported_for_help_and_lists(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom fechner.cli.app import app\n"
        f"try: app({arguments!r})\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'xarray', 'pandas', 'scipy', 'PIL', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_show_writes_a_contact_sheet(tmp_path: Path) -> None:
    done = fechner("show", "encoders", "--tests", "frequency-rg", "--out", "rg.png", cwd=tmp_path)
    picture = Image.open(tmp_path / "rg.png").convert("RGB")
    assert f"{picture.width} x {picture.height} px" in done.stdout
    # Red-green stimuli have colour; the paper around them has none.
    reds, _, blues = picture.getextrema()
    assert picture.getpixel((2, 2)) == (255, 255, 255)
    colours = {pixel for _, pixel in picture.getcolors(1 << 24)}
    assert max(red - green for red, green, _ in colours) > 20
    assert max(green - red for red, green, _ in colours) > 20
    assert reds[0] < blues[1]


def test_doctor_names_what_is_there(tmp_path: Path) -> None:
    text = fechner("doctor").stdout
    assert "torch 2." in text
    assert "observer pixels: ready" in text


def test_version() -> None:
    assert fechner("--version").stdout.startswith("fechner 0.")


def test_interrupted_run_says_how_to_go_on(tmp_path: Path) -> None:
    command = [*COMMAND, "run", "pixels", "--out", "run"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not list(tmp_path.rglob("*.nc")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "run the same command again to go on" in errors
    assert "Traceback" not in errors


def test_problems_are_told_once(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def model(x):\n    return x, x\ndef broken():\n    exit(3)\n")
    arguments = ["run", "bad.py:model", "bad.py:broken", "--tests", "area", "--scores-only"]
    done = fechner(*arguments, cwd=tmp_path, code=1)
    assert done.stderr.count("returned a tuple of 2") == 1
    assert done.stderr.count("SystemExit: 3") == 1
    assert "Results are in" not in done.stderr
    # They do not haunt a later run in the same folder.
    assert "bad.py" not in fechner("run", "pixels", *arguments[3:], cwd=tmp_path).stderr


def test_a_file_of_your_own(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("STEP = 1\n")
    (tmp_path / "mine.py").write_text(
        "import torch\n"
        "from neighbour import STEP\n"
        "class Edges(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return x[..., STEP:] - x[..., :-STEP]\n"
        "def metric(test, reference):\n"
        "    return (test - reference).abs().mean(dim=(1, 2, 3))\n"
    )
    done = fechner(
        "run", "mine.py:Edges", "mine.py:metric", "--tests", "masking-coherent", "--scores-only",
        cwd=tmp_path,
    )  # fmt: skip
    header = done.stdout.splitlines()[0]
    assert "mine.py:Edges" in header
    assert "mine.py:metric" in header
    assert (tmp_path / "runs" / "encoders" / "manifest.json").is_file()
