"""Flicker and reversing Gabors: human thresholds, stimuli, and what cannot be shown."""

from dataclasses import replace

import numpy as np
import pytest

from fechner import human
from fechner.experiments import Detection, NearThreshold, Scene
from fechner.experiments.detection import REASONS, flag_contrasts
from fechner.stimuli import OPPONENT, Disk, Field, Flicker, Gabor, display

FIELD = Field(32, 32, 8.0, frames=24, fps=120.0)
TASK = Detection(
    "flicker_hz",
    (1.0, 8.0, 50.0, 59.0, 61.0),
    (0.001, 0.01, 0.1, 1.0),
    Disk(2.0),
    human.ElaTCSF(),
    luminance_cdm2=21.4,
    flicker_phase_deg=0.0,
)


def test_thresholds_are_those_of_elatcsf() -> None:
    thresholds = TASK.human_thresholds(FIELD, OPPONENT)
    assert 1 / thresholds[1] == pytest.approx(330.6356, abs=1e-4)
    assert thresholds.argmin() == 1


def test_the_disk_flickers_as_a_sine_on_its_own_background() -> None:
    layer = TASK.target(1, 8.0, 0.2, OPPONENT)
    assert (layer.pattern, layer.flicker) == (Disk(2.0), Flicker(8.0))
    background = TASK.reference(1, 8.0, OPPONENT).background_xyz
    np.testing.assert_allclose(layer.modulation_xyz, background, rtol=1e-6)
    assert background[1] == pytest.approx(21.4)


def test_what_frames_or_the_display_cannot_show_is_flagged() -> None:
    screen = display("metrics")
    contrasts = np.array([0.5, 1.2])

    def reasons(hz: float) -> list[str]:
        reference = TASK.reference(0, hz, OPPONENT)
        target = TASK.target(0, hz, 1.0, OPPONENT)
        return [REASONS[i] for i in flag_contrasts(reference, target, contrasts, screen, FIELD)]

    assert reasons(59.0) == ["kept", "contrast-above-1"]
    assert reasons(61.0) == ["aliased", "aliased"]


def test_a_reversing_gabor_is_a_cosine_and_has_the_threshold_of_its_frequency() -> None:
    task = Detection("frequency_cpd", (0.5, 4.0), (0.01,), Gabor(2.0, 2.0), luminance_cdm2=21.4)
    reversing = replace(task, flicker_hz=8.0)
    layer = reversing.target(0, 0.5, 0.1, OPPONENT)
    assert (layer.pattern, layer.flicker) == (Gabor(0.5, 2.0), Flicker(8.0, phase_deg=90.0))
    assert task.target(0, 0.5, 0.1, OPPONENT).flicker is None
    ratio = task.human_thresholds(FIELD, OPPONENT) / reversing.human_thresholds(FIELD, OPPONENT)
    # Sensitivity to coarse patterns rises with flicker, to fine ones it falls.
    expected = [
        float(
            human.castle_csf(f, luminance_cdm2=21.4, area_deg2=4 * np.pi, temporal_hz=8.0)
            / human.castle_csf(f, luminance_cdm2=21.4, area_deg2=4 * np.pi)
        )
        for f in (0.5, 4.0)
    ]
    np.testing.assert_allclose(ratio, expected, rtol=0.01)
    assert ratio[0] > 1.4 > 0.6 > ratio[1]


def test_published_thresholds_are_amplitudes_over_luminance() -> None:
    task = Detection(
        "frequency_cpd", (2.0,), (0.01,), human=human.CastleCSF("amplitude"), direction="rg"
    )
    k = human.castle_threshold_amplitude(2.0, luminance_cdm2=100.0, area_deg2=np.pi, direction="rg")
    assert task.human_thresholds(FIELD, OPPONENT)[0] == pytest.approx(float(k) / 100, rel=1e-12)


@pytest.mark.parametrize(
    ("task", "needs"),
    [
        (TASK, ("video",)),
        (Detection("frequency_cpd", (2.0,), (0.1,)), ()),
        (Detection("frequency_cpd", (2.0,), (0.1,), direction="yv"), ("colour",)),
        (
            Detection("frequency_cpd", (2.0,), (0.1,), direction="rg", flicker_hz=8.0),
            ("colour", "video"),
        ),
    ],
)
def test_what_an_observer_must_see(task, needs: tuple[str, ...]) -> None:
    scene = Scene(FIELD, display("metrics"), OPPONENT)
    experiment = NearThreshold("x", "X", task, scene, (0.5, 1.0, 2.0))
    assert experiment.needs == needs
    assert "Videos have 24 frames, 120 a second." in experiment.method
