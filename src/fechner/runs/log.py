"""What models print, log or warn: it goes to the log of a run, not to people."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from fechner.errors import FechnerError, ObserverError

FILE = "log.txt"


class Lines:
    """A stream that logs complete lines, and counts them."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._begun = ""
        self.lines = 0

    def write(self, text: str) -> int:
        """Log the lines that are complete."""
        *lines, self._begun = (self._begun + text).split("\n")
        self.lines += len(lines)
        for line in lines:
            self._logger.warning("%s", line)
        return len(text)

    def flush(self) -> None:
        """Wait for the end of the line."""


@contextmanager
def logged(handler: logging.Handler, observer: str) -> Iterator[Lines]:
    """Send whatever an observer prints, logs or warns to a handler, which is closed after."""
    handler.setFormatter(logging.Formatter(f"{observer.replace('%', '%%')}: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    printed = Lines(logging.getLogger("stdout"))
    try:
        with redirect_stdout(printed), warnings.catch_warnings():
            logging.captureWarnings(True)
            yield printed
    finally:
        logging.captureWarnings(False)
        root.removeHandler(handler)
        handler.close()


def log_of(folder: Path) -> logging.Handler:
    """Return what writes into the log of a run folder; there is a file once there is a line."""
    return logging.FileHandler(folder / FILE, encoding="utf-8", delay=True)


def add_to_log(folder: Path, text: str) -> None:
    """Write down what was logged in another process."""
    if text:
        with (folder / FILE).open("a", encoding="utf-8") as file:
            file.write(text)


@contextmanager
def in_words(name: str, what: str) -> Iterator[None]:
    """Turn whatever an observer's own code does into one sentence: the other observers go on."""
    try:
        yield
    except FechnerError:
        raise
    except (Exception, SystemExit) as error:
        logging.getLogger("fechner").error("%s", name, exc_info=error)
        why = f"{type(error).__name__}: {error}"
        raise ObserverError(f"{what}: {why} (see {FILE}).") from error
