"""FovVideoVDP, whose licence keeps it out of the tests: a stand-in that is asked the same way."""

import logging
import math
import sys
import warnings
from dataclasses import replace
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ClassVar

import pytest
import torch

from fechner.errors import MissingExtraError
from fechner.observers import catalogue, resolve
from fechner.observers.metrics import fvvdp as adapter
from fechner.observers.metrics.fvvdp import FovVideoVDP
from fechner.stimuli import (
    OPPONENT,
    Clips,
    Field,
    Flicker,
    Frames,
    Gabor,
    Layer,
    Stimulus,
    display,
    paint,
)

FIELD = Field(48, 32, ppd=30.0)
DESK = display("metrics")


class Geometry:
    """Pixels per degree as the package computes them, at the centre of the display."""

    def __init__(
        self, resolution: tuple[int, int], distance_m: float, fov_horizontal: float
    ) -> None:
        width_m = 2 * math.tan(math.radians(fov_horizontal / 2)) * distance_m
        pixel_deg = 2 * math.degrees(math.atan(0.5 * width_m / resolution[0] / distance_m))
        self.ppd = 1 / pixel_deg


class StandIn:
    """Sees the mean absolute difference of luminance, frame by frame, in one band."""

    made: ClassVar[list["StandIn"]] = []

    def __init__(self, display_geometry: Geometry, quiet: bool, device: torch.device) -> None:
        warnings.warn("deprecated in SciPy", DeprecationWarning, stacklevel=1)
        print("loading")  # noqa: T201
        assert quiet
        self.ppd = display_geometry.ppd
        self.device = device
        self.made.append(self)
        self.fps = 0.0

    def predict_video_source(self, source: Any) -> tuple[torch.Tensor, dict[str, Any]]:
        height, width, frames = source.get_video_size()
        self.fps = source.get_frames_per_second()
        channels = torch.zeros(2, 2, frames)
        for number in range(frames):
            test = source.get_test_frame(number, device=self.device)
            reference = source.get_reference_frame(number, device=self.device)
            assert test.shape == reference.shape == (1, 1, 1, height, width)
            assert test.dtype == torch.float32
            channels[0, 0, number] = (test - reference).abs().mean()
        return torch.tensor(float("nan")), {"Q_per_ch": channels.numpy(), "rho_band": [8, 4, 2]}

    def do_pooling_and_jods(self, channels: torch.Tensor, rho_band: list[float]) -> torch.Tensor:
        assert rho_band == [8, 4]
        return 10 - channels.sum(dim=(0, 1)).mean()


@pytest.fixture
def fvvdp(monkeypatch: pytest.MonkeyPatch) -> FovVideoVDP:
    module = ModuleType("pyfvvdp")
    module.__spec__ = ModuleSpec("pyfvvdp", None)
    monkeypatch.setattr(module, "fvvdp", StandIn, raising=False)
    monkeypatch.setattr(module, "fvvdp_display_geometry", Geometry, raising=False)
    monkeypatch.setattr(StandIn, "made", [])
    monkeypatch.setitem(sys.modules, "pyfvvdp", module)
    monkeypatch.setattr(adapter, "release", lambda package: f"{package} 1.2.2")
    return resolve("fvvdp")


def gabor(contrast: float, flicker: Flicker | None = None) -> Stimulus:
    modulation = OPPONENT.modulation_xyz("ach", 21.4)
    layer = Layer(Gabor(4.0, sigma_deg=0.3), modulation, contrast, flicker)
    return Stimulus(OPPONENT.background_xyz(21.4), (layer,))


def frames(*contrasts: float, field: Field = FIELD) -> Frames:
    return paint([gabor(contrast) for contrast in contrasts], field, DESK, light="cdm2")


def clips(*stimuli: Stimulus) -> Clips:
    field = replace(FIELD, frames=6, fps=120.0)
    return Clips(stimuli, field, DESK, "cdm2", torch.float32)


def differences(observer: FovVideoVDP, tests: Any, reference: Any) -> torch.Tensor:
    which = torch.arange(len(tests)) % len(reference)
    return observer.difference(tests, observer.remember(reference), which).flatten()


def test_pictures_are_luminance(fvvdp: FovVideoVDP) -> None:
    tests, reference = frames(0.0, 0.1, 0.5), frames(0.0)
    want = (tests.luminance() - reference.luminance()).abs().mean(dim=(1, 2)) / 10
    got = differences(fvvdp, tests, reference)
    assert got.tolist() == pytest.approx(want.tolist(), rel=1e-5)
    assert got[0] == 0
    assert torch.equal(got, differences(fvvdp, tests, frames(0.0, 0.0, 0.0)))
    assert got[2:].tolist() == differences(fvvdp, frames(0.5), reference).tolist()


def test_small_differences_are_not_rounded_away(fvvdp: FovVideoVDP) -> None:
    """The score itself is 10 less little, which float32 rounds to a multiple of a millionth."""
    tests, reference = frames(1e-5), frames(0.0)
    want = (tests.luminance() - reference.luminance()).abs().mean().item() / 10
    assert differences(fvvdp, tests, reference).item() == pytest.approx(want, rel=1e-5)
    assert want < 1e-5


def test_videos(fvvdp: FovVideoVDP) -> None:
    tests = clips(gabor(0.5, Flicker(8.0)), gabor(0.2))
    got = differences(fvvdp, tests, clips(gabor(0.0)))
    whole = tests.whole().pixels[:, 1] - clips(gabor(0.0)).whole().pixels[:, 1]
    assert got.tolist() == pytest.approx((whole.abs().mean(dim=(1, 2, 3)) / 10).tolist(), rel=1e-4)
    assert fvvdp._metrics[30.0].fps == 120.0


def test_pixels_per_degree_are_those_of_the_field(fvvdp: FovVideoVDP) -> None:
    for ppd in (30.0, 66.0, 30.0):
        shown = frames(0.1, field=replace(FIELD, ppd=ppd))
        differences(fvvdp, shown, shown)
    assert [metric.ppd for metric in StandIn.made] == pytest.approx([30.0, 66.0])


def test_what_is_declared(fvvdp: FovVideoVDP) -> None:
    assert fvvdp.wants.light == "cdm2"
    assert (fvvdp.wants.video, fvvdp.wants.colour) == (True, False)
    assert fvvdp.about.csf_based
    assert fvvdp.fingerprint == "pyfvvdp 1.2.2"
    assert "non-commercial" in catalogue()["fvvdp"].summary


def test_the_licence_is_shown(fvvdp: FovVideoVDP, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "fechner"):
        resolve("fvvdp")
    assert "non-commercial use only" in caplog.text


def test_nothing_is_printed(fvvdp: FovVideoVDP, capsys: pytest.CaptureFixture[str]) -> None:
    differences(fvvdp, frames(0.1), frames(0.0))
    assert capsys.readouterr().out == ""


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyfvvdp", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fechner\[fvvdp\]'"):
        adapter.make()
