"""Curves: what is shown, what is left out, signs, channels, pieces."""

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
import torch
import xarray as xr

from fechner.experiments import (
    Brightness,
    Colour,
    Condition,
    Curves,
    NoiseCurves,
    Presenter,
    Scene,
    SpectralSensitivity,
)
from fechner.experiments.detection import REASONS
from fechner.human import spectral_fields
from fechner.observers.abilities import Wants
from fechner.observers.baselines import Pixels
from fechner.observers.conversions import lift
from fechner.stimuli import ATD, Field, display

SCENE = Scene(Field(128, 128, 64.0), display("decalogue"), ATD, whole=True)
FIELDS = spectral_fields(display("decalogue"), [450.0, 550.0, 620.0])
CONTRASTS = (0.05, 0.1, 0.3)
TASKS = {
    "spectral": SpectralSensitivity(FIELDS),
    "brightness": Brightness((1.0, 20.0, 90.0), (2.0, 120.0)),
    "colour": Colour((-20.0, 0.0, 5.0, 20.0), (0.0, 10.0)),
    "noise": NoiseCurves(
        "contrast",
        CONTRASTS,
        (
            Condition("ach", 3.0, label="no mask"),
            Condition("ach", 3.0, 6.0, 0.2, label="masked", known=False, place=-1.0),
            Condition("rg", 3.0, label="red-green", group="rg"),
        ),
        seeds=2,
    ),
}


def measured(task, observer=None, scene: Scene = SCENE) -> xr.Dataset:
    experiment = Curves("test", "Test", "vila_tomas2026", task, scene)
    presenter = Presenter(observer or lift(Pixels(), "compares", ["l2"]), batch_size=8)
    parts = [experiment.measure(piece, presenter) for piece in experiment.pieces()]
    return xr.concat(parts, "curve", data_vars="minimal") if len(parts) > 1 else parts[0]


class Opponent:
    """Encodes pictures as mean A, T and D, in three channels of one pixel."""

    name, fingerprint = "opponent", None
    wants = Wants(light="cdm2", dtype="float64")
    layers = ("atd", "other")
    opponent_layers = MappingProxyType({"atd": 3})

    def features(self, frames, taps) -> None:
        matrix = torch.tensor(ATD.axes, dtype=torch.float64)
        to_xyz = torch.tensor(frames.display.rgb_to_xyz, dtype=torch.float64)
        atd = torch.einsum("ij,jk,nkhw->nihw", matrix, to_xyz, frames.cdm2())
        if "atd" in taps:
            taps["atd"](atd)
        if "other" in taps:
            taps["other"](atd[:, :1])


def test_dimensions_and_people() -> None:
    data = measured(TASKS["noise"])
    assert dict(data.sizes) == {"curve": 3, "x": 3, "seed": 2, "layer": 1, "readout": 1}
    assert np.isnan(data["human"].values[1]).all()
    assert (data["ideal"].values[1] == -1).all()
    assert (np.diff(data["human"].values[0]) > 0).all()
    assert data["condition"].values.tolist() == ["no mask", "masked", "red-green"]


def test_what_cannot_be_shown_is_left_out_in_all_draws() -> None:
    data = measured(TASKS["noise"])
    assert data["dropped"].values[2].tolist() == [0, 0, 2]
    assert np.isnan(data["response"].values[2, :, 2]).all()
    assert np.isfinite(data["response"].values[2, :, :2]).all()
    meanings = data["dropped"].attrs["meanings"].split()
    assert meanings[2] == "out-of-gamut"


def test_frequencies_that_pixels_cannot_hold_are_left_out() -> None:
    coarse = Scene(Field.of(degrees=2, ppd=32), SCENE.display, ATD, whole=True)
    task = NoiseCurves("frequency_cpd", (2.0, 8.0, 14.0, 20.0), (Condition(),), seeds=2)
    data = measured(task, scene=coarse)
    meanings = data["dropped"].attrs["meanings"].split()
    assert [meanings[flag] for flag in data["dropped"].values[0]] == [
        "kept",
        "kept",
        "aliased",
        "aliased",
    ]


def test_frequencies_that_an_observer_with_few_pixels_cannot_see_are_left_out() -> None:
    class Small(Opponent):
        wants = Wants(light="cdm2", dtype="float64", size_px=(32, 32))

    task = NoiseCurves("frequency_cpd", (2.0, 6.0, 10.0, 20.0), (Condition(),), seeds=2)
    data = measured(task, lift(Small(), "compares", ["l2"]))
    assert data.attrs["seen_ppd"] == 16
    assert data["dropped"].values[0].tolist() == [0, 0, 1, 1]


def test_masks_are_in_the_reference_too() -> None:
    shown = TASKS["noise"].shown(1, 0.1, 0, ATD)
    mask, test = shown.test.layers
    assert shown.reference.layers == (mask,)
    assert mask.contrast == 0.2
    assert mask.pattern.frequency_cpd == 6
    assert test.pattern.frequency_cpd == 3
    other = TASKS["noise"].shown(1, 0.1, 1, ATD)
    assert other.test.layers[0] != mask
    assert other.test.layers[1] != test


def test_brightness_begins_at_the_darkest_square() -> None:
    data = measured(TASKS["brightness"])
    response = data["response"].values[:, 0, :, 0, 0]
    assert (response[:, 0] == 0).all()
    assert (np.diff(response, axis=1) > 0).all()
    # Pixels do not adapt: squares differ by as much on any background.
    assert response[0] == pytest.approx(response[1])
    assert np.isnan(data["ideal"].values[:, 0]).all()


def test_colours_are_signed_by_their_side_of_the_background() -> None:
    data = measured(TASKS["colour"])
    response = data["response"].values[:, 0, :, 0, 0]
    assert np.sign(response[:2]).tolist() == [[-1, 0, 1, 1], [-1, -1, -1, 1]]


def test_channels_are_read_with_sign_where_there_are_any() -> None:
    data = measured(TASKS["spectral"], lift(Opponent(), "compares", ["l2", "l1"]))
    own = data["response"].values[:, 0, :, 0, 0]
    expected = [
        np.array(ATD.axes) @ (np.array(field) - np.array(FIELDS.flat_xyz))
        for field in FIELDS.fields_xyz
    ]
    assert pytest.approx(np.array(expected), abs=1e-3) == own.T
    # A layer without opponent channels has a distance, for the luminosity curve only.
    other = data["response"].values[:, 0, :, 1, 0]
    assert (other[0] > 0).all()
    assert np.isnan(other[1:]).all()


def test_observers_without_channels_have_a_distance() -> None:
    response = measured(TASKS["spectral"])["response"].values[:, 0, :, 0, 0]
    assert (response[0] > 0).all()
    assert np.isnan(response[1:]).all()


def test_observers_that_want_fewer_pixels_see_the_whole_field() -> None:
    wants = Wants(size_px=(32, 32))
    assert SCENE.drawn_field(wants) == SCENE.field
    assert SCENE.fields(wants)[1].width_deg == SCENE.field.width_deg
    assert SCENE.drawn_field(Wants(size_px=(224, 224))).width_px == 224
    assert "resampled for those that want fewer" in SCENE.method


@pytest.mark.parametrize("name", TASKS)
def test_samples_and_words(name: str) -> None:
    task = TASKS[name]
    experiment = Curves("test", "Test", "vila_tomas2026", task, SCENE)
    rows = experiment.samples()
    # Channels of an observer are of the same stimuli.
    assert len(rows) == (1 if task.by_channel else len(task.curves()))
    assert all(len(row) == len(task.abscissae) for row in rows)
    assert task.label == experiment.axes[0]
    assert "What the display cannot show is left out" in experiment.method


@pytest.mark.parametrize(
    ("whole", "own", "size", "drawn", "seen"),
    [
        (True, True, None, (256, 128.0), (256, 128.0)),  # as many degrees
        (False, True, None, (128, 128.0), (128, 128.0)),  # as many pixels
        (True, False, None, (128, 64.0), (128, 64.0)),
        (True, True, 320, (320, 128.0), (320, 128.0)),
        (True, True, 128, (256, 128.0), (128, 64.0)),  # resampled, as no degree may be missing
    ],
)
def test_observers_that_are_made_for_certain_pixels_per_degree(
    whole: bool,
    own: bool,
    size: int | None,
    drawn: tuple[int, float],
    seen: tuple[int, float],
) -> None:
    scene = replace(SCENE, whole=whole, own_ppd=own)
    wants = Wants(ppd=128.0, size_px=None if size is None else (size, size))
    found = [(field.width_px, field.ppd) for field in scene.fields(wants)]
    assert found == [drawn, seen]


def test_pixels_per_degree_that_are_none() -> None:
    with pytest.raises(ValueError, match="pixels per degree above 0, not 0"):
        Wants(ppd=0)


def test_an_observer_without_colour_is_asked_the_achromatic_curves() -> None:
    class Luma:
        name, fingerprint, layers, readouts = "luma", None, ("output",), ("l2",)
        wants = Wants(channels=1)

        def remember(self, reference):
            return reference.pixels

        def difference(self, test, memory, which):
            return (test.pixels - memory[which]).square().mean((1, 2, 3))[:, None, None].sqrt()

    assert Curves("t", "T", "vila_tomas2026", TASKS["noise"], SCENE).needs == ()
    data = measured(TASKS["noise"], Luma())
    flags = data["dropped"].values
    assert (flags[:2, 0] == 0).all()
    assert (flags[2] == REASONS.index("no-colour-seen")).all()
    response = data["response"].values
    assert np.isfinite(response[:2, :, 0]).all()
    assert np.isnan(response[2]).all()
