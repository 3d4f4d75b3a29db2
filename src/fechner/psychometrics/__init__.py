"""From answers to thresholds."""

from fechner.psychometrics.crossings import Crossing, find_crossing
from fechner.psychometrics.fitting import fit
from fechner.psychometrics.functions import Parameters, Scale, Shape, psychometric
from fechner.psychometrics.prior import Prior
from fechner.psychometrics.result import Curve, Fit, Goodness

__all__ = [
    "Crossing",
    "Curve",
    "Fit",
    "Goodness",
    "Parameters",
    "Prior",
    "Scale",
    "Shape",
    "find_crossing",
    "fit",
    "psychometric",
]
