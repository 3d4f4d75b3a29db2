"""The stimuli of a test as one picture for a page, with where each stands on the axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fechner.experiments import Experiment
from fechner.report.html import as_uri
from fechner.report.tiles import cycle_of, painted, view_of

#: Faster than this, a screen of 60 Hz shows another flicker; it is then played at a whole part of
#: its rate, with at least four frames of the screen to a cycle.
_FASTEST_HZ, _SLOWED_HZ = 30.0, 15.0


@dataclass(frozen=True)
class Shown:
    """A sample: its tile, and where it flickers, the tiles of a cycle.

    Parameters
    ----------
    still
        Number of its tile at the moment of its largest contrast.
    hz
        Cycles per second; 0 for what is steady.
    """

    still: int
    cycle: list[int]
    hz: float = 0.0

    @property
    def slower(self) -> int:
        """How many times slower than it is it must be played for a screen to show it.

        Examples
        --------
        >>> Shown(0, [0, 1], 8.0).slower, Shown(0, [0, 1], 50.0).slower
        (1, 4)
        """
        return math.ceil(self.hz / _SLOWED_HZ) if self.hz > _FASTEST_HZ else 1


@dataclass(frozen=True)
class Sprite:
    """Pictures of stimuli side by side.

    Parameters
    ----------
    uri
        The whole as a data URI, lossless: resampled or compressed patterns are other patterns.
    across, down
        How many tiles there are, numbered row by row.
    columns, rows
        Labels of what varies from left to right and from top to bottom.
    at
        Abscissae of every row, None for a sample that stands beside the axis.
    fps
        Moments of a stimulus per second that observers are shown.
    note
        What tiles show of the field, where that is not all of it.
    """

    uri: str
    width_px: int
    height_px: int
    across: int
    down: int
    columns: list[str]
    rows: list[str]
    at: list[list[float | None]]
    samples: list[list[Shown]]
    fps: float
    note: str = ""

    @property
    def plays(self) -> bool:
        """Whether anything moves."""
        return any(len(shown.cycle) > 1 for row in self.samples for shown in row)

    @property
    def fastest_hz(self) -> float:
        """The fastest flicker that is played."""
        return max(shown.hz / shown.slower for row in self.samples for shown in row)

    @property
    def slowed(self) -> list[tuple[float, float]]:
        """Rates that a usual screen cannot show, and at which each is played."""
        every = {shown.hz: shown.slower for row in self.samples for shown in row}
        return [(hz, hz / slower) for hz, slower in sorted(every.items()) if slower > 1]

    @property
    def icons(self) -> list[list[str]]:
        """Where the samples of every row are."""
        return [[self.place(shown.still) for shown in row] for row in self.samples]

    def place(self, tile: int) -> str:
        """Return where a tile is, as CSS has it."""
        row, column = divmod(tile, self.across)
        x, y = column / max(1, self.across - 1), row / max(1, self.down - 1)
        return f"{100 * x:.5g}% {100 * y:.5g}%"


def sprite(experiment: Experiment) -> Sprite:
    """Paint the stimuli that a test shows to people; what looks the same is painted once."""
    field, samples = experiment.scene.field, experiment.samples()
    view = view_of(experiment)
    cycles = [[cycle_of(sample.stimulus, field) for sample in row] for row in samples]
    stills = (still for row in cycles for cycle in row for still in cycle.stills)
    numbers = {still: number for number, still in enumerate(dict.fromkeys(stills))}
    tiles = painted(list(numbers), experiment, view)
    across = max(min(len(samples[0]), len(tiles)), math.ceil(math.sqrt(len(tiles))))
    down = math.ceil(len(tiles) / across)
    # Tiles side by side, row by row, up to the end of the last row.
    whole = np.concatenate([tiles, np.repeat(tiles[:1], down * across - len(tiles), axis=0)])
    sheet = np.concatenate([np.concatenate(list(row), axis=1) for row in np.split(whole, down)])
    shown = [
        [
            Shown(numbers[cycle.stills[cycle.peak]], [numbers[s] for s in cycle.stills], cycle.hz)
            for cycle in row
        ]
        for row in cycles
    ]
    return Sprite(
        # More effort takes longer and saves nothing: most of it is noise.
        as_uri(sheet, "WEBP", lossless=True, method=2, quality=0),
        view.width_px,
        view.height_px,
        across,
        down,
        [sample.x for sample in samples[0]],
        [row[0].y for row in samples],
        [[None if math.isnan(sample.at) else sample.at for sample in row] for row in samples],
        shown,
        1 / field.times_s[1] if field.is_video else field.fps,
        view.note,
    )
