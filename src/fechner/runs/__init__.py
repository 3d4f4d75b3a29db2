"""Doing it: plan, execute, store, resume."""

from fechner.runs.run import Result, Run
from fechner.runs.start import evaluate

__all__ = ["Result", "Run", "evaluate"]
