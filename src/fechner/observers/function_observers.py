"""Functions of pictures as observers: of one batch an encoder, of two a comparer.

`FunctionObserver` is what they share with networks: preparing pictures, calling, fingerprints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from fechner.arrays import Tensor, torch
from fechner.errors import ObserverError
from fechner.observers.abilities import Tap, Wants
from fechner.observers.inputs import KNOWN, NONE, Normalisation, grey, prepared
from fechner.observers.taps import OUTPUT
from fechner.stimuli import Clips, Frames


class FunctionObserver:
    """An observer that calls a function of pictures; see `FunctionEncoder`.

    Its fingerprint ends with what it wants and ``settings``, the normalisation if None.
    """

    layers: Sequence[str] = (OUTPUT,)
    is_your_own = True

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str,
        wants: Wants | None = None,
        normalise: Normalisation = NONE,
        settings: str | None = None,
        known: Sequence[str] = (),
        fingerprint: str | None = None,
    ) -> None:
        self.name = name
        self.wants = wants or Wants()
        self.settings = f"{self.wants} {normalise if settings is None else settings}"
        self.fingerprint = fingerprint and f"{fingerprint} {self.settings}"
        self._function = function
        self._normalise = normalise
        self._known = known

    def prepared(self, frames: Frames | Clips) -> Any:
        """Return pictures as the function takes them."""
        return prepared(frames, self.wants, self._normalise)

    def known(self, frames: Frames | Clips) -> dict[str, Any]:
        """Return the arguments that it takes beside pictures."""
        return {name: KNOWN[name](frames) for name in self._known}

    def call(self, function: Callable[..., Any], *batches: Frames | Clips) -> Any:
        """Call a function of pictures, once for all of them or once for each."""
        known = self.known(batches[0])
        arguments = list(map(self.prepared, batches))
        if self.wants.batched:
            return function(*arguments, **known)
        return stacked([function(*one, **known) for one in zip(*arguments, strict=True)])


class FunctionEncoder(FunctionObserver):
    """A function of pictures, [n, 3, h, w] -> [n, ...], as an encoder.

    Parameters
    ----------
    function
        Any callable; its whole output is the feature vector.
    normalise
        Applied before the call.
    known
        Arguments that it takes beside pictures, of those that are known.
    fingerprint
        What its answers depend on; None if a later process cannot reuse them.
    """

    def features(self, frames: Frames | Clips, taps: Mapping[str, Tap]) -> None:
        """Call the function and hand its output to the tap."""
        output = usable_output(self.call(self._function, frames), len(frames), self.name)
        for tap in taps.values():
            tap(output.to(frames.device))


class FunctionComparer(FunctionObserver):
    """A function of two batches, (test, reference) -> [n], as a comparer: a metric of your own.

    Pictures are [n, 3, h, w]; videos, for those that want them, [n, 3, t, h, w].

    Parameters
    ----------
    function, name, wants, known, fingerprint
        As for a `FunctionEncoder`.
    higher_is_better
        Whether a higher score means more alike; its difference is then ``best`` minus the score.
    best
        Score of a picture compared with itself; of a grey one, asked once, if None. It moves all
        differences alike, so alignment and matches do not depend on it.
    unsure
        What had to be guessed, for people.
    """

    readouts = ("difference",)

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        higher_is_better: bool = False,
        best: float | None = None,
        unsure: str = "",
        **options: Any,
    ) -> None:
        super().__init__(function, settings=f"{higher_is_better} {best}", **options)
        self.unsure = unsure
        self._sign = -1.0 if higher_is_better else 1.0
        self._best = best if best is not None or higher_is_better else 0.0

    def remember(self, reference: Frames | Clips) -> Frames | Clips:
        """Keep the references as they are."""
        return reference

    def difference(self, test: Frames | Clips, memory: Frames | Clips, which: Tensor) -> Tensor:
        """Call the function on each test and its reference."""
        references: Frames | Clips = (
            memory.rows(which.tolist())
            if isinstance(memory, Clips)
            else replace(memory, pixels=memory.pixels[which])
        )
        if self._best is None:
            picture = grey(self.wants, 1, test.device)  # always the same, for resumed runs
            best = float(self.scores(picture, picture)[0])
            self._best = best if math.isfinite(best) else 0.0
        scores = self.scores(test, references)
        return (self._sign * (scores - self._best)).reshape(-1, 1, 1)

    def scores(self, test: Frames | Clips, reference: Frames | Clips) -> Tensor:
        """Return the function's own scores of pairs, [n] in float64."""
        output = self.call(self._function, test, reference)
        scores = torch.empty(0)
        with suppress(TypeError, ValueError):
            scores = (
                output
                if isinstance(output, torch.Tensor)
                else torch.as_tensor(np.asarray(_on_cpu(output), dtype=np.float64))
            ).reshape(-1)
        if len(scores) != len(test):
            shape = getattr(output, "shape", None)
            what = f"a {type(output).__name__}" if shape is None else f"shape {tuple(shape)}"
            problem = f"observer '{self.name}' returned {what} for {len(test)} pairs"
            advice = "a metric returns one number for each pair, as a tensor, an array or a list"
            if len(scores) == 1 and self.wants.batched:
                advice += "; one that takes a pair at a time has wants=fechner.Wants(layout='chw')"
            raise ObserverError(f"{problem}; {advice}.")
        return scores.to(test.device).double()


def stacked(outputs: list[Any]) -> Any:
    """Return what was said of single pictures as if they had been a batch.

    Examples
    --------
    >>> stacked([0.25, 0.5])
    array([0.25, 0.5 ])
    """
    first = outputs[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(outputs)
    if isinstance(first, float | int) or hasattr(first, "__array__"):
        return np.stack(outputs)
    return first  # whoever reads it says what is wrong with it


def _on_cpu(output: Any) -> Any:
    """Return tensors, or lists of them, as NumPy takes them."""
    if isinstance(output, list | tuple):
        return [_on_cpu(each) for each in output]
    return output.detach().cpu() if hasattr(output, "detach") else output


def usable_output(output: Any, n: int, name: str) -> Tensor:
    """Return a model's output as a tensor of n rows, or say what is wrong with it."""
    array = hasattr(output, "__array__") and not isinstance(output, torch.Tensor)
    if array or isinstance(output, float):  # JAX and TensorFlow have arrays of their own
        output = torch.as_tensor(np.array(output, order="C"))
    kind = type(output).__name__
    if isinstance(output, torch.nn.Module):
        problem = f"a {kind}, not features; a function that makes a model takes no arguments"
    elif not isinstance(output, torch.Tensor):
        inside = f" of {len(output)}" if isinstance(output, tuple | list | dict) else ""
        pick = repr(next(iter(output))) if isinstance(output, dict) and output else "0"
        problem = (
            f"a {kind}{inside}, not a tensor; say which features you mean, e.g. "
            f"fechner.observe(model, read=lambda output: output[{pick}]), which a file can return"
        )
    elif output.ndim == 0 or len(output) != n:
        shape = tuple(output.shape)
        problem = f"shape {shape} for a batch of {n}; the first dimension must be the batch"
    elif not output.is_floating_point():
        problem = f"{output.dtype}; features must be floating point"
    else:
        return output if output.ndim > 1 else output[:, None]
    raise ObserverError(f"observer '{name}' returned {problem}.")
