"""Doing it: plan, execute, store, resume."""

from fechner.runs.preview import Preview, preview
from fechner.runs.run import Result, Run
from fechner.runs.start import evaluate

__all__ = ["Preview", "Result", "Run", "evaluate", "preview"]
