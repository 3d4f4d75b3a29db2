"""Is an observer fit to be measured? A few pictures tell, before a run of thousands."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from fechner.errors import FechnerError, described
from fechner.observers.abilities import ANY_SIZE, Ability, Answers, Compares, Wants, abilities
from fechner.observers.complexity import Complexity, count
from fechner.observers.devices import free_memory, is_out_of_memory, peak_memory
from fechner.observers.functions import FunctionComparer
from fechner.observers.inputs import what_was_raised
from fechner.observers.lifts import LIFTS, ComparesFeatures, lift
from fechner.observers.network import NetworkEncoder
from fechner.observers.questions import ask_first
from fechner.observers.readouts import MAY_BE_UNDEFINED
from fechner.stimuli import (
    Clips,
    Field,
    Frames,
    Gabor,
    Grating,
    Layer,
    Pattern,
    Stimulus,
    display,
    paint,
)

if TYPE_CHECKING:
    from torch import Tensor

#: Contrasts of the Gabors that are shown, of 4 cycles per degree on grey of 100 cd/m2.
_CONTRASTS = (0.01, 0.05, 0.2, 0.8)
#: Height and width of a picture that is not square, as some tests show.
_WIDE = (150, 210)
_GREY = (95.05, 100.0, 108.88)
_GABOR = Gabor(4.0, sigma_deg=0.5)
#: Contrasts of square waves that are a small part of an 8-bit grey level apart: a response that
#: takes few values over them has steps.
_RAMP = tuple(0.01 + 0.0002 * step for step in range(6))
_PPD = 60.0
_VIDEO_FRAMES = 8

_HALF_PRECISION = "it computes in half precision, and differences near threshold need float32"

#: Deviations, relative to the largest answer, up to which they are rounding. Batches of other
#: sizes are summed in another order, which differences near threshold magnify.
_ROUNDING = 1e-4
_BATCH = 1e-3


@dataclass
class Validation:
    """What was seen, what must be known, and what makes a run useless.

    Parameters
    ----------
    facts
        Lines for people: what, and how much.
    problems
        Why it cannot be run.
    warnings
        What to keep in mind when reading its results.
    bytes_per_picture, seconds_per_picture
        What one more picture in a batch costs, its reference included.
    complexity
        Parameters and operations of a network; None for others.
    """

    observer: str
    facts: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    bytes_per_picture: int = 0
    seconds_per_picture: float = 0.0
    complexity: Complexity | None = None

    @property
    def verdict(self) -> str:
        """The outcome in plain words."""
        if self.problems:
            return f"{self.observer} cannot be run: {'; '.join(self.problems)}."
        if self.warnings:
            return f"{self.observer} can be run, but mind: {'; '.join(self.warnings)}."
        return f"{self.observer} is fit to run."


def validate(
    observer: Any,
    *,
    readouts: Sequence[str] = ("angle",),
    layers: Sequence[str] | None = None,
    device: str = "cpu",
    asks: Ability = "compares",
    at_a_time: int | None = None,
) -> Validation:
    """Show an observer a few Gabors and look at its answers.

    Parameters
    ----------
    asks
        What it is about to be asked. One that compares, by itself or lifted, is examined as a
        comparer, unless it is to answer and needs no lift for that.
    at_a_time
        The largest number of pictures it is ever shown at once; None for any.

    Examples
    --------
    >>> from fechner.observers import resolve
    >>> validate(resolve("pixels")).verdict
    'pixels is fit to run.'
    """
    import torch

    found = Validation(observer.name)
    if notice := getattr(observer, "notice", ""):
        found.facts["licence"] = notice
    try:
        with torch.no_grad():
            if _is_asked_in_words(observer, asks):
                answerer: Answers = lift(observer, "answers", readouts, layers)
                frames = _frames(answerer.wants, (0.0, _CONTRASTS[-1]), device)
                found.facts["input"] = _input(answerer, frames)
                ask_first(answerer, frames, found)
            else:
                _look_into(observer, found)
                comparer: Compares = lift(observer, "compares", readouts, layers)
                _Examination(comparer, found, device).run(at_a_time or len(_CONTRASTS))
    except FechnerError as error:
        found.problems.append(str(error).rstrip("."))
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error):
            gigabytes = free_memory(device) / 1e9
            found.problems.append(
                f"one picture needs more than the {gigabytes:.1f} GB of memory that are free; "
                "take a smaller size (@size=...), --dtype bfloat16 or another --device"
            )
        else:
            wants = observer.wants if _is_your_own(observer) else None
            found.problems.append(what_was_raised(error, wants))
    return found


def _is_asked_in_words(observer: Any, asks: Ability) -> bool:
    have = abilities(observer)
    compares = any(LIFTS[ability]["compares"].make is not None for ability in have)
    return "answers" in have and (asks == "answers" or not compares)


def _look_into(observer: Any, found: Validation) -> None:
    """Say what can be said of a network without asking it anything."""
    import torch

    if isinstance(observer, FunctionComparer) and observer.unsure:
        found.warnings.append(observer.unsure)
    if not isinstance(observer, NetworkEncoder):
        return
    found.complexity = count(observer)
    if found.complexity is not None:
        found.facts |= found.complexity.facts
    if observer.network.unsure:
        found.warnings.append(observer.network.unsure)
    if any(part.training for part in observer.module.modules()):
        found.warnings.append("parts of it are in training mode")
    if any(p.dtype in (torch.float16, torch.bfloat16) for p in observer.module.parameters()):
        found.warnings.append(_HALF_PRECISION)


@dataclass
class _Examination:
    """A comparer, what is found out about it, and the Gabors it is shown."""

    comparer: Compares
    found: Validation
    device: str

    def run(self, most: int) -> None:
        """Look at some pictures at once, or at half as many for as long as memory is not enough."""
        n = most = min(most, len(_CONTRASTS))
        while True:
            try:
                self.check(n)
                break
            except Exception as error:
                if n == 1 or not is_out_of_memory(error):
                    raise
                n //= 2
        if not self.found.problems:
            self.measure_cost(2 if most > 1 else 1)

    def frames(
        self,
        *contrasts: float,
        pattern: Pattern = _GABOR,
        size_px: tuple[int, int] | None = None,
    ) -> Frames:
        wants = replace(self.comparer.wants, size_px=size_px or self.comparer.wants.size_px)
        return _frames(wants, contrasts, self.device, pattern)

    def difference(self, tests: Frames | Clips, memory: Any, row: int = 0) -> Tensor:
        """Compare tests with one remembered reference; some observers write over what they see."""
        import torch

        if isinstance(tests, Frames):
            tests = replace(tests, pixels=tests.pixels.clone())
        which = torch.full((len(tests),), row, dtype=torch.long, device=self.device)
        return self.comparer.difference(tests, memory, which)

    def check(self, n: int) -> None:
        """Look at n pictures, and say what is odd about the answers."""
        import torch

        comparer, found = self.comparer, self.found
        tests, reference = self.frames(*_CONTRASTS[-n:]), self.frames(0.0)
        found.facts["input"] = _input(comparer, tests)
        if isinstance(comparer, ComparesFeatures):
            shapes: list[tuple[int, ...]] = []
            encoder = comparer.encoder
            taps = {encoder.layers[-1]: lambda a: shapes.append(tuple(a.shape[1:]))}
            encoder.features(reference, taps)
            found.facts["output"] = f"{' x '.join(map(str, shapes[0]))} for one picture"
        memory = comparer.remember(reference)
        answer = self.difference(tests, memory)
        shape = (n, len(comparer.layers), len(comparer.readouts))
        if tuple(answer.shape) != shape:
            found.problems.append(f"it answered with shape {tuple(answer.shape)}, not {shape}")
            return
        found.facts["layers"] = f"{len(comparer.layers)}: {', '.join(comparer.layers)}"
        found.facts["read-outs"] = ", ".join(comparer.readouts)
        may_be = torch.tensor([name in MAY_BE_UNDEFINED for name in comparer.readouts])
        undefined = answer.isnan() & may_be.to(self.device)
        if not (answer.isfinite() | undefined).all():
            found.problems.append("it answered NaN or infinity")
            return
        if undefined.any():
            where = [
                f"{comparer.readouts[j]} at {comparer.layers[i]}"
                for i, j in undefined.any(dim=0).nonzero().tolist()
            ]
            found.warnings.append(
                f"{', '.join(where)} is undefined against a uniform field, whose features are "
                "silent, constant or a single number; tests that compare with one are not scored: "
                "use --readout l2"
            )

        scale = answer.abs().amax(dim=0).clamp(min=torch.finfo(torch.float64).tiny)
        defined = ~undefined.any(dim=0)

        def largest(deviations: Tensor) -> float:
            return float(((deviations / scale)[:, defined]).abs().max()) if defined.any() else 0.0

        rows = [replace(tests, pixels=tests.pixels[i : i + 1]) for i in range(n)]
        itself = self.difference(reference, memory)
        if not itself[:, defined].isfinite().all():
            found.warnings.append("it answers NaN or infinity to a picture compared with itself")
        again = self.difference(tests, memory) - answer
        alone = torch.cat([self.difference(row, memory) for row in rows]) - answer
        for what, deviations, allowed, meaning in (
            (
                "a picture from itself",
                itself,
                _ROUNDING,
                "it sees a difference where there is none",
            ),
            ("two looks", again, 0.0, "it answers otherwise when asked again"),
            (f"batches of 1 and {n}", alone, _BATCH, "its answers depend on the batch"),
        ):
            worst = largest(deviations)
            size = f"{worst:.1e} of the largest answer" if math.isfinite(worst) else "not a number"
            found.facts[f"difference of {what}"] = size if worst else "none"
            if math.isfinite(worst) and worst > allowed:
                found.warnings.append(f"{meaning} ({size})")
        swapped = comparer.remember(replace(tests, pixels=tests.pixels.clone()))
        exchanged = torch.cat([self.difference(reference, swapped, row) for row in range(n)])
        if (worst := largest(exchanged - answer)) > _ROUNDING:
            found.warnings.append(
                "it is not symmetric: test and reference exchanged change its answer "
                f"({worst:.1e} of the largest answer)"
            )
        if n > 1 and (answer == answer[:1]).all():
            found.warnings.append("it answers the same to every contrast")
        elif n > 1 and (answer.diff(dim=0) < 0).all():
            found.warnings.append(
                "it answers less to more contrast: if a higher score means more alike, say so with "
                "fechner.observe(metric, higher_is_better=True), or the other way round"
            )
        elif largest(alone) <= _BATCH and _HALF_PRECISION not in found.warnings:
            self.look_for_steps(memory)
        self.look_at_another_size()
        self.look_at_video()
        found.facts["gradients"] = "kept" if answer.requires_grad else "off"
        if answer.requires_grad:
            found.warnings.append("it turns gradients on by itself, which costs memory")

    def look_for_steps(self, memory: Any) -> None:
        """Show square waves of slowly rising contrast: a response should rise with each."""
        import torch

        wave = Grating(2.0, wave="square")
        ramp = [self.frames(contrast, pattern=wave) for contrast in _RAMP]
        answers = torch.cat([self.difference(each, memory) for each in ramp]).flatten(1)
        columns = [column for column in answers.T if column.isfinite().all()]
        if any(len(column.unique()) <= len(_RAMP) // 2 for column in columns):
            self.found.warnings.append(
                f"its response has steps: contrasts from {_RAMP[0]:g} to {_RAMP[-1]:g} give it "
                "only a few different values, as if it rounded pictures to 8 bits; scores near "
                "threshold will suffer"
            )

    def look_at_another_size(self) -> None:
        """Show a wide picture to those that say they take any size."""
        if self.comparer.wants.size_px is not None:
            return
        height, width = _WIDE
        try:
            memory = self.comparer.remember(self.frames(0.0, size_px=_WIDE))
            self.difference(self.frames(_CONTRASTS[-1], size_px=_WIDE), memory)
        except (Exception, SystemExit) as error:
            if not is_out_of_memory(error):
                self.found.warnings.append(
                    f"it cannot be shown pictures of {width} x {height} px ({described(error)}); "
                    "if it takes one size only, say so with wants=fechner.Wants(size_px=(h, w))"
                )

    def look_at_video(self) -> None:
        """Show a short video to your own that say they take it; the others are known to."""
        import torch

        wants = self.comparer.wants
        if not wants.video or not _is_your_own(_who_looks(self.comparer)):
            return
        still = self.frames(0.0)
        video = replace(still.field, frames=_VIDEO_FRAMES)
        test, reference = (
            Clips(
                (_stimulus(contrast),),
                video,
                still.display,
                still.light,
                getattr(torch, wants.dtype),
                self.device,
            )
            for contrast in (_CONTRASTS[-1], 0.0)
        )
        try:
            answer = self.difference(test, self.comparer.remember(reference))
            self.found.facts["video"] = f"{_VIDEO_FRAMES} frames at {video.fps:g} per second"
            if not answer.isfinite().all():
                self.found.warnings.append("it answers NaN or infinity to a video")
        except (Exception, SystemExit) as error:
            if not is_out_of_memory(error):
                self.found.warnings.append(
                    f"it cannot be shown videos ({described(error)}); if it takes pictures only, "
                    "leave video=True out"
                )

    def measure_cost(self, most: int) -> None:
        """Measure time and memory of looking at one and at two pictures with their references."""
        import torch

        seconds = []

        def look(n: int) -> None:
            frames = self.frames(*_CONTRASTS[-n:])
            started = time.perf_counter()
            memory = self.comparer.remember(frames)
            self.comparer.difference(frames, memory, torch.arange(n, device=self.device))
            if self.device != "cpu":
                torch.ones(1, device=self.device).item()  # waits until everything is done
            seconds.append((time.perf_counter() - started) / (2 * n))

        one = peak_memory(partial(look, 1), self.device)
        try:
            two = peak_memory(partial(look, most), self.device)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            two = one + free_memory(self.device)  # so that a batch is one picture
        found = self.found
        found.bytes_per_picture = max(two - one, two // 2, 1)
        found.seconds_per_picture = statistics.median(seconds)
        found.facts["time per picture"] = f"{1e3 * found.seconds_per_picture:.3g} ms"
        found.facts["memory per picture"] = f"{found.bytes_per_picture / 1e6:.3g} MB"


def _frames(
    wants: Wants, contrasts: Sequence[float], device: str, pattern: Pattern = _GABOR
) -> Frames:
    import torch

    height, width = wants.size_px or ANY_SIZE
    return paint(
        [_stimulus(contrast, pattern) for contrast in contrasts],
        Field(width, height, _PPD),
        display("encoders"),
        light=wants.light,
        dtype=getattr(torch, wants.dtype),
        device=device,
    )


def _stimulus(contrast: float, pattern: Pattern = _GABOR) -> Stimulus:
    return Stimulus(_GREY, (Layer(pattern, _GREY, contrast),))


def _input(observer: Compares | Answers, frames: Frames) -> str:
    wants = observer.wants
    size = f"{frames.field.height_px} x {frames.field.width_px} px"
    if wants.size_px is None:
        size += " (any)"
    if wants.bits is not None:
        return f"{size}, {wants.bits} bits"
    if (wants.layout, wants.channels, wants.array) != ("nchw", 3, "torch"):
        size += f", {wants.in_words}"
    looks = _who_looks(observer)
    pixels = looks.prepared(frames) if hasattr(looks, "prepared") else frames.pixels
    kind = str(pixels.dtype).removeprefix("torch.")
    return f"{size}, {kind}, {float(pixels.min()):.3g} to {float(pixels.max()):.3g}"


def _who_looks(observer: Any) -> Any:
    return observer.encoder if isinstance(observer, ComparesFeatures) else observer


def _is_your_own(observer: Any) -> bool:
    """Whether it is for you to say what an observer wants."""
    return bool(getattr(observer, "is_your_own", False))
