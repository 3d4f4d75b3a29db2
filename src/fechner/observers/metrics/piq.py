"""piq: ``piq/NAME``, the full-reference metrics of PyTorch Image Quality that need no weights.

Options are the package's own defaults, which made the published numbers (hammou2025). Metrics of
grey pictures are given luma, the others sRGB, both in 0..1. IW-SSIM is left out: it inverts the
covariance of neighbouring pixels of the reference, which has no inverse for grey fields (it raises)
and gratings (it answers NaN).

Why each computes in its floating-point type was measured with a Gabor of 4 cycles per degree and
contrast 0.003 on grey of 21.4 cd/m2, 256 x 256 px; times are for a pair of 1920 x 1080 px on one
thread of a CPU.

GMSD: xue2014; MS-GMSD: zhang2017; VIFp: sheikh_bovik2006; DSS: balanov2015; FSIM: zhang2011;
VSI: zhang2014; MDSI: nafchi2016; HaarPSI: reisenhofer2018; SR-SIM: zhang_li2012; SSIM: wang2004;
MS-SSIM: wang2003.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fechner.errors import ObserverError, UnknownNameError
from fechner.observers.abilities import Wants
from fechner.observers.metrics.luma import luma
from fechner.observers.metrics.metric import About, Metric
from fechner.observers.metrics.packages import import_package, release
from fechner.observers.metrics.precision import Precision, at_precision
from fechner.observers.weights import cause_of
from fechner.stimuli import Frames

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class _Measure:
    """One function of piq.

    Parameters
    ----------
    function
        Its name in the package.
    alone
        Whether pictures are compared one by one, since in a batch each changes the others' scores.
    uniform
        Score for a uniform reference where exact arithmetic gives one number and rounding others.
    """

    function: str
    about: About
    options: Mapping[str, Any]
    alone: bool = False
    uniform: float | None = None


def _measure(
    function: str,
    best: float,
    scores: tuple[float, float],
    precision: str,
    *,
    colour: bool = False,
    dtype: Literal["float32", "float64"] = "float64",
    alone: bool = False,
    uniform: float | None = None,
    **options: Any,
) -> _Measure:
    about = About(
        "traditional colour" if colour else "traditional",
        Wants(dtype=dtype, colour=colour),
        best=best,
        scores=scores,
        higher_is_better=best > 0,
        precision=precision,
    )
    return _Measure(function, about, options, alone, uniform)


_MEASURES = {
    "dss": _measure(
        "dss", 1.0, (0.0, 1.0), "float32 is 6 % off near threshold, float64 takes 1.5 times as long"
    ),
    "fsim": _measure(
        "fsim",
        1.0,
        (0.0, 1.0),
        "float32 is 1 % off near threshold, float64 takes 2.4 times as long",
        colour=True,
        chromatic=True,
    ),
    "gmsd": _measure(
        "gmsd", 0.0, (0.0, 0.5), "costs 0.06 s a pair; float32 would do (0.003 % off)"
    ),
    "haarpsi": _measure(
        "haarpsi",
        1.0,
        (0.0, 1.0),
        "float32 does not see contrasts near threshold; float64 takes 6 times as long (1.7 s)",
        colour=True,
    ),
    "mdsi": _measure(
        "mdsi",
        0.0,
        (0.0, 1.0),
        "float64 takes 2.5 times as long; float32 would do (0.04 % off)",
        colour=True,
    ),
    "ms-gmsd": _measure(
        "multi_scale_gmsd",
        0.0,
        (0.0, 0.5),
        "float64 takes 2.2 times as long; float32 would do (0.002 % off)",
    ),
    "ms-gmsdc": _measure(
        "multi_scale_gmsd",
        0.0,
        (0.0, float("inf")),
        "float32 is 0.04 % off near threshold, float64 takes 3.7 times as long",
        colour=True,
        dtype="float32",
        chromatic=True,
    ),
    "ms-ssim": _measure(
        "multi_scale_ssim",
        1.0,
        (0.0, 1.0),
        "float32 has the wrong sign near threshold; float64 takes 12 times as long (13 s, 2 GB)",
    ),
    "psnr": _measure(
        "psnr",
        80.0,  # 1e-8 is added to the mean squared error
        (0.0, 80.0),
        "float64 takes 1.8 times as long; float32 would do",
        colour=True,
    ),
    # The phase of frequencies that a stimulus does not have is rounding error, and counts.
    "srsim": _measure("srsim", 1.0, (0.0, 1.0), "float64 takes 1.7 times as long", alone=True),
    "srsimc": _measure(
        "srsim",
        1.0,
        (0.0, 1.0),
        "float64 takes twice as long",
        colour=True,
        alone=True,
        chromatic=True,
    ),
    "ssim": _measure(
        "ssim",
        1.0,
        (-1.0, 1.0),
        "float32 has the wrong sign near threshold; float64 takes 10 times as long (0.5 s)",
    ),
    # A reference without information gives 0/0, which the package makes 1; a higher contrast than
    # the reference's scores above 1.
    "vif": _measure(
        "vif_p",
        1.0,
        (0.0, float("inf")),
        "float64 takes 20 times as long (42 s, 4.6 GB); float32 is 16 % off near threshold on a "
        "mask, and answers rounding errors on uniform fields, where 1 is exact and is put instead",
        dtype="float32",
        uniform=1.0,
    ),
    "vsi": _measure(
        "vsi",
        1.0,
        (0.0, 1.0),
        "float32 is 0.1 % off near threshold, float64 takes 3 times as long",
        colour=True,
    ),
}

ABOUT = {f"piq/{name}": measure.about for name, measure in _MEASURES.items()}


def load(name: str, device: str = "cpu", precision: Precision = "own") -> Metric:
    """Return the observer.

    Parameters
    ----------
    precision
        Another floating-point type than its own, then without any correction of the package's
        answers: ``float32`` is as the published numbers were made.
    """
    if name not in _MEASURES:
        raise UnknownNameError(
            "metric of piq", name, _MEASURES, f"there are {', '.join(_MEASURES)}"
        )
    measure, full_name = _MEASURES[name], f"piq/{name}"
    function = getattr(import_package("piq", full_name, "piq"), measure.function)
    about = at_precision(measure.about, precision)
    uniform = measure.uniform if precision == "own" else None

    def score(test: Tensor, reference: Tensor) -> Tensor:
        try:
            # It refuses values beyond 0..1, which some published displays pass on.
            found: Tensor = function(
                test.clamp(0, 1),
                reference.clamp(0, 1),
                data_range=1.0,
                reduction="none",
                **measure.options,
            )
        except (AssertionError, ValueError) as error:
            height, width = test.shape[-2:]
            raise ObserverError(
                f"observer '{full_name}' cannot compare these pictures of {width} x {height} px "
                f"({cause_of(error)}); show it others."
            ) from error
        return found

    def compare(test: Tensor, reference: Tensor, frames: Frames) -> Tensor:
        import torch

        pairs = reference.expand_as(test)
        if measure.alone:
            rows = [slice(row, row + 1) for row in range(len(test))]
            scores = torch.cat([score(test[row], pairs[row]) for row in rows])
        elif uniform is None:
            scores = score(test, pairs)
        else:
            scores = test.new_full((len(test),), uniform)
            varied = (reference.amax(dim=(1, 2, 3)) > reference.amin(dim=(1, 2, 3))).expand_as(
                scores
            )
            if varied.any():
                scores[varied] = score(test[varied], pairs[varied])
        difference: Tensor = about.difference(scores.double())
        return difference

    return Metric(
        full_name,
        about,
        compare,
        look=None if about.wants.colour else lambda frames: luma(frames.pixels)[:, None],
        fingerprint=f"{full_name}/1/{release('piq')}/{about.wants.dtype}/{precision}",
    )
