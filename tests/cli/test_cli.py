"""The command line as a person meets it."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from PIL import Image
from processes import FECHNER, running

from fechner import FechnerError
from fechner.cli.run import _numbers
from fechner.suites.options import Options, options_of


def fechner(*arguments: str, cwd: Path | None = None, code: int = 0, **environment: str):
    done = subprocess.run(
        [*FECHNER, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=300,
        env={**os.environ, **environment},
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
    assert "] paper 0.506" in done.stdout
    assert str(folder) in done.stderr
    return folder


def test_csv_has_the_promised_columns_and_numbers(run_folder: Path) -> None:
    text = fechner("scores", str(run_folder), "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert text.splitlines()[0] == (
        "observer,suite,test,score,value,low,high,higher_is_better,mode,layer,readout,published,"
        "note"
    )
    values = {(row["observer"], row["score"]): row for row in rows}
    row = values["pixels", "alignment"]
    assert float(row["value"]) == pytest.approx(0.5034, abs=1e-4)
    assert (row["suite"], row["test"], row["mode"], row["higher_is_better"]) == (
        "encoders", "masking-coherent", "published", "true",
    )  # fmt: skip
    assert (row["layer"], row["readout"], row["published"]) == ("pixels", "angle", "0.5057")
    row = values["standard-observer", "alignment"]
    assert (row["readout"], row["published"]) == ("minkowski2.4", "")
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
        (["run", "model.py"], "name the observer in it"),
        (["run", "pixels", "--ppd", "-5"], "--ppd must be above 0 pixels/degree, not -5"),
        (["run", "pixels", "--ppd", "abc"], "--ppd must be a number, not 'abc'"),
        (["run", "pixels", "--seed", "0-x"], "--seed must be a whole number, not '0-x'"),
        (["run", "pixels@x=1"], "there is no setting named 'x'; pixels has none"),
        (["run", "pixels", "cvvdp", "--weights", "w.pt"], "write NAME@weights=PATH for each"),
        (
            ["list", "observers", "--preset", "cai"],
            "no preset named '@cai'; did you mean '@cai2025'?",
        ),
        (["layers", "standard-observer"], "is not an encoder, so it has no layers to read out"),
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


def test_a_dry_run_says_what_would_be_done_or_refused(run_folder: Path, tmp_path: Path) -> None:
    done = fechner("run", "pixels", "--seed", "3", "--out", str(run_folder), "--dry-run", code=2)
    assert "holds another run (" in done.stderr
    assert "--seed 0, not --seed 3" in done.stderr
    assert done.stdout == ""
    sweep = ["--tests", "area", "--seed", "0-2", "--ppd", "30,60", "--out", str(tmp_path / "new")]
    done = fechner("run", "pixels", *sweep, "--dry-run")
    assert "in each of 6 run folders; nothing was shown" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("3", [3]),
        ("0,1,2", [0, 1, 2]),
        ("0-3", [0, 1, 2, 3]),
        ("7, 0-1", [7, 0, 1]),
        ("5-5", [5]),
        ("0,0-1", [0, 1]),  # each once
    ],
)
def test_lists_of_seeds(text: str, seeds: list[int]) -> None:
    assert _numbers(options_of(Options)["seed"], text) == seeds


@pytest.mark.parametrize("text", ["a", "-1", "0-", "3-1", "0.5", "1-2-3", "²", "", ","])
def test_what_is_no_list_of_seeds(text: str) -> None:
    with pytest.raises((FechnerError, typer.BadParameter)):
        _numbers(options_of(Options)["seed"], text)


def test_lists(run_folder: Path) -> None:
    observers = fechner("list", "observers").stdout
    assert "standard-observer" in observers
    for family in ("timm/NAME", "hf/REPOSITORY", "torchvision/NAME[/WEIGHTS]", "FILE.onnx"):
        (line,) = (line for line in observers.splitlines() if line.split("  ")[0].endswith(family))
        assert "encodes" in line
    assert "@cai2025" in observers
    assert "Nine contrast tests" in fechner("list", "suites").stdout
    tests = fechner("list", "tests").stdout
    assert "matching-frequency" in tests
    assert "lifted: distance between features" in tests
    assert "not applicable: a reply in words has no size to compare" in tests
    assert "castle" in fechner("list", "human").stdout.lower()
    (office,) = (
        line for line in fechner("list", "displays").stdout.splitlines() if "office" in line
    )
    assert office.split() == [
        "office",
        "250",
        "0.25",
        "srgb",
        "bt709",
        "float",
        "250",
        "0.01",
        "0.796",
    ]


def test_list_of_a_published_table() -> None:
    header, *rows, source, advice = fechner(
        "list", "observers", "--preset", "cai2025"
    ).stdout.splitlines()
    assert header.split("  ")[0] == "observer"
    assert len(rows) == 45
    (row,) = (row for row in rows if row.startswith("hf/facebook/dinov2-with-registers-base "))
    assert "ViT-B/14 + reg" in row
    assert "LVD-142M" in row
    assert "(2025)" in source
    assert "fechner run @cai2025 --suite encoders --published" in advice


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["list", "tests"],
        ["list", "observers"],
        ["list", "observers", "--preset", "cai2025"],
    ],
)
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
    families = [line for line in text.splitlines() if line.startswith("observers ")]
    assert len(families) >= 7
    assert all(line.endswith(": ready") or "pip install" in line for line in families)
    (objects,) = [line for line in text.splitlines() if line.startswith("3D objects: ")]
    assert any(word in objects for word in ("ready (Mitsuba", "pip install"))


def test_version() -> None:
    assert fechner("--version").stdout.startswith("fechner 0.")


def test_interrupted_run_says_how_to_go_on(tmp_path: Path) -> None:
    command = [*FECHNER, "run", "pixels", "--out", "run"]
    with running(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
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


# Networks


def test_layers_of_a_network() -> None:
    header, *rows = fechner("layers", "efficientnet_lite0").stdout.splitlines()
    assert header.split() == ["layer", "stage", "shape", "what", "it", "is"]
    cells = {row.split()[0]: row.split()[1:] for row in rows}
    assert list(cells)[-1] == "output"
    assert len(rows) > 100
    stages = [name for name, rest in cells.items() if rest[0] == "*"]
    assert stages == [*(f"_blocks.{i}" for i in (0, 2, 4, 7, 10, 14, 15)), "output"]
    assert cells["_blocks.0"] == ["*", "16", "x", "112", "x", "112", "MBConvBlock"]
    assert cells["_bn0"] == ["32", "x", "112", "x", "112", "BatchNorm2d"]


def test_layers_like_a_pattern() -> None:
    _, *rows = fechner("layers", "efficientnet_lite0", "_blocks.1?", "output").stdout.splitlines()
    names = [row.split()[0] for row in rows]
    assert names == [*(f"_blocks.{i}" for i in range(10, 16)), "output"]


def test_a_network_is_validated() -> None:
    lines = fechner("validate", "efficientnet_lite0").stdout.splitlines()
    assert lines[-1] == "efficientnet_lite0 is fit to run."
    facts = dict(line.split(": ", 1) for line in lines[:-1])
    assert facts["parameters"].startswith("4,652,")
    assert facts["input"].startswith("224 x 224 px, float32, -0.")
    assert facts["output"] == "1280 for one picture"
    assert facts["layers"].startswith("8: _blocks.0, ")
    assert facts["difference of two looks"] == "none"
    assert facts["time per picture"].endswith(" ms")
    assert facts["memory per picture"].endswith(" MB")


def test_broken_observers_are_not_fit_to_run(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def model(x):\n    return x / 0\n")
    done = fechner("validate", "bad.py:model", cwd=tmp_path, code=1)
    last = done.stdout.splitlines()[-1]
    assert last == "bad.py:model cannot be run: it answered NaN or infinity."
    assert done.stderr == ""


def test_layers_readouts_and_seeds_of_a_network_of_your_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        torch.manual_seed(0)\n"
        "        self.first = torch.nn.Conv2d(3, 4, 7, stride=4)\n"
        "        self.second = torch.nn.Conv2d(4, 4, 7, stride=4)\n"
        "    def forward(self, x):\n"
        "        return self.second(self.first(x).tanh())\n"
    )
    done = fechner(
        "run", "mine.py:Net", "--tests", "masking-incoherent", "--scores-only", "--seed", "0-1",
        "--layers", "first,output", "--readout", "angle,l2", "--out", "mine",
        cwd=tmp_path,
    )  # fmt: skip
    assert sorted(path.name for path in tmp_path.glob("mine-*")) == ["mine-seed0", "mine-seed1"]
    parts = done.stdout.split("\n\n")
    first, second, spread = (part for part in parts if "----" in part)
    assert first != second
    for table in (first, second):
        assert "alignment ↑ angle" in table
        assert "alignment ↑ l2" in table
    header, _, *rows = spread.splitlines()
    assert header.split()[3:6] == ["seeds", "mean", "sd"]
    assert [row.split()[:4] for row in rows] == [
        ["mine.py:Net", "masking-incoherent", readout, "2"] for readout in ("angle", "l2")
    ]
    assert all(row.split()[-1] in ("yes", "no") for row in rows)
    assert all(float(row.split()[5]) > 0 for row in rows)
    name, header, _, *rows = fechner(
        "scores", "mine-seed1", "--format", "layers", cwd=tmp_path
    ).stdout.splitlines()
    assert name == "mine.py:Net"
    assert header.split() == ["layer", "read-out", "masking-incoherent"]
    assert [row.split()[:2] for row in rows] == [
        [layer, readout] for layer in ("first", "output") for readout in ("angle", "l2")
    ]


def test_missing_weights_are_named_with_the_ways_to_provide_them(tmp_path: Path) -> None:
    done = fechner(
        "run", "timm/resnet18", "--tests", "masking-coherent", "--scores-only",
        cwd=tmp_path, code=1, HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path / "hub"),
    )  # fmt: skip
    (line,) = (line for line in done.stderr.splitlines() if line.strip())
    assert "model.safetensors of timm/resnet18.a1_in1k" in line
    for way in ("run once with a network", "HF_HOME", "--weights PATH"):
        assert way in line
    assert done.stdout == ""
    folder = tmp_path / "runs" / "encoders"
    assert not (folder / "results").exists()
    assert json.loads((folder / "manifest.json").read_text())["observers"] == {}
