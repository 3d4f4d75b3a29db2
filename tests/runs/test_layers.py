"""Runs that look into a network: every layer and read-out, chosen by name."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from fechner import Run, evaluate, observe
from fechner.errors import RunFolderError
from fechner.report.score_tables import format_scores

TEST = "masking-coherent"
PLACES = ("stages.0", "stages.1", "output")


def stage(before: int, after: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(before, after, 5, stride=4), nn.GELU())


class Net(nn.Module):
    """A small convolutional network with two stages."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stages = nn.ModuleList([stage(3, 4), stage(4, 8)])

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        for each in self.stages:
            pictures = each(pictures)
        return pictures.flatten(1)[:, ::7]


def net(name: str = "net"):
    return observe(Net(), name=name, version="1")


def quick(*observers, **options) -> Run:
    options = {"tests": TEST, "scores_only": True, "progress": False, **options}
    return evaluate(*observers, **options)


def values(run: Run) -> dict[tuple[str, str], float]:
    return {(r.score.layer, r.score.readout): r.score.value for r in run.scores()}


@pytest.fixture(scope="module")
def whole() -> Run:
    """Return a run at all natural stages, by two read-outs."""
    return quick(net(), readouts=["angle", "l2"])


def test_answers_are_labelled_by_layer_and_readout(whole: Run) -> None:
    data = whole.data("net", TEST)
    assert data["response"].dims[-2:] == ("layer", "readout")
    assert tuple(data["layer"].values) == PLACES  # what the network hands on comes last
    assert tuple(data["readout"].values) == ("angle", "l2")
    answers = data["response"].transpose("layer", "readout", ...).values.reshape(6, -1)
    assert len(np.unique(answers, axis=0)) == 6  # no two are the same


def test_every_layer_and_readout_has_a_score_of_its_own(whole: Run) -> None:
    found = values(whole)
    assert list(found) == [(layer, readout) for layer in PLACES for readout in ("angle", "l2")]
    assert len(set(found.values())) > 2
    data = whole.data("net", TEST)
    (test,) = whole.tests
    for (layer, readout), value in found.items():
        (alone,) = test.scorer(data.sel(layer=[layer], readout=[readout]))
        assert alone.value == value


def test_the_last_layer_is_the_natural_one_and_alone_in_the_table(whole: Run) -> None:
    results = whole.scores()
    assert [r.score.layer for r in results if r.last] == ["output"] * 2
    assert all(r.main for r in results)
    table = whole.table()
    for result in results:
        shown = f"{result.score.value:.3f} [" in table
        assert shown == result.last
    rows = list(csv.DictReader(io.StringIO(format_scores(results, "csv"))))
    assert {(row["layer"], row["readout"]) for row in rows} == set(values(whole))


def test_only_the_first_of_two_scores_of_a_layer_is_the_main_one() -> None:
    results = quick(net(), tests="matching-frequency").scores()
    by_layer = {
        layer: [(r.score.name, r.main) for r in results if r.score.layer == layer]
        for layer in PLACES
    }
    for found in by_layer.values():
        assert found == [
            ("matching-error", True),
            ("matching-error-pooled", False),
            ("shape-error-low-contrast", False),
            ("shape-error-high-contrast", False),
        ]


@pytest.mark.parametrize(
    ("layers", "places"),
    [
        ("output", ["output"]),
        (["output", "stages.*"], ["stages.0", "stages.1", "output"]),  # the network's own order
        ("stages.1", ["stages.1"]),
        ("stages.*.0", ["stages.0.0", "stages.1.0"]),
        (["stages.0.**"], ["stages.0.0", "stages.0.1"]),
    ],
)
def test_layers_are_chosen_by_patterns(whole: Run, layers, places: list[str]) -> None:
    run = quick(net(), layers=layers)
    assert list(run.data("net", TEST)["layer"].values) == places
    # Where a place was read out before, the answers are the same to the bit.
    before, now = whole.data("net", TEST)["response"], run.data("net", TEST)["response"]
    for layer in set(places) & set(PLACES):
        at = {"layer": layer, "readout": "angle"}
        np.testing.assert_array_equal(now.sel(at), before.sel(at))
        assert values(run)[layer, "angle"] == values(whole)[layer, "angle"]


def test_the_last_layer_chosen_stands_in_for_the_output() -> None:
    run = quick(net(), layers=["stages.0", "stages.1"])
    assert [(r.score.layer, r.last, r.place) for r in run.scores()] == [
        ("stages.0", False, "at stages.0"),
        ("stages.1", True, "at stages.1"),
    ]
    assert "alignment ↑ at stages.1" in run.table()


def test_a_readout_that_is_not_the_suites_own_is_named() -> None:
    assert "alignment ↑ l2  " in quick(net(), layers="output", readouts="l2").table()
    assert "alignment ↑  " in quick(net(), layers="output").table()


def test_unknown_layers_leave_an_observer_out_and_others_go_on(tmp_path: Path) -> None:
    run = quick("pixels", net(), "standard-observer", out=tmp_path / "run", layers="stagse.0")
    results, problems = run.assess()
    # Neither can be looked into, so there are no layers to choose.
    assert {result.observer for result in results} == {"pixels", "standard-observer"}
    assert problems == run.left_out
    assert problems == [
        "net was left out: there is no layer named 'stagse.0'; did you mean 'stages.0'? "
        "`fechner layers net` lists them."
    ]
    assert run.observers == ["pixels", "standard-observer"]


def test_observers_of_different_kinds_share_patterns() -> None:
    other = observe(nn.Sequential(stage(3, 4), stage(4, 8)), name="other")
    run = quick("pixels", net(), other, layers=["stages.0", "0", "output"])
    assert run.left_out == []
    assert [(r.observer, r.score.layer) for r in run.scores()] == [
        ("pixels", "pixels"),
        ("net", "stages.0"),
        ("net", "output"),
        ("other", "0"),
        ("other", "output"),
    ]


def test_a_start_that_measured_nothing_does_not_keep_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert "was left out" in quick(net(), out=folder, layers="mistyped").left_out[0]
    run = quick(net(), out=folder)
    assert run.left_out == []
    assert run.scores()


def test_a_folder_with_other_layers_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    before = quick(net(), out=folder, layers="stages.0").scores()
    for layers, told in (("output", "--layers output"), (None, "without --layers")):
        with pytest.raises(RunFolderError, match=r"choose another folder with --out\.") as error:
            quick(net(), out=folder, layers=layers)
        assert f"holds another run (--layers stages.0, not {told})" in str(error.value)
    assert Run(folder).scores() == before
    assert quick(net(), out=folder, layers=["stages.0"]).scores() == before


def test_results_in_a_folder_are_those_of_the_run(tmp_path: Path, whole: Run) -> None:
    run = quick(net(), out=tmp_path / "run", readouts=["angle", "l2"])
    assert Run(tmp_path / "run").scores() == run.scores() == whole.scores()
    assert Run(tmp_path / "run").manifest.layers is None
    assert Run(tmp_path / "run").manifest.readouts == ["angle", "l2"]


def test_a_module_called_twice_has_a_layer_per_call() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.conv = nn.Conv2d(3, 3, 5, stride=2)

        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            return self.conv(self.conv(pictures))

    run = quick(observe(Twice(), name="twice"), layers=["conv", "output"])
    data = run.data("twice", TEST)
    assert list(data["layer"].values) == ["conv#1", "conv#2", "output"]
    second, output = (data["response"].sel(layer=layer) for layer in ("conv#2", "output"))
    np.testing.assert_array_equal(second, output)
