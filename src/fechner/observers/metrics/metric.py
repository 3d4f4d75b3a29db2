"""A quality metric as an observer: what it declares, and how it compares pictures and videos.

Here too is what metrics share: luma, and importing a package that holds one.
"""

from __future__ import annotations

import importlib
import io
import logging
import math
import tomllib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from importlib.metadata import version
from typing import Any, Literal, get_args

from fechner.arrays import Tensor
from fechner.errors import MissingExtraError, ObserverError
from fechner.observers.abilities import Wants
from fechner.observers.taps import OUTPUT
from fechner.observers.torchvision_fix import import_torchvision
from fechner.stimuli import Clips, Frames

#: The families of Hammou et al. (2025), Table 1, and one for what is in none of them.
Kind = Literal[
    "traditional",
    "traditional colour",
    "colour difference",
    "deep learning",
    "video",
    "visual difference predictor",
    "other",
]
KINDS: tuple[str, ...] = get_args(Kind)

#: The floating-point type of a metric; ``own`` is what it declares.
Precision = Literal["own", "float32", "float64"]

#: Features of pictures: a tensor [n, ...] or a tuple of them.
Features = Any

#: Weights of ITU-R BT.709, applied to encoded values as television does.
BT709_WEIGHTS = (0.2126, 0.7152, 0.0722)


@dataclass(frozen=True)
class About:
    """What a metric declares of itself.

    Parameters
    ----------
    best
        Score of a picture compared with itself; infinity where there is no such number.
    scores
        Lowest and highest score it can give.
    csf_based
        Whether a contrast sensitivity function is built into it.
    precision
        Why it computes in the floating-point type it wants.
    fed
        What it is given: floating-point pictures, or files of so many bits.

    Examples
    --------
    >>> ssim = About("traditional", Wants(), best=1.0, scores=(-1.0, 1.0), higher_is_better=True)
    >>> ssim.difference(0.75)
    0.25
    """

    kind: Kind
    wants: Wants
    best: float = 0.0
    scores: tuple[float, float] = (0.0, math.inf)
    higher_is_better: bool = False
    csf_based: bool = False
    precision: str = ""
    fed: str = "float"

    def difference(self, score: Any) -> Any:
        """Return a score as a difference: 0 for the same, more for less alike."""
        best = self.best if math.isfinite(self.best) else 0.0
        return best - score if self.higher_is_better else score - best

    def at(self, precision: Precision) -> About:
        """Return the same, computed in another floating-point type."""
        if precision == "own":
            return self
        wants = replace(self.wants, dtype=precision)
        return replace(self, wants=wants, precision=f"{precision} was asked for")


@cache
def declarations() -> dict[str, dict[str, Any]]:
    """Return what ``declared.toml`` says of metrics, by name."""
    text = resources.files("fechner.observers.metrics").joinpath("declared.toml").read_text("utf-8")
    tables = tomllib.loads(text)["metrics"]
    return {name: table for table in tables for name in table["names"]}


def declared(name: str) -> About:
    """Return what a metric declares of itself; its package need not be installed for that.

    Examples
    --------
    >>> declared("piq/gmsd").scores
    (0.0, 0.5)
    """
    fields = {k: v for k, v in declarations()[name].items() if k not in ("names", "call")}
    low, high = fields.pop("scores", (0.0, math.inf))
    return About(**fields | {"wants": Wants(**fields.get("wants", {})), "scores": (low, high)})


class Metric:
    """A comparer made of two steps: look at pictures, then compare what was seen.

    References are looked at once, however many tests are compared with them.

    Parameters
    ----------
    look
        Takes frames, returns features with a row for each picture; the pixels if None.
    compare
        Takes features of tests, features of their references (one row for all, or a row for each)
        and the tests' frames (for pixels per degree, display and share); returns differences, [n].
    watch
        Takes test and reference clips of the same number and returns differences, [n]; None for
        metrics of pictures only.
    notice
        What the licence of its package asks to be told; said once in a process.
    """

    layers = (OUTPUT,)
    readouts = ("difference",)

    def __init__(
        self,
        name: str,
        about: About,
        compare: Callable[[Features, Features, Frames], Tensor],
        *,
        look: Callable[[Frames], Features] | None = None,
        watch: Callable[[Clips, Clips], Tensor] | None = None,
        fingerprint: str | None = None,
        notice: str = "",
    ) -> None:
        if about.wants.video != (watch is not None):
            raise ValueError(f"metric '{name}' wants video and cannot watch it, or the reverse.")
        self.name = name
        self.about = about
        self.wants = about.wants
        self.fingerprint = fingerprint
        self.notice = notice
        if notice:
            _tell(notice)
        self._look = look or (lambda frames: frames.pixels)
        self._compare = compare
        self._watch = watch

    def remember(self, reference: Frames | Clips) -> Features:
        """Look at references; videos are looked at when they are compared."""
        return reference if isinstance(reference, Clips) else self._look(reference)

    def difference(self, test: Frames | Clips, memory: Features, which: Tensor) -> Tensor:
        """Compare each test with its reference, [n, 1, 1]."""
        if isinstance(test, Clips):
            if self._watch is None:
                raise ObserverError(f"observer '{self.name}' takes pictures, not video.")
            found = self._watch(test, memory.rows(which.tolist()))
        else:
            found = self._compare(self._look(test), rows(memory, which), test)
        return found.double().reshape(-1, 1, 1)


def rows(features: Features, which: Tensor) -> Features:
    """Return the row of each test; a single row serves all tests as it is."""
    if isinstance(features, tuple):
        parts = (rows(part, which) for part in features)
        kind: Any = type(features)
        return kind(*parts) if hasattr(features, "_fields") else tuple(parts)
    return features if len(features) == 1 else features[which]


@cache
def _tell(notice: str) -> None:
    logging.getLogger("fechner").warning("%s", notice)


def luma(encoded_rgb: Tensor, weights: tuple[float, float, float] = BT709_WEIGHTS) -> Tensor:
    """Return luma of display-encoded pictures, [n, 3, h, w] -> [n, h, w], or [n, 3, t, h, w].

    Encoded, not linear: this is what grey metrics are fed with by custom, and what Hammou et al.
    (2025, hammou2025) did.

    Examples
    --------
    >>> import torch
    >>> luma(torch.tensor([1.0, 0.5, 0.0], dtype=torch.float64).reshape(1, 3, 1, 1)).tolist()
    [[[0.5702]]]
    """
    red, green, blue = encoded_rgb.unbind(dim=1)
    return (red * weights[0]).add(green, alpha=weights[1]).add(blue, alpha=weights[2])


def check_size(name: str, pictures: Tensor, smallest: int) -> None:
    """Raise an error for pictures, [..., h, w], that are too small for a metric."""
    height, width = pictures.shape[-2:]
    if min(height, width) < smallest:
        raise ObserverError(
            f"{name} needs pictures of at least {smallest} x {smallest} px, not {width} x "
            f"{height}; show it larger ones."
        )


def import_package(module: str, observer: str, extra: str, *, torchvision: bool = True) -> Any:
    """Import what an observer needs quietly; where it is missing, say which extra brings it.

    Packages that are built on torchvision have that imported first.
    """
    try:
        if torchvision:
            import_torchvision()
        with quietly():
            return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"observer '{observer}'", extra, str(error)) from None


@contextmanager
def quietly() -> Iterator[None]:
    """Keep what a library prints and warns about its own code away."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def release(package: str) -> str:
    """Return name and version of an installed package, for fingerprints."""
    return f"{package} {version(package)}"
