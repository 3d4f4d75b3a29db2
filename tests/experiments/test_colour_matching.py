"""Matching across colour directions: what is shown, and what is left out."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fechner.experiments import ColourMatching, Presenter, Scene
from fechner.observers import Wants, observe
from fechner.stimuli import OPPONENT, Field, display, gamut_limit

SCENE = Scene(Field(32, 32, 16.0), display("metrics"), OPPONENT)
EXPERIMENT = ColourMatching("c", "C", "switkes_crognale1999", SCENE, (0.01, 0.05, 0.2))


def distance(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    return (test - reference).abs().mean(dim=(1, 2, 3))


def measure(experiment: ColourMatching, light: str = "cdm2"):
    observer = observe(distance, name="distance", wants=Wants(light=light, dtype="float64"))
    (piece,) = experiment.pieces()
    return experiment.measure(piece, Presenter(observer, batch_size=4))


def test_amplitudes_are_in_the_ratio_that_people_set() -> None:
    data = measure(EXPERIMENT)
    assert data["direction"].values.tolist() == ["ach", "rg", "yv"]
    np.testing.assert_allclose(
        data["amplitude"].values / data["contrast"].values[:, None],
        np.tile([1, 0.610649, 4.203636], (3, 1)),
        rtol=1e-6,
    )
    assert EXPERIMENT.needs == ("colour",)
    assert data["response"].shape == (3, 3, 1, 1)


def test_gratings_are_square_and_horizontal() -> None:
    layer = EXPERIMENT._grating("rg", 0.1).layers[0]
    drawn = layer.pattern.draw(SCENE.field).expand(32, 32)
    assert set(drawn.unique().tolist()) == {-1.0, 1.0}
    assert (drawn == drawn[:, :1]).all()
    # 16 pixels per degree: one cycle in 16 rows.
    assert (drawn[:8] == -drawn[8:16]).all()


def test_responses_to_light_are_proportional_to_contrast() -> None:
    # A square wave of light asked for in cd/m2: the mean absolute difference is its amplitude.
    responses = measure(EXPERIMENT)["response"].values[..., 0, 0]
    np.testing.assert_allclose(responses / responses[:1], np.tile([[1], [5], [20]], 3), rtol=1e-9)


def test_contrasts_that_one_direction_cannot_show_are_left_out_and_named() -> None:
    beyond = replace(EXPERIMENT, contrasts=(0.05, 0.3))
    data = measure(beyond)
    assert data["dropped"].values.tolist() == [0, 2]
    assert data["dropped"].attrs["meanings"].split()[2] == "out-of-gamut"
    assert np.isfinite(data["response"].values[0]).all()
    assert np.isnan(data["response"].values[1]).all()
    shown = measure(replace(beyond, drop=False))
    assert np.isfinite(shown["response"].values).all()
    assert shown["dropped"].values.tolist() == [0, 0]


def test_samples_have_a_column_for_each_direction() -> None:
    rows = replace(EXPERIMENT, contrasts=tuple(np.geomspace(0.01, 0.2, 10))).samples()
    assert [[sample.x for sample in row] for row in rows] == [
        ["achromatic", "red-green", "yellow-violet"]
    ] * len(rows)
    assert [sample.at for sample in rows[0]] == [0.0, 1.0, 2.0]
    strengths = [row[0].stimulus.layers[0].contrast for row in rows]
    assert strengths == sorted(strengths, reverse=True)


@pytest.mark.parametrize("words", ["achromatic 1", "red-green 0.6106", "Horizontal square-wave"])
def test_the_method_says_what_is_shown(words: str) -> None:
    assert words in EXPERIMENT.method


def test_matches_are_sought_up_to_the_end_of_the_gamut() -> None:
    data = measure(replace(EXPERIMENT, levels=9))
    sought = data["sought_amplitude"].values
    assert data["chromatic"].values.tolist() == ["rg", "yv"]
    assert sought[:, 0] == pytest.approx([0.000610649, 0.004203636], rel=1e-6)
    modulations = [OPPONENT.modulation_xyz(d, 21.4) for d in ("rg", "yv")]
    limits = [gamut_limit(SCENE.display, OPPONENT.background_xyz(21.4), m) for m in modulations]
    assert sought[:, -1] == pytest.approx(limits, rel=1e-9)
    # Light is proportional to contrast, so the response to light is too, up to the very end.
    responses = data["sought_response"].values[..., 0, 0]
    np.testing.assert_allclose(responses / responses[:, :1], sought / sought[:, :1], rtol=1e-6)
    assert sum(piece.images for piece in EXPERIMENT.pieces()) == 3 * 3 + 2 * 33


def test_no_match_is_sought_in_the_published_protocol() -> None:
    data = measure(replace(EXPERIMENT, levels=0))
    assert "sought_response" not in data
    assert data["response"].shape == (3, 3, 1, 1)
