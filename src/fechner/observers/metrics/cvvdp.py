"""ColorVideoVDP (Mantiuk et al. 2024): a metric that models low-level human vision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fechner.observers.abilities import Wants
from fechner.observers.metrics.metric import About, Metric
from fechner.observers.metrics.packages import import_package, release
from fechner.stimuli import Clips, Display, Field, Frames

if TYPE_CHECKING:
    from torch import Tensor

ABOUT = {
    "cvvdp": About(
        "visual difference predictor",
        Wants(light="cdm2", video=True),
        best=10.0,
        scores=(-float("inf"), 10.0),
        higher_is_better=True,
        csf_based=True,
        precision="the package computes in float32",
    )
}


class ColorVideoVDP(Metric):
    """Compares by ColorVideoVDP: (10 - JOD)/10, so 0 is no visible difference.

    It is shown light in the display's own primaries, and told which these are. Videos are streamed:
    no more frames are held than the metric's own temporal filters need, a quarter of a second of
    test and reference.

    Parameters
    ----------
    geometry
        None takes the pixels per degree of what is shown; a display name of the package takes that
        display's geometry whatever is shown, as the published numbers of Cai et al. (2025) did.
    display_contrast
        Contrast of the metric's own display model, which sets the black level it sees.
    """

    readouts = ("jod",)

    def __init__(
        self, device: str = "cpu", geometry: str | None = None, display_contrast: float = 1e6
    ) -> None:
        super().__init__(
            "cvvdp",
            ABOUT["cvvdp"],
            self._pictures,
            watch=self._videos,
            fingerprint=f"{release('cvvdp')}/{geometry}/{display_contrast:g}",
        )
        self._device = device
        self._geometry = geometry
        self._display_contrast = display_contrast
        self._metrics: dict[tuple[float, Display], Any] = {}

    def _pictures(self, test: Tensor, reference: Tensor, frames: Frames) -> Tensor:
        metric = self._metric(frames.field, frames.display)
        jod: Tensor = metric.predict(test, reference.expand_as(test), dim_order="BCHW")[0]
        return (10 - jod.double()) / 10

    def _videos(self, test: Clips, reference: Clips) -> Tensor:
        metric = self._metric(test.field, test.display)
        source = _Source(test, reference, metric.display_photometry)
        jod: Tensor = metric.predict_video_source(source)[0]
        return (10 - jod.double()) / 10

    def _metric(self, field: Field, display: Display) -> Any:
        key = (field.ppd, display)
        if key not in self._metrics:
            self._metrics[key] = self._make_metric(*key)
        return self._metrics[key]

    def _make_metric(self, ppd: float, display: Display) -> Any:
        import torch

        pycvvdp = _import_pycvvdp()

        # It is given light, black level and reflection included: only its range is left to say.
        photometry = pycvvdp.vvdp_display_photo_eotf(
            Y_peak=display.peak_cdm2 + display.reflected_cdm2,
            contrast=self._display_contrast,
            EOTF="linear",
            E_ambient=0,
        )
        if display.primaries != "bt709":  # those of its default colour space
            photometry.rgb2xyz_list = [list(row) for row in display.rgb_to_xyz]
        geometry = (
            pycvvdp.vvdp_display_geometry((3840, 2160), ppd=ppd)
            if self._geometry is None
            else pycvvdp.vvdp_display_geometry.load(self._geometry)
        )
        return pycvvdp.cvvdp(
            display_photometry=photometry,
            display_geometry=geometry,
            quiet=True,
            device=torch.device(self._device),
        )


class _Source:
    """Hands the package one frame after the other, painted when it asks for it."""

    def __init__(self, test: Clips, reference: Clips, photometry: Any) -> None:
        self._test = test
        self._reference = reference
        self._photometry = photometry

    def get_video_size(self) -> tuple[int, int, int]:
        field = self._test.field
        return field.height_px, field.width_px, field.frames

    def get_frames_per_second(self) -> float:
        return self._test.field.fps

    def get_batch_size(self) -> int:
        return len(self._test)

    def get_test_frame(self, frame: int, device: Any, colorspace: str) -> Tensor:
        return self._frame(self._test, frame, colorspace)

    def get_reference_frame(self, frame: int, device: Any, colorspace: str) -> Tensor:
        return self._frame(self._reference, frame, colorspace)

    def _frame(self, clips: Clips, frame: int, colorspace: str) -> Tensor:
        """Return one frame of every video, [n, channels, 1, h, w]."""
        pixels = clips.frame(frame).pixels[:, :, None]
        found: Tensor = self._photometry.source_2_target_colorspace(pixels, colorspace)
        return found


def _import_pycvvdp() -> Any:
    return import_package("pycvvdp", "cvvdp", "cvvdp")


def make(
    device: str = "cpu", geometry: str | None = None, display_contrast: float = 1e6
) -> ColorVideoVDP:
    """Return the observer."""
    return ColorVideoVDP(device, geometry, display_contrast)
