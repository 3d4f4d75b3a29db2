"""Telling people how far a run is."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Self, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
    track,
)
from rich.text import Text

Item = TypeVar("Item")


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        rate = task.finished_speed or task.speed
        return Text(f"{rate:,.0f} pictures/s" if rate else "", style="progress.data.speed")


class Bar:
    """A progress bar on stderr with rate and time left; off a terminal, a line per test.

    Parameters
    ----------
    visible
        Whether to show it; what people should know is printed in any case.

    Attributes
    ----------
    told
        What it has printed.
    """

    def __init__(self, visible: bool = True) -> None:
        self.told: list[str] = []
        # Looked up now, so that a redirected stdout or stderr is respected.
        self._console = Console(file=sys.stderr, emoji=False)
        self._lines = visible and not self._console.is_terminal
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not (visible and self._console.is_terminal),
        )
        self._task = self._progress.add_task("", total=None)
        self._last = ""

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def start(self, images: int) -> None:
        """Set the length of the bar: how many pictures there are to show."""
        self._progress.update(self._task, total=images)

    def doing(self, what: str) -> None:
        """Name on the bar what goes before measuring."""
        self._progress.update(self._task, description=what)

    def piece(self, observer: str, test: str) -> None:
        """Name what is measured now."""
        now = f"{observer}  {test}"
        self.doing(now)
        if self._lines and now != self._last:
            done = self._progress.tasks[self._task].percentage
            self.say(f"{now}  ({done:.0f} % done)")
        self._last = now

    def images(self, n: int) -> None:
        """Move the bar by n pictures."""
        self._progress.advance(self._task, n)

    def say(self, message: str) -> None:
        """Print above the bar something that people should know."""
        self.told.append(message)
        self._console.print(message, markup=False, highlight=False, soft_wrap=True)


def followed(items: Sequence[Item], what: str, progress: bool = True) -> Iterable[Item]:
    """Go through items, with a progress bar on stderr if it is wanted; off a terminal without."""
    console = Console(file=sys.stderr)
    hidden = not (progress and console.is_terminal)
    return track(items, what, console=console, transient=True, disable=hidden)
