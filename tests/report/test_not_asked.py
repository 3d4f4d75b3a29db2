"""Tests that an observer was not asked, wherever results are shown: said, and no problem."""

import csv
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clips import TESTS, measure, small_metrics
from printed import words as words_on

from fechner import FechnerError, Run
from fechner.report.comparing.comparison import compare, summarise_comparison
from fechner.report.contenders import contenders
from fechner.report.export import export
from fechner.report.figures import figure
from fechner.report.serving.runs import find_runs
from fechner.report.serving.state import read_state
from fechner.runs.store import Plan, only_writer

COLOUR = "psnr-y was not asked matching-colour: it sees no colour."
VIDEO = [
    f"{name} was not asked flicker: it takes pictures, not video." for name in ("hyab", "psnr-y")
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with small_metrics():
        yield measure(tmp_path_factory.mktemp("runs") / "clips")


def state_of(folder: Path) -> dict[str, Any]:
    (found,) = find_runs([folder])
    return read_state(found)


# Contenders


def test_contenders_know_what_is_known_of_them(run: Run, shown_run: Run) -> None:
    known = {each.label: (each.family, each.csf_based) for each in contenders([run, shown_run])}
    assert known == {
        "watcher": ("", ""),
        "hyab": ("colour difference", "no"),
        "psnr-y": ("traditional", "no"),
        "pixels": ("No Encoder", ""),
        "network": ("", ""),
        "timm/vit_small_patch16_224.dino": ("DINO", ""),
    }


# Comparisons


def test_comparisons_say_it_in_a_note(run: Run) -> None:
    found = compare(run)
    problems = list(found.problems)
    assert problems == []
    assert set(found.notes) == {COLOUR, *VIDEO}
    tests = {(p.first.label, p.second.label): [f.test for f in p.findings] for p in found.pairs}
    assert tests == {
        ("watcher", "hyab"): ["area", "matching-colour"],
        ("watcher", "psnr-y"): ["area"],
        ("hyab", "psnr-y"): ["area"],
    }
    assert [mean.n for _, mean in found.distances] == [3, 2, 1]
    for name in ("table", "json"):
        assert COLOUR in summarise_comparison(found).write(name)
    one = compare(run, tests=["area"])
    assert one.notes == ()


def test_nothing_in_common_names_the_reason(run: Run) -> None:
    with pytest.raises(FechnerError, match="no test in common: hyab was not asked flicker"):
        compare(run, tests=["flicker"])


# Exports


def test_exports_have_no_rows_of_it(run: Run, tmp_path: Path) -> None:
    told: list[str] = []
    export([run], str(tmp_path / "scores.csv"), tell=told.append)
    rows = csv.DictReader(io.StringIO((tmp_path / "scores.csv").read_text()))
    there = {(row["observer"], row["test"]) for row in rows}
    every = {(observer, test) for observer in run.observers for test in TESTS}
    assert every - there == {
        ("hyab", "flicker"),
        ("psnr-y", "flicker"),
        ("psnr-y", "matching-colour"),
    }
    assert set(told) == {COLOUR, *VIDEO}
    assert set(run.to_dataframe("responses")["test"]) == set(TESTS)


def test_an_export_of_nothing_else_names_the_reason(run: Run, tmp_path: Path) -> None:
    for out in ("hyab.nc", "hyab.csv"):
        with pytest.raises(FechnerError, match="nothing to export: hyab was not asked flicker"):
            export([run], str(tmp_path / out), observers=["hyab"], tests=["flicker"])
    assert list(tmp_path.iterdir()) == []


# Figures


def test_figures_leave_them_out_unless_they_are_named(run: Run) -> None:
    assert "hyab" not in words_on(figure(run, "flicker", "surface"))
    named = words_on(figure(run, "flicker", observers=["watcher", "hyab"]))
    assert {"watcher", "hyab", "not asked"} <= set(named)
    with pytest.raises(FechnerError, match="no observer was asked test 'flicker': hyab, since it"):
        figure(run, "flicker", observers=["hyab", "psnr-y"])


def test_directions_are_named_and_coloured_by_one_scale(run: Run) -> None:
    drawn = figure(run, "matching-colour", "directions")
    assert {"achromatic", "red-green", "yellow-violet", "achromatic contrast"} <= set(
        words_on(drawn)
    )
    (axes, *_) = drawn.axes
    solid = [line for line in axes.lines if line.get_linestyle() == "-"]
    assert len(solid) == len({line.get_color() for line in solid}) == 10


def test_flicker_from_0_hz_has_a_linear_axis(tmp_path: Path) -> None:
    with small_metrics():
        published = measure(tmp_path / "published", published=True)
        for kind in ("surface", "responses"):
            (axes, *_) = figure(published, "flicker", kind).axes
            assert axes.get_xscale() == ("linear" if kind == "surface" else "log")


# Served


def test_a_live_grid_counts_it_as_done(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(run.folder, folder)
    state = state_of(folder)
    assert state["complete"]
    assert (state["status"], state["kind"]) == ("finished", "good")
    cells = {
        (row["observer"], test): (cell["state"], cell["of"], cell["message"])
        for row in state["observers"]
        for test, cell in row["cells"].items()
    }
    assert cells["psnr-y", "matching-colour"] == ("not asked", 0, COLOUR)
    assert cells["watcher", "flicker"][0] == "done"
    assert state["not_asked"] == run.not_asked
    json.dumps(state)


def test_nobody_waits_for_what_is_not_asked(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(run.folder, folder)
    plan = Plan(run.observers, list(TESTS), scores_only=False)
    with only_writer(folder, plan):
        state = state_of(folder)
        assert state["live"]
        assert state["now"] is None
        assert (state["pieces"]["done"], state["seconds_left"]) == (state["pieces"]["of"], 0.0)
