"""Visual difference predictors: ColorVideoVDP and FovVideoVDP, which model low-level human vision.

Their difference is (10 - JOD)/10, so 0 is no visible difference. Videos are streamed: no more
frames are held than the temporal filters need, a quarter of a second of test and reference.

The package of FovVideoVDP (mantiuk2021_fvvdp, luminance only) is for non-commercial use
(CC BY-NC 4.0) and therefore an extra of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from fechner.arrays import Tensor, torch
from fechner.observers.metrics.metric import Metric, declared, import_package, quietly, release
from fechner.stimuli import Clips, Display, Field, Frames

NOTICE = (
    "FovVideoVDP (pyfvvdp) is licensed under CC BY-NC 4.0: for non-commercial use only, cite its "
    "paper."
)

#: The best score, in JOD.
_BEST = 10.0


class _Source:
    """Hands a package one frame after the other, painted when it asks for it."""

    def __init__(
        self, field: Field, n: int, test: Callable[..., Tensor], reference: Callable[..., Tensor]
    ) -> None:
        self.field = field
        self.n = n
        self.get_test_frame = test
        self.get_reference_frame = reference

    def get_video_size(self) -> tuple[int, int, int]:
        return self.field.height_px, self.field.width_px, self.field.frames

    def get_frames_per_second(self) -> float:
        return self.field.fps

    def get_batch_size(self) -> int:
        return self.n


class ColorVideoVDP(Metric):
    """Compares by ColorVideoVDP (Mantiuk et al. 2024).

    It is shown light in the display's own primaries, and told which these are.

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
            declared("cvvdp"),
            self._pictures,
            watch=self._videos,
            fingerprint=f"{release('cvvdp')}/{geometry}/{display_contrast:g}",
        )
        self._device = device
        self._geometry = geometry
        self._display_contrast = display_contrast
        self._metric = cache(self._make_metric)

    def _pictures(self, test: Tensor, reference: Tensor, frames: Frames) -> Tensor:
        metric = self._metric(frames.field.ppd, frames.display)
        jod: Tensor = metric.predict(test, reference.expand_as(test), dim_order="BCHW")[0]
        return (_BEST - jod.double()) / _BEST

    def _videos(self, test: Clips, reference: Clips) -> Tensor:
        metric = self._metric(test.field.ppd, test.display)

        def frame(clips: Clips, number: int, device: Any, colorspace: str) -> Tensor:
            pixels = clips.frame(number).pixels[:, :, None]  # [n, channels, 1, h, w]
            found: Tensor = metric.display_photometry.source_2_target_colorspace(pixels, colorspace)
            return found

        source = _Source(test.field, len(test), partial(frame, test), partial(frame, reference))
        jod: Tensor = metric.predict_video_source(source)[0]
        return (_BEST - jod.double()) / _BEST

    def _make_metric(self, ppd: float, display: Display) -> Any:
        pycvvdp = import_package("pycvvdp", "cvvdp", "cvvdp")
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


class FovVideoVDP(Metric):
    """Compares by FovVideoVDP: given luminance in cd/m2, it looks everywhere with the fovea."""

    readouts = ("jod",)

    def __init__(self, device: str = "cpu") -> None:
        self._package = import_package("pyfvvdp", "fvvdp", "fvvdp", torchvision=False)
        super().__init__(
            "fvvdp",
            declared("fvvdp"),
            self._pictures,
            look=Frames.luminance,
            watch=self._videos,
            fingerprint=release("pyfvvdp"),
            notice=NOTICE,
        )
        self._device = device
        self._metrics: dict[float, Any] = {}

    def _pictures(self, test: Tensor, reference: Tensor, frames: Frames) -> Tensor:
        def always(picture: Tensor, number: int, device: Any) -> Tensor:
            return picture[None, None, None].to(device)

        pairs = zip(test, reference.expand_as(test), strict=True)
        return self._differences(
            _Source(frames.field.still(), 1, partial(always, a), partial(always, b))
            for a, b in pairs
        )

    def _videos(self, test: Clips, reference: Clips) -> Tensor:
        def painted(one: Clips, number: int, device: Any) -> Tensor:
            return one.frame(number).luminance()[:, None, None].to(device)

        return self._differences(
            _Source(test.field, 1, *(partial(painted, c.rows([row])) for c in (test, reference)))
            for row in range(len(test))
        )

    def _differences(self, sources: Iterable[_Source]) -> Tensor:
        jods = [self._jod(source) for source in sources]
        return (_BEST - torch.tensor(jods, dtype=torch.float64)) / _BEST

    def _jod(self, source: _Source) -> float:
        """Return the score; pooled anew, since 10 less something small is rounded in float32."""
        metric = self._metric(source.field)
        _, stats = metric.predict_video_source(source)
        channels = torch.as_tensor(stats["Q_per_ch"], dtype=torch.float64, device=self._device)
        return float(metric.do_pooling_and_jods(channels, stats["rho_band"][:-1]))

    def _metric(self, field: Field) -> Any:
        if field.ppd not in self._metrics:
            # The package is told the angle that a display fills, seen from 1 m.
            half_pixel = math.tan(math.radians(0.5 / field.ppd))
            width_deg = 2 * math.degrees(math.atan(field.width_px * half_pixel))
            geometry = self._package.fvvdp_display_geometry(
                (field.width_px, field.height_px), distance_m=1.0, fov_horizontal=width_deg
            )
            with quietly():
                self._metrics[field.ppd] = self._package.fvvdp(
                    display_geometry=geometry, quiet=True, device=torch.device(self._device)
                )
        return self._metrics[field.ppd]
