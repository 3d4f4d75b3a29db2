"""Any pattern over any of its parameters, on any mask, against any human reference or none."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fechner import observe
from fechner.errors import FechnerError, UnknownNameError
from fechner.experiments import Detection, Masking, NearThreshold, Presenter, Scene
from fechner.experiments.limits import REASONS, flag_contrasts
from fechner.human import MeasuredThresholds, read_thresholds
from fechner.runs.manifest import parameters
from fechner.runs.plan import digest
from fechner.scores import Alignment, threshold_panels
from fechner.scores.panels import Line
from fechner.stimuli import (
    ATD,
    OPPONENT,
    Field,
    Gabor,
    Grating,
    Noise,
    OctaveNoise,
    Stimulus,
    display,
    paint,
)
from fechner.stimuli.patterns import drawn

SCENE = Scene(Field(64, 64, 16.0), display("encoders"), OPPONENT)
ANGLES, CONTRASTS = (20.0, 60.0, 90.0, 120.0), (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
RATIOS = tuple(np.geomspace(0.5, 2, 10).tolist())


@dataclass(frozen=True)
class Plaid:
    """A user's own pattern, with no more than it needs."""

    frequency_cpd: float
    angle_deg: float = 90.0

    def draw(self, field, device="cpu"):
        half = self.angle_deg / 2
        one, other = (
            Grating(self.frequency_cpd, turn).draw(field, device) for turn in (half, -half)
        )
        return (one + other) / 2

    @property
    def highest_cpd(self):
        return self.frequency_cpd


def nonlinear(test: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """See coarse patterns better than fine ones, and saturate."""
    contrast = (test / reference - 1).square().flatten(1).mean(dim=1).sqrt()
    return contrast**1.3 / (contrast**1.3 + 0.1)


PRESENTER = Presenter(observe(nonlinear, name="nonlinear", version="1"), batch_size=16)


def measured(experiment: NearThreshold):
    """Return all that there is, pieces put together as a run does it."""
    import xarray as xr

    kinds: dict[str, list] = {}
    for piece in experiment.pieces():
        found = experiment.measure(piece, PRESENTER)
        kinds.setdefault(found.attrs["along"], []).append(found)
    parts = [
        xr.concat(each, dim=along, data_vars="minimal", coords="minimal", compat="equals")
        for along, each in kinds.items()
    ]
    return xr.merge(parts, combine_attrs="override", join="exact", compat="equals")


def near(task: Detection) -> NearThreshold:
    return NearThreshold("plaid", "Plaid", task, SCENE, RATIOS)


# Patterns


def test_a_users_plaid_is_drawn_at_its_angle() -> None:
    task = Detection("angle_deg", ANGLES, CONTRASTS, Plaid(4.0), human=None)
    for index, angle in enumerate(ANGLES):
        reference, target = (
            task.reference(index, angle, OPPONENT),
            task.target(index, angle, 0.2, OPPONENT),
        )
        frames = paint([replace(reference, layers=(target,))], SCENE.field, SCENE.display)
        light = frames.luminance()[0].double().numpy()
        x, y = (grid.numpy() for grid in SCENE.field.grid("cpu"))
        turn, f = np.radians(angle / 2), 2 * np.pi * 4.0
        across = [x * np.cos(t) + y * np.sin(t) for t in (turn, -turn)]
        expected = 100 * (1 + 0.1 * sum(np.sin(f * each) for each in across))
        np.testing.assert_allclose(light, np.broadcast_to(expected, light.shape), rtol=1e-4)


def test_any_field_is_an_abscissa() -> None:
    task = Detection("orientation_deg", (0.0, 30.0), CONTRASTS, Gabor(4.0, 0.5))
    assert task.target(1, 30.0, 1.0, OPPONENT).pattern == Gabor(4.0, 0.5, orientation_deg=30.0)
    sizes = replace(task, over="area_deg2", values=(np.pi, 4 * np.pi))
    assert sizes.target(1, 4 * np.pi, 1.0, OPPONENT).pattern == Gabor(4.0, 2.0)
    assert near(task).axes[0] == "orientation (degrees)"
    with pytest.raises(UnknownNameError, match=r"angle_degs.*did you mean 'angle_deg'"):
        Detection("angle_degs", ANGLES, CONTRASTS, Plaid(4.0))
    with pytest.raises(UnknownNameError, match="area_deg2"):
        Detection("area_deg2", ANGLES, CONTRASTS, Plaid(4.0))


def test_random_patterns_are_drawn_afresh() -> None:
    task = Detection("frequency_cpd", (2.0, 4.0), CONTRASTS, OctaveNoise(2.0)).with_seed(5)
    assert [task.target(i, 4.0, 1.0, OPPONENT).pattern.seed for i in (0, 1)] == [(5, 0), (5, 1)]
    once = replace(task, one_draw=True)
    assert [once.target(i, 4.0, 1.0, OPPONENT).pattern.seed for i in (0, 1)] == [5, 5]


def test_a_random_target_is_not_its_mask() -> None:
    masks = Masking("mask_contrast", (0.1,), CONTRASTS, OctaveNoise(4.0), mask=OctaveNoise(4.0))
    mask = masks.reference(3, 0.1, OPPONENT).layers[0].pattern
    target = masks.target(3, 0.1, 1.0, OPPONENT).pattern
    one, other = (drawn(each, SCENE.field).numpy().ravel() for each in (mask, target))
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.2


def test_masks_are_varied_by_their_own_parameters() -> None:
    task = Masking(
        "mask_orientation_deg",
        (0.0, 45.0),
        CONTRASTS,
        Gabor(4.0, 0.5),
        mask=Grating(4.0),
        mask_contrast=0.2,
    )
    (mask,) = task.reference(1, 45.0, OPPONENT).layers
    assert (mask.pattern, mask.contrast) == (Grating(4.0, 45.0), 0.2)
    assert task.target(1, 45.0, 1.0, OPPONENT).pattern == Gabor(4.0, 0.5)
    assert near(task).axes[0] == "mask orientation (degrees)"
    assert "masked by a grating of 4 cycles/degree" in task.method


@pytest.mark.parametrize(
    ("pattern", "direction", "unit"),
    [
        (Plaid(4.0), "ach", "dkl"),
        (Plaid(4.0), "yb", "dkl"),
        (OctaveNoise(4.0), "ach", "rms"),
        (Noise(1.0, 4.0), "rg", "dkl_rms"),
    ],
)
def test_any_direction(pattern, direction: str, unit: str) -> None:
    task = Detection("luminance_cdm2", (10.0,), CONTRASTS, pattern, None, direction)
    assert task.unit == unit
    assert task.needs == (() if direction == "ach" else ("colour",))
    assert task.target(0, 10.0, 1.0, ATD).modulation_xyz == ATD.modulation_xyz(direction, 10.0)


def test_a_mask_of_another_colour_leaves_the_gamut_where_pixels_do() -> None:
    task = Masking(
        "mask_contrast",
        (0.1,),
        CONTRASTS,
        Grating(4.0),
        mask=Grating(4.0),
        mask_direction="rg",
    )
    assert task.needs == ("colour",)
    reference, target = task.reference(0, 0.1, OPPONENT), task.target(0, 0.1, 1.0, OPPONENT)
    contrasts = np.linspace(0.05, 1.0, 40)
    flags = flag_contrasts(reference, target, contrasts, SCENE.display, SCENE.field)
    light = np.array(
        [
            paint(
                [
                    Stimulus(
                        reference.background_xyz, (*reference.layers, replace(target, contrast=c))
                    )
                ],
                SCENE.field,
                SCENE.display,
            )
            .pixels.double()
            .min()
            for c in contrasts.tolist()
        ]
    )
    # A channel that is asked for less than black is shown as black.
    assert {REASONS[flag] for flag in flags} == {"kept", "out-of-gamut"}
    np.testing.assert_array_equal(flags == 0, light > 0)


# Human references


def csv_with(folder: Path, *errors_db: float) -> Path:
    path = folder / f"{len(errors_db)}{errors_db[0]:g}.csv"
    rows = [f"{x},0.02,{error}" for x, error in zip((30, 60, 100), errors_db, strict=True)]
    path.write_text("\n".join(["# one person", "angle_deg,threshold,error_db", *rows]))
    return path


def test_thresholds_of_a_file_are_scored_where_they_were_measured(tmp_path: Path) -> None:
    scores = []
    for errors in ((0.0, 0.0, 0.0), (0.5, 0.5, 0.5), (0.5, 0.5, 9.0)):
        people = read_thresholds(csv_with(tmp_path, *errors), over="angle_deg")
        experiment = near(Detection("angle_deg", ANGLES, CONTRASTS, Plaid(2.0), people))
        assert experiment.reference == people.citation
        assert digest(parameters(experiment))
        data = measured(experiment)
        assert data["abscissa"].values.tolist() == [30.0, 60.0, 100.0]
        assert data["human_error_db"].values.tolist() == list(errors)
        assert data["surface_abscissa"].values.tolist() == list(ANGLES)
        scores.append(Alignment()(data)[0])
    assert len({score.value for score in scores}) == 1
    widths = [score.human_high - score.human_low for score in scores]
    assert widths[0] == pytest.approx(0, abs=1e-12)
    assert 0 < 2 * widths[1] < widths[2]


def test_errors_that_are_not_known_have_no_interval() -> None:
    people = MeasuredThresholds("angle_deg", (30.0, 60.0, 90.0), (0.02, 0.02, 0.03))
    data = measured(near(Detection("angle_deg", ANGLES, CONTRASTS, Plaid(2.0), people)))
    assert np.isnan(data["human_error_db"]).all()
    score = Alignment()(data)[0]
    assert score.low <= score.value <= score.high
    assert np.isnan([score.human_low, score.human_high]).all()
    known = Alignment(human_error_db=4.0)(data)[0]
    assert known.human_low < known.value


def test_thresholds_over_something_else() -> None:
    people = MeasuredThresholds("frequency_cpd", (1.0, 2.0), (0.02, 0.02))
    with pytest.raises(FechnerError, match=r"frequency_cpd.*angle_deg"):
        Detection("angle_deg", ANGLES, CONTRASTS, Plaid(2.0), people)


def test_without_a_human_reference_there_is_the_surface_alone() -> None:
    experiment = near(Detection("angle_deg", ANGLES, CONTRASTS, Plaid(2.0), human=None))
    assert experiment.reference == ""
    assert "nothing is scored" in experiment.method
    assert all(piece.for_scores for piece in experiment.pieces())
    assert sum(piece.images for piece in experiment.pieces()) == len(ANGLES) * len(CONTRASTS)
    data = measured(experiment)
    assert data["surface"].shape[:2] == (len(ANGLES), len(CONTRASTS))
    assert (np.diff(data["surface"].values[:, :, 0, 0], axis=1) > 0).all()
    assert "response" not in data
    assert Alignment()(data) == []
    (panel,) = threshold_panels(experiment, data.isel(layer=0, readout=0))
    assert panel.x.label == "angle (degrees)"
    assert not any(isinstance(mark, Line) for mark in panel.marks)
    # With people, the same surface.
    people = MeasuredThresholds("angle_deg", (60.0,), (0.02,))
    with_people = measured(replace(experiment, task=replace(experiment.task, human=people)))
    np.testing.assert_array_equal(with_people["surface"], data["surface"])
