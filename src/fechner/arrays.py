"""Array libraries, imported when they are first used, and the types of arrays.

Commands that need no torch start in a fraction of the time that importing it takes. Type checkers
read ``arrays.pyi``.
"""

import importlib
from typing import Any

#: What annotations call arrays.
Tensor = Floats = Flags = Any


class _Library:
    """Stands for a module until something of it is asked for, then has all that the module has."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, attribute: str) -> Any:
        module = importlib.import_module(self.__name__)
        self.__dict__ = module.__dict__
        return getattr(module, attribute)


torch, xr, pd = _Library("torch"), _Library("xarray"), _Library("pandas")
