"""What models are called with: pictures as they want them, and what else they ask for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from fechner.arrays import Tensor, torch
from fechner.errors import UnknownNameError, described
from fechner.observers.abilities import ANY_SIZE, Wants
from fechner.observers.metrics.metric import luma
from fechner.stimuli import Clips, Field, Frames, display

#: One number for all channels, or one for each.
PerChannel: TypeAlias = float | tuple[float, ...]

NormalisationName = Literal["own", "none", "imagenet", "clip", "half"]


@dataclass(frozen=True)
class Normalisation:
    """(pixels - mean) / std, per channel, of pictures in 0..1.

    Examples
    --------
    >>> import torch
    >>> Normalisation(0.5, 0.5)(torch.full((1, 3, 1, 1), 0.75)).flatten().tolist()
    [0.5, 0.5, 0.5]
    """

    mean: PerChannel = 0.0
    std: PerChannel = 1.0

    def __call__(self, pixels: Tensor) -> Tensor:
        """Normalise [n, 3, h, w], or [n, 3, t, h, w]."""
        shape = (-1, *[1] * (pixels.ndim - 2))
        mean = pixels.new_tensor(self.mean).reshape(shape)
        return (pixels - mean) / pixels.new_tensor(self.std).reshape(shape)


NONE = Normalisation()

#: Those that have a name; ``own`` is the one a model came with.
NORMALISATIONS = {
    "none": NONE,
    "imagenet": Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "clip": Normalisation(
        (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
    ),
    "half": Normalisation(0.5, 0.5),
}


def normalisation(name: str, own: Normalisation) -> Normalisation:
    """Return a normalisation by name."""
    if name == "own":
        return own
    if name not in NORMALISATIONS:
        known = ["own", *NORMALISATIONS]
        raise UnknownNameError("normalisation", name, known, f"there are {', '.join(known)}")
    return NORMALISATIONS[name]


#: Arguments that are filled in wherever a signature has them.
KNOWN: dict[str, Callable[[Frames | Clips], Any]] = {
    "ppd": lambda frames: frames.field.ppd,
    "fps": lambda frames: frames.field.fps,
    "peak_cdm2": lambda frames: frames.display.peak_cdm2,
    "black_cdm2": lambda frames: frames.display.black_cdm2,
    "display": lambda frames: frames.display,
}


@dataclass(frozen=True)
class Signature:
    """What a function or module must be given.

    ``pictures`` counts arguments that are needed by position, ``known`` are those among `KNOWN`,
    needed or not, and ``unknown`` is the first other that must be given.

    Examples
    --------
    >>> Signature.of(lambda test, reference, ppd, *, fps=30, gain=1: ...)
    Signature(pictures=2, known=('ppd', 'fps'), unknown='')
    """

    pictures: int
    known: tuple[str, ...] = ()
    unknown: str = ""

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Signature:
        """Read the signature of a function, or of the ``forward`` of a module."""
        try:
            parameters = inspect.signature(getattr(function, "forward", function)).parameters
        except (TypeError, ValueError):
            return cls(pictures=1)
        by_position, by_name = [], []
        for name, parameter in parameters.items():
            if name not in KNOWN and parameter.default is parameter.empty:
                if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                    by_position.append(name)
                elif parameter.kind is parameter.KEYWORD_ONLY:
                    by_name.append(name)
        known = tuple(name for name in parameters if name in KNOWN)
        unknown = next(iter([*by_position[2:], *by_name]), "")
        return cls(min(len(by_position), 2), known, unknown)


def prepared(
    frames: Frames | Clips,
    wants: Wants,
    normalise: Normalisation = NONE,
    dtype: torch.dtype | None = None,
) -> Any:
    """Return pictures as an observer wants them, with the axis of pictures first.

    Videos are painted whole; ``dtype`` is for networks of another precision than the pixels.

    Examples
    --------
    >>> prepared(grey(Wants(), 2), Wants(layout="hw")).shape
    torch.Size([2, 224, 224])
    """
    if isinstance(frames, Clips):
        frames = frames.whole()
    pixels = frames.pixels
    if wants.channels == 1:
        pixels = (luma(pixels) if frames.light == "display" else frames.luminance()).unsqueeze(1)
    if normalise != NONE:
        pixels = normalise(pixels)
    if dtype is not None:
        pixels = pixels.to(dtype)
    axes, layout = "nchw", wants.layout
    if pixels.ndim == 5:
        axes = "ncthw"
        layout = layout if "t" in layout else layout.replace("h", "th")
    elif "t" in layout:
        axes, pixels = "ncthw", pixels.unsqueeze(2)
    if "c" not in layout:
        axes, pixels = axes.replace("c", ""), pixels.squeeze(1)
    if not wants.batched:
        layout = f"n{layout}"
    if layout != axes:  # contiguous, as all that people try their code with
        pixels = pixels.permute([axes.index(axis) for axis in layout]).contiguous()
    return pixels if wants.array == "torch" else pixels.detach().cpu().numpy()


def what_was_raised(error: BaseException, wants: Wants | None) -> str:
    """Say what a model raised and, for one of your own, what it was shown and what to do."""
    said = f"it raised {described(error)}"
    if wants is None:
        return said
    height, width = wants.size_px or ANY_SIZE
    return (
        f"{said}, when called with {wants.in_words}, {height} x {width} px; "
        "wants=fechner.Wants(...) can ask for another layout, size_px, channels or array"
    )


def grey(wants: Wants, n: int, device: str | torch.device = "cpu") -> Frames:
    """Return the same grey pictures whenever they are asked for, to try an observer with."""
    height, width = wants.size_px or ANY_SIZE
    dtype = getattr(torch, wants.dtype)
    pixels = torch.full((n, 3, height, width), 0.5, dtype=dtype, device=device)
    return Frames(pixels, Field(width, height, 60.0), display("encoders"), wants.light)
