"""Your own program as a metric: ``cmd:./mymetric {test} {reference}``.

It is run once for each pair, with the two pictures or videos as files, and prints its score.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fechner.arrays import Tensor, torch
from fechner.errors import FechnerError, ObserverError
from fechner.observers.abilities import Wants
from fechner.observers.metrics.files import Kind, check_kind, describe_kind, write_file
from fechner.observers.metrics.metric import About, Metric
from fechner.observers.weights import hash_file
from fechner.stimuli import Clips, Display, Field, Frames, Light

#: A number as programs print it; no part of a word or a version, but a unit may follow.
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|inf(?:inity)?\b|nan\b)", re.IGNORECASE
)

#: Of a program's output, so many lines are shown when there is no score in it.
_LINES_SHOWN = 3


class Command(Metric):
    """A program as a metric.

    Parameters
    ----------
    name
        The command line; see `Program`.
    files
        ``auto`` is Y4M for videos and PNG for pictures, or OpenEXR for both if light is cd/m2.
    bits
        How many bits PNG and Y4M have.
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

    def __init__(
        self,
        name: str,
        device: str = "cpu",
        files: Literal["auto", "png", "y4m", "exr"] = "auto",
        bits: int = 16,
        light: Light = "display",
        read: str = "last-number",
        higher_is_better: bool = False,
        best: float | None = None,
        colour: bool = True,
        video: bool = False,
        timeout: float = 600.0,
    ) -> None:
        self._program = Program.of(name, read, timeout)
        kinds: tuple[Kind, ...]
        if files == "auto":
            kinds = ("exr", "exr") if light == "cdm2" else ("png", "y4m")
        else:
            kinds = (files, files)
        kinds = kinds if video else kinds[:1]
        for kind in kinds:
            check_kind(kind, bits, light)
        self._kinds, self._bits = kinds, bits
        if best is None:
            best = math.inf if higher_is_better else 0.0
        wants = Wants(light=light, dtype="float64", colour=colour, video=video)
        about = About(
            "other",
            wants,
            best=best,
            scores=(-math.inf, best) if higher_is_better else (best, math.inf),
            higher_is_better=higher_is_better,
            precision="files round more than floating point does",
            fed=" or ".join(describe_kind(kind, bits) for kind in dict.fromkeys(kinds)),
        )
        super().__init__(
            f"cmd:{name}",
            about,
            self._pictures,
            watch=self._videos if video else None,
            fingerprint=f"cmd/1 {name} {self._program.hashes()} {kinds} {bits} {wants} {read} "
            f"{best:g} {higher_is_better}",
        )

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
        kind = self._kinds[-1 if isinstance(tests[0], Clips) else 0]
        with tempfile.TemporaryDirectory(prefix="fechner-") as folder:
            written: object = None
            for row, test in enumerate(tests):
                reference = references[row] if len(references) > 1 else references[0]
                same = written is reference or (isinstance(written, Clips) and written == reference)
                for name, shown in (("reference", reference), ("test", test))[same:]:
                    values[name] = write_file(Path(folder, name), kind, self._bits, shown)
                written = reference
                scores.append(self._program.run(values))
        difference: Tensor = self.about.difference(torch.tensor(scores, dtype=torch.float64))
        return difference


@dataclass(frozen=True)
class Program:
    """A command line, and where its score is.

    Words in braces are put in when it is run.

    Parameters
    ----------
    read
        ``last-number``; ``json:KEY``, with dots between the keys of a path; or a regular
        expression, whose last match, or the first group of it, is the score.
    timeout_s
        After so long it is ended, with all it has started.
    """

    words: tuple[str, ...]
    read: str = "last-number"
    timeout_s: float = 600.0

    @classmethod
    def of(cls, line: str, read: str = "last-number", timeout_s: float = 600.0) -> Program:
        """Split a line into words as a shell would, and check what can be checked beforehand.

        Examples
        --------
        >>> Program.of("sh -c 'echo 0.5' {test} {reference}").words
        ('sh', '-c', 'echo 0.5', '{test}', '{reference}')
        """
        try:
            words = tuple(shlex.split(line))
        except ValueError as error:
            raise ObserverError(f"'cmd:{line}' cannot be split into words: {error}.") from None
        for needed in ("{test}", "{reference}"):
            if not any(needed in word for word in words[1:]):
                raise ObserverError(
                    f"'cmd:{line}' does not say where {needed} goes: write the program, then "
                    "{test} and {reference}, which become the names of two files."
                )
        if not timeout_s > 0:
            raise FechnerError(f"setting 'timeout' is a number of seconds, not {timeout_s:g}.")
        if not read.startswith("json:"):
            try:
                re.compile(read)
            except re.error as error:
                raise FechnerError(
                    f"setting 'read' is last-number, json:KEY or a regular expression; '{read}' is "
                    f"none ({error})."
                ) from None
        program = cls(words, read, timeout_s)
        program.file()
        return program

    def file(self) -> Path:
        """Return the file that is run, or say why there is none."""
        name = self.words[0]
        found = shutil.which(name)
        if found is not None:
            return Path(found)
        if Path(name).is_file():
            raise ObserverError(
                f"program '{name}' cannot be run as it is: make it executable (chmod +x) and write "
                f"./{name}, or name what runs it, as in `python {name}`."
            )
        raise ObserverError(f"there is no program '{name}' on the path or in {Path.cwd()}.")

    def hashes(self) -> str:
        """Return sha256 of the program and of all files among its arguments."""
        named = (part for word in self.words[1:] for part in {word, word.partition("=")[2]})
        files = [self.file(), *(Path(part) for part in sorted(named) if part)]
        return " ".join(hash_file(file) for file in files if file.is_file())

    def run(self, values: Mapping[str, object]) -> float:
        """Run it with words in braces put in, and return its score.

        No shell is involved, it is given no input, and it inherits no open files. Braces around
        other words are left as they are.
        """
        braces = re.compile(rf"\{{({'|'.join(map(re.escape, values))})\}}")
        words = [braces.sub(lambda found: str(values[found[1]]), word) for word in self.words]
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # so that whatever it starts can be ended with it
            )
        except OSError as error:
            raise ObserverError(
                f"program '{words[0]}' could not be started: {error.strerror}."
            ) from None
        try:
            output, errors = process.communicate(timeout=self.timeout_s)
        except subprocess.TimeoutExpired:
            raise ObserverError(
                f"program '{words[0]}' was not done after {self.timeout_s:g} s; allow it more with "
                "the setting timeout=SECONDS."
            ) from None
        finally:
            if process.returncode is None:  # end it, with all it has started
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode:
            last = (errors.strip() or output.strip() or "it said nothing").splitlines()[-1]
            raise ObserverError(
                f"program '{words[0]}' ended with status {process.returncode}: {_short(last)}"
            )
        return self.score(output)

    def score(self, output: str) -> float:
        r"""Return the score in what was printed.

        Examples
        --------
        >>> Program((), "last-number").score("metric v0.6.1, 2 files\nquality: 41.2dB")
        41.2
        >>> Program((), "json:pooled.mean").score('{"pooled": {"mean": 0.25}}')
        0.25
        >>> Program((), r"mean=(\S+)").score("mean=3 max=7")
        3.0
        """
        if self.read.startswith("json:"):
            what, found = f"'{self.read[5:]}' in JSON", _in_json(output, self.read[5:])
        elif self.read == "last-number":
            what, found = "number", next(iter(reversed(_NUMBER.findall(output))), None)
        else:
            matches = list(re.finditer(self.read, output, re.MULTILINE))
            what = f"match of '{self.read}'"
            found = matches[-1][1 if matches[-1].re.groups else 0] if matches else None
        try:
            return float(found)
        except (TypeError, ValueError):
            nothing = "no" if found is None else f"'{_short(str(found))}', not a number, as the"
            lines = [line for line in output.splitlines() if line.strip()][:_LINES_SHOWN]
            began = f"; it began: {_short(' / '.join(lines))}" if lines else "; it printed nothing"
            name = self.words[0] if self.words else ""
            raise ObserverError(f"program '{name}' printed {nothing} {what}{began}") from None


def _in_json(output: str, path: str) -> Any:
    """Return what stands at a path in the last JSON that has it; JSON begins at a line's start."""
    output = output.strip()
    for begin in reversed(list(re.finditer(r"^[{\[]", output, re.MULTILINE))):
        with contextlib.suppress(ValueError, KeyError, IndexError, TypeError):
            found, _ = json.JSONDecoder().raw_decode(output, begin.start())
            for key in path.split("."):
                found = found[int(key)] if isinstance(found, list) else found[key]
            return found
    return None


def _short(text: str, most: int = 300) -> str:
    return text if len(text) <= most else text[:most] + "..."
