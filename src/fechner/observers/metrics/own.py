"""Metrics of our own making: fidelity, structure, colour difference, information.

All compute in double precision and can be differentiated. Formulas stand in the modules beside.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from fechner.observers.abilities import Wants
from fechner.observers.metrics.luma import luma, mean_squared_error
from fechner.observers.metrics.metric import About, Kind, Metric
from fechner.observers.metrics.nlpd import nlpd as pyramid_distance
from fechner.observers.metrics.nlpd import normalised_pyramid
from fechner.observers.metrics.precision import Precision, at_precision
from fechner.observers.metrics.scielab import Version, seen_lab
from fechner.observers.metrics.speed_qa import information, speed, speed_video, watch
from fechner.observers.metrics.structure import Odd, moments, ms_ssim_loss, scales, ssim_loss
from fechner.stimuli import Clips, Frames
from fechner.stimuli.colour import D65_XYZ, SRGB_TO_XYZ, Triple, as_triple, inverse
from fechner.stimuli.colour_difference import (
    delta_e_1976,
    delta_e_2000,
    delta_itp,
    hyab,
    ictcp,
    lab,
    recolour,
)

if TYPE_CHECKING:
    from torch import Tensor

#: Errors of float32 are those of a Gabor of 4 cpd at contrast 0.003.
_ENOUGH = "float64 wherever it is allowed; float32 would do (error 1e-6 near threshold)"
_ROUNDED_LAB = "float32 is off by 0.1 % near threshold: Lab near 50 is rounded"


def _grey(
    kind: Kind, best: float, scores: tuple[float, float], precision: str, **wants: Any
) -> About:
    return About(
        kind,
        Wants(dtype="float64", colour=False, **wants),
        best,
        scores,
        higher_is_better=best != 0,
        precision=precision,
    )


def _colour(
    kind: Kind, precision: str = _ROUNDED_LAB, csf_based: bool = False, *, pixelwise: bool
) -> About:
    return About(
        kind,
        Wants(light="cdm2", dtype="float64", pixelwise=pixelwise),
        best=0.0,
        scores=(0.0, math.inf),
        higher_is_better=False,
        csf_based=csf_based,
        precision=precision,
    )


ABOUT = {
    "psnr-y": _grey("traditional", math.inf, (0.0, math.inf), _ENOUGH, pixelwise=True),
    "ssim": _grey("traditional", 1.0, (-1.0, 1.0), _ENOUGH),
    "ms-ssim": _grey("traditional", 1.0, (0.0, 1.0), _ENOUGH),
    "nlpd": _grey("traditional", 0.0, (0.0, math.inf), _ENOUGH),
    "speed-qa": _grey(
        "video",
        0.0,
        (0.0, math.inf),
        "near threshold it sees the rounding of float32: smooth patterns have nearly singular "
        "covariances",
        video=True,
    ),
    "ciede2000": _colour("colour difference", pixelwise=True),
    "hyab": _colour("colour difference", pixelwise=True),
    "ictcp": _colour(
        "colour difference",
        "float64 wherever it is allowed; float32 is off by 0.02 % near threshold",
        pixelwise=True,
    ),
    "scielab": _colour("traditional colour", csf_based=True, pixelwise=False),
}

#: ``published`` is what Hammou et al. (2025) took for CIELAB: lightness in all three coordinates.
Lab = Literal["cie", "published"]


def psnr_y(device: str = "cpu", precision: Precision = "own") -> Metric:
    """Return PSNR of luma; its difference is the root mean squared error, 10^(-PSNR / 20)."""

    def root_mean_squared_error(test: Tensor, reference: Tensor, frames: Frames) -> Tensor:
        return (frames.share * mean_squared_error(test, reference)).sqrt()

    return _metric("psnr-y", root_mean_squared_error, _luma, precision)


def ssim(device: str = "cpu", precision: Precision = "own") -> Metric:
    """Return 1 - SSIM of luma (Wang et al. 2004)."""
    return _metric(
        "ssim",
        lambda test, reference, frames: ssim_loss(test, reference),
        lambda frames: moments(_luma(frames)),
        precision,
    )


def ms_ssim(
    device: str = "cpu", precision: Precision = "own", odd: Odd = "edge", levels: int = 0
) -> Metric:
    """Return 1 - MS-SSIM of luma (Wang, Simoncelli & Bovik 2003).

    Parameters
    ----------
    odd
        How pictures of odd size are continued before they are halved.
    levels
        Steps to which luma is rounded, 255 in the published numbers of Hammou et al. (2025); 0
        leaves it as it is.
    """

    def look(frames: Frames) -> Any:
        found = _luma(frames)
        return scales((found * levels).round() / levels if levels else found, odd)

    return _metric(
        "ms-ssim",
        lambda test, reference, frames: ms_ssim_loss(test, reference),
        look,
        precision,
        settings=f"{odd}/{levels}",
    )


def nlpd(device: str = "cpu", precision: Precision = "own") -> Metric:
    """Return the normalised Laplacian pyramid distance of luma (Laparra et al. 2016)."""
    return _metric(
        "nlpd",
        lambda test, reference, frames: pyramid_distance(test, reference),
        lambda frames: normalised_pyramid(_luma(frames)),
        precision,
    )


def speed_qa(
    device: str = "cpu", precision: Precision = "own", pairs: Literal["all", "last"] = "all"
) -> Metric:
    """Return SpEED-QA of luma (Bampis et al. 2017), spatial for pictures.

    Parameters
    ----------
    precision
        That of luma; covariances are always inverted in float64.
    pairs
        Which pairs of successive frames of a video count: ``last`` in the published numbers of
        Hammou et al. (2025).
    """

    def watched(test: Clips, reference: Clips) -> Tensor:
        first = 0 if pairs == "all" else -2
        lumas = (_luma_of_clips(each)[:, first:] for each in (test, reference))
        return speed_video(*(watch(_levels(each).double()) for each in lumas))

    return _metric(
        "speed-qa",
        lambda test, reference, frames: speed(test, reference),
        lambda frames: information(_levels(_luma(frames)).double()),
        precision,
        watched,
        settings=pairs,
    )


def ciede2000(device: str = "cpu", conversion: Lab = "cie") -> Metric:
    """Return the mean CIEDE2000 difference (CIE 142)."""
    return _mean("ciede2000", delta_e_2000, lambda frames: _lab(frames, conversion), conversion)


def hyab_difference(device: str = "cpu", conversion: Lab = "cie") -> Metric:
    """Return the mean HyAB difference (Abasi et al. 2020)."""
    return _mean("hyab", hyab, lambda frames: _lab(frames, conversion), conversion)


def ictcp_difference(device: str = "cpu", tritan: float = 0.5) -> Metric:
    """Return the mean Delta E ITP (BT.2124).

    Parameters
    ----------
    tritan
        What Ct is multiplied by; the square root of 1/2 in the published numbers of Hammou et al.
        (2025).
    """
    return _mean(
        "ictcp",
        lambda test, reference: delta_itp(test, reference, tritan),
        lambda frames: ictcp(_bt709(frames)),
        f"{tritan:g}",
    )


def scielab(device: str = "cpu", version: Version = "paper", relative: bool = False) -> Metric:
    """Return the mean S-CIELAB difference (Zhang & Wandell 1997).

    Parameters
    ----------
    version
        Filters as in the paper, or as in its code, which the published numbers went through.
    relative
        Whether light is taken over the range of the display, without its black level.
    """

    def look(frames: Frames) -> Tensor:
        xyz, white = _xyz(frames), _white(frames)
        if relative:
            screen = frames.display
            rgb = (frames.cdm2() - screen.black_cdm2) / (screen.peak_cdm2 - screen.black_cdm2)
            xyz, white = recolour(screen.rgb_to_xyz, rgb), D65_XYZ
        return seen_lab(xyz, frames.field.ppd, white, version)

    return _mean("scielab", delta_e_1976, look, f"{version}/{relative}")


def _metric(
    name: str,
    compare: Any,
    look: Any,
    precision: Precision,
    watched: Any = None,
    settings: str = "",
) -> Metric:
    about = at_precision(ABOUT[name], precision)
    return Metric(
        name,
        about,
        compare,
        look=look,
        watch=watched,
        fingerprint=f"{name}/1/{about.wants.dtype}/{settings}",
    )


def _mean(name: str, difference: Any, look: Any, settings: str = "") -> Metric:
    """Return a metric that is the mean of a map of differences."""

    def compare(test: Tensor, reference: Tensor, frames: Frames) -> Tensor:
        found: Tensor = difference(test, reference)
        return frames.share * found.mean(dim=(-2, -1))

    return Metric(name, ABOUT[name], compare, look=look, fingerprint=f"{name}/1/{settings}")


def _levels(relative: Tensor) -> Tensor:
    """Return luma of 0..1 as the levels of video, 16 to 235."""
    return 16 + 219 * relative


def _luma(frames: Frames) -> Tensor:
    return luma(frames.pixels)


def _luma_of_clips(clips: Clips) -> Tensor:
    """Return luma of all frames, [n, t, h, w]; colours are dropped frame by frame."""
    import torch

    return torch.stack([_luma(frames) for frames in clips], dim=1)


def _xyz(frames: Frames) -> Tensor:
    return recolour(frames.display.rgb_to_xyz, frames.cdm2())


def _bt709(frames: Frames) -> Tensor:
    """Return linear RGB of BT.709 primaries; colours beyond them have negative values."""
    if frames.display.primaries == "bt709":
        return frames.cdm2()
    return recolour(inverse(SRGB_TO_XYZ), _xyz(frames))


def _white(frames: Frames) -> Triple:
    """Return the white of the display, which is D65 for all primaries that have a name."""
    white = D65_XYZ if frames.display.primaries else frames.display.white_xyz
    return as_triple([frames.display.peak_cdm2 * value for value in white])


def _lab(frames: Frames, conversion: Lab) -> Tensor:
    found = lab(_xyz(frames), _white(frames))
    return found if conversion == "cie" else found[:, :1].expand_as(found)
