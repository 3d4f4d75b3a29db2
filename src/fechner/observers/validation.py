"""Is an observer fit to be measured? A few pictures tell, before a run of thousands."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from fechner.errors import FechnerError
from fechner.observers.abilities import (
    ANY_SIZE,
    Ability,
    Answers,
    Compares,
    Encodes,
    Wants,
    abilities,
)
from fechner.observers.answering.first_questions import ask_first
from fechner.observers.complexity import Complexity, count
from fechner.observers.lifts import LIFTS, ComparesFeatures, lift
from fechner.observers.memory import free_memory, is_out_of_memory, peak_memory
from fechner.observers.network import NetworkEncoder
from fechner.stimuli import Field, Frames, Gabor, Layer, Stimulus, display, paint

if TYPE_CHECKING:
    from torch import Tensor

#: Contrasts of the Gabors that are shown, of 4 cycles per degree on grey of 100 cd/m2.
_CONTRASTS = (0.01, 0.05, 0.2, 0.8)
#: Height and width of a picture that is not square, as some tests show.
_WIDE = (150, 210)
_GREY = (95.05, 100.0, 108.88)
_PPD = 60.0

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
                most = min(len(_CONTRASTS), at_a_time or len(_CONTRASTS))
                _fewer_if_too_many(lambda n: _check(comparer, found, device, n), most)
                if not found.problems:
                    _measure_cost(comparer, found, device, several=most > 1)
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
            found.problems.append(f"it raised {type(error).__name__}: {error}")
    return found


def _is_asked_in_words(observer: Any, asks: Ability) -> bool:
    have = abilities(observer)
    compares = any(LIFTS[ability]["compares"].make is not None for ability in have)
    return "answers" in have and (asks == "answers" or not compares)


def _look_into(observer: Any, found: Validation) -> None:
    """Say what can be said of a network without asking it anything."""
    if not isinstance(observer, NetworkEncoder):
        return
    import torch

    parameters = list(observer.module.parameters())
    found.complexity = count(observer)
    if found.complexity is not None:
        found.facts |= found.complexity.facts
    if observer.network.unsure:
        found.warnings.append(observer.network.unsure)
    if any(part.training for part in observer.module.modules()):
        found.warnings.append("parts of it are in training mode")
    if any(p.dtype in (torch.float16, torch.bfloat16) for p in parameters):
        found.warnings.append(
            "it computes in half precision, and differences near threshold need float32"
        )


def _fewer_if_too_many(look: Callable[[int], None], n: int) -> None:
    """Look at n pictures at once, or at half as many for as long as memory is not enough."""
    try:
        look(n)
    except Exception as error:
        if n == 1 or not is_out_of_memory(error):
            raise
        _fewer_if_too_many(look, n // 2)


def _check(comparer: Compares, found: Validation, device: str, n: int) -> None:
    import torch

    tests = _frames(comparer.wants, _CONTRASTS[-n:], device)
    reference = _frames(comparer.wants, (0.0,), device)
    found.facts["input"] = _input(comparer, tests)
    if isinstance(comparer, ComparesFeatures):
        found.facts["output"] = _output(comparer.encoder, reference)
    memory = comparer.remember(reference)
    same = torch.zeros(n, dtype=torch.long, device=device)

    answer = comparer.difference(_copy(tests), memory, same)
    shape = (n, len(comparer.layers), len(comparer.readouts))
    if tuple(answer.shape) != shape:
        found.problems.append(f"it answered with shape {tuple(answer.shape)}, not {shape}")
        return
    found.facts["layers"] = f"{len(comparer.layers)}: {', '.join(comparer.layers)}"
    found.facts["read-outs"] = ", ".join(comparer.readouts)
    if not torch.isfinite(answer).all():
        found.problems.append("it answered NaN or infinity")
        return

    scale = answer.abs().amax(dim=0).clamp(min=torch.finfo(torch.float64).tiny)
    itself = comparer.difference(_copy(reference), memory, same[:1])
    if not torch.isfinite(itself).all():
        found.warnings.append("it answers NaN or infinity to a picture compared with itself")
    again = comparer.difference(_copy(tests), memory, same)
    alone = torch.cat([comparer.difference(_rows(tests, i), memory, same[:1]) for i in range(n)])
    for what, deviations, allowed, meaning in (
        ("a picture from itself", itself, _ROUNDING, "it sees a difference where there is none"),
        ("two looks", again - answer, 0.0, "it answers otherwise when asked again"),
        (f"batches of 1 and {n}", alone - answer, _BATCH, "its answers depend on the batch"),
    ):
        worst = float((deviations.abs() / scale).max())
        size = f"{worst:.1e} of the largest answer" if math.isfinite(worst) else "not a number"
        found.facts[f"difference of {what}"] = size if worst else "none"
        if math.isfinite(worst) and worst > allowed:
            found.warnings.append(f"{meaning} ({size})")
    exchanged = float(((_exchanged(comparer, tests, reference) - answer).abs() / scale).max())
    if exchanged > _ROUNDING:
        found.warnings.append(
            "it is not symmetric: test and reference exchanged change its answer "
            f"({exchanged:.1e} of the largest answer)"
        )
    if n > 1 and (answer == answer[:1]).all():
        found.warnings.append("it answers the same to every contrast")
    elif n > 1 and (answer.diff(dim=0) < 0).all():
        found.warnings.append(
            "it answers less to more contrast: if a higher score means more alike, say so with "
            "fechner.observe(metric, higher_is_better=True), or the other way round"
        )
    _look_at_another_size(comparer, found, device)
    found.facts["gradients"] = "kept" if answer.requires_grad else "off"
    if answer.requires_grad:
        found.warnings.append("it turns gradients on by itself, which costs memory")


def _look_at_another_size(comparer: Compares, found: Validation, device: str) -> None:
    """Show a wide picture to those that say they take any size."""
    import torch

    if comparer.wants.size_px is not None:
        return
    height, width = _WIDE
    wide = replace(comparer.wants, size_px=_WIDE)
    try:
        memory = comparer.remember(_frames(wide, (0.0,), device))
        which = torch.zeros(1, dtype=torch.long, device=device)
        comparer.difference(_frames(wide, _CONTRASTS[-1:], device), memory, which)
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error):
            return
        why = f"{type(error).__name__}: {error}".rstrip(".")
        found.warnings.append(
            f"it cannot be shown pictures of {width} x {height} px ({why}); if it takes one size "
            "only, say so with wants=fechner.Wants(size_px=(h, w))"
        )


def _copy(frames: Frames) -> Frames:
    """Return frames of their own, since some observers write over what they are given."""
    return replace(frames, pixels=frames.pixels.clone())


def _exchanged(comparer: Compares, tests: Frames, reference: Frames) -> Tensor:
    """Return what is answered when the reference is shown as the test, and the other way round."""
    import torch

    memory = comparer.remember(_copy(tests))
    answers = [
        comparer.difference(
            _copy(reference), memory, torch.tensor([row], device=tests.pixels.device)
        )
        for row in range(len(tests))
    ]
    return torch.cat(answers)


def _measure_cost(comparer: Compares, found: Validation, device: str, several: bool) -> None:
    """Measure time and memory of looking at one and at two pictures with their references."""
    import torch

    seconds = []

    def look(n: int) -> None:
        frames = _frames(comparer.wants, _CONTRASTS[-n:], device)
        started = time.perf_counter()
        memory = comparer.remember(frames)
        comparer.difference(frames, memory, torch.arange(n, device=device))
        if device != "cpu":
            torch.ones(1, device=device).item()  # waits until everything is done
        seconds.append((time.perf_counter() - started) / (2 * n))

    one = two = peak_memory(partial(look, 1), device)
    try:
        two = peak_memory(partial(look, 2 if several else 1), device)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        two = one + free_memory(device)  # so that a batch is one picture
    found.bytes_per_picture = max(two - one, two // 2, 1)
    found.seconds_per_picture = statistics.median(seconds)
    found.facts["time per picture"] = f"{1e3 * found.seconds_per_picture:.3g} ms"
    found.facts["memory per picture"] = f"{found.bytes_per_picture / 1e6:.3g} MB"


def _frames(wants: Wants, contrasts: Sequence[float], device: str) -> Frames:
    import torch

    height, width = wants.size_px or ANY_SIZE
    gabor = Gabor(4.0, sigma_deg=0.5)
    stimuli = [Stimulus(_GREY, (Layer(gabor, _GREY, contrast),)) for contrast in contrasts]
    return paint(
        stimuli,
        Field(width, height, _PPD),
        display("encoders"),
        light=wants.light,
        dtype=getattr(torch, wants.dtype),
        device=device,
    )


def _rows(frames: Frames, row: int) -> Frames:
    return replace(frames, pixels=frames.pixels[row : row + 1].clone())


def _input(observer: Compares | Answers, frames: Frames) -> str:
    size = f"{frames.field.height_px} x {frames.field.width_px} px"
    if observer.wants.size_px is None:
        size += " (any)"
    pixels = frames.pixels
    if observer.wants.bits is not None:
        return f"{size}, {observer.wants.bits} bits"
    if isinstance(observer, ComparesFeatures) and isinstance(observer.encoder, NetworkEncoder):
        pixels = observer.encoder.prepared(pixels)
    kind = str(pixels.dtype).removeprefix("torch.")
    return f"{size}, {kind}, {float(pixels.min()):.3g} to {float(pixels.max()):.3g}"


def _output(encoder: Encodes, frames: Frames) -> str:
    shapes: list[tuple[int, ...]] = []
    encoder.features(frames, {encoder.layers[-1]: lambda a: shapes.append(tuple(a.shape[1:]))})
    return f"{' x '.join(map(str, shapes[0]))} for one picture"
