"""fechner: psychophysics for machine vision.

Show an artificial observer the stimuli that people were shown, ask it the questions that people
were asked, and see how close its answers come.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fechner import human, physiology, psychometrics, stimuli
    from fechner.errors import FechnerError
    from fechner.observers import Wants, observe
    from fechner.runs import Run, evaluate

__version__ = "0.1.0"

__all__ = [
    "FechnerError",
    "Run",
    "Wants",
    "evaluate",
    "human",
    "observe",
    "physiology",
    "psychometrics",
    "stimuli",
]

# Loaded when first used: `import fechner` and the command line answer at once.
_HOMES = {
    "FechnerError": "fechner.errors",
    "Run": "fechner.runs",
    "Wants": "fechner.observers",
    "evaluate": "fechner.runs",
    "observe": "fechner.observers",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in ("human", "physiology", "psychometrics", "stimuli"):
        return importlib.import_module(f"fechner.{name}")
    raise AttributeError(f"module 'fechner' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
