"""Suite metrics: its eleven tests, and the published numbers that it gives again."""

import math
from dataclasses import replace

import numpy as np
import pytest

from fechner import evaluate, suites
from fechner.experiments import ColourMatching, FrequencyMatching, NearThreshold, Presenter
from fechner.experiments.presenter import differences
from fechner.observers import resolve
from fechner.stimuli import Stimulus, gamut_limit
from fechner.stimuli.patterns import share_inside
from fechner.suites import preset, suite

IDS = [
    "frequency-ach",
    "frequency-rg",
    "frequency-yv",
    "frequency-transient",
    "luminance",
    "area",
    "masking-coherent",
    "masking-incoherent",
    "flicker",
    "matching-frequency",
    "matching-colour",
]


def by_id(mode: str = "default", **options) -> dict[str, suites.Test]:
    return {
        test.id: test for test in suite("metrics").build(published=mode == "published", **options)
    }


def test_eleven_tests() -> None:
    default = [name for name, test in by_id().items() if test.by_default]
    assert default == list(by_id("published")) == IDS
    further = {"frequency-noise", "frequency-noise-rg", "frequency-noise-yv"}
    assert set(by_id()) - set(IDS) == {*further, "matching-frequency-noise"}


@pytest.mark.parametrize(
    ("test", "size", "ppd"),
    [
        ("frequency-ach", (1920, 1080), 66),
        ("frequency-yv", (1920, 1080), 66),
        ("luminance", (1920, 1080), 60),
        ("area", (1920, 1080), 60),
        ("masking-coherent", (420, 300), 60),
        ("masking-incoherent", (300, 300), 60),
        ("flicker", (256, 256), 60),
        ("matching-frequency", (256, 256), 50),
        ("matching-colour", (256, 256), 60),
    ],
)
def test_fields(test: str, size: tuple[int, int], ppd: float) -> None:
    for mode in ("default", "published"):
        field = by_id(mode)[test].experiment.scene.field
        assert (field.width_px, field.height_px, field.ppd) == (*size, ppd)


def test_the_transient_gabor_has_a_larger_field_by_default() -> None:
    for mode, side, share in (("default", 384, 0.922), ("published", 256, 0.688)):
        experiment = by_id(mode)["frequency-transient"].experiment
        field = experiment.scene.field
        assert (field.width_px, field.height_px, field.ppd) == (side, side, 66)
        gabor = experiment._at(0, 0.5)[1].pattern
        assert share_inside(gabor, field) == pytest.approx(share, abs=1e-3)
        assert field.coordinates == ("endpoints" if mode == "published" else "centres")


def test_videos() -> None:
    for mode, frames in (("default", 240), ("published", 120)):
        field = by_id(mode)["flicker"].experiment.scene.field
        assert (field.frames, field.fps) == (frames, frames)
        transient = by_id(mode)["frequency-transient"].experiment.scene.field
        assert (transient.frames, transient.fps) == (60, 60)
    assert by_id("published")["flicker"].experiment.task.values == tuple(range(0, 61, 3))
    assert by_id()["flicker"].experiment.task.values[::19] == pytest.approx((1.0, 50.0))


def test_what_observers_must_see() -> None:
    needs = {name: test.experiment.needs for name, test in by_id().items()}
    noise = {"frequency-noise-rg", "frequency-noise-yv"}
    coloured = {"frequency-rg", "frequency-yv", "matching-colour", *noise}
    moving = {"frequency-transient", "flicker"}
    assert {name for name, need in needs.items() if "colour" in need} == coloured
    assert {name for name, need in needs.items() if "video" in need} == moving


def test_peaks_of_the_published_displays() -> None:
    peaks = {
        name: test.experiment.scene.display.peak_cdm2 for name, test in by_id("published").items()
    }
    assert peaks["masking-coherent"] == 150
    assert peaks["masking-incoherent"] == 173
    assert peaks["matching-frequency"] == 46.72
    assert set(peaks.values()) == {100.0, 150.0, 173.0, 46.72}
    for test in by_id("published").values():
        screen = test.experiment.scene.display
        assert screen.black_cdm2 == screen.peak_cdm2 / 1000
    assert {test.experiment.scene.display.peak_cdm2 for test in by_id().values()} == {100.0}


def test_scorers() -> None:
    for mode in ("default", "published"):
        for test in by_id(mode).values():
            match test.experiment:
                case NearThreshold():
                    assert test.scorer.absolute == (mode == "published")
                    assert test.experiment.drop == (mode == "default")
                case FrequencyMatching():
                    assert test.scorer.gaps == (mode == "published")
                    assert test.scorer.main == "matching-error-pooled"
                case ColourMatching():
                    assert test.experiment.drop == (mode == "default")


def test_published_thresholds_of_the_paper() -> None:
    """Twice the threshold of flicker exceeds contrast 1 from 54 Hz on."""
    task = by_id("published")["flicker"].experiment.task
    scene = by_id("published")["flicker"].experiment.scene
    thresholds = task.human_thresholds(scene.field, scene.space)
    hertz = np.array(task.values)
    assert hertz[2 * thresholds > 1].min() == 54
    assert hertz[thresholds.argmin()] == 6


def test_all_matched_colours_can_be_shown() -> None:
    experiment = by_id()["matching-colour"].experiment
    background = experiment.scene.space.background_xyz(21.4)
    for direction, most in (("rg", 0.2 * 0.610649), ("yv", 0.2 * 4.203636)):
        modulation = experiment.scene.space.modulation_xyz(direction, 21.4)
        assert gamut_limit(experiment.scene.display, background, modulation) > most


def test_seed_and_ppd_are_the_users() -> None:
    changed = by_id(seed=5, ppd=30.0)
    assert changed["masking-incoherent"].experiment.task.mask.seed == 5
    assert {test.experiment.scene.field.ppd for test in changed.values()} == {30.0}
    assert by_id("published", seed=5)["masking-incoherent"].experiment.task.mask.seed == 2


#: Cells that public packages give again, with fields small enough to be measured here.
MASKING = ["masking-coherent", "masking-incoherent"]
CELLS = {
    "psnr-y": [*MASKING, "matching-frequency"],
    "ssim": [*MASKING, "matching-frequency"],
    "ms-ssim": [*MASKING, "matching-frequency"],
    "nlpd": [*MASKING, "matching-frequency"],
    "ictcp": [*MASKING, "matching-frequency", "matching-colour"],
    "ciede2000": [*MASKING, "matching-colour"],
    "hyab": [*MASKING, "matching-colour"],
    "speed-qa": MASKING,
    "flip": ["matching-colour"],
    "piq/gmsd": MASKING,
    "piq/ms-gmsd": MASKING,
    "piq/dss": MASKING,
    "piq/haarpsi": [*MASKING, "matching-colour"],
    "piq/mdsi": [*MASKING, "matching-colour"],
    "piq/fsim": ["matching-colour"],
    "piq/vsi": [*MASKING, "matching-colour"],
    "cvvdp": ["matching-colour"],
}


@pytest.mark.parametrize("observer", CELLS)
def test_published_cells_are_given_again(observer: str) -> None:
    run = evaluate(
        observer,
        suite="metrics",
        tests=CELLS[observer],
        published=True,
        scores_only=True,
        progress=False,
    )
    main = [result for result in run.scores() if result.main]
    assert [result.test for result in main] == CELLS[observer]
    rows = {row.observer: row for row in preset("hammou2025")}
    for result in main:
        printed = result.published
        assert printed in rows[observer].scores.values()
        assert result.score.value == pytest.approx(printed, abs=0.005)
        assert result.score.low < result.score.value < result.score.high


def test_corrected_colour_differences() -> None:
    """With a right conversion to Lab, CIEDE2000 and HyAB favour colour, not luminance."""
    run = evaluate(
        "ciede2000",
        "hyab",
        suite="metrics",
        tests="matching-colour",
        scores_only=True,
        progress=False,
    )
    found = {
        result.observer: result.score.value
        for result in run.scores()
        if result.score.name == "colour-matching-error"
    }
    assert found["ciede2000"] == pytest.approx(0.608, abs=0.005)
    assert found["hyab"] == pytest.approx(0.479, abs=0.005)
    for observer in found:
        data = run.data(observer, "matching-colour").isel(layer=0, readout=0)
        responses = data["response"].values[-1]
        assert responses[0] < min(responses[1:])
        assert math.isclose(responses[0], data["response"].values.min(axis=1)[-1])


#: Cells that take minutes.
WIDE = {
    "psnr-y": ["frequency-ach", "luminance", "area"],
    "ciede2000": ["luminance"],
    "cvvdp": MASKING,
    "vmaf": [*MASKING, "frequency-transient"],
    "flip": MASKING,
    "piq/fsim": MASKING,
    "st-lpips/alex": MASKING,
}


@pytest.mark.slow
@pytest.mark.parametrize("observer", WIDE)
def test_published_cells_that_take_minutes(observer: str) -> None:
    run = evaluate(
        observer,
        suite="metrics",
        tests=WIDE[observer],
        published=True,
        scores_only=True,
        progress=False,
    )
    for result in run.scores():
        assert result.score.value == pytest.approx(result.published, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("test", ["frequency-transient", "flicker"])
def test_colour_video_vdp_follows_flicker(test: str) -> None:
    """Videos of 256 x 256 pixels, 200 clips each: about an hour of CPU time."""
    run = evaluate(
        "cvvdp", suite="metrics", tests=test, published=True, scores_only=True, progress=False
    )
    (result,) = run.scores()
    assert result.score.value == pytest.approx(result.published, abs=0.03)


@pytest.mark.slow
def test_colour_video_vdp_sees_flicker_best_between_5_and_12_hz() -> None:
    experiment = by_id("published")["flicker"].experiment
    presenter = Presenter(resolve("cvvdp"), batch_size=1)
    tests, references = [], []
    for contrast in (0.005, 0.05):
        for index, hertz in enumerate(experiment.task.values):
            reference, target = experiment._at(index, hertz)
            layers = (replace(target, contrast=contrast),)
            tests.append(Stimulus(reference.background_xyz, layers))
            references.append(reference)
    found = differences(presenter, tests, references, experiment.scene)[:, 0, 0].reshape(2, -1)
    for responses in found:
        assert 5 < experiment.task.values[responses.argmax()] < 12
