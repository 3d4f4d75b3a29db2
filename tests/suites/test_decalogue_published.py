"""Published mode against the authors' public generator, and what its order scores mean."""

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
import torch
import xarray as xr

from fechner import human
from fechner.experiments import Presenter
from fechner.experiments.detection import REASONS
from fechner.observers.abilities import Wants
from fechner.observers.conversions import lift
from fechner.stimuli import ATD, paint
from fechner.suites import suite

# Tests in other light and in fog have no published score.
MODES = {
    mode: {
        test.id: test
        for test in suite("decalogue").build(published=mode == "published")
        if not test.id.endswith(("-light", "-fog"))
    }
    for mode in ("default", "published")
}
EVERY = [(mode, id) for mode, tests in MODES.items() for id in tests]

#: Encoded R, G, B at these rows and columns, by the authors' generator (128 px at 64 px/deg, L 40,
#: window 0.3, band 30 deg) after `numpy.random.seed` with our seeds: test, curve, abscissa.
PLACES = [(32, 32), (27, 36), (41, 30), (70, 64)]
DRAWN = [
    (
        "sensitivity",
        0,
        5,
        [
            [0.60264, 0.56373, 0.53253],
            [0.45575, 0.42633, 0.39741],
            [0.58606, 0.54822, 0.51719],
            [0.54462, 0.50945, 0.47894],
        ],
    ),
    (
        "sensitivity",
        1,
        5,
        [
            [0.7734, 0.49887, 0.54278],
            [0.0, 0.5206, 0.39688],
            [0.59996, 0.5073, 0.4927],
            [0.5447, 0.50943, 0.47895],
        ],
    ),
    (
        "sensitivity",
        2,
        5,
        [
            [0.75511, 0.56795, 0.2749],
            [0.5694, 0.51551, 0.46328],
            [0.58706, 0.51998, 0.45126],
            [0.54469, 0.50945, 0.47886],
        ],
    ),
    (
        "adaptation",
        2,
        3,
        [
            [0.52116, 0.45452, 0.39447],
            [0.60293, 0.53101, 0.46967],
            [0.55913, 0.49003, 0.4293],
            [0.58552, 0.51473, 0.45361],
        ],
    ),
    (
        "contrast",
        7,
        9,
        [
            [0.43677, 0.51287, 0.45563],
            [0.65041, 0.50512, 0.50623],
            [1.53862, 0.42122, 0.84327],
            [0.54462, 0.50943, 0.47893],
        ],
    ),
    (
        "masking-energy",
        8,
        4,
        [
            [0.5272, 0.46027, 0.4005],
            [0.4305, 0.36982, 0.31151],
            [0.65952, 0.58405, 0.52245],
            [0.61243, 0.54, 0.47856],
        ],
    ),
    (
        "masking-frequency",
        4,
        2,
        [
            [0.36119, 0.30496, 0.25135],
            [0.49851, 0.43341, 0.37369],
            [0.5607, 0.49159, 0.43136],
            [0.59837, 0.52683, 0.46555],
        ],
    ),
    (
        "masking-orientation",
        10,
        7,
        [
            [0.81781, 0.7321, 0.66985],
            [0.31793, 0.26449, 0.20995],
            [0.5996, 0.52797, 0.46668],
            [0.61097, 0.53861, 0.47719],
        ],
    ),
    (
        "brightness",
        3,
        8,
        [
            [0.60592, 0.5668, 0.53557],
            [0.89817, 0.84017, 0.8089],
            [0.89817, 0.84017, 0.8089],
            [0.60592, 0.5668, 0.53557],
        ],
    ),
    (
        "colour",
        1,
        3,
        [
            [0.48298, 0.71903, 0.62404],
            [0.67786, 0.77221, 0.70401],
            [0.67786, 0.77221, 0.70401],
            [0.48298, 0.71903, 0.62404],
        ],
    ),
    (
        "colour",
        8,
        12,
        [
            [0.82068, 0.63504, 0.37347],
            [0.84341, 0.72677, 0.60878],
            [0.84341, 0.72677, 0.60878],
            [0.82068, 0.63504, 0.37347],
        ],
    ),
]


@pytest.mark.parametrize(("id", "curve", "at", "expected"), DRAWN)
def test_stimuli_are_those_of_the_authors(id: str, curve: int, at: int, expected: list) -> None:
    experiment = MODES["published"][id].experiment
    scene, task = experiment.scene, experiment.task
    draw = min(1, task.seeds - 1)
    shown = task.shown(curve, task.abscissae[at], draw, scene.space)
    (picture,) = paint([shown.test], scene.field, scene.display, dtype=torch.float64).pixels
    found = [picture[:, row, column].tolist() for row, column in PLACES]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    # Masks are in what is compared with, and nothing else.
    assert shown.reference.overlay == shown.test.overlay


class SeededNet:
    """Two layers of seeded weights: a non-linear observer without training."""

    name, fingerprint = "seeded-net", None
    wants = Wants(light="display", dtype="float32")
    layers = ("output",)

    def __init__(self) -> None:
        state = torch.random.get_rng_state()
        torch.manual_seed(7)
        self.net = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 7, stride=2, padding=3),
            torch.nn.ReLU(),
            torch.nn.Conv2d(8, 16, 5, stride=2, padding=2),
            torch.nn.ReLU(),
        )
        torch.random.set_rng_state(state)

    def features(self, frames, taps) -> None:
        taps["output"](self.net(frames.pixels))


def measured(test, observer) -> xr.Dataset:
    presenter = Presenter(lift(observer, "compares", ["l2"]), batch_size=16)
    parts = [test.experiment.measure(piece, presenter) for piece in test.experiment.pieces()]
    return xr.concat(parts, "curve", data_vars="minimal") if len(parts) > 1 else parts[0]


#: Cells of the seeded net by the authors' generator and scores, from two draws with the same seeds.
NET_CELLS = {
    "brightness": {"pearson": 0.798, "order": -0.495},
    "colour": {"pearson": 0.958, "order-rg": 1.0, "order-yb": 1.0},
    "sensitivity": {"pearson": -0.6484, "order": -0.4375},
    "adaptation": {"pearson": -0.169, "order": 0.1481},
    "contrast": {"pearson": 0.2635, "order-ach": -0.114, "order-rg": -0.8, "order-yb": 0.702},
    "masking-energy": {"pearson": 0.9346, "order-low": 0.037, "order-high": 0.052},
    "masking-frequency": {"order-low": 0.1656, "order-high": -0.0533},
    "masking-orientation": {"order-low": 0.2231, "order-high": 0.0438},
}


@pytest.mark.parametrize("id", NET_CELLS)
def test_scores_of_a_seeded_net_are_those_of_the_authors(id: str) -> None:
    test = MODES["published"][id]
    task = test.experiment.task
    if task.seeds > 1:
        few = replace(test.experiment, task=replace(task, seeds=2))
        test = replace(test, experiment=few)
    scores = {score.name: score.value for score in test.scorer(measured(test, SeededNet()))}
    assert {name: scores[name] for name in NET_CELLS[id]} == pytest.approx(NET_CELLS[id], abs=1e-3)


# What order scores mean


def answers(test, response: np.ndarray) -> xr.Dataset:
    """Return responses as an observer's answers."""
    task = test.experiment.task
    curves, n = task.curves(), len(task.abscissae)
    known = {
        name: np.array([getattr(each, name) or (np.nan,) * n for each in curves])
        for name in ("human", "ideal")
    }
    points = ("curve", "x")
    return xr.Dataset(
        {
            "response": (
                ("curve", "seed", "x", "layer", "readout"),
                response[:, None, :, None, None],
            ),
            "dropped": (
                points,
                np.zeros(response.shape, np.uint8),
                {"meanings": " ".join(REASONS)},
            ),
            **{name: (points, values) for name, values in known.items()},
        },
        coords={
            "abscissa": ("x", np.array(task.abscissae)),
            "channel": ("curve", [each.channel for each in curves]),
            "condition": ("curve", [each.condition for each in curves]),
            "level": ("curve", [each.level for each in curves]),
            "group": ("curve", [each.group for each in curves]),
            "layer": ["output"],
            "readout": ["l2"],
        },
    )


def orders(test, response: np.ndarray) -> dict[str, float]:
    found = test.scorer(answers(test, response))
    return {score.name: score.value for score in found if score.name.startswith("order")}


def ideal(test) -> np.ndarray:
    """Return responses in people's own order; curves without a place answer 0."""
    curves = test.experiment.task.curves()
    rows = [each.ideal or (0.0,) * len(test.experiment.task.abscissae) for each in curves]
    return np.nan_to_num(np.array(rows))


def turned_round(test) -> np.ndarray:
    """Return responses in the reverse of people's order."""
    own = ideal(test)
    if not test.scorer.elevation:
        return -own
    raised = own[:1] / own[1:] - 1
    return np.concatenate([own[:1], own[:1] / (2 - raised / raised.max(axis=1, keepdims=True))])


@pytest.mark.parametrize(("mode", "id"), EVERY)
def test_peoples_own_order_has_1(mode: str, id: str) -> None:
    test = MODES[mode][id]
    found = orders(test, ideal(test))
    assert found
    assert found == pytest.approx(dict.fromkeys(found, 1.0))


#: Where people's order changes over abscissae, the authors' correlation of lists of curves
#: does not see that it is turned round.
NOT_MINUS_1 = {
    ("published", "spectral"): {"order": 0.253},
    ("published", "sensitivity"): {"order": -0.729},
    ("published", "adaptation"): {"order": -0.678},
    ("published", "contrast"): {"order-ach": 0.2},
}


@pytest.mark.parametrize(("mode", "id"), EVERY)
def test_its_reverse_has_minus_1(mode: str, id: str) -> None:
    test = MODES[mode][id]
    found = orders(test, turned_round(test))
    expected = dict.fromkeys(found, -1.0) | NOT_MINUS_1.get(
        (mode, id.removesuffix("-rg").removesuffix("-yb")), {}
    )
    assert found == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("mode", MODES)
def test_random_orders_have_0(mode: str) -> None:
    generator = np.random.default_rng(1)
    away = []
    for test in MODES[mode].values():
        drawn = (generator.uniform(1, 2, ideal(test).shape) for _ in range(25))
        found = np.array([list(orders(test, each).values()) for each in drawn])
        away += (found.mean(axis=0) / (found.std(axis=0, ddof=1) / 5)).tolist()
    assert len(away) == 29
    # In standard errors.
    assert np.mean(np.abs(away) < 2) > 0.8
    assert np.max(np.abs(away)) < 4


def test_the_published_order_at_12_cpd_is_that_at_3_cpd() -> None:
    """People's own answers have 1 at 3 cpd, and less than nothing at 12 cpd."""
    test = MODES["published"]["masking-frequency"]
    task = test.experiment.task
    seen = [
        human.contrast_response(
            task.abscissae,
            each.frequency_cpd,
            mask_frequency_cpd=each.mask_frequency_cpd or None,
            mask_contrast=each.mask_contrast,
        )
        for each in task.conditions
    ]
    found = orders(test, np.array(seen))
    assert found == pytest.approx({"order-low": 1.0, "order-high": -1 / 9})
    assert orders(MODES["default"]["masking-frequency"], np.array(seen)) == pytest.approx(
        {"order-low": 1.0, "order-high": 1.0}
    )


# Property 1


class Opponent:
    """A, T and D of every pixel, and their sums over cells of 4 pixels."""

    name, fingerprint = "opponent", None
    wants = Wants(light="cdm2", dtype="float64")
    layers = ("atd", "cells", "sums")
    opponent_layers = MappingProxyType({"atd": 3, "cells": 3, "sums": 3})

    def features(self, frames, taps) -> None:
        axes, to_xyz = (torch.tensor(m).double() for m in (ATD.axes, frames.display.rgb_to_xyz))
        atd = torch.einsum("ij,jk,nkhw->nihw", axes, to_xyz, frames.cdm2())
        for name, tap in taps.items():
            cells = torch.nn.functional.avg_pool2d(atd, 4)
            tap({"atd": atd, "cells": cells, "sums": atd.sum(dim=(2, 3))}[name])


def test_channels_are_read_at_the_square_and_compared_by_distance() -> None:
    test = MODES["default"]["spectral"]
    data = measured(test, Opponent())
    fields = test.experiment.task.fields
    added = np.array(fields.fields_xyz) - np.array(fields.flat_xyz)
    assert fields.flat_xyz[1] == pytest.approx(18.1)
    for layer in ("atd", "cells"):
        own = data["response"].sel(layer=layer).values[:, 0, :, 0]
        np.testing.assert_allclose(own, np.array(ATD.axes) @ added.T, atol=1e-6)
    # What has no places cannot be read at one.
    assert np.isnan(data["response"].sel(layer="sums").values[1:]).all()
    scores = {score.layer: score for score in test.scorer(data) if score.name == "agreement"}
    assert scores["atd"].value > 0.99
    assert "no curve of red-green, yellow-blue" in scores["sums"].note


def test_observers_are_compared_by_what_both_have() -> None:
    test = MODES["default"]["spectral"]
    opponent = measured(test, Opponent()).isel(readout=0).sel(layer="atd")
    other = measured(test, SeededNet()).isel(layer=0, readout=0)
    a, b = test.scorer.shared(opponent, other)
    np.testing.assert_array_equal(a["response"][0], opponent["distance"])
    assert np.isnan(a["response"][1:]).all()
    np.testing.assert_array_equal(b["response"], other["response"])
    assert test.scorer.resample(a).score.note.endswith("yellow-blue; pearson")
    # Two with channels are compared by all of them.
    assert test.scorer.shared(opponent, opponent)[0] is opponent
