"""A display that a user chose: shown on, kept with the run, and held to on resume."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from photographs import write_album

from fechner import evaluate
from fechner.errors import FechnerError, RunFolderError, UnknownNameError
from fechner.runs import Run
from fechner.stimuli import Display, display
from fechner.suites import suite

MINE = Display("mine", 150, 0.1, "pq", bits=12, ambient_lux=80, reflectivity=0.02)


def run_on(where: Display | Path | str | None, folder: Path) -> Run:
    return evaluate(
        "pixels",
        tests=["luminance"],
        scores_only=True,
        out=folder,
        display=where,
        progress=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found: Path = tmp_path_factory.mktemp("displays") / "run"
    run_on(MINE, found)
    return found


def test_every_field_is_in_the_manifest_and_read_back(folder: Path) -> None:
    stored = json.loads((folder / "manifest.json").read_text())["options"]["display"]
    plain = json.loads(json.dumps(asdict(MINE)))
    assert stored == {"kind": "Display", **plain}
    run = Run(folder)
    assert run.options.display == MINE
    assert {test.experiment.scene.display for test in run.tests} == {MINE}
    assert "0.509 cd/m2" in run.tests[0].experiment.method


def test_backgrounds_beyond_the_display_are_left_out_and_named(folder: Path) -> None:
    data = Run(folder).data("pixels", "luminance")
    low, high = MINE.limits_cdm2()
    outside = (data["abscissa"].values < low) | (data["abscissa"].values > high)
    dropped = data["dropped"].values
    assert outside.sum() > 3
    assert (dropped[outside] == 2).all()
    (score, *_) = Run(folder).scores()
    assert f"{(dropped > 0).sum()} of 200 points left out: out-of-gamut" in score.score.note


def test_the_same_display_goes_on_and_others_are_refused(folder: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.nc")}
    run_on(MINE, folder)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.nc")} == before
    with pytest.raises(RunFolderError, match="--display mine, not --display office"):
        run_on("office", folder)
    with pytest.raises(RunFolderError, match="not without --display"):
        run_on(None, folder)
    path = tmp_path / "mine.toml"  # of the same name
    path.write_text("peak_cdm2 = 150")
    with pytest.raises(RunFolderError, match="--display mine, with other content"):
        run_on(path, folder)


def test_published_protocols_have_their_own_display() -> None:
    with pytest.raises(FechnerError, match="--display"):
        suite("encoders").options(published=True, display="office")


def test_what_cannot_be_a_display() -> None:
    with pytest.raises(UnknownNameError, match="'office'"):
        suite("encoders").options(display="ofice")
    with pytest.raises(FechnerError, match="does not take --display"):
        evaluate("pixels", suite="recognition", display="office", progress=False)


@pytest.mark.parametrize("name", ["encoders", "metrics", "decalogue", "verbal"])
def test_suites_show_all_their_tests_on_it(name: str) -> None:
    chosen = display("phone")
    for test in suite(name).build(ppd=48.0, display=chosen):
        assert test.experiment.scene.display == chosen
        assert test.experiment.scene.field.ppd == 48.0


def test_photographs_are_not_hdr(tmp_path: Path) -> None:
    folder, own = write_album(tmp_path, side=32), suite("verbal")
    with pytest.raises(FechnerError, match="hdr-pq-1000"):
        own.build(own.choose({"images": folder, "display": "hdr-pq-1000"}))
    assert own.build(own.choose({"images": folder, "display": "office"}))
