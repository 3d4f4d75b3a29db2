"""Any pattern over any of its parameters, on any mask, against any human reference or none."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fechner import observe
from fechner.errors import FechnerError, UnknownNameError
from fechner.experiments import Detection, Masking, NearThreshold, Presenter, Scene
from fechner.experiments.detection import REASONS, flag_contrasts, realised_contrasts, realised_mask
from fechner.human import MeasuredThresholds, read_thresholds
from fechner.runs.manifest import parameters
from fechner.runs.plan import digest
from fechner.scores import Alignment, threshold_panels
from fechner.scores.panels import Line
from fechner.stimuli import (
    ATD,
    OPPONENT,
    Display,
    Field,
    Gabor,
    Gaussian,
    Grating,
    Layer,
    Noise,
    OctaveNoise,
    Stimulus,
    display,
    paint,
)
from fechner.stimuli.patterns import Product, drawn, share_inside
from fechner.stimuli.shapes import Disk, Square

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


FIELD = Field.of(pixels=128, ppd=60)
DISPLAY = display("encoders")


def reasons(
    reference: Stimulus, target: Layer, contrasts: list[float], screen: Display = DISPLAY
) -> list[str]:
    flags = flag_contrasts(reference, target, np.array(contrasts), screen, FIELD)
    return [REASONS[flag] for flag in flags]


def layer(pattern, direction: str = "ach", luminance: float = 100.0, contrast: float = 1.0):
    return Layer(pattern, OPPONENT.modulation_xyz(direction, luminance), contrast)


def grey(luminance: float = 100.0, *masks: Layer) -> Stimulus:
    return Stimulus(OPPONENT.background_xyz(luminance), masks)


def test_at_and_above_nyquist() -> None:
    assert reasons(grey(), layer(Gabor(29.9, 0.3)), [0.1]) == ["kept"]
    assert reasons(grey(), layer(Gabor(30.0, 0.3)), [0.1, 0.2]) == ["aliased"] * 2
    # The mask counts too, and a noise band by its upper edge.
    masked = grey(100.0, layer(Grating(31.0), contrast=0.1))
    assert reasons(masked, layer(Gabor(2.0, 0.3)), [0.1]) == ["aliased"]
    assert reasons(grey(), layer(OctaveNoise(22.0)), [0.01]) == ["aliased"]
    assert reasons(grey(), layer(OctaveNoise(21.0)), [0.01]) == ["kept"]


def test_above_nyquist_after_resampling() -> None:
    target, contrast = layer(Gabor(12.0, 0.3)), np.array([0.1])
    for seen, expected in (
        (replace(FIELD, ppd=30.0), "kept"),
        (replace(FIELD, ppd=20.0), "aliased"),
    ):
        (flag,) = flag_contrasts(grey(), target, contrast, DISPLAY, FIELD, seen)
        assert REASONS[flag] == expected


def test_a_window_that_the_field_cuts_off() -> None:
    # A field of 2.13 deg; the energy of a window of sigma s inside is erf(1.067 / s) squared.
    assert reasons(grey(), layer(Gabor(8.0, 0.77)), [0.1]) == ["kept"]
    assert reasons(grey(), layer(Gabor(8.0, 0.78)), [0.1, 0.2]) == ["window-cut"] * 2
    # The mask counts too; gratings and noise fill any field.
    masked = grey(100.0, layer(Gabor(2.0, 0.8), contrast=0.1))
    assert reasons(masked, layer(Gabor(2.0, 0.3)), [0.1]) == ["window-cut"]
    assert reasons(grey(), layer(Grating(2.0)), [0.1]) == ["kept"]


@pytest.mark.parametrize(
    "pattern",
    [
        Gaussian(0.9),
        Gaussian(0.3, sigma_along_deg=1.5),
        Gaussian(0.6, x_deg=0.7, y_deg=-0.4),
        Gabor(6.0, 1.2),
        Product(Grating(6.0), Gaussian(0.8)),
        Disk(1.4),
        Square(3.0),
    ],
    ids=lambda pattern: type(pattern).__name__,
)
def test_shares_are_those_of_the_drawn_energy(pattern) -> None:
    def energy(field: Field) -> float:
        return float(pattern.draw(field).expand(field.height_px, field.width_px).square().sum())

    field = Field(128, 96, 60.0)
    share = energy(field) / energy(field.resized((800, 800)))
    assert share_inside(pattern, field) == pytest.approx(share, abs=0.004)
    assert share < 0.9


def test_gamut_and_contrast_above_one() -> None:
    gabor = Gabor(2.0, 0.3)
    assert reasons(grey(), layer(gabor), [0.99, 1.0, 1.01]) == ["kept"] * 2 + ["contrast-above-1"]
    # Three times 300 cd/m2 would be more than the peak of 400.
    assert reasons(grey(300), layer(gabor, luminance=300), [0.33, 0.34]) == ["kept", "out-of-gamut"]
    assert reasons(grey(), layer(gabor, "rg"), [0.14, 0.16]) == ["kept", "out-of-gamut"]
    mask = layer(Grating(2.0), contrast=0.6)
    assert reasons(grey(100.0, mask), layer(gabor), [0.39, 0.41]) == ["kept", "contrast-above-1"]


def test_noise_that_loses_pixels() -> None:
    noise = layer(OctaveNoise(4.0, seed=1))
    # A pixel is cut where the noise is below -1/contrast: 0.6 % at 0.4, 2.3 % at 0.5.
    assert reasons(grey(), noise, [0.3, 0.4, 0.5]) == ["kept", "kept", "noise-clipped"]
    mask = layer(Noise(0, 12, seed=1), contrast=0.5)
    assert reasons(grey(100.0, mask), layer(Gabor(2.0, 0.3)), [0.01]) == ["noise-clipped"]


def test_realised_contrast() -> None:
    noise = layer(OctaveNoise(4.0, seed=1))
    asked = np.array([0.1, 1.0])
    got = realised_contrasts(grey(), noise, asked, DISPLAY, FIELD)
    assert got[0] == pytest.approx(0.1, rel=1e-6)
    # Expectation of a normal variable cut at 0: sd/mean of max(0, 1 + n), 0.866/1.083.
    assert got[1] == pytest.approx(0.80, abs=0.05)
    gabor = layer(Gabor(2.0, 0.3))
    np.testing.assert_array_equal(realised_contrasts(grey(), gabor, asked, DISPLAY, FIELD), asked)
    mask = layer(Noise(0, 12, seed=1), contrast=0.5)
    assert realised_mask(grey(100.0, mask), DISPLAY, FIELD) == pytest.approx(0.48, abs=0.01)
    assert np.isnan(realised_mask(grey(), DISPLAY, FIELD))


def test_chromatic_noise_that_loses_pixels_in_one_channel() -> None:
    # Gabors fit up to 0.148 (red-green) and 0.872 (yellow-violet), where a channel is black; of
    # noise, 1 % lies more than 2.33 standard deviations below the mean.
    noise = layer(OctaveNoise(4.0, seed=1), "rg")
    assert reasons(grey(), noise, [0.06, 0.07]) == ["kept", "noise-clipped"]
    noise = layer(OctaveNoise(4.0, seed=1), "yv")
    assert reasons(grey(), noise, [0.35, 0.42]) == ["kept", "noise-clipped"]


@pytest.mark.parametrize("direction", ["rg", "yv"])
def test_realised_contrast_of_chromatic_noise(direction: str) -> None:
    noise = layer(OctaveNoise(4.0, seed=1), direction)
    asked = np.array([0.01, 2.0])
    got = realised_contrasts(grey(), noise, asked, DISPLAY, FIELD)
    assert got[0] == pytest.approx(0.01, rel=1e-6)
    assert 0.1 < got[1] < 1.5


@pytest.mark.parametrize("pattern", [Gabor(2.0, 0.3), OctaveNoise(4.0)])
def test_a_background_that_the_display_cannot_show(pattern) -> None:
    dim = Display("dim", 80.0, 0.1, ambient_lux=100 * np.pi, reflectivity=0.01)
    for luminance in (90.0, 0.9):
        target = layer(pattern, luminance=luminance)
        assert reasons(grey(luminance), target, [1e-4, 0.3], dim) == ["out-of-gamut"] * 2
    # The reflection of 1 cd/m2 adds to both ends.
    assert reasons(grey(80.5), layer(pattern, luminance=80.5), [1e-4], dim) == ["kept"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"values": (2.0, 1.0)}, "values"),
        ({"values": ()}, "values"),
        ({"contrasts": (-0.1, 0.1)}, "contrasts"),
        ({"human": "mine.csv"}, "mine.csv"),
        ({"over": "frequency"}, "frequency_cpd"),
    ],
)
def test_what_cannot_be_measured_is_refused(changes: dict, named: str) -> None:
    given = {"over": "frequency_cpd", "values": (1.0, 2.0), "contrasts": (0.1, 1.0), **changes}
    with pytest.raises(FechnerError, match=named):
        Detection(**given)


def test_arrays_are_held_as_numbers() -> None:
    task = Detection("frequency_cpd", np.array([1, 2]), np.array([0.1, 1.0]))
    assert task == Detection("frequency_cpd", (1.0, 2.0), (0.1, 1.0))
