"""FovVideoVDP (mantiuk2021_fvvdp): low-level vision in space and time, luminance only.

The package is for non-commercial use (CC BY-NC 4.0) and therefore an extra of its own.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from fechner.observers.abilities import Wants
from fechner.observers.metrics.metric import About, Metric
from fechner.observers.metrics.packages import import_package, quietly, release
from fechner.stimuli import Clips, Field, Frames

if TYPE_CHECKING:
    import torch
    from torch import Tensor

NOTICE = (
    "FovVideoVDP (pyfvvdp) is licensed under CC BY-NC 4.0: for non-commercial use only, cite its "
    "paper."
)

#: The best score, in JOD.
_BEST = 10.0

ABOUT = {
    "fvvdp": About(
        "visual difference predictor",
        Wants(light="cdm2", colour=False, video=True),
        best=_BEST,
        scores=(-math.inf, _BEST),
        higher_is_better=True,
        csf_based=True,
        precision="the package computes in float32; channels are pooled in float64",
    )
}


class FovVideoVDP(Metric):
    """Compares by FovVideoVDP: (10 - JOD)/10, so 0 is no visible difference.

    It is given luminance in cd/m2 and looks everywhere with the fovea. Videos are streamed: no more
    frames are held than its temporal filters need, a quarter of a second of test and reference.
    """

    notice = NOTICE
    readouts = ("jod",)

    def __init__(self, device: str = "cpu") -> None:
        self._package = _import_pyfvvdp()
        super().__init__(
            "fvvdp",
            ABOUT["fvvdp"],
            self._pictures,
            look=Frames.luminance,
            watch=self._videos,
            fingerprint=release("pyfvvdp"),
        )
        self._device = device
        self._metrics: dict[float, Any] = {}

    def _pictures(self, test: Tensor, reference: Tensor, frames: Frames) -> Tensor:
        field = frames.field.still()
        return self._differences(
            _Source(field, _always(a), _always(b))
            for a, b in zip(test, reference.expand_as(test), strict=True)
        )

    def _videos(self, test: Clips, reference: Clips) -> Tensor:
        def painted(clips: Clips, row: int) -> Callable[[int], Tensor]:
            one = clips.rows([row])
            return lambda number: one.frame(number).luminance()[0]

        return self._differences(
            _Source(test.field, painted(test, row), painted(reference, row))
            for row in range(len(test))
        )

    def _differences(self, sources: Iterable[_Source]) -> Tensor:
        import torch

        jods = [self._jod(source) for source in sources]
        return (_BEST - torch.tensor(jods, dtype=torch.float64)) / _BEST

    def _jod(self, source: _Source) -> float:
        """Return the score; pooled anew, since 10 less something small is rounded in float32."""
        import torch

        metric = self._metric(source.field)
        _, stats = metric.predict_video_source(source)
        channels = torch.as_tensor(stats["Q_per_ch"], dtype=torch.float64, device=self._device)
        return float(metric.do_pooling_and_jods(channels, stats["rho_band"][:-1]))

    def _metric(self, field: Field) -> Any:
        import torch

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


class _Source:
    """Hands the package one frame after the other, painted when it asks for it."""

    def __init__(
        self, field: Field, test: Callable[[int], Tensor], reference: Callable[[int], Tensor]
    ) -> None:
        self.field = field
        self._test = test
        self._reference = reference

    def get_video_size(self) -> tuple[int, int, int]:
        return self.field.height_px, self.field.width_px, self.field.frames

    def get_frames_per_second(self) -> float:
        return self.field.fps

    def get_test_frame(self, frame: int, device: torch.device) -> Tensor:
        return self._test(frame)[None, None, None].to(device)

    def get_reference_frame(self, frame: int, device: torch.device) -> Tensor:
        return self._reference(frame)[None, None, None].to(device)


def _always(picture: Tensor) -> Callable[[int], Tensor]:
    return lambda number: picture


def _import_pyfvvdp() -> Any:
    package = import_package("pyfvvdp", "fvvdp", "fvvdp", torchvision=False)
    logging.getLogger("fechner").warning(NOTICE)
    return package


def make(device: str = "cpu") -> FovVideoVDP:
    """Return the observer."""
    return FovVideoVDP(device)
