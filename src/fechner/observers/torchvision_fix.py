"""Import torchvision beside a CPU-only torch.

The wheel on PyPI is built against CUDA; next to a CPU build of torch it cannot register two
operators and refuses to import. Declaring their schemas is enough for everything that does not call
them (they belong to box detection).
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_library: Any = None


def import_torchvision() -> None:
    """Import torchvision, declaring the missing operators only when the plain import fails."""
    global _library  # a torch Library takes its schemas away when it is collected
    try:
        importlib.import_module("torchvision")
        return
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
    import torch

    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]
    library: Any = torch.library.Library  # torch leaves it untyped
    _library = library("torchvision", "FRAGMENT")
    for operator in ("nms", "qnms"):
        _library.define(operator + _SCHEMA)
    importlib.import_module("torchvision")
