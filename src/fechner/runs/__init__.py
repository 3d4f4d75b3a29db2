"""Doing it: plan, execute, store, resume."""

from fechner.runs.start import evaluate
from fechner.runs.run import Result, Run

__all__ = ["Result", "Run", "evaluate"]
