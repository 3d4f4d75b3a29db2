"""Which questions: published protocols as plain lists of tests."""

from fechner.suites.base import Suite, Test
from fechner.suites.catalogue import suite, suites
from fechner.suites.options import DisplayOptions, Mode, Options, option
from fechner.suites.prompts import Prompts, published_prompts, read_prompts
from fechner.suites.published import PRESETS, expand, preset, published_scores

__all__ = [
    "PRESETS",
    "DisplayOptions",
    "Mode",
    "Options",
    "Prompts",
    "Suite",
    "Test",
    "expand",
    "option",
    "preset",
    "published_prompts",
    "published_scores",
    "read_prompts",
    "suite",
    "suites",
]
