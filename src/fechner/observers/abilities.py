"""Who looks: four small abilities. An observer has one or several of them.

It *compares* (how different is this picture from that one), *encodes* (a picture into features),
*recognises* (which class), or *answers* (a question in words). An experiment asks one ability;
`fechner.observers.conversions` says which other abilities can stand in for it, and how.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from fechner.arrays import Tensor
from fechner.observers.questions import Answer, Question, Reads
from fechner.stimuli import Clips, Frames, Light

Ability = Literal["compares", "encodes", "recognises", "answers"]

#: What a test can need of an observer beside an ability.
Need = Literal["colour", "video", "several"]

#: Precision of a network.
Dtype = Literal["float32", "float64", "bfloat16", "float16"]

#: The side of pictures for networks that take any size.
ANY_SIZE = (224, 224)

#: Takes the activations of one layer, [n, ...], and reduces them on the spot.
Tap: TypeAlias = "Callable[[Tensor], object]"


@dataclass(frozen=True)
class Wants:
    """What an observer wants to be shown.

    Parameters
    ----------
    light
        Display-encoded values in 0..1, or linear RGB in cd/m2.
    size_px
        (height, width), or None for any size.
    colour, video, several
        Whether it sees colour, takes videos beside pictures, and can be asked about several
        pictures at once; tests that need what it lacks are left out.
    pixelwise
        Whether its answer follows from a mean over pixels of a function of the two values there. It
        is then shown only pixels that can differ, and multiplies the mean by `Frames.share`.
    bits
        Depth of the picture files it takes; None for floating point.
    channels
        3 for RGB, or 1 for luma (luminance if ``light`` is ``cdm2``); 1 means no ``colour``.
    layout
        Axes of what it is called with: n pictures, c channels, h height, w width. Without n it is
        called with one picture (or pair) at a time, without c with one channel. Videos have t right
        before h; with t in the layout it takes ``video``, and a picture is a video of one frame.
    array
        Whether it is called with torch tensors or NumPy arrays.
    ppd
        Pixels per degree for which stimuli are drawn for it; those of the suite if None.

    Examples
    --------
    >>> Wants(layout="hwc", array="numpy").in_words
    'NumPy arrays [h, w, 3], one at a time'
    >>> Wants(channels=1).colour
    False
    """

    light: Light = "display"
    size_px: tuple[int, int] | None = None
    dtype: Literal["float32", "float64"] = "float32"
    colour: bool = True
    video: bool = False
    pixelwise: bool = False
    several: bool = True
    bits: int | None = None
    channels: Literal[1, 3] = 3
    layout: str = "nchw"
    array: Literal["torch", "numpy"] = "torch"
    ppd: float | None = None

    def __post_init__(self) -> None:
        for name, allowed in (
            ("light", get_args(Light)),
            ("dtype", ("float32", "float64")),
            ("channels", (1, 3)),
            ("array", ("torch", "numpy")),
        ):
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"{name} is one of {', '.join(map(str, allowed))}, not {value!r}.")
        size: Any = self.size_px
        if size is not None and not (isinstance(size, tuple) and len(size) == 2 and min(size) > 0):
            raise ValueError(f"size_px is a pair (height, width) of pixels, not {size!r}.")
        if self.ppd is not None and not 0 < self.ppd < math.inf:
            raise ValueError(f"ppd is a number of pixels per degree above 0, not {self.ppd!r}.")
        layout = str(self.layout).lower()
        axes = layout.removeprefix("n")
        if len(set(axes)) < len(axes) or not {"h", "w"} <= set(axes) <= set("cthw"):
            raise ValueError(
                "layout is made of the letters n (first), c, t, h and w, as in nchw, nhwc, chw or "
                f"hw, not {self.layout!r}."
            )
        channels = self.channels if "c" in layout else 1
        # What follows from the layout; a frozen dataclass is set in this way.
        vars(self).update(
            layout=layout,
            channels=channels,
            colour=self.colour and channels == 3,
            video=self.video or "t" in layout,
        )

    @property
    def batched(self) -> bool:
        """Whether it takes several pictures in one call."""
        return "n" in self.layout

    @property
    def in_words(self) -> str:
        """How pictures are handed to it."""
        sizes = ", ".join(str(self.channels) if axis == "c" else axis for axis in self.layout)
        array = "tensors" if self.array == "torch" else "NumPy arrays"
        return f"{array} [{sizes}]{'' if self.batched else ', one at a time'}"


#: What an observer without something is like.
LACKS: dict[Need | Ability, str] = {
    "colour": "it sees no colour",
    "video": "it takes pictures, not video",
    "several": "it looks at one picture at a time",
    "compares": "it cannot compare pictures",
    "recognises": "it names nothing",
    "answers": "it cannot be asked",
}


def lacks(wants: Wants) -> list[Need]:
    """Return what an observer cannot see.

    Examples
    --------
    >>> lacks(Wants(colour=False))
    ['colour', 'video']
    """
    return [need for need in get_args(Need) if not getattr(wants, need)]


@runtime_checkable
class Observer(Protocol):
    """What every observer has.

    ``fingerprint`` changes whenever its answers may change (weights, settings, library version);
    None means that answers cannot be reused by a later process.
    """

    @property
    def name(self) -> str:
        """What results call it."""

    @property
    def wants(self) -> Wants:
        """What it wants to be shown."""

    @property
    def fingerprint(self) -> str | None:
        """What its answers depend on."""


@runtime_checkable
class _ReadOut(Observer, Protocol):
    """An observer that is read at one or several places, in one or several ways."""

    @property
    def layers(self) -> Sequence[str]:
        """Names of the places: the second axis of answers."""

    @property
    def readouts(self) -> Sequence[str]:
        """Names of the ways: the third axis of answers."""


@runtime_checkable
class Compares(_ReadOut, Protocol):
    """Says how different a test is from a reference; 0 means the same.

    The answer is [n, layers, read-outs]; an observer that is not looked into has one of each. Two
    methods are optional. ``differences(test, memory, which)`` looks once at a test to compare it
    with several references, ``which[i, j]``, [n, k, layers, read-outs].
    ``channel_changes(test, memory, which, where)`` tells how the achromatic, red-green and
    yellow-blue channels change over pixels of weights ``where``, [h, w]: [n, layers, 3], NaN at
    layers without such channels.
    """

    def remember(self, reference: Frames | Clips) -> Any:
        """Look at references once; what is returned is handed back to `difference`.

        `Clips` are given to observers that want video, in tests that show it.
        """

    def difference(self, test: Frames | Clips, memory: Any, which: Tensor) -> Tensor:
        """Compare each test with reference number ``which[i]``."""


@runtime_checkable
class Encodes(Observer, Protocol):
    """Turns frames into features, layer by layer.

    Two members are optional. ``every_layer()`` lists all parts that can be tapped beside the
    natural stages, in order, as `LayerInfo`. ``opponent_layers`` maps layers of [n, channels, h, w]
    whose channels are opponent to the number of their groups, of one or several channels each; the
    first three are achromatic (light positive), red-green (red) and yellow-blue (yellow).
    """

    @property
    def layers(self) -> Sequence[str]:
        """Names of the natural stages, in order; the last is what the model hands on."""

    def features(self, frames: Frames, taps: Mapping[str, Tap]) -> None:
        """Look once; every tap is called with its layer's activations."""


@dataclass(frozen=True)
class LayerInfo:
    """A layer that can be tapped: what call number ``call`` of ``module`` hands on in one pass.

    ``shape`` is that for one picture; pictures are stacked along ``batch_axis``.
    """

    name: str
    module: str
    call: int
    kind: str
    shape: tuple[int, ...]
    batch_axis: int


@runtime_checkable
class Recognises(Observer, Protocol):
    """Gives every class a score."""

    @property
    def classes(self) -> Sequence[str]:
        """Names of the classes."""

    def class_scores(self, frames: Frames) -> Tensor:
        """Return scores, [n, classes]."""


@runtime_checkable
class Answers(_ReadOut, Protocol):
    """Answers questions about pictures.

    An observer that is not looked into has one layer and one or two read-outs: what it chose, and
    how sure it was, where that is known. One that may answer the same question in another way when
    it is asked again says so by an attribute ``samples`` that is true.
    """

    @property
    def reads(self) -> Reads:
        """What it makes of words: questions, labels, or nothing."""

    def choose(self, frames: Frames, questions: Sequence[Question]) -> Iterator[Answer]:
        """Answer each question about its pictures, in any order, as soon as it is known."""


@runtime_checkable
class AnswersStream(Answers, Protocol):
    """Answers questions that are handed over one by one, many of them under way at a time."""

    @property
    def most_under_way(self) -> int:
        """The most questions under way."""

    def stream(self, more: Callable[[], tuple[Frames, Question] | None]) -> Iterator[Answer]:
        """Answer questions as long as there are more, in any order, as soon as each is known.

        ``more`` returns the next question and the pictures it is about; None if there is none
        before another answer is taken, or none at all. Answers name questions by their place in
        the order in which it returned them.
        """


ABILITIES: dict[Ability, Any] = {
    "compares": Compares,
    "encodes": Encodes,
    "recognises": Recognises,
    "answers": Answers,
}


def abilities(observer: Any) -> tuple[Ability, ...]:
    """Return the abilities an object has; looks at its members without computing any of them."""
    nothing = object()
    found: list[Ability] = []
    for ability, protocol in ABILITIES.items():
        members = {name for base in protocol.__mro__ for name in vars(base) if name[0] != "_"}
        if all(inspect.getattr_static(observer, name, nothing) is not nothing for name in members):
            found.append(ability)
    return tuple(found)
