"""Questions about noise: what is shown, what is left of it in a file, who is asked what."""

from dataclasses import replace

import numpy as np
import pytest
from asking import Simulated, weibull

from fechner.experiments import Asking, EveryLevel, Presenter
from fechner.experiments.asking import remaining_contrast
from fechner.observers import lift, resolve
from fechner.stimuli import Field, paint
from fechner.suites import suite


def asking(*, trials: int = 2, mode: str = "default", test: str = "detection", **asked) -> Asking:
    options = {"published": mode == "published", "adaptive": False, "trials": trials, **asked}
    return {each.id: each.experiment for each in suite("verbal").build(**options)}[test]


def small(experiment: Asking, contrasts: tuple[float, ...] = (0.0, 0.05, 0.2)) -> Asking:
    placement = replace(experiment.placement, levels=contrasts)
    scene = replace(experiment.scene, field=Field(128, 128, 64.0))
    return replace(experiment, placement=placement, scene=scene)


def test_published_protocol() -> None:
    experiment = asking(trials=10, mode="published")
    assert isinstance(experiment.placement, EveryLevel)
    assert len(experiment.placement.levels) == 160
    assert experiment.placement.levels[-1] == 0.8
    assert len(experiment.questions) == 25
    assert len(experiment.labels) == 20
    assert len(set(experiment.questions)) == 25
    assert len(set(experiment.labels)) == 20
    pieces = experiment.pieces()
    assert len(pieces) == 10
    assert sum(piece.questions for piece in pieces) == 400_000
    field = experiment.scene.field
    assert (field.width_px, field.width_deg, field.ppd) == (256, 4.0, 64.0)
    assert experiment.scene.display.bits == 8


def test_noise_is_what_it_says() -> None:
    """Mean 40 cd/m2, RMS contrast as asked, in a band of one octave."""
    experiment = asking()
    shown = experiment._shown(4, 7, 1, 0.1)
    frames = paint([shown], experiment.scene.field, experiment.scene.display)
    light = frames.luminance()[0].double().numpy()
    assert light.mean() == pytest.approx(40.0, rel=1e-4)
    assert light.std() / light.mean() == pytest.approx(0.1, rel=1e-3)
    power = np.abs(np.fft.fft2(light - light.mean())) ** 2
    f = np.fft.fftfreq(256, 1 / 64)
    radius = np.hypot(f[:, None], f[None, :])
    centre = experiment.task.score_abscissae[4]
    inside = (radius >= centre / 2**0.5) & (radius <= centre * 2**0.5)
    assert power[inside].sum() / power.sum() > 0.999


def test_draws_are_independent() -> None:
    experiment = asking()
    same = experiment._shown(4, 7, 1, 0.1)
    assert same == experiment._shown(4, 7, 1, 0.1)
    others = [(5, 7, 1), (4, 8, 1), (4, 7, 2)]
    assert all(
        experiment._shown(*other, 0.1).layers[0].pattern != same.layers[0].pattern
        for other in others
    )


def realised(experiment: Asking, contrast: float, **display) -> float:
    scene = experiment.scene
    screen = replace(scene.display, **display)
    shown = experiment._shown(4, 3, 0, contrast)
    frames = paint([shown], scene.field, screen)
    return remaining_contrast(frames.luminance()[0].double(), shown.layers[-1], scene.field)


def test_realised_contrast() -> None:
    experiment = asking()
    assert realised(experiment, 0.1) == pytest.approx(0.1, rel=1e-3)
    # Eight bits hold contrasts above a grey level; below, rounding makes them something else.
    assert realised(experiment, 0.1, bits=8) == pytest.approx(0.1, rel=0.01)
    assert realised(experiment, 0.0025, bits=8) > 1.5 * 0.0025
    # Dither brings them back.
    assert realised(experiment, 0.0025, bits=8, dither=True) == pytest.approx(0.0025, rel=0.05)
    assert realised(experiment, 0.005, bits=8, dither=True) == pytest.approx(0.005, rel=0.05)
    # Noise that leaves the display's range loses some.
    assert realised(experiment, 0.8) < 0.75


def test_one_grey_level() -> None:
    """At 40 of 100 cd/m2 a step of 8 bits is a contrast of 1.3 %."""
    assert asking()._grey_level(None) == 0
    assert asking()._grey_level(8) == pytest.approx(0.0131, abs=0.0001)
    assert asking(mode="published")._grey_level(None) == pytest.approx(0.0131, abs=0.0001)
    assert asking(dither=True)._grey_level(8) == 0


def test_what_is_stored() -> None:
    experiment = small(asking())
    observer = Simulated(weibull(0.1, 40.0))
    data = experiment.measure(experiment.pieces()[5], Presenter(observer, batch_size=8))
    assert data["yes"].dims == ("point", "prompt", "trial", "layer", "readout")
    assert data["yes"].shape == (1, 25, 6, 1, 1)
    assert data["yes"].values[0, 0, :, 0, 0].tolist() == [0, 0, 0, 0, 1, 1]
    assert data["level"].values[0, 3, :, 0, 0].tolist() == [0, 0, 1, 1, 2, 2]
    assert data["contrast"].values[0, 3, ::2, 0, 0] == pytest.approx([0.0, 0.05, 0.2], rel=1e-3)
    assert len(observer.asked) == 25 * 6
    assert data.attrs["reads"] == "questions"


def test_the_last_band_does_not_fit() -> None:
    experiment = small(asking())
    field = experiment.scene.field
    flags = [experiment._flag(index, field, field) for index in range(10)]
    assert flags == [0] * 9 + [1]
    published = small(asking(mode="published"))
    assert published._flag(9, published.scene.field, published.scene.field) == 0


def test_two_pictures() -> None:
    experiment = small(asking(test="detection-2afc", trials=8))
    observer = Simulated(weibull(0.1, 40.0))
    data = experiment.measure(experiment.pieces()[5], Presenter(observer, batch_size=8))
    right = data["yes"].values[0, 0, :, 0, 0].reshape(3, 8)
    assert right[1:].mean() == 1
    # Of two blank pictures it takes the first, which is as often right as wrong.
    assert 0 < right[0].mean() < 1


def test_lifted_observers_have_the_human_threshold_at_the_anchor() -> None:
    experiment = asking(trials=1)
    at = int(np.abs(np.array(experiment.abscissae) - experiment.anchor).argmin())
    human = experiment._human(at)
    contrasts = (0.0, *(human * factor for factor in (0.5, 0.8, 1.25, 2)))
    experiment = replace(small(experiment, contrasts), anchor=experiment.abscissae[at])
    observer = lift(resolve("pixels"), "answers", ("l2",))
    data = experiment.measure(experiment.pieces()[at], Presenter(observer, batch_size=8))
    assert data["yes"].values[0, 0, :, 0, 0].tolist() == [0, 0, 0, 1, 1]
    assert data.sizes["prompt"] == 1


def test_human_thresholds() -> None:
    rms, peak = asking(), asking(mode="published")
    assert peak._human(0) == pytest.approx(1 / 52.3181, rel=1e-5)
    assert rms._human(0) == pytest.approx(1 / 52.3181 / 2**0.5, rel=1e-5)


def test_samples_and_words() -> None:
    experiment = asking()
    rows = experiment.samples()
    assert [len(row) for row in rows] == [6, 6, 6]
    assert "25 wordings" in experiment.method
    assert "Standard Spatial Observer" in experiment.method
