"""From answers to thresholds."""

from fechner.psychometrics.crossings import Crossing, find_crossing

__all__ = ["Crossing", "find_crossing"]
