"""Scripts of folder benchmarks, for tests of the numbers that they print."""

import importlib.util
from pathlib import Path
from types import ModuleType


def script(name: str) -> ModuleType:
    """Load a script without running it."""
    file = Path(__file__).parents[1] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_script", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
