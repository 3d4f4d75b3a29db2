"""ColorVideoVDP by hand, and FovVideoVDP by a stand-in."""

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
from fechner.observers.metrics import metric as shared
from fechner.observers.metrics import vdp as adapter
from fechner.observers.metrics.metric import import_package
from fechner.observers.metrics.vdp import FovVideoVDP
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

# ColorVideoVDP through the observer equals the package called by hand


FIELD = Field.of(pixels=64, ppd=60)


def frames(contrasts):
    background = OPPONENT.background_xyz(100.0)
    modulation = OPPONENT.modulation_xyz("ach", 100.0)
    stimuli = [Stimulus(background, (Layer(Gabor(4.0, 0.2), modulation, c),)) for c in contrasts]
    return paint(stimuli, FIELD, display("encoders"), light="cdm2")


def test_equals_the_package_by_hand() -> None:
    observer = resolve("cvvdp")
    test, reference = frames([0.05, 0.2, 0.8]), frames([0.0])
    got = observer.difference(test, observer.remember(reference), torch.zeros(3, dtype=torch.long))
    pycvvdp = import_package("pycvvdp", "cvvdp", "cvvdp")
    metric = pycvvdp.cvvdp(
        display_photometry=pycvvdp.vvdp_display_photo_eotf(400, contrast=1e6, EOTF="linear"),
        display_geometry=pycvvdp.vvdp_display_geometry((3840, 2160), ppd=60.0),
        quiet=True,
    )
    jod, _ = metric.predict(test.pixels, reference.pixels.expand(3, -1, -1, -1), dim_order="BCHW")
    assert got[:, 0, 0] == pytest.approx(1 - jod.double().numpy() / 10, abs=2e-7)


def test_published_geometry_is_part_of_the_fingerprint() -> None:
    default = resolve("cvvdp")
    published = resolve("cvvdp", suite="encoders", published=True)
    assert default.fingerprint != published.fingerprint
    ppd = published._metric(FIELD, display("encoders")).pix_per_deg
    assert ppd == pytest.approx(75.4, abs=0.05)


def clips(*contrasts: float) -> Clips:
    field = Field(64, 64, 60.0, frames=8, fps=30.0)
    background = OPPONENT.background_xyz(50.0)
    modulation = OPPONENT.modulation_xyz("ach", 50.0)
    stimuli = tuple(
        Stimulus(background, (Layer(Gabor(4.0, 0.2), modulation, c, Flicker(8.0, 90.0)),))
        for c in contrasts
    )
    return Clips(stimuli, field, display("encoders"), "cdm2", torch.float32)


def test_videos_that_are_streamed_equal_the_package_by_hand() -> None:
    observer = resolve("cvvdp")
    test, reference = clips(0.1, 0.5), clips(0.0)
    which = torch.zeros(2, dtype=torch.long)
    got = observer.difference(test, observer.remember(reference), which)
    pycvvdp = import_package("pycvvdp", "cvvdp", "cvvdp")
    metric = pycvvdp.cvvdp(
        display_photometry=pycvvdp.vvdp_display_photo_eotf(400, contrast=1e6, EOTF="linear"),
        display_geometry=pycvvdp.vvdp_display_geometry((3840, 2160), ppd=60.0),
        quiet=True,
    )
    whole = test.whole().pixels.contiguous()
    jod, _ = metric.predict(
        whole, reference.whole().pixels.expand_as(whole), dim_order="BCFHW", frames_per_second=30
    )
    assert got[:, 0, 0] == pytest.approx(1 - jod.double().numpy() / 10, abs=2e-6)
    assert 0 < got[0] < got[1]


# FovVideoVDP, whose licence keeps it out of the tests: a stand-in that is asked the same way


FIELD_FVVDP = Field(48, 32, ppd=30.0)
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
        height, width, frames_fvvdp = source.get_video_size()
        self.fps = source.get_frames_per_second()
        channels = torch.zeros(2, 2, frames_fvvdp)
        for number in range(frames_fvvdp):
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


def frames_fvvdp(*contrasts: float, field: Field = FIELD_FVVDP) -> Frames:
    return paint([gabor(contrast) for contrast in contrasts], field, DESK, light="cdm2")


def clips_fvvdp(*stimuli: Stimulus) -> Clips:
    field = replace(FIELD_FVVDP, frames=6, fps=120.0)
    return Clips(stimuli, field, DESK, "cdm2", torch.float32)


def differences(observer: FovVideoVDP, tests: Any, reference: Any) -> torch.Tensor:
    which = torch.arange(len(tests)) % len(reference)
    return observer.difference(tests, observer.remember(reference), which).flatten()


def test_pictures_are_luminance(fvvdp: FovVideoVDP) -> None:
    tests, reference = frames_fvvdp(0.0, 0.1, 0.5), frames_fvvdp(0.0)
    want = (tests.luminance() - reference.luminance()).abs().mean(dim=(1, 2)) / 10
    got = differences(fvvdp, tests, reference)
    assert got.tolist() == pytest.approx(want.tolist(), rel=1e-5)
    assert got[0] == 0
    assert torch.equal(got, differences(fvvdp, tests, frames_fvvdp(0.0, 0.0, 0.0)))
    assert got[2:].tolist() == differences(fvvdp, frames_fvvdp(0.5), reference).tolist()


def test_small_differences_are_not_rounded_away(fvvdp: FovVideoVDP) -> None:
    """The score itself is 10 less little, which float32 rounds to a multiple of a millionth."""
    tests, reference = frames_fvvdp(1e-5), frames_fvvdp(0.0)
    want = (tests.luminance() - reference.luminance()).abs().mean().item() / 10
    assert differences(fvvdp, tests, reference).item() == pytest.approx(want, rel=1e-5)
    assert want < 1e-5


def test_videos(fvvdp: FovVideoVDP) -> None:
    tests = clips_fvvdp(gabor(0.5, Flicker(8.0)), gabor(0.2))
    got = differences(fvvdp, tests, clips_fvvdp(gabor(0.0)))
    whole = tests.whole().pixels[:, 1] - clips_fvvdp(gabor(0.0)).whole().pixels[:, 1]
    assert got.tolist() == pytest.approx((whole.abs().mean(dim=(1, 2, 3)) / 10).tolist(), rel=1e-4)
    assert fvvdp._metrics[30.0].fps == 120.0


def test_pixels_per_degree_are_those_of_the_field(fvvdp: FovVideoVDP) -> None:
    for ppd in (30.0, 66.0, 30.0):
        shown = frames_fvvdp(0.1, field=replace(FIELD_FVVDP, ppd=ppd))
        differences(fvvdp, shown, shown)
    assert [metric.ppd for metric in StandIn.made] == pytest.approx([30.0, 66.0])


def test_what_is_declared(fvvdp: FovVideoVDP) -> None:
    assert fvvdp.wants.light == "cdm2"
    assert (fvvdp.wants.video, fvvdp.wants.colour) == (True, False)
    assert fvvdp.about.csf_based
    assert fvvdp.fingerprint == "pyfvvdp 1.2.2"
    assert "non-commercial" in catalogue()["fvvdp"].summary


def test_the_licence_is_shown(fvvdp: FovVideoVDP, caplog: pytest.LogCaptureFixture) -> None:
    shared._tell.cache_clear()
    with caplog.at_level(logging.WARNING, "fechner"):
        resolve("fvvdp")
    assert "non-commercial use only" in caplog.text


def test_nothing_is_printed(fvvdp: FovVideoVDP, capsys: pytest.CaptureFixture[str]) -> None:
    differences(fvvdp, frames_fvvdp(0.1), frames_fvvdp(0.0))
    assert capsys.readouterr().out == ""


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyfvvdp", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fechner\[fvvdp\]'"):
        adapter.FovVideoVDP()
