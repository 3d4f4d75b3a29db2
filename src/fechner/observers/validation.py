"""Is an observer fit to be measured? A few pictures tell, before a run of thousands."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from fechner import stimuli
from fechner.arrays import Tensor, torch
from fechner.errors import FechnerError, described
from fechner.observers.abilities import ANY_SIZE, Ability, Answers, Compares, Wants, abilities
from fechner.observers.complexity import Complexity, count
from fechner.observers.conversions import LIFTS, ComparesFeatures, lift
from fechner.observers.devices import free_memory, is_out_of_memory, peak_memory
from fechner.observers.inputs import what_was_raised
from fechner.observers.network import NetworkEncoder
from fechner.observers.questions import Prompt, Question, Reads
from fechner.observers.readouts import MAY_BE_UNDEFINED
from fechner.stimuli import Clips, Frames, Pattern, Stimulus

#: Contrasts of the Gabors that are shown, of 4 cycles per degree on grey of 100 cd/m2.
_CONTRASTS = (0.01, 0.05, 0.2, 0.8)
#: Height and width of a picture that is not square, as some tests show.
_WIDE = (150, 210)
_GREY = (95.05, 100.0, 108.88)
_GABOR = stimuli.Gabor(4.0, sigma_deg=0.5)
#: Contrasts of square waves that are a small part of an 8-bit grey level apart: a response that
#: takes few values over them has steps.
_RAMP = tuple(0.01 + 0.0002 * step for step in range(6))
_SQUARE_WAVE = stimuli.Grating(2.0, wave="square")
_PPD = 60.0
_VIDEO_FRAMES = 8

_HALF_PRECISION = "it computes in half precision, and differences near threshold need float32"

#: Deviations, relative to the largest answer, up to which they are rounding. Batches of other
#: sizes are summed in another order, which differences near threshold magnify.
_ROUNDING = 1e-4
_BATCH = 1e-3


#: What is asked first, by what an observer makes of words.
_FIRST: dict[Reads, Prompt] = {
    "questions": Prompt("Is there a pattern in the image? Respond just yes or no"),
    "labels": Prompt("", ("a picture of a striped pattern", "a plain grey picture")),
    "nothing": Prompt(""),
}
_LONGEST_REPLY = 60
#: Below this, words other than the options are likelier than them.
_LOW_MASS = 0.5


@dataclass
class Validation:
    """What was seen, what must be known, and what makes a run useless.

    ``bytes_per_picture`` and ``seconds_per_picture`` are what one more picture in a batch costs,
    its reference included; ``complexity`` is that of a network, None for others.
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
    found = Validation(observer.name)
    if notice := getattr(observer, "notice", ""):
        found.facts["licence"] = notice
    have = abilities(observer)
    can_compare = any(LIFTS[ability]["compares"].make is not None for ability in have)
    most = n = min(at_a_time or len(_CONTRASTS), len(_CONTRASTS))
    try:
        with torch.no_grad():
            if "answers" in have and (asks == "answers" or not can_compare):
                _ask_first(lift(observer, "answers", readouts, layers), found, device)
                return found
            _look_into(observer, found)
            comparer: Compares = lift(observer, "compares", readouts, layers)
            while True:  # with half as many pictures for as long as memory is not enough
                try:
                    is_graded = _compare(comparer, found, device, n)
                    break
                except Exception as error:
                    if n == 1 or not is_out_of_memory(error):
                        raise
                    n //= 2
            if not found.problems:
                if is_graded:
                    _look_for_steps(comparer, found, device)
                _look_at_other_inputs(comparer, found, device)
                _measure_cost(comparer, found, device, min(most, 2))
    except FechnerError as error:
        found.problems.append(str(error).rstrip("."))
    except (Exception, SystemExit) as error:
        is_your_own = getattr(observer, "is_your_own", False)
        problem = what_was_raised(error, observer.wants if is_your_own else None)
        if is_out_of_memory(error):
            problem = (
                f"one picture needs more than the {free_memory(device) / 1e9:.1f} GB of memory "
                "that are free; take a smaller size (@size=...), --dtype bfloat16 or another "
                "--device"
            )
        found.problems.append(problem)
    return found


def _ask_first(observer: Answers, found: Validation, device: str) -> None:
    """Ask about a plain grey picture and one full of stripes, and note what comes of it."""
    frames = _frames(observer.wants, device, 0.0, _CONTRASTS[-1])
    found.facts["input"] = _input(observer, frames)
    prompt = _FIRST[observer.reads]
    started = time.perf_counter()
    answers = {
        answer.question: answer
        for answer in observer.choose(frames, [Question((row,), prompt) for row in range(2)])
        if answer.place == (0, 0)
    }
    found.seconds_per_picture = (time.perf_counter() - started) / 2
    if len(answers) != 2:
        found.problems.append(f"it answered {len(answers)} of 2 questions")
        return
    found.facts["reads"] = observer.reads
    found.facts["read-outs"] = ", ".join(observer.readouts)
    grey, stripes = answers[0], answers[1]
    for what, answer in (("plain grey", grey), ("stripes", stripes)):
        printable = "".join(c if c.isprintable() else " " for c in answer.reply)
        reply = " ".join(printable.split())
        if len(reply) > _LONGEST_REPLY:
            reply = reply[: _LONGEST_REPLY - 1] + "…"
        said = "invalid" if answer.choice is None else prompt.options[answer.choice]
        said += f", by '{reply}'" if reply else ""
        said += f", p = {answer.probabilities[0]:.3g}" if answer.probabilities else ""
        found.facts[f"answer to {what}"] = said
        if answer.choice is None:
            found.warnings.append(f"its reply '{reply}' is none of {', '.join(prompt.options)}")
    if grey.choice is not None and grey.choice == stripes.choice:
        found.warnings.append(
            "it gives the same answer to plain grey and to stripes of full contrast "
            f"({prompt.options[grey.choice]})"
        )
    if "probability" in observer.readouts:
        if grey.probabilities is None or stripes.probabilities is None:
            found.warnings.append("it gives no probabilities, though they were asked for")
        else:
            mass = min(1.0 if each.mass is None else each.mass for each in (grey, stripes))
            found.facts["probability of any option"] = f"{mass:.3g}"
            if mass < _LOW_MASS:
                found.warnings.append(
                    f"its first word is one of the options with probability {mass:.2g}"
                )
    usage = grey.usage
    if usage.prompt_tokens:
        found.facts["tokens per question"] = f"{usage.prompt_tokens} + {usage.completion_tokens}"
    if not math.isnan(usage.cost):
        found.facts["cost per question"] = f"{usage.cost:.2g} USD"
    found.facts["time per question"] = f"{found.seconds_per_picture:.2g} s"


def _look_into(observer: Any, found: Validation) -> None:
    """Say what can be said of an observer without asking it anything."""
    is_network = isinstance(observer, NetworkEncoder)
    if guess := observer.network.unsure if is_network else getattr(observer, "unsure", ""):
        found.warnings.append(guess)
    if not is_network:
        return
    found.complexity = count(observer)
    found.facts |= found.complexity.facts if found.complexity else {}
    if any(part.training for part in observer.module.modules()):
        found.warnings.append("parts of it are in training mode")
    half = (torch.float16, torch.bfloat16)
    if any(parameter.dtype in half for parameter in observer.module.parameters()):
        found.warnings.append(_HALF_PRECISION)


def _compare(comparer: Compares, found: Validation, device: str, n: int) -> bool:
    """Show n Gabors, and say what is odd about the answers; return whether they rise smoothly."""
    wants = comparer.wants
    tests, reference = _frames(wants, device, *_CONTRASTS[-n:]), _frames(wants, device, 0.0)
    found.facts["input"] = _input(comparer, tests)
    if isinstance(comparer, ComparesFeatures):
        shapes: list[tuple[int, ...]] = []
        last = comparer.encoder.layers[-1]
        comparer.encoder.features(reference, {last: lambda a: shapes.append(tuple(a.shape[1:]))})
        found.facts["output"] = f"{' x '.join(map(str, shapes[0]))} for one picture"
    memory = comparer.remember(reference)
    answer = _difference(comparer, tests, memory)
    shape = (n, len(comparer.layers), len(comparer.readouts))
    if tuple(answer.shape) != shape:
        found.problems.append(f"it answered with shape {tuple(answer.shape)}, not {shape}")
        return False
    found.facts["layers"] = f"{len(comparer.layers)}: {', '.join(comparer.layers)}"
    found.facts["read-outs"] = ", ".join(comparer.readouts)
    may_be = torch.tensor([name in MAY_BE_UNDEFINED for name in comparer.readouts])
    undefined = answer.isnan() & may_be.to(device)
    if not (answer.isfinite() | undefined).all():
        found.problems.append("it answered NaN or infinity")
        return False
    where = undefined.any(dim=0).nonzero().tolist()
    if where:
        names = ", ".join(f"{comparer.readouts[j]} at {comparer.layers[i]}" for i, j in where)
        found.warnings.append(
            f"{names} is undefined against a uniform field, whose features are silent, constant or "
            "a single number; tests that compare with one are not scored: use --readout l2"
        )
    scale = answer.abs().amax(dim=0).clamp(min=torch.finfo(torch.float64).tiny)
    defined = ~undefined.any(dim=0)

    def largest(deviations: Tensor) -> float:
        return float((deviations / scale)[:, defined].abs().max()) if defined.any() else 0.0

    itself = _difference(comparer, reference, memory)
    if not itself[:, defined].isfinite().all():
        found.warnings.append("it answers NaN or infinity to a picture compared with itself")
    again = _difference(comparer, tests, memory) - answer
    rows = [replace(tests, pixels=tests.pixels[row : row + 1]) for row in range(n)]
    alone = torch.cat([_difference(comparer, row, memory) for row in rows]) - answer
    for what, deviations, allowed, meaning in (
        ("a picture from itself", itself, _ROUNDING, "it sees a difference where there is none"),
        ("two looks", again, 0.0, "it answers otherwise when asked again"),
        (f"batches of 1 and {n}", alone, _BATCH, "its answers depend on the batch"),
    ):
        worst = largest(deviations)
        size = f"{worst:.1e} of the largest answer" if math.isfinite(worst) else "not a number"
        found.facts[f"difference of {what}"] = size if worst else "none"
        if math.isfinite(worst) and worst > allowed:
            found.warnings.append(f"{meaning} ({size})")
    swapped = comparer.remember(replace(tests, pixels=tests.pixels.clone()))
    exchanged = torch.cat([_difference(comparer, reference, swapped, row) for row in range(n)])
    if (worst := largest(exchanged - answer)) > _ROUNDING:
        found.warnings.append(
            "it is not symmetric: test and reference exchanged change its answer "
            f"({worst:.1e} of the largest answer)"
        )
    found.facts["gradients"] = "kept" if answer.requires_grad else "off"
    if answer.requires_grad:
        found.warnings.append("it turns gradients on by itself, which costs memory")
    if n > 1 and (answer == answer[:1]).all():
        found.warnings.append("it answers the same to every contrast")
        return False
    if n > 1 and (answer.diff(dim=0) < 0).all():
        found.warnings.append(
            "it answers less to more contrast: if a higher score means more alike, say so with "
            "fechner.observe(metric, higher_is_better=True), or the other way round"
        )
        return False
    return largest(alone) <= _BATCH and _HALF_PRECISION not in found.warnings


def _look_for_steps(comparer: Compares, found: Validation, device: str) -> None:
    """Show square waves of slowly rising contrast: a response should rise with each."""
    memory = comparer.remember(_frames(comparer.wants, device, 0.0))
    answers = []
    for contrast in _RAMP:
        wave = _frames(comparer.wants, device, contrast, pattern=_SQUARE_WAVE)
        answers.append(_difference(comparer, wave, memory).flatten(1))
    columns = [column for column in torch.cat(answers).T if column.isfinite().all()]
    if any(len(column.unique()) <= len(_RAMP) // 2 for column in columns):
        found.warnings.append(
            f"its response has steps: contrasts from {_RAMP[0]:g} to {_RAMP[-1]:g} give it only a "
            "few different values, as if it rounded pictures to 8 bits; scores near threshold will "
            "suffer"
        )


def _look_at_other_inputs(comparer: Compares, found: Validation, device: str) -> None:
    """Show a wide picture to those that take any size, a video to your own that take it."""
    wants = comparer.wants
    looks: list[tuple[str, str, Any, Any]] = []
    if wants.size_px is None:
        wide = replace(wants, size_px=_WIDE)
        advice = "if it takes one size only, say so with wants=fechner.Wants(size_px=(h, w))"
        test, reference = _frames(wide, device, _CONTRASTS[-1]), _frames(wide, device, 0.0)
        looks.append((f"pictures of {_WIDE[1]} x {_WIDE[0]} px", advice, test, reference))
    if wants.video and getattr(getattr(comparer, "encoder", comparer), "is_your_own", False):
        still, dtype = _frames(wants, device, 0.0), getattr(torch, wants.dtype)
        field = replace(still.field, frames=_VIDEO_FRAMES)
        video, grey = (
            Clips((_stimulus(contrast),), field, still.display, still.light, dtype, device)
            for contrast in (_CONTRASTS[-1], 0.0)
        )
        looks.append(("videos", "if it takes pictures only, leave video=True out", video, grey))
    for what, advice, test, reference in looks:
        try:
            answer = _difference(comparer, test, comparer.remember(reference))
        except (Exception, SystemExit) as error:
            if not is_out_of_memory(error):
                why = described(error)
                found.warnings.append(f"it cannot be shown {what} ({why}); {advice}")
            continue
        if what == "videos":
            found.facts["video"] = f"{_VIDEO_FRAMES} frames at {test.field.fps:g} per second"
            if not answer.isfinite().all():
                found.warnings.append("it answers NaN or infinity to a video")


def _measure_cost(comparer: Compares, found: Validation, device: str, most: int) -> None:
    """Measure time and memory of looking at one and at two pictures with their references."""
    seconds = []

    def look(n: int) -> None:
        frames = _frames(comparer.wants, device, *_CONTRASTS[-n:])
        started = time.perf_counter()
        comparer.difference(frames, comparer.remember(frames), torch.arange(n, device=device))
        if device != "cpu":
            torch.ones(1, device=device).item()  # waits until everything is done
        seconds.append((time.perf_counter() - started) / (2 * n))

    one = peak_memory(partial(look, 1), device)
    try:
        two = peak_memory(partial(look, most), device)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        two = one + free_memory(device)  # so that a batch is one picture
    found.bytes_per_picture = max(two - one, two // 2, 1)
    found.seconds_per_picture = statistics.median(seconds)
    found.facts["time per picture"] = f"{1e3 * found.seconds_per_picture:.3g} ms"
    found.facts["memory per picture"] = f"{found.bytes_per_picture / 1e6:.3g} MB"


def _difference(comparer: Compares, tests: Frames | Clips, memory: Any, row: int = 0) -> Tensor:
    """Compare tests with one remembered reference; some observers write over what they see."""
    if isinstance(tests, Frames):
        tests = replace(tests, pixels=tests.pixels.clone())
    which = torch.full((len(tests),), row, dtype=torch.long, device=tests.device)
    return comparer.difference(tests, memory, which)


def _frames(wants: Wants, device: str, *contrasts: float, pattern: Pattern = _GABOR) -> Frames:
    height, width = wants.size_px or ANY_SIZE
    return stimuli.paint(
        [_stimulus(contrast, pattern) for contrast in contrasts],
        stimuli.Field(width, height, _PPD),
        stimuli.display("encoders"),
        light=wants.light,
        dtype=getattr(torch, wants.dtype),
        device=device,
    )


def _stimulus(contrast: float, pattern: Pattern = _GABOR) -> Stimulus:
    return Stimulus(_GREY, (stimuli.Layer(pattern, _GREY, contrast),))


def _input(observer: Compares | Answers, frames: Frames) -> str:
    wants = observer.wants
    size = f"{frames.field.height_px} x {frames.field.width_px} px"
    if wants.size_px is None:
        size += " (any)"
    if wants.bits is not None:
        return f"{size}, {wants.bits} bits"
    if (wants.layout, wants.channels, wants.array) != ("nchw", 3, "torch"):
        size += f", {wants.in_words}"
    looks = getattr(observer, "encoder", observer)
    pixels = looks.prepared(frames) if hasattr(looks, "prepared") else frames.pixels
    kind = str(pixels.dtype).removeprefix("torch.")
    return f"{size}, {kind}, {float(pixels.min()):.3g} to {float(pixels.max()):.3g}"
