"""Processes of tests that never outlive them, and so are never waited for, whatever goes wrong."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process, killed at the end if it still runs; options are those of `subprocess.Popen`."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()
