"""Redundancy: known information is recovered, of numbers and of what a network makes of noise."""

import csv
import io
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from printed import check_legible, words
from torch import nn

from fechner import observe
from fechner.errors import FechnerError, ObserverError
from fechner.physiology import Conditions, measure_redundancy, mutual_information
from fechner.report.redundancy import draw_redundancy, rows, to_csv, write_redundancy
from fechner.stimuli import Field
from fechner.stimuli.pictures import packaged_photographs, photographs_in

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]


def normal_pair(r: float, seed: int, n: int = 1000) -> Pair:
    x, z = np.random.default_rng(seed).normal(size=(2, n))
    return x, r * x + math.sqrt(1 - r**2) * z


@pytest.mark.parametrize("r", [0.0, 0.5, 0.9, 0.99])
def test_information_of_normal_variables(r: float) -> None:
    known = -0.5 * math.log2(1 - r**2)
    found = [mutual_information(*normal_pair(r, seed)) for seed in range(20)]
    assert np.mean(found) == pytest.approx(known, abs=0.04)


def test_monotone_functions_change_nothing() -> None:
    x, y = normal_pair(0.7, 0)
    assert mutual_information(np.exp(x), y**3) == mutual_information(x, y)


def test_information_of_classes() -> None:
    draw = np.random.default_rng(0)
    x, other = draw.integers(0, 4, (2, 2000))
    assert mutual_information(x, x) == pytest.approx(2.0, abs=0.1)
    assert mutual_information(x, other) == pytest.approx(0.0, abs=0.03)


def test_information_of_rectified_variables() -> None:
    """A mixture of a point and a density, by its integral."""
    from scipy.stats import multivariate_normal, norm

    r = 0.8
    step = np.linspace(0, 5, 501)[1:] - 0.005
    x, y = np.meshgrid(step, step, indexing="ij")
    cell = 0.01
    dense = multivariate_normal([0, 0], [[1, r], [r, 1]]).pdf(np.stack([x, y], -1)) * cell**2
    one = norm.pdf(step) * cell
    # y is at or below 0 given x.
    edge = one * norm.cdf(-r * step / math.sqrt(1 - r**2))
    corner = 0.25 + math.asin(r) / (2 * math.pi)
    known = (
        (dense * np.log2(dense / np.outer(one, one))).sum()
        + 2 * (edge * np.log2(edge / (one * 0.5))).sum()
        + corner * math.log2(corner / 0.25)
    )
    found = [
        mutual_information(*(np.maximum(each, 0) for each in normal_pair(r, seed, 2000)))
        for seed in range(10)
    ]
    assert np.mean(found) == pytest.approx(known, abs=0.04)


def test_pairs_are_needed() -> None:
    with pytest.raises(FechnerError, match="pairs of samples"):
        mutual_information([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])


@pytest.fixture
def noise(tmp_path: Path) -> Path:
    """Three pictures of white noise, grey and normal."""
    draw = np.random.default_rng(0)
    for k in range(3):
        values = np.clip(128 + 30 * draw.normal(size=(64, 64)), 0, 255).round().astype(np.uint8)
        Image.fromarray(np.stack([values] * 3, axis=-1)).save(tmp_path / f"{k}.png")
    return tmp_path


def network() -> nn.Sequential:
    """Two copies of green; then their mean over two columns, which makes neighbours alike."""
    copy = nn.Conv2d(3, 2, 1, bias=False)
    copy.weight.data[:] = torch.tensor([0.0, 1.0, 0.0])[None, :, None, None]
    blur = nn.Conv2d(2, 2, (1, 2), bias=False, groups=2)
    blur.weight.data[:] = 0.5
    return nn.Sequential(copy, blur, nn.Flatten())


CONDITIONS = Conditions(field=Field.of(pixels=64, ppd=64))


def test_redundancy_of_a_blur_is_that_of_its_correlation(noise: Path) -> None:
    found = measure_redundancy(
        observe(network(), name="blur"), photographs_in(noise), ["*"], conditions=CONDITIONS
    )
    copy, blur = found.layers
    # White noise, and the picture is the same.
    assert np.mean(copy.places) == pytest.approx(0.0, abs=0.03)
    assert np.mean(copy.picture) == pytest.approx(0.0, abs=0.03)
    # Correlation 0.5 to the side and none below: the mean of 0.2075 bits and 0.
    assert np.mean(blur.places) == pytest.approx(-0.25 * math.log2(0.75), abs=0.04)
    assert blur.apart_px == pytest.approx(1.0)
    # Both channels are the same.
    assert np.mean(copy.channels) > 5
    assert found.left_out == ("2 (no map)", "output (no map)")
    assert found.checks[0].startswith("redundancy falls between places: ")
    assert not found.checks[0].startswith("redundancy falls between places: yes")
    far = measure_redundancy(
        observe(network(), name="blur"),
        photographs_in(noise),
        ["1"],
        apart_px=4,
        conditions=CONDITIONS,
    )
    assert np.mean(far.layers[0].places) == pytest.approx(0.0, abs=0.03)
    assert far.layers[0].apart_px == pytest.approx(4.0)


def test_photographs_are_redundant_and_differences_less_so() -> None:
    centre = nn.Conv2d(3, 1, 3, padding=1, bias=False)
    centre.weight.data[:] = -1 / 8 / 3
    centre.weight.data[:, :, 1, 1] = 1 / 3
    found = measure_redundancy(
        observe(nn.Sequential(centre), name="differences"),
        packaged_photographs(),
        "0",
        pairs=400,
        conditions=CONDITIONS,
    )
    (layer,) = found.layers
    assert np.mean(layer.picture) > 0.8
    assert found.against_picture.high < 0
    assert "yes" in found.checks[0]
    assert len(found.checks) == 1  # one channel has no other


def test_tables_and_figures(noise: Path, tmp_path: Path) -> None:
    found = measure_redundancy(
        observe(network(), name="blur"), photographs_in(noise), ["*"], conditions=CONDITIONS
    )
    assert [row[:2] for row in rows(found)] == [("0", "1"), ("1", "1")]
    table = list(csv.DictReader(io.StringIO(to_csv([found]))))
    assert len(table) == 6
    assert float(table[-1]["places"]) == pytest.approx(found.layers[1].places[2], rel=1e-5)
    figure = draw_redundancy([found])
    check_legible(figure)
    assert "mutual information (bits per pair)" in words(figure)
    assert write_redundancy([found], tmp_path / "out.csv") == f"{tmp_path / 'out.csv'}: 2 layers"
    with pytest.raises(FechnerError, match=r"should end in"):
        write_redundancy([found], tmp_path / "out.gif")


def test_who_cannot_be_asked(noise: Path) -> None:
    shown = photographs_in(noise)
    with pytest.raises(ObserverError, match="not an encoder"):
        measure_redundancy(observe(lambda a, b: (a - b).abs().mean((1, 2, 3))), shown)
    with pytest.raises(FechnerError, match="two photographs"):
        measure_redundancy(observe(network(), name="blur"), shown[:1])
    with pytest.raises(FechnerError, match="no layer of 'blur' has a map"):
        measure_redundancy(observe(network(), name="blur"), shown, "2", conditions=CONDITIONS)
    with pytest.raises(FechnerError, match="there is no folder"):
        photographs_in(noise / "nowhere")
