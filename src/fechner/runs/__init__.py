"""Doing it: plan, execute, store, resume."""

from fechner.runs.preview import Preview, preview
from fechner.runs.rereading import Reread, reread
from fechner.runs.run import Result, Run
from fechner.runs.start import evaluate
from fechner.runs.trials import Spent

__all__ = ["Preview", "Reread", "Result", "Run", "Spent", "evaluate", "preview", "reread"]
