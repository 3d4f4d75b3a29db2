"""A panel for each of six read-outs, and for each layer."""

from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch
from printed import check_legible, lines_on, words
from torch import nn

import fechner
from fechner import Run, observe
from fechner.errors import UnknownNameError
from fechner.report.figures import figure

READOUTS = ["l2", "l1", "minkowski4", "linf", "angle", "energy"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    torch.manual_seed(0)
    parts = {"first": nn.Conv2d(3, 4, 5, 4), "bent": nn.ReLU(), "second": nn.Conv2d(4, 6, 5, 2)}
    network = nn.Sequential(OrderedDict(parts))
    folder: Path = tmp_path_factory.mktemp("study") / "run"
    return fechner.evaluate(
        observe(network, name="net", version="1"),
        suite="decalogue",
        tests=["brightness", "colour"],
        readouts=READOUTS,
        layers="*",
        out=folder,
        progress=False,
    )


def test_six_panels_with_their_scores(run: Run) -> None:
    drawn = figure(run, "brightness", readout="all", dpi=80)
    check_legible(drawn)
    scores = {
        result.score.readout: result.score.value
        for result in run.assess()[0]
        if result.test == "brightness" and result.main and result.last
    }
    titles = [f"{name} (agreement {scores[name]:.2f})".replace("-", "−") for name in READOUTS]
    assert [each for each in words(drawn) if "agreement" in each] == titles
    for axes in drawn.axes[: len(READOUTS)]:
        observed = [line for line in axes.get_lines() if line.get_linestyle() == "-"]
        largest = max(np.nanmax(np.asarray(line.get_ydata(), dtype=float)) for line in observed)
        assert largest == pytest.approx(1.0)


def test_layers_are_rows_of_read_outs(run: Run) -> None:
    drawn = figure(run, "brightness", readout="all", layer="all", dpi=80)
    written = lines_on(drawn)
    layers = ["first", "bent", "second", "output"]
    assert [each for each in written if each in layers] == layers
    assert sum(each.startswith("minkowski4 ") for each in written) == len(layers)
    one = figure(run, "colour", readout="l1", layer="all", dpi=80)
    assert sum("(agreement" in each.replace("\n", " ") for each in words(one)) == 2 * len(layers)


def test_only_lines_are_drawn_so(run: Run) -> None:
    with pytest.raises(UnknownNameError, match="only panels of lines are drawn so: curves"):
        figure(run, "brightness", "surface", readout="all")
    with pytest.raises(UnknownNameError, match="read-out"):
        figure(run, "brightness", layer="all", readout="l7")
