"""ColorVideoVDP (Mantiuk et al. 2024): a metric that models low-level human vision."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from fechner.errors import MissingExtraError
from fechner.observers.abilities import Wants
from fechner.observers.torchvision_fix import import_torchvision
from fechner.stimuli import Display, Frames

if TYPE_CHECKING:
    from torch import Tensor


class ColorVideoVDP:
    """Compares pictures by ColorVideoVDP: (10 - JOD)/10, so 0 is no visible difference.

    Parameters
    ----------
    geometry
        None takes the pixels per degree of what is shown; a display name of the package takes that
        display's geometry whatever is shown, as the published numbers of Cai et al. (2025) did.
    display_contrast
        Contrast of the metric's own display model, which sets the black level it sees.
    """

    layers = ("output",)
    readouts = ("jod",)

    def __init__(
        self, device: str = "cpu", geometry: str | None = None, display_contrast: float = 1e6
    ) -> None:
        self.name = "cvvdp"
        self.wants = Wants(light="cdm2")
        self._device = device
        self._geometry = geometry
        self._display_contrast = display_contrast
        self._metrics: dict[tuple[float, Display], Any] = {}
        version = _package_version()
        self.fingerprint: str | None = f"cvvdp/{version}/{geometry}/{display_contrast:g}"

    def remember(self, reference: Frames) -> Tensor:
        """Keep the references as they are."""
        return reference.pixels

    def difference(self, test: Frames, memory: Tensor, which: Tensor) -> Tensor:
        """Return the loss of quality on a scale of 0 to 1, [n, 1, 1]."""
        metric = self._metric(test.field.ppd, test.display)
        jod: Tensor = metric.predict(test.pixels, memory[which], dim_order="BCHW")[0]
        return (10 - jod.double().reshape(-1, 1, 1)) / 10

    def _metric(self, ppd: float, display: Display) -> Any:
        if (ppd, display) not in self._metrics:
            self._metrics[ppd, display] = self._make_metric(ppd, display)
        return self._metrics[ppd, display]

    def _make_metric(self, ppd: float, display: Display) -> Any:
        import torch

        pycvvdp = _import_pycvvdp()

        photometry = pycvvdp.vvdp_display_photo_eotf(
            Y_peak=display.peak_cdm2,
            contrast=self._display_contrast,
            EOTF="linear",
            E_ambient=0,
        )
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


def _import_pycvvdp() -> Any:
    try:
        import_torchvision()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pycvvdp
    except ImportError as error:
        raise MissingExtraError("observer 'cvvdp'", "cvvdp", str(error)) from None
    return pycvvdp


def _package_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("cvvdp")
    except PackageNotFoundError:
        raise MissingExtraError("observer 'cvvdp'", "cvvdp") from None


def make(
    device: str = "cpu", geometry: str | None = None, display_contrast: float = 1e6
) -> ColorVideoVDP:
    """Return the observer."""
    return ColorVideoVDP(device, geometry, display_contrast)
