"""Import torchvision beside a CPU-only torch.

The wheel on PyPI is built against CUDA; next to a CPU build of torch it cannot register two
operators and refuses to import. Declaring their schemas is enough for everything that does not call
them (they belong to box detection).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from fechner.arrays import torch

_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_library: Any = None


def import_torchvision() -> None:
    """Import torchvision, declaring the missing operators only when the plain import fails."""
    mend_torchvision()
    importlib.import_module("torchvision")


def mend_torchvision() -> None:
    """Let torchvision be imported from now on, by anyone; it is not imported here."""
    if _MENDER not in sys.meta_path:
        sys.meta_path.insert(0, _MENDER)


class _Mender(MetaPathFinder):
    """Finds torchvision where it is, and runs it so that a failure is mended."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != "torchvision":
            return None
        found = PathFinder.find_spec(fullname, path, target)
        if found is not None and found.loader is not None:
            loader: Any = found.loader
            loader.exec_module = partial(_run, loader.exec_module)
        return found


_MENDER = _Mender()


def _run(run: Callable[[Any], None], module: Any) -> None:
    try:
        run(module)
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
        for name in [name for name in sys.modules if name.startswith("torchvision.")]:
            vars(module).pop(name.removeprefix("torchvision."), None)
            del sys.modules[name]
        _declare()
        run(module)


def _declare() -> None:
    """Declare the missing operators."""
    global _library  # a torch Library takes its schemas away when it is collected
    library: Any = torch.library.Library  # torch leaves it untyped
    _library = library("torchvision", "FRAGMENT")
    for operator in ("nms", "qnms"):
        _library.define(operator + _SCHEMA)
