"""Suite recognition from end to end: photographs, objects, options, runs that are killed."""

import hashlib
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from known import flat_set
from photographs import noise_picture, write_album
from PIL import Image
from processes import FECHNER, running
from typer.testing import CliRunner

from fechner import FechnerError, evaluate, observe
from fechner.cli.app import app
from fechner.experiments import AdaptiveLevels, ItemResponse, Matching, Naming
from fechner.observers.dropout import Dropout
from fechner.runs import Run, preview
from fechner.stimuli.manipulations import MANIPULATIONS
from fechner.stimuli.objects import OBJECT_MANIPULATIONS
from fechner.suites import suite
from fechner.suites.recognition import levels_between, published_levels

PAPER = ("blur", "occlusion", "salt-pepper", "brightness-up", "brightness-down", "contrast-up")
PAPER = (*PAPER, "contrast-down", "sharpness-up", "sharpness-down")


def suite_tests(mode: Any = "default", **asked: Any) -> dict[str, Any]:
    own = suite("recognition").build(published=mode == "published", images=flat_set(4), **asked)
    return {test.id: test for test in own}


def test_the_conditions_of_the_paper_are_run_by_default() -> None:
    chosen = [name for name, test in suite_tests().items() if test.by_default]
    assert chosen == ["views", *(f"{task}-{name}" for task in ("mafc", "2afc") for name in PAPER)]


def test_every_manipulation_has_a_test_of_each_kind() -> None:
    found = suite_tests()
    assert len(found) == 1 + 2 * 37
    assert all(test.after == ("views",) for name, test in found.items() if name != "views")
    assert found["mafc-contrast-up"].uses == ("mafc-contrast-down",)


def test_two_hundred_levels_and_the_original() -> None:
    for test in list(suite_tests().values())[1:]:
        levels = test.experiment.placement.levels
        assert len(levels) == 201
        assert levels[0] == 0
        assert np.diff(np.log(levels[1:])).std() < 1e-9
        assert levels[-1] == pytest.approx(test.experiment.manipulation.range[1])


def test_published_mode_is_other_parameters_of_the_same_classes() -> None:
    ours, theirs = suite_tests()["2afc-sharpness-up"], suite_tests("published")["2afc-sharpness-up"]
    assert type(ours.experiment) is type(theirs.experiment) is ItemResponse
    assert ours.experiment.task == Matching("2afc")
    assert theirs.experiment.task == Matching("2afc-published", others=None)
    levels = np.array(theirs.experiment.placement.levels)
    assert levels[-1] == pytest.approx(1.0)  # a factor of 2
    assert np.diff(np.log1p(levels)).std() < 1e-9
    assert (ours.scorer.window, theirs.scorer.window) == (1, 15)


def test_spacing_by_hand() -> None:
    assert levels_between(1, 100, 3) == pytest.approx((0, 1, 10, 100))


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("blur", 0.0, MANIPULATIONS["blur"].range[1]),
        ("brightness-up", 1.0, 101.0),
        ("contrast-down", 1.0, 0.0),
        ("rotation3d-x-up", 0.0, 180.0),
        ("rotation3d-x-down", 0.0, -180.0),
        ("scale3d-up", 1.0, 32.0),
        ("scale3d-down", 1.0, 1 / 32),
    ],
)
def test_published_spacing_is_that_of_settings(name: str, start: float, end: float) -> None:
    """By the rule of the authors' code, from one bound to the other."""
    manipulation = {**MANIPULATIONS, **OBJECT_MANIPULATIONS}[name]
    shift = abs(min(start, end)) + 1 if min(start, end) <= 0 else 0
    expected = np.logspace(np.log10(start + shift), np.log10(end + shift), 31) - shift
    levels = published_levels(manipulation, 30)
    assert levels[0] == 0
    assert levels[-1] == manipulation.range[1]
    assert [manipulation.setting(level) for level in levels] == pytest.approx(expected.tolist())


def test_published_factors_go_down_in_larger_steps_at_first() -> None:
    levels = published_levels(MANIPULATIONS["contrast-down"], 30)
    assert 1 - levels[1] == pytest.approx(2 ** (29 / 30) - 1)
    assert round(1 - levels[1], 3) == 0.954


def test_dropout_is_for_manipulations_that_are_not_random() -> None:
    found = suite_tests(dropout="fc6,fc7")
    assert found["mafc-blur"].experiment.task == Naming(dropout=Dropout(("fc6", "fc7")))
    assert found["mafc-occlusion"].experiment.task == found["mafc-salt-pepper"].experiment.task
    assert found["mafc-occlusion"].experiment.task == Naming()


def test_adaptive_levels_on_request() -> None:
    found = suite_tests(adaptive=True)["mafc-blur"].experiment
    assert isinstance(found.placement, AdaptiveLevels)
    assert found.placement.trials == 4 + 40
    assert suite_tests(adaptive=True)["2afc-blur"].experiment.placement.trials == 4 + 60
    with pytest.raises(FechnerError, match="--trials are those of --adaptive"):
        suite_tests(trials=5)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "suite 'recognition' shows pictures in classes: give --images FOLDER"),
        ({"images": "nowhere"}, "there is no nowhere"),
        (
            {"images": "nowhere", "suite": "encoders"},
            "it is an option of verbal and recognition",
        ),
        ({"views": 5}, "--views are those of 3D objects"),
        ({"levels": 1}, "--levels must be at least 2, not 1"),
        ({"among": "all"}, "--among must be own or shown"),
        ({"show": "best"}, "--show must be preferred or drawn"),
        ({"categories": "15-class"}, "did you mean '16-class'"),
        ({"prompts": ["Is it?"]}, "does not take --prompts"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_measured(asked: dict, words: str) -> None:
    with pytest.raises(FechnerError, match=words):
        evaluate("pixels", **{"suite": "recognition", **asked}, progress=False)


def test_options_nobody_has() -> None:
    with pytest.raises(TypeError, match="'encoders' does not take --colour"):
        evaluate("pixels", colour=True)
    with pytest.raises(TypeError, match="--level; did you mean --levels"):
        evaluate("pixels", level=3, suite="recognition")
    with pytest.raises(TypeError, match="--readout; did you mean --readouts"):
        evaluate("pixels", readout="l2")


@pytest.fixture(scope="module")
def album(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_album(tmp_path_factory.mktemp("album") / "photographs", side=64, crops=3)


@pytest.fixture(scope="module")
def measured(album: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return evaluate(
        "efficientnet_lite0",
        "pixels",
        suite="recognition",
        tests=["mafc-blur", "mafc-contrast-*", "2afc-blur"],
        images=album,
        levels=6,
        layers="output",
        out=tmp_path_factory.mktemp("measured") / "run",
        progress=False,
    )


def test_default_mode_keeps_its_golden_numbers(measured: Run) -> None:
    found = {
        (result.observer, result.test): round(result.score.value, 2)
        for result in measured.scores()
        if result.main
    }
    assert found == GOLDEN


#: If these change on purpose, raise the version of `ItemResponse`.
GOLDEN = {
    ("efficientnet_lite0", "views"): 0.5,
    ("efficientnet_lite0", "mafc-blur"): 0.25,
    ("efficientnet_lite0", "mafc-contrast-up"): 0.42,
    ("efficientnet_lite0", "mafc-contrast-down"): 0.48,
    ("efficientnet_lite0", "2afc-blur"): 0.87,
    ("pixels", "2afc-blur"): 1.0,
}


def test_an_observer_that_names_nothing_is_asked_to_match(measured: Run) -> None:
    assert measured.not_asked == [
        "pixels was not asked views, mafc-blur, mafc-contrast-up, mafc-contrast-down: "
        "it names nothing."
    ]
    data = measured.data("pixels", "2afc-blur")
    assert data is not None
    assert data["right"].values[data["level"].values == 0].all()


def test_a_page_of_it(measured: Run, tmp_path: Path) -> None:
    page = measured.report(tmp_path / "page.html").read_text("utf-8")
    for words in ("distance from no error", "Gaussian blur: what is it?", "Contrast, increased"):
        assert words in page
    # One that was asked a fifth of the tests, and made no error in it, is not the best.
    rows = [
        page.index(f'<th scope="row" title="{name}"') for name in ("efficientnet_lite0", "pixels")
    ]
    assert rows == sorted(rows)


def test_observers_that_name_and_match_can_be_compared_and_drawn(
    measured: Run, tmp_path: Path
) -> None:
    runner = CliRunner()
    compared = runner.invoke(app, ["compare", str(measured.folder)])
    assert compared.exit_code == 0, compared.output
    assert "2afc-blur  area ↑" in compared.output
    drawn = runner.invoke(
        app, ["figure", str(measured.folder), "--out", str(tmp_path / "scores.svg")]
    )
    assert drawn.exit_code == 0, drawn.output


def test_a_sheet_of_its_stimuli(album: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.png"
    done = CliRunner().invoke(
        app,
        ["show", "recognition", "--images", str(album), "--tests", "mafc-blur"]
        + ["--out", str(sheet)],
    )
    assert done.exit_code == 0, done.output
    with Image.open(sheet) as picture:
        assert picture.width > 1000


def test_numbers_have_intervals_and_directions(measured: Run) -> None:
    for result in measured.scores():
        score = result.score
        if not np.isnan(score.value):
            assert score.low <= score.value <= score.high, (result.test, score)


def test_answers_leave_with_the_class_that_was_chosen(measured: Run) -> None:
    answers = measured.to_dataframe("responses")
    curve = answers[(answers["test"] == "mafc-blur") & (answers["quantity"] == "chosen")]
    original = curve[curve["level"] == 0]
    assert sorted(original["class_of"]) == sorted(set(answers["class_of"]))
    right = answers[(answers["test"] == "mafc-blur") & (answers["quantity"] == "right")]
    agree = (curve["text"] == curve["class_of"]).to_numpy()
    assert agree.tolist() == (right["value"] == 1).to_numpy().tolist()
    assert 0 < agree.mean() < 1
    matched = answers[(answers["test"] == "2afc-blur") & (answers["quantity"] == "chosen")]
    assert set(matched["text"]) == {"original", "other"}
    scores = measured.to_dataframe("scores")
    assert scores[scores["score"] == "up-minus-down"]["higher_is_better"].isna().all()


def test_pictures_may_be_gone_when_a_run_is_read(measured: Run, album: Path) -> None:
    manifest = json.loads((measured.folder / "manifest.json").read_text())
    assert manifest["options"]["images"]["place"] == str(album.absolute())
    elsewhere = album.rename(album.with_name("moved"))
    try:
        again = Run(measured.folder)
        assert again.table() == measured.table()
    finally:
        elsewhere.rename(album)


def test_other_pictures_are_another_run(measured: Run, tmp_path: Path) -> None:
    other = write_album(tmp_path / "other", side=48)
    with pytest.raises(FechnerError, match=r"holds another run .*--images 18 pictures of 6"):
        evaluate(
            "pixels", suite="recognition", images=other, levels=6, layers="output",
            tests="2afc-blur", out=measured.folder, progress=False,
        )  # fmt: skip


def test_a_dry_run_counts_pictures(album: Path) -> None:
    plans = preview("efficientnet_lite0", suite="recognition", images=album, tests="mafc-blur")
    assert [(plan.test, plan.pictures, plan.questions) for plan in plans] == [
        ("views", 18, 0),
        ("mafc-blur", 6 * 201, 0),
    ]


def pairs() -> Iterator[tuple[np.ndarray, str]]:
    generator = np.random.default_rng(0)
    for label in ("red", "green"):
        for _ in range(3):
            yield generator.random((16, 16, 3)), label


class Reds(torch.nn.Module):
    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return pictures.mean(dim=(2, 3))[:, :2]


def test_pictures_from_an_iterator_and_a_classifier_of_ones_own(tmp_path: Path) -> None:
    run = evaluate(
        observe(Reds(), classes=["red", "green"], version="1"),
        suite="recognition",
        tests="mafc-blur",
        images=pairs(),
        levels=3,
        out=tmp_path / "run",
        progress=False,
    )
    assert {r.test for r in run.scores()} == {"views", "mafc-blur"}
    before = hashes(run.folder)
    again = evaluate(
        observe(Reds(), classes=["red", "green"], version="1"),
        suite="recognition",
        tests="mafc-blur",
        images=pairs(),
        levels=3,
        out=tmp_path / "run",
        progress=False,
    )
    assert again.table() == run.table()
    assert hashes(again.folder) == before


def write_odd_files(folder: Path) -> Path:
    """Write two classes, one of them of files that are odd in every way."""
    for label in ("green", "red", "empty"):
        (folder / label).mkdir(parents=True)
    whole = noise_picture(0)
    whole.save(folder / "green" / "whole.png")
    odd = folder / "red"
    whole.convert("L").save(odd / "grey.png")
    whole.convert("CMYK").save(odd / "cmyk.jpg")
    whole.convert("RGBA").save(odd / "alpha.png")
    whole.resize((1, 1)).save(odd / "one-pixel.png")
    Image.fromarray(np.arange(4096, dtype=np.uint16).reshape(64, 64)).save(odd / "sixteen.png")
    Image.new("1", (20_000, 20_000)).save(odd / "huge.png")
    content = (folder / "green" / "whole.png").read_bytes()
    (odd / "cut-off.png").write_bytes(content[: len(content) // 2])
    (odd / "corrupt.jpg").write_bytes(b"no picture")
    (odd / "empty.png").write_bytes(b"")
    return folder


def test_odd_files_are_counted_and_named_and_the_run_goes_on(tmp_path: Path) -> None:
    run = evaluate(
        observe(Reds(), classes=["green", "red"]),
        suite="recognition",
        tests="mafc-blur",
        images=write_odd_files(tmp_path / "odd"),
        levels=2,
        per_class=20,
        out=tmp_path / "run",
        progress=False,
    )
    data = run.data("Reds", "views")
    assert data is not None
    assert data.sizes["picture"] == 10
    assert int((data["problem"].values > 0).sum()) == 5
    named = data.attrs["unreadable"]
    bad = ("cut-off.png", "corrupt.jpg", "empty.png", "huge.png", "one-pixel.png")
    assert all(name in named for name in bad)
    curve = run.data("Reds", "mafc-blur")
    assert curve is not None
    assert curve.sizes["trial"] == 5 * 3  # what could not be read is not shown again
    accuracy = run.scores()[0].score
    assert "5 of 10 pictures left out: unreadable" in accuracy.note
    (note,) = run.options.notes
    assert note.startswith("left out as classes: empty")


def test_classes_in_no_category_are_left_out_and_named(tmp_path: Path, album: Path) -> None:
    file = tmp_path / "kinds.csv"
    file.write_text("class,category\ntabby,animal\nespresso,food\ndaisy,plant\n")
    run = evaluate(
        "efficientnet_lite0", suite="recognition", images=album, categories=file,
        tests="mafc-blur", levels=2, out=tmp_path / "run", progress=False,
    )  # fmt: skip
    data = run.data("efficientnet_lite0", "mafc-blur")
    assert data is not None
    assert data["class_of"].attrs["names"] == "tabby|espresso|daisy"
    assert data.attrs["choices"] == 3
    assert data["chosen"].attrs["names"] == "animal|food|plant"
    (note,) = run.options.notes
    assert note == "of no category of 'kinds', and left out: moped, palace, tripod."
    file.write_text("class,category\ntabby,animal\nsparrow,bird\n")
    with pytest.raises(FechnerError, match="pictures of two categories"):
        evaluate("pixels", suite="recognition", images=album, categories=file, progress=False)


def test_killed_and_resumed_by_several_processes_the_bytes_are_the_same(
    tmp_path: Path, album: Path
) -> None:
    command = [
        *FECHNER, "run", "efficientnet_lite0", "--suite", "recognition", "--images", str(album),
        "--tests", "mafc-blur", "--levels", "4", "--per-class", "3", "--threads", "1", "--out",
    ]  # fmt: skip
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run([*command, str(whole)], check=True, **quiet)
    with running([*command, str(broken)], **quiet) as process:
        while process.poll() is None and not list(broken.glob("results/*/views/*.nc")):
            time.sleep(0.002)
        assert process.poll() is None  # it is killed in the middle
    assert not list(broken.glob("results/*/mafc-blur/*.nc"))
    subprocess.run([*command, str(broken), "--workers", "2"], check=True, **quiet)
    assert len(hashes(whole)) == 2
    assert hashes(whole) == hashes(broken)


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("results/**/*.nc"))
    }
