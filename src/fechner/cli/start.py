"""Starting quickly."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quick_imports() -> Iterator[None]:
    """Import large libraries without looking for garbage among what they create.

    What they create stays for good, so it is also kept out of every later collection, the one at
    exit included. Saves about half a second of CPU time per command.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
