"""Processes of tests that never outlive them, and so are never waited for, whatever goes wrong."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

#: The command line. What a shell starts in the background ignores Ctrl-C, with all that it starts
#: itself: this listens, however tests were started.
FECHNER = (
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from fechner.cli.app import main; main()",
)


@contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process, killed at the end if it still runs; options are those of `subprocess.Popen`."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()
