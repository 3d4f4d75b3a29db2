"""pyiqa: ``pyiqa/NAME``, any full-reference metric of IQA-PyTorch.

The package is for non-commercial use (PolyForm Noncommercial 1.0.0), and therefore an extra of its
own that nothing else needs. Direction and range of scores are those of its registry. Some of its
metrics round pictures to 8 bits, as the programs they follow did, and are blind to what is finer:
SSIM, MS-SSIM and GMSD without that are `ssim`, `ms-ssim` and `piq/gmsd`.
"""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from fechner.errors import FechnerError, ObserverError, UnknownNameError
from fechner.observers.abilities import Wants
from fechner.observers.devices import check_device
from fechner.observers.hub import fetching
from fechner.observers.metrics.metric import About, Kind, Metric
from fechner.observers.metrics.packages import import_package, quietly
from fechner.observers.metrics.precision import Precision, at_precision
from fechner.observers.weights import MissingWeightsError, cause_of, hash_weights
from fechner.stimuli import Frames

if TYPE_CHECKING:
    from torch import Tensor

NOTICE = (
    "pyiqa is licensed under PolyForm Noncommercial 1.0.0 (Copyright (c) 2022 Chaofeng Chen): for "
    "non-commercial use only; some of its metrics have terms of their own."
)

#: Why, for a Gabor of 4 cycles per degree and contrast 0.003 on grey, 256 x 256 px.
_PRECISION = {
    "float64": "float32 is up to 1 % off near threshold, float64 takes twice as long at most",
    "float32": "what it is made for; in float64 it fails, or takes several times as long",
}

#: The side of the picture of noise whose score with itself counts as no difference. (On grey some
#: divide nothing by nothing.)
_NOISE_PX = 256


def _about(
    kind: Kind,
    *,
    lower: bool = False,
    colour: bool = True,
    dtype: Literal["float32", "float64"] = "float32",
    csf_based: bool = False,
    rounds: bool = False,
) -> About:
    return About(
        kind,
        Wants(dtype=dtype, colour=colour),
        best=math.inf,  # which the registry does not say: asked when it is loaded
        scores=(-math.inf, math.inf),
        higher_is_better=not lower,
        csf_based=csf_based,
        precision=_PRECISION[dtype],
        fed="float, which it rounds to 8 bits" if rounds else "float",
    )


#: Those of version 0.1.16; of others, only what the registry says is known.
_KNOWN = {
    ("fsim", "psnr", "vsi"): _about("traditional colour", dtype="float64"),
    ("ssimc",): _about("traditional colour", dtype="float64", rounds=True),
    ("psnry",): _about("traditional", colour=False, dtype="float64"),
    ("cw_ssim", "ms_ssim", "ssim"): _about(
        "traditional", colour=False, dtype="float64", rounds=True
    ),
    ("gmsd",): _about("traditional", lower=True, colour=False, dtype="float64", rounds=True),
    ("nlpd",): _about("traditional", lower=True, colour=False, dtype="float64"),
    ("vif",): _about("traditional", colour=False, rounds=True),
    ("mad",): _about(
        "visual difference predictor", lower=True, colour=False, csf_based=True, rounds=True
    ),
    ("msswd",): _about("colour difference", lower=True),
    ("ahiq", "ckdn", "dmm", "fgresq_pair", "topiq_fr", "topiq_fr-pipal", "wadiqam_fr"): _about(
        "deep learning"
    ),
    (
        *("afine_all", "afine_all_scale", "afine_fr", "deepdc", "dists", "lpips", "lpips+"),
        *("lpips-vgg", "lpips-vgg+", "pieapp", "stlpips", "stlpips-vgg"),
    ): _about("deep learning", lower=True),
}

ABOUT = {f"pyiqa/{name}": about for names, about in _KNOWN.items() for name in names}


class PyiqaMetric(Metric):
    """A metric of pyiqa, with what its licence asks to be told."""

    notice = NOTICE


class MissingFilesError(MissingWeightsError):
    """Files that pyiqa fetches when a metric is made, and that are not to be had."""

    def __init__(self, name: str, cause: str) -> None:
        FechnerError.__init__(
            self,
            f"'{name}' needs files that pyiqa fetches, and that are not on this machine and could "
            f"not be fetched ({cause}): run once with a network, or copy the folders TORCH_HOME "
            "(~/.cache/torch) and HF_HOME (~/.cache/huggingface) from a machine that has them.",
        )


def load(name: str, device: str = "cpu", precision: Precision = "own") -> PyiqaMetric:
    """Return the observer.

    Its difference is how far its score is from that of a picture of noise compared with itself:
    the same number for all, so alignment and matches do not depend on it.
    """
    import torch

    full_name = f"pyiqa/{name}"
    package = import_package("pyiqa", full_name, "pyiqa")
    declared = _declared(name, import_package("pyiqa.default_model_configs", full_name, "pyiqa"))
    _tell_licence()
    try:
        with fetching(full_name, "its files"), quietly():
            metric = package.create_metric(name, device=torch.device(check_device(device)))
    except MissingWeightsError as error:
        raise MissingFilesError(full_name, cause_of(error.__cause__ or error)) from error
    about = at_precision(declared, precision)
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

    version = f"pyiqa {package.__version__}"
    return PyiqaMetric(
        full_name,
        about,
        compare,
        fingerprint=f"{full_name}/1/{version}/{about.wants.dtype}/{hash_weights(metric)}",
    )


def _declared(name: str, registry: Any) -> About:
    """Return what is known of a metric, with direction and range from the registry."""
    known = registry.DEFAULT_CONFIGS
    full_reference = [key for key, each in known.items() if each.get("metric_mode") == "FR"]
    if name in known and name not in full_reference:
        raise ObserverError(
            f"observer 'pyiqa/{name}' looks at single pictures without a reference and cannot "
            "compare two; `pyiqa.list_models('FR')` lists those that can."
        )
    if name not in known:
        there = ", ".join(sorted(full_reference))
        raise UnknownNameError("metric of pyiqa", name, full_reference, f"there are {there}")
    entry = known[name]
    grey = bool(entry["metric_opts"].get("test_y_channel"))
    about = ABOUT.get(f"pyiqa/{name}", _about("other", colour=not grey))
    return replace(
        about,
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


@cache
def _tell_licence() -> None:
    """Say once in a process what the licence is."""
    logging.getLogger("fechner").warning("%s", NOTICE)
