"""Metrics of other people's packages that are called as they are: piq, FLIP and pyiqa.

``piq/NAME`` are the full-reference metrics of PyTorch Image Quality that need no weights. Options
are the package's own defaults, which made the published numbers (hammou2025). Metrics of grey
pictures are given luma, the others sRGB, both in 0..1. IW-SSIM is left out: it inverts the
covariance of neighbouring pixels of the reference, which has no inverse for grey fields (it raises)
and gratings (it answers NaN). GMSD: xue2014; MS-GMSD: zhang2017; VIFp: sheikh_bovik2006; DSS:
balanov2015; FSIM: zhang2011; VSI: zhang2014; MDSI: nafchi2016; HaarPSI: reisenhofer2018; SR-SIM:
zhang_li2012; SSIM: wang2004; MS-SSIM: wang2003.

FLIP (andersson2020) tells differences that are seen when two pictures alternate. Its package holds
C++ for one pair of pictures in float32, and nothing for torch: pictures are compared one by one on
the CPU, which takes 3.5 s for a pair of 1920 x 1080 px on one thread.

``pyiqa/NAME`` is any full-reference metric of IQA-PyTorch. The package is for non-commercial use
(PolyForm Noncommercial 1.0.0), and therefore an extra of its own that nothing else needs. Direction
and range of scores are those of its registry. Some of its metrics round pictures to 8 bits, as the
programs they follow did, and are blind to what is finer: SSIM, MS-SSIM and GMSD without that are
`ssim`, `ms-ssim` and `piq/gmsd`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fechner.arrays import Tensor, torch
from fechner.errors import FechnerError, ObserverError, UnknownNameError
from fechner.observers.abilities import Wants
from fechner.observers.devices import check_device
from fechner.observers.hub import fetching
from fechner.observers.metrics.metric import (
    About,
    Metric,
    Precision,
    declarations,
    declared,
    import_package,
    luma,
    quietly,
    release,
)
from fechner.observers.weights import MissingWeightsError, cause_of, hash_weights
from fechner.stimuli import Frames


def load_piq(name: str, device: str = "cpu", precision: Precision = "own") -> Metric:
    """Return a metric of piq.

    Parameters
    ----------
    precision
        Another floating-point type than its own, then without any correction of the package's
        answers: ``float32`` is as the published numbers were made.
    """
    known = [key.removeprefix("piq/") for key in declarations() if key.startswith("piq/")]
    if name not in known:
        raise UnknownNameError("metric of piq", name, known, f"there are {', '.join(known)}")
    full_name = f"piq/{name}"
    how: dict[str, Any] = declarations()[full_name].get("call", {})
    function = getattr(import_package("piq", full_name, "piq"), how.get("function", name))
    options = {"data_range": 1.0, "reduction": "none", **how.get("options", {})}
    about = declared(full_name).at(precision)
    uniform = how.get("uniform") if precision == "own" else None

    def score(test: Tensor, reference: Tensor) -> Tensor:
        # It refuses values beyond 0..1, which some published displays pass on.
        pair = (test.clamp(0, 1), reference.clamp(0, 1))
        try:
            found: Tensor = function(*pair, **options)
        except (AssertionError, ValueError) as error:
            height, width = test.shape[-2:]
            raise ObserverError(
                f"observer '{full_name}' cannot compare these pictures of {width} x {height} px "
                f"({cause_of(error)}); show it others."
            ) from error
        return found

    def compare(test: Tensor, reference: Tensor, frames: Frames) -> Tensor:
        pairs = reference.expand_as(test)
        if how.get("alone"):
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


def make_flip(device: str = "cpu") -> Metric:
    """Return the mean of LDR-FLIP, at the pixels per degree of what is shown."""
    package = import_package("flip_evaluator", "flip", "flip", torchvision=False)

    def arrays(pixels: Tensor) -> Any:
        return pixels.permute(0, 2, 3, 1).contiguous().cpu().numpy()

    def compare(test: Tensor, reference: Tensor, frames: Frames) -> Tensor:
        options = {"applyMagma": False, "computeMeanError": False}
        means = []
        for one, other in zip(arrays(test), arrays(reference.expand_as(test)), strict=True):
            parameters = {"ppd": frames.field.ppd}
            errors, *_ = package.evaluate(other, one, "LDR", parameters=parameters, **options)
            means.append(errors.mean(dtype="float64"))  # the package would sum in float32
        return torch.tensor(means, dtype=torch.float64, device=test.device)

    return Metric(
        "flip", declared("flip"), compare, fingerprint=f"flip/1/{release('flip-evaluator')}"
    )


NOTICE = (
    "pyiqa is licensed under PolyForm Noncommercial 1.0.0 (Copyright (c) 2022 Chaofeng Chen): for "
    "non-commercial use only; some of its metrics have terms of their own."
)

#: Of metrics that its registry knows and we do not.
_UNKNOWN = "what it is made for; in float64 it fails, or takes several times as long"

#: The side of the picture of noise whose score with itself counts as no difference. (On grey some
#: divide nothing by nothing.)
_NOISE_PX = 256


class MissingFilesError(MissingWeightsError):
    """Files that pyiqa fetches when a metric is made, and that are not to be had."""

    def __init__(self, name: str, cause: str) -> None:
        FechnerError.__init__(
            self,
            f"'{name}' needs files that pyiqa fetches, and that are not on this machine and could "
            f"not be fetched ({cause}): run once with a network, or copy the folders TORCH_HOME "
            "(~/.cache/torch) and HF_HOME (~/.cache/huggingface) from a machine that has them.",
        )


def load_pyiqa(name: str, device: str = "cpu", precision: Precision = "own") -> Metric:
    """Return a metric of pyiqa.

    Its difference is how far its score is from that of a picture of noise compared with itself:
    the same number for all, so alignment and matches do not depend on it.
    """
    full_name = f"pyiqa/{name}"
    package = import_package("pyiqa", full_name, "pyiqa")
    registry = import_package("pyiqa.default_model_configs", full_name, "pyiqa").DEFAULT_CONFIGS
    about = _declared(name, registry).at(precision)
    try:
        with fetching(full_name, "its files"), quietly():
            metric = package.create_metric(name, device=torch.device(check_device(device)))
    except MissingWeightsError as error:
        raise MissingFilesError(full_name, cause_of(error.__cause__ or error)) from error
    dtype = getattr(torch, about.wants.dtype)
    metric = metric.to(dtype)

    def score(test: Tensor, reference: Tensor) -> Tensor:
        with quietly():
            found = metric(test, reference)
        if not isinstance(found, torch.Tensor) or found.numel() != len(test):
            raise ObserverError(f"observer '{full_name}' gives no single score for a pair.")
        return found.detach().reshape(-1).double()

    shape = (1, 3, _NOISE_PX, _NOISE_PX)
    noise = torch.rand(shape, generator=torch.Generator().manual_seed(0)).to(device, dtype)
    best = float(score(noise, noise))
    about = replace(about, best=best if math.isfinite(best) else math.inf)

    def compare(test: Tensor, reference: Tensor, frames: Frames) -> Tensor:
        difference: Tensor = about.difference(score(test, reference.expand_as(test)))
        return difference

    library = f"pyiqa {package.__version__}"
    fingerprint = f"{full_name}/1/{library}/{about.wants.dtype}/{hash_weights(metric)}"
    return Metric(full_name, about, compare, fingerprint=fingerprint, notice=NOTICE)


def _declared(name: str, registry: Mapping[str, Any]) -> About:
    """Return what is known of a metric, with direction and range from the registry."""
    full_reference = [key for key, each in registry.items() if each.get("metric_mode") == "FR"]
    if name in registry and name not in full_reference:
        raise ObserverError(
            f"observer 'pyiqa/{name}' looks at single pictures without a reference and cannot "
            "compare two; `pyiqa.list_models('FR')` lists those that can."
        )
    if name not in registry:
        there = ", ".join(sorted(full_reference))
        raise UnknownNameError("metric of pyiqa", name, full_reference, f"there are {there}")
    entry = registry[name]
    grey = bool(entry["metric_opts"].get("test_y_channel"))
    full_name = f"pyiqa/{name}"
    other = About("other", Wants(colour=not grey), math.inf, precision=_UNKNOWN)
    return replace(
        declared(full_name) if full_name in declarations() else other,
        higher_is_better=not entry.get("lower_better", False),
        scores=score_range(entry.get("score_range") or ""),
    )


def score_range(text: str) -> tuple[float, float]:
    """Return lowest and highest score as the registry writes them, where ``~`` means about.

    Examples
    --------
    >>> score_range("~0, ~40"), score_range("0, ~"), score_range("~, 2")
    ((0.0, 40.0), (0.0, inf), (-inf, 2.0))
    """
    low, _, high = (part.strip().lstrip("~") for part in text.partition(","))
    try:
        return float(low or -math.inf), float(high or math.inf)
    except ValueError:  # several ranges, for several scores
        return -math.inf, math.inf
