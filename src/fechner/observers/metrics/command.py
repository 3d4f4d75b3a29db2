"""Your own program as a metric: ``cmd:./mymetric {test} {reference}``.

It is run once for each pair, with the two pictures or videos as files, and prints its score.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fechner.errors import FechnerError
from fechner.observers.abilities import Wants
from fechner.observers.metrics.files import (
    Levels,
    check_bits,
    step_contrast,
    write_exr,
    write_png,
    write_y4m,
    write_yuv,
)
from fechner.observers.metrics.metric import About, Metric
from fechner.observers.metrics.program import Program
from fechner.stimuli import Clips, Display, Field, Frames, Light

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["png", "y4m", "yuv", "exr"]


@dataclass(frozen=True)
class FileKinds:
    """Which files pictures and videos become.

    Videos as PNG or OpenEXR are folders of numbered frames, pictures as Y4M or raw Y'CbCr videos of
    one frame.
    """

    picture: Kind
    video: Kind
    bits: int
    levels: Levels

    def check(self, light: Light, video: bool) -> None:
        """Say what does not go together."""
        for kind in {self.picture, self.video} if video else {self.picture}:
            if light == "cdm2" and kind != "exr":
                raise FechnerError(
                    f"{kind} files hold display-encoded values only; for light in cd/m2 set "
                    "files=exr."
                )
            check_bits(kind, self.bits)

    def described(self, video: bool) -> str:
        """Return what a program is fed with, with the contrast of one step."""
        kinds = dict.fromkeys((self.picture, self.video) if video else (self.picture,))
        return " or ".join(map(self._described, kinds))

    def _described(self, kind: Kind) -> str:
        if kind == "exr":
            return "OpenEXR files of 32-bit floating point"
        levels: Levels = "full" if kind == "png" else self.levels
        step = step_contrast(self.bits, levels)
        what = "PNG files" if kind == "png" else f"{kind.upper()} files of {levels} levels"
        return f"{self.bits}-bit {what} (one step at mid grey is a contrast of {step:.1e})"

    def write(self, stem: Path, thing: Tensor | Clips) -> Path:
        """Write a picture, [3, h, w], or the one video of clips, and return the file or folder."""
        if not isinstance(thing, Clips):
            return self._write(stem, self.picture, [thing], 1.0)
        frames = (frame.pixels[0] for frame in thing)
        if self.video in ("y4m", "yuv"):
            return self._write(stem, self.video, frames, thing.field.fps)
        stem.mkdir(exist_ok=True)
        for number, frame in enumerate(frames):
            self._write(stem / f"{number:05d}", self.video, [frame], 1.0)
        return stem

    def _write(self, stem: Path, kind: Kind, frames: Iterable[Tensor], fps: float) -> Path:
        """Write one file; PNG and OpenEXR have one frame."""
        path = stem.with_suffix(f".{kind}")
        if kind == "y4m":
            write_y4m(path, frames, fps, self.bits, self.levels)
        elif kind == "yuv":
            write_yuv(path, frames, self.bits, self.levels)
        else:
            (picture,) = frames
            write_png(path, picture, self.bits) if kind == "png" else write_exr(path, picture)
        return path


class Command(Metric):
    """A metric that asks a program.

    Parameters
    ----------
    line
        What was typed, for people.
    """

    def __init__(
        self, line: str, program: Program, files: FileKinds, about: About, fingerprint: str
    ) -> None:
        super().__init__(
            f"cmd:{line}",
            about,
            self._pictures,
            watch=self._videos if about.wants.video else None,
            fingerprint=fingerprint,
        )
        self._program = program
        self._files = files

    def _pictures(self, test: Tensor, reference: Tensor, frames: Frames) -> Tensor:
        return self._pairs(list(test), list(reference), frames.field, frames.display)

    def _videos(self, test: Clips, reference: Clips) -> Tensor:
        tests, references = ([c.rows([i]) for i in range(len(c))] for c in (test, reference))
        return self._pairs(tests, references, test.field, test.display)

    def _pairs(
        self,
        tests: Sequence[Tensor | Clips],
        references: Sequence[Tensor | Clips],
        field: Field,
        display: Display,
    ) -> Tensor:
        """Run the program on each pair; a reference that serves several is written once."""
        import torch

        scores = []
        values: dict[str, object] = {
            "width": field.width_px,
            "height": field.height_px,
            "frames": field.frames,
            "fps": f"{field.fps:g}",
            "ppd": f"{field.ppd:.10g}",
            "peak": f"{display.peak_cdm2:g}",
            "black": f"{display.black_cdm2:g}",
        }
        with tempfile.TemporaryDirectory(prefix="fechner-") as folder:
            written: object = None
            for row, test in enumerate(tests):
                reference = references[row] if len(references) > 1 else references[0]
                if written is not reference and not _same_video(written, reference):
                    values["reference"] = self._files.write(Path(folder, "reference"), reference)
                    written = reference
                values["test"] = self._files.write(Path(folder, "test"), test)
                scores.append(self._program.run(values))
        difference: Tensor = self.about.difference(torch.tensor(scores, dtype=torch.float64))
        return difference


def _same_video(a: object, b: object) -> bool:
    return isinstance(a, Clips) and isinstance(b, Clips) and a == b


def load(
    name: str,
    device: str = "cpu",
    files: Literal["auto", "png", "y4m", "yuv", "exr"] = "auto",
    bits: int = 16,
    levels: Levels = "limited",
    light: Light = "display",
    read: str = "last-number",
    higher_is_better: bool = False,
    best: float | None = None,
    colour: bool = True,
    video: bool = False,
    timeout: float = 600.0,
) -> Command:
    """Return a program as a metric.

    Parameters
    ----------
    name
        The command line; see `Program`.
    files
        ``auto`` is Y4M for videos and PNG for pictures, or OpenEXR for both if light is cd/m2.
    bits, levels
        How many bits all but OpenEXR have, and where black and white are in Y4M and YUV.
    light
        Whether files hold display-encoded values or linear RGB in cd/m2.
    read, timeout
        Where the score is in what the program prints, and seconds to wait for it; see `Program`.
    higher_is_better, best
        What a score means: by default it is a difference, 0 for the same. ``best`` is the score of
        a picture compared with itself.
    colour, video
        Whether the program sees colour, and takes videos beside pictures.
    """
    program = Program.of(name, read, timeout)
    if files == "auto":
        kinds = FileKinds("png", "y4m", bits, levels)
        if light == "cdm2":
            kinds = FileKinds("exr", "exr", bits, levels)
    else:
        kinds = FileKinds(files, files, bits, levels)
    kinds.check(light, video)
    if best is None:
        best = float("inf") if higher_is_better else 0.0
    about = About(
        "other",
        Wants(light=light, dtype="float64", colour=colour, video=video),
        best=best,
        scores=(float("-inf"), best) if higher_is_better else (best, float("inf")),
        higher_is_better=higher_is_better,
        precision="files round more than floating point does",
        fed=kinds.described(video),
    )
    fingerprint = f"cmd/1 {name} {program.hashes()} {kinds} {about.wants} {read} {about.best:g}"
    return Command(name, program, kinds, about, f"{fingerprint} {higher_is_better}")
