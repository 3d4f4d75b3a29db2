"""From answers to thresholds: fitting, asking where it tells most, sensitivity and bias."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fechner.psychometrics.crossings import Crossing, find_crossing, find_least

if TYPE_CHECKING:
    from fechner.psychometrics.adaptive import Adaptive
    from fechner.psychometrics.detection_theory import (
        Sensitivity,
        correct_mafc,
        d_prime_2afc,
        d_prime_mafc,
        d_prime_yes_no,
    )
    from fechner.psychometrics.fitting import fit
    from fechner.psychometrics.functions import Parameters, Scale, Shape, psychometric
    from fechner.psychometrics.likelihood import MaximumLikelihood, maximum_likelihood
    from fechner.psychometrics.prior import Prior
    from fechner.psychometrics.result import Curve, Estimate, Fit, Goodness, ThresholdAt
    from fechner.psychometrics.tables import Blocks, fit_table, pool_blocks

__all__ = [
    "Adaptive",
    "Blocks",
    "Crossing",
    "Curve",
    "Estimate",
    "Fit",
    "Goodness",
    "MaximumLikelihood",
    "Parameters",
    "Prior",
    "Scale",
    "Sensitivity",
    "Shape",
    "ThresholdAt",
    "correct_mafc",
    "d_prime_2afc",
    "d_prime_mafc",
    "d_prime_yes_no",
    "find_crossing",
    "find_least",
    "fit",
    "fit_table",
    "maximum_likelihood",
    "pool_blocks",
    "psychometric",
]

# Loaded when first used: SciPy takes a moment, and lists of tests need nothing of it.
_HOMES = {
    "Adaptive": "adaptive",
    "Blocks": "tables",
    "Curve": "result",
    "Estimate": "result",
    "Fit": "result",
    "Goodness": "result",
    "MaximumLikelihood": "likelihood",
    "Parameters": "functions",
    "Prior": "prior",
    "Scale": "functions",
    "Sensitivity": "detection_theory",
    "Shape": "functions",
    "ThresholdAt": "result",
    "correct_mafc": "detection_theory",
    "d_prime_2afc": "detection_theory",
    "d_prime_mafc": "detection_theory",
    "d_prime_yes_no": "detection_theory",
    "fit": "fitting",
    "fit_table": "tables",
    "maximum_likelihood": "likelihood",
    "pool_blocks": "tables",
    "psychometric": "functions",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
