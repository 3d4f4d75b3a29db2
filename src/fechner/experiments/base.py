"""What an experiment is: data that lists its pieces and knows how to measure one.

And what experiments share: pieces of equal size, samples for contact sheets, and the names of
abscissae.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import xr
from fechner.observers.abilities import Ability, Need, Wants
from fechner.stimuli import Display, Field, OpponentSpace, Picture, Stimulus
from fechner.stimuli.patterns import name_and_unit

if TYPE_CHECKING:
    from fechner.experiments.presenter import Presenter
    from fechner.observers.questions import Reads


@dataclass(frozen=True)
class Piece:
    """The unit of work, storage, resume and sharding: seconds to a minute.

    Parameters
    ----------
    name
        Unique within the experiment; also the stem of its file.
    start, stop
        Which abscissae it measures.
    images, questions
        How many pictures it shows, and how many questions it asks about them, at most.
    for_scores
        Whether scores need it, or nothing is scored; the others are for figures only.
    """

    name: str
    start: int
    stop: int
    images: int
    for_scores: bool = True
    questions: int = 0

    @property
    def work(self) -> int:
        """What is counted while it is measured: questions, or pictures where nothing is asked."""
        return self.questions or self.images


def split(name: str, n: int, each: int, images: int, for_scores: bool = True) -> list[Piece]:
    """Divide n abscissae into numbered pieces, with so many pictures of each abscissa.

    Examples
    --------
    >>> [(piece.name, piece.start, piece.images) for piece in split("score", 5, 3, images=10)]
    [('score-00', 0, 30), ('score-01', 3, 20)]
    """
    parts = [(start, min(start + each, n)) for start in range(0, n, each)]
    return [
        Piece(f"{name}-{number:02d}", start, stop, (stop - start) * images, for_scores)
        for number, (start, stop) in enumerate(parts)
    ]


@dataclass(frozen=True)
class Scene:
    """Where stimuli are shown: the field, the display and the colour directions.

    Parameters
    ----------
    resize
        For observers that want another size than the field's: False draws at their size, at the
        same ppd (the field grows); True draws the field and resamples it.
    whole
        Whether no part of the field may be missing: observers that want fewer pixels than it has
        see it resampled, and at other pixels per degree it keeps its size in degrees, not in
        pixels.
    own_ppd
        Whether observers that are made for certain pixels per degree (`Wants.ppd`) are shown the
        field at these.
    """

    field: Field
    display: Display
    space: OpponentSpace
    resize: bool = False
    whole: bool = False
    own_ppd: bool = True

    def drawn_field(self, wants: Wants) -> Field:
        """Return the field that is drawn for an observer."""
        field = self.at_ppd(wants.ppd).field if wants.ppd and self.own_ppd else self.field
        if wants.size_px is None:
            return field
        height, width = wants.size_px
        if self.resize:
            # As much of it as has the observer's aspect ratio, so that resampling does not distort.
            scale = min(field.height_px / height, field.width_px / width)
            return field.resized((round(height * scale), round(width * scale)))
        if self.whole and (height < field.height_px or width < field.width_px):
            return field
        return field.resized(wants.size_px)

    def fields(self, wants: Wants) -> tuple[Field, Field]:
        """Return the field as it is drawn, and as the observer sees it after any resampling."""
        drawn = self.drawn_field(wants)
        if wants.size_px is None or wants.size_px == (drawn.height_px, drawn.width_px):
            return drawn, drawn
        height, width = wants.size_px
        ppd = drawn.ppd * width / drawn.width_px
        return drawn, replace(drawn, height_px=height, width_px=width, ppd=ppd)

    @property
    def method(self) -> str:
        """Where stimuli are shown, in sentences."""
        field, display = self.field, self.display
        if self.resize:
            other = "is resampled for observers that want another size"
        else:
            other = "grows for observers that want more pixels, at the same pixels per degree"
            if self.whole:
                other += ", and is resampled for those that want fewer"
        if self.own_ppd:
            size = "size in degrees" if self.whole else "number of pixels"
            other += f". Observers made for other pixels per degree see it at these, in its {size}"
        depth = "without quantisation" if display.bits is None else f"in {display.bits} bits"
        further = ""
        if field.is_video:
            further += f" Videos have {field.frames} frames, {field.fps:g} a second."
        if display.reflected_cdm2:
            further += f" It reflects {display.reflected_cdm2:.3g} cd/m2 of ambient light."
        return (
            f"The field has {field.width_px} x {field.height_px} pixels at {field.ppd:g} pixels "
            f"per degree and {other}. The display '{display.name}' goes from "
            f"{display.black_cdm2:g} to {display.peak_cdm2:g} cd/m2, encoded by {display.eotf} "
            f"{depth}, with {display.primaries or 'own'} primaries.{further}"
        )

    def at_ppd(self, ppd: float) -> Scene:
        """Return the same scene at another number of pixels per degree.

        Examples
        --------
        >>> from fechner.stimuli import ATD, display
        >>> scene = Scene(Field(128, 128, 64.0), display("decalogue"), ATD, whole=True)
        >>> scene.at_ppd(128.0).field.width_px
        256
        """
        field = replace(self.field, ppd=ppd)
        if self.whole:
            field = field.resized(
                (round(self.field.height_deg * ppd), round(self.field.width_deg * ppd))
            )
        return replace(self, field=field)


@dataclass(frozen=True)
class Sample:
    """A stimulus for people to look at, with its place on the axes.

    Parameters
    ----------
    x, y
        Labels of its column and row.
    at
        Its abscissa; NaN for one that stands beside the axis.
    """

    stimulus: Stimulus | Picture
    x: str
    y: str
    at: float


def spread(n: int, most: int) -> list[int]:
    """Return at most so many of n places, from the first to the last.

    Examples
    --------
    >>> spread(12, 5), spread(3, 5)
    ([0, 3, 6, 8, 11], [0, 1, 2])
    """
    return sorted({round(i) for i in np.linspace(0, n - 1, most)}) if n else []


def sample_grid(
    shown: Callable[[int, int], Stimulus | Picture],
    xs: Sequence[float],
    ys: Sequence[float],
    rows: int = 4,
) -> list[list[Sample]]:
    """Return samples over two axes, the strongest on top; the faintest, which show nothing, not.

    ``shown`` returns a stimulus by the places of its abscissa and its strength.
    """
    return [
        [Sample(shown(x, y), f"{xs[x]:.3g}", f"{ys[y]:.3g}", xs[x]) for x in spread(len(xs), 6)]
        for y in spread(len(ys), rows)[:0:-1]
    ]


def nothing(scene: Scene) -> Stimulus:
    """Return what stands where there is no picture."""
    return Stimulus(scene.space.background_xyz(20.0))


class Abscissa(NamedTuple):
    """What people call an abscissa: its axis label, the name of several, and their unit."""

    label: str
    several: str
    unit: str = ""


_KNOWN = {
    "frequency_cpd": Abscissa(
        "spatial frequency (cycles/degree)", "spatial frequencies", " cycles/degree"
    ),
    "luminance_cdm2": Abscissa("luminance (cd/m2)", "luminances", " cd/m2"),
    "area_deg2": Abscissa("area (degree2)", "areas", " degree2"),
    "contrast": Abscissa("contrast", "contrasts"),
    "mask_contrast": Abscissa("contrast of the mask", "contrasts of the mask"),
    "flicker_hz": Abscissa("temporal frequency (Hz)", "temporal frequencies", " Hz"),
}


def abscissa(name: str) -> Abscissa:
    """Return what people call an abscissa; unknown ones are called by their name and unit.

    Examples
    --------
    >>> abscissa("angle_deg")
    Abscissa(label='angle (degrees)', several='values of angle', unit=' degrees')
    """
    if name in _KNOWN:
        return _KNOWN[name]
    called, unit = name_and_unit(name)
    label = f"{called} ({unit})" if unit else called
    return Abscissa(label, f"values of {called}", f" {unit}".rstrip())


def between(over: str, values: Sequence[float]) -> str:
    """Return how many values there are, of what, and in which range."""
    name = abscissa(over)
    return f"{len(values)} {name.several} from {values[0]:.3g} to {values[-1]:.3g}{name.unit}"


def is_log(abscissae: NDArray[np.float64]) -> bool:
    """Whether an axis is logarithmic: above 0, and not in equal steps.

    Examples
    --------
    >>> is_log(np.array([1.0, 2.0, 4.0])), is_log(np.array([15.0, 30.0, 45.0, 60.0]))
    (True, False)
    """
    steps = np.diff(np.unique(abscissae))
    equal = len(steps) > 1 and np.allclose(steps, steps[0])
    return bool((abscissae > 0).all()) and not equal


class Experiment(Protocol):
    """A question with its stimuli, as data.

    An experiment may also have:

    - ``interview(piece, presenter)``, all questions of a piece, if it asks in words;
    - ``read_by(reads)``, the same experiment as it is asked of observers by what they read;
    - ``question_size``, how many pictures a question is about and how many words it has;
    - ``for_people``, ``"trials"`` if people can be asked its trials, ``"conditions"`` if they named
      its pictures in conditions.
    """

    @property
    def id(self) -> str:
        """Short name, unique within a suite."""

    @property
    def title(self) -> str:
        """Name for people."""

    @property
    def version(self) -> int:
        """Raised when numbers change."""

    @property
    def reference(self) -> str:
        """Key of the human data in the bibliography; empty if nothing is scored."""

    @property
    def asks(self) -> Ability:
        """The ability that is asked."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """What an observer must be able to see beside grey pictures."""

    @property
    def scene(self) -> Scene:
        """Where it takes place."""

    @property
    def axes(self) -> tuple[str, str]:
        """What varies from left to right and from top to bottom, with units."""

    @property
    def method(self) -> str:
        """What is shown, asked and compared, in sentences made from its own parameters."""

    def pieces(self) -> Sequence[Piece]:
        """List the pieces, always the same and in the same order."""

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Show the stimuli of one piece and collect raw answers.

        Where there are several pieces, the attribute ``along`` names the dimension along which
        they are put together. In a test that comes after others (`Test.after`), whole answers to
        those follow as further arguments, None where the observer cannot be asked.
        """

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return rows of stimuli for a contact sheet."""


def read_by(experiment: Experiment, reads: Reads | None) -> Experiment:
    """Return an experiment as it is asked of observers that read so; None where nobody knows."""
    read: Callable[[Reads | None], Experiment] | None = getattr(experiment, "read_by", None)
    return experiment if read is None else read(reads)


def question_size(experiment: Experiment) -> tuple[int, float]:
    """Return how many pictures a question is about, and how many words it has on average."""
    size: tuple[int, float] = getattr(experiment, "question_size", (1, 0.0))
    return size


def for_people(experiment: Experiment) -> Any:
    """Return what people are asked: ``"trials"``, pictures in ``"conditions"``, or nothing."""
    return getattr(experiment, "for_people", "")
