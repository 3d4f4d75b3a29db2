"""Detection of a pattern, on a uniform field or on a mask: the first question of psychophysics.

A task knows its abscissae, the stimulus and its reference at each, and the human threshold there in
the unit of its own contrast axis. What a display and its pixels can show is stated for a target
added to a reference: the background with its masks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Floats
from fechner.errors import FechnerError, UnknownNameError
from fechner.experiments.base import between
from fechner.human import CastleCSF, HumanReference, Target
from fechner.observers.abilities import Need
from fechner.stimuli import (
    Display,
    Field,
    Flicker,
    Gabor,
    Layer,
    OpponentSpace,
    Pattern,
    Stimulus,
    gamut_limit,
    patterns,
)
from fechner.stimuli.colour import DIRECTION_NAMES
from fechner.stimuli.contrast import Unit
from fechner.stimuli.painting import asked_light, contrast_limit, fits_gamut

#: Why a point is left out of the score; stored as the flag of each point.
REASONS = (
    "kept",
    "aliased",
    "out-of-gamut",
    "contrast-above-1",
    "noise-clipped",
    "window-cut",
    "no-colour-seen",
)

#: At the Nyquist limit itself, what pixels show of a grating is a matter of its phase.
_BELOW_NYQUIST = 1 - 1e-9

#: Noise whose pixels leave the display's range more often than this is left out.
_CLIPPED_SHARE = 0.01

#: A pattern of which the field holds a smaller share of energy is left out.
_SHARE_INSIDE = 0.9


@dataclass(frozen=True)
class Detection:
    """Detect a pattern on a uniform field, over one of its parameters, luminance or flicker.

    Parameters
    ----------
    over, values
        The abscissa and its values: ``luminance_cdm2``, ``flicker_hz``, any field of the pattern,
        or ``area_deg2`` for a pattern with a ``sigma_deg``, whose area is pi sigma^2.
    contrasts
        Contrast axis of the response surface, along the direction: DKL amplitude, or its RMS for
        patterns whose contrast is RMS.
    pattern
        What is to be seen; any `fechner.stimuli.Pattern`.
    human
        Human thresholds, which are compared at their own abscissae if they were measured, else at
        ``values``. None compares with nobody: there is a response surface, and no score.
    direction
        Colour direction, one of those of the scene's `OpponentSpace`.
    flicker_hz, flicker_phase_deg
        The contrast goes up and down as a sine of this frequency and phase (90 begins at its
        largest); 0 Hz is steady.
    one_draw
        Whether a random pattern is the same at every abscissa; otherwise the number of the abscissa
        is mixed into its seed.
    scored_below
        Only abscissae below this value are scored; None scores all.

    Examples
    --------
    >>> from fechner.stimuli import OPPONENT
    >>> task = Detection("orientation_deg", (0.0, 45.0, 90.0), (0.01, 0.1, 1.0), Gabor(4.0, 0.5))
    >>> task.target(1, 45.0, 0.1, OPPONENT).pattern.orientation_deg
    45.0
    >>> task.human_thresholds(Field.of(degrees=4, ppd=60), OPPONENT).round(4).tolist()
    [0.0082, 0.0082, 0.0082]
    """

    over: str
    values: tuple[float, ...]
    contrasts: tuple[float, ...]
    pattern: Pattern = Gabor(2.0, sigma_deg=1.0)
    human: HumanReference | None = CastleCSF()
    direction: str = "ach"
    luminance_cdm2: float = 100.0
    flicker_hz: float = 0.0
    flicker_phase_deg: float = 90.0
    one_draw: bool = False
    scored_below: float | None = None

    #: Whether the target is shown on nothing, so that sensitivity is the word.
    detects: ClassVar[bool] = True
    #: Fields that may be the abscissa, and fields with patterns, of which any parameter may be, by
    #: what stands before its name.
    _own: ClassVar[tuple[str, ...]] = ("luminance_cdm2", "flicker_hz")
    _patterns: ClassVar[dict[str, str]] = {"": "pattern"}
    #: What is mixed into the seed of a random target.
    _stream: ClassVar[tuple[int, ...]] = ()

    def __post_init__(self) -> None:
        known = self._may_vary
        if self.over not in known:
            raise UnknownNameError("abscissa", self.over, known, f"there are {', '.join(known)}")
        for name in ("values", "contrasts"):
            found = tuple(float(value) for value in getattr(self, name))
            if any(a >= b for a, b in itertools.pairwise(found)):
                raise FechnerError(f"{name} must be numbers in ascending order, not {found}.")
            object.__setattr__(self, name, found)
        if not self.values or min(self.contrasts, default=0) < 0:
            raise FechnerError("a detection task needs values, and contrasts of 0 or above.")
        if self.human is not None and not hasattr(self.human, "threshold"):
            raise FechnerError(
                f"human thresholds are a model, read_thresholds(...) or None, not {self.human!r}."
            )
        measured_over = getattr(self.human, "over", self.over)
        if measured_over != self.over:
            raise FechnerError(
                f"the human thresholds are over {measured_over}, the experiment is over "
                f"{self.over}; make both the same."
            )

    @property
    def _may_vary(self) -> dict[str, tuple[str, str]]:
        """What the abscissa may be: for each name a field, and a parameter of its pattern."""
        found = {name: (name, "") for name in self._own}
        for before, field in self._patterns.items():
            pattern = getattr(self, field)
            area = ("area_deg2",) if patterns.can_vary(pattern, "area_deg2") else ()
            for name in (*patterns.parameters_of(pattern), *area):
                found.setdefault(f"{before}{name}", (field, name))
        return found

    @property
    def unit(self) -> Unit:
        """Unit of the contrast axis."""
        of = patterns.contrast_of(self.pattern)
        if self.direction == "ach":
            return "dkl" if of == "amplitude" else of
        return "dkl_rms" if of == "rms" else "dkl"

    @property
    def needs(self) -> tuple[Need, ...]:
        """Colour for chromatic targets, video for those that change."""
        colour: tuple[Need, ...] = ("colour",) if self._is_coloured else ()
        return (*colour, "video") if self._is_video else colour

    @property
    def _is_coloured(self) -> bool:
        return self.direction != "ach"

    @property
    def _is_video(self) -> bool:
        return self.over == "flicker_hz" or self.flicker_hz != 0

    @property
    def method(self) -> str:
        """What is shown and where human thresholds come from, in sentences."""
        what = patterns.in_words(self.pattern, without=self.over)
        colour = DIRECTION_NAMES.get(self.direction, self.direction)
        time = light = below = ""
        if self._is_video:
            hertz = "" if self.over == "flicker_hz" else f" of {self.flicker_hz:g} Hz"
            time = (
                f", its contrast modulated over time as a sine{hertz} of phase "
                f"{self.flicker_phase_deg:g} degrees,"
            )
        if self.over != "luminance_cdm2":
            light = f" of {self.luminance_cdm2:g} cd/m2"
        if self.scored_below is not None:
            below = f" Only those below {self.scored_below:g} are scored."
        people = (
            "There are no human thresholds to compare with: nothing is scored."
            if self.human is None
            else f"Human thresholds are {self.human.words}."
        )
        scored = self.score_abscissae if self.human is not None and self.human.at else self.values
        return (
            f"{what[0].upper()}{what[1:]} ({colour}){time} on a uniform field{light}{self._masked}"
            f", at {between(self.over, scored)}.{below} {people}"
        )

    @property
    def _masked(self) -> str:
        return ""

    @property
    def score_abscissae(self) -> tuple[float, ...]:
        """Abscissae at which there is a human threshold to compare with."""
        return tuple(x for x, _ in self._compared)

    @property
    def human_errors_db(self) -> Floats:
        """Standard error of each human threshold, 20 log10; NaN where it is not known."""
        return np.array([error for _, error in self._compared])

    @property
    def _compared(self) -> list[tuple[float, float]]:
        """Abscissae that are scored, with the error of the human threshold there."""
        if self.human is None:
            return []
        at = self.values if self.human.at is None else self.human.at
        error = math.nan if self.human.error_db is None else self.human.error_db
        below = math.inf if self.scored_below is None else self.scored_below
        errors = np.broadcast_to(error, len(at)).tolist()
        return [(x, error) for x, error in zip(at, errors, strict=True) if x < below]

    def human_thresholds(self, field: Field, space: OpponentSpace) -> Floats:
        """Return the human threshold at each of ``score_abscissae``, in the unit of contrasts."""
        of = partial(self.threshold_of, self.human, field=field, space=space)
        return np.array(list(map(of, self.score_abscissae)))

    def threshold_of(
        self, human: HumanReference | None, x: float, field: Field, space: OpponentSpace
    ) -> float:
        """Return the threshold that a human reference has at one abscissa; NaN if it is None."""
        task = self.at(x)
        shown = (task.pattern, self.unit, self.direction, task.luminance_cdm2, task.flicker_hz)
        return math.nan if human is None else human.threshold(Target(x, *shown, field, space))

    def at(self, x: float) -> Self:
        """Return the task as it is at one abscissa."""
        field, parameter = self._may_vary[self.over]
        value: Any = patterns.with_parameter(getattr(self, field), parameter, x) if parameter else x
        return replace(self, **{field: value})

    def with_seed(self, seed: int) -> Self:
        """Return the task with another seed of what is random in it."""
        drawn: Any = {
            name: patterns.with_seed(getattr(self, name), seed) for name in self._patterns.values()
        }
        return replace(self, **drawn)

    def reference(self, index: int, x: float, space: OpponentSpace) -> Stimulus:
        """Return what is shown without the target: the uniform field."""
        return Stimulus(space.background_xyz(self.at(x).luminance_cdm2))

    def target(self, index: int, x: float, contrast: float, space: OpponentSpace) -> Layer:
        """Return what is to be seen."""
        task = self.at(x)
        modulation = space.modulation_xyz(self.direction, task.luminance_cdm2)
        flicker = Flicker(task.flicker_hz, self.flicker_phase_deg) if self._is_video else None
        pattern = self._draw(task.pattern, index, *self._stream)
        return Layer(pattern, modulation, contrast, flicker)

    def _draw(self, pattern: Pattern, *index: int) -> Pattern:
        """Return a draw of its own for every abscissa, so that resampling them resamples noise."""
        return (
            pattern
            if self.one_draw
            else patterns.with_seed(pattern, *patterns.seed_of(pattern), *index)
        )


@dataclass(frozen=True)
class Masking(Detection):
    """Detect a pattern on another, the mask; all else is as of `Detection`.

    Parameters
    ----------
    over, values
        The abscissa may also be ``mask_contrast``, or a field of the mask with ``mask_`` before its
        name, such as ``mask_orientation_deg``.
    mask_direction
        Colour direction of the mask; None is that of the target.

    Examples
    --------
    >>> from fechner.stimuli import OPPONENT, Grating
    >>> axes = ("mask_contrast", (0.01, 0.1), (0.01, 0.1, 1.0))
    >>> task = Masking(*axes, Gabor(2.0, sigma_deg=0.5), mask=Grating(2.0))
    >>> task.reference(0, 0.1, OPPONENT).layers[0].contrast
    0.1
    """

    human: HumanReference | None = None
    _: KW_ONLY
    mask: Pattern
    mask_contrast: float = 0.0
    mask_direction: str | None = None

    detects: ClassVar[bool] = False
    _own: ClassVar[tuple[str, ...]] = (*Detection._own, "mask_contrast")
    _patterns: ClassVar[dict[str, str]] = {"": "pattern", "mask_": "mask"}
    _stream: ClassVar[tuple[int, ...]] = (1,)  # not the draw of a random mask

    @property
    def unit(self) -> Unit:
        """Unit of the contrast axis."""
        along = self.direction == "ach" and patterns.contrast_of(self.pattern) == "amplitude"
        return "michelson" if along else super().unit

    @property
    def _is_coloured(self) -> bool:
        return (self.direction, self.mask_direction or "ach") != ("ach", "ach")

    @property
    def _masked(self) -> str:
        mask = patterns.in_words(self.mask, without=self.over.removeprefix("mask_"))
        direction = self.mask_direction or self.direction
        colour = DIRECTION_NAMES.get(direction, direction)
        unit = "" if patterns.contrast_of(self.mask) == "amplitude" else ", its contrast RMS"
        held = "" if self.over == "mask_contrast" else f", its contrast {self.mask_contrast:g}"
        return f", masked by {mask} ({colour}){unit}{held}, which alone is the reference"

    def reference(self, index: int, x: float, space: OpponentSpace) -> Stimulus:
        """Return the mask alone."""
        task = self.at(x)
        direction = self.mask_direction or self.direction
        modulation = space.modulation_xyz(direction, task.luminance_cdm2)
        mask = Layer(self._draw(task.mask, index), modulation, task.mask_contrast)
        return Stimulus(space.background_xyz(task.luminance_cdm2), (mask,))


def flagged(dims: Any, flags: Any) -> tuple[Any, NDArray[np.uint8], dict[str, str]]:
    """Return flags of points as a variable of a result, which says what they mean."""
    return dims, np.asarray(flags, np.uint8), {"meanings": " ".join(REASONS)}


def flag_contrasts(
    reference: Stimulus,
    target: Layer,
    contrasts: Floats,
    display: Display,
    field: Field,
    seen: Field | None = None,
) -> NDArray[np.uint8]:
    """Say of each contrast of the target why it cannot be shown as meant; 0 if it can.

    ``field`` is drawn, and ``seen`` by the observer after resampling, if there is any.
    """
    flags = np.zeros(len(contrasts), dtype=np.uint8)
    layers = (*reference.layers, target)
    if reason := _geometry(layers, field, seen or field):
        flags[:] = REASONS.index(reason)
    elif any(_is_rms(layer) for layer in layers):
        low, high = display.limits_cdm2()
        lights = _lights(reference, target, contrasts, display, field)
        share = np.array([((rgb < low) | (rgb > high)).any(axis=0).mean() for rgb in lights])
        flags[share > _CLIPPED_SHARE] = REASONS.index("noise-clipped")
        if gamut_limit(display, reference.background_xyz, target.modulation_xyz) < 0:
            flags[:] = REASONS.index("out-of-gamut")
    elif any(layer.modulation_xyz != target.modulation_xyz for layer in reference.layers):
        limit = contrast_limit(reference, target, field, display)
        flags[contrasts > limit * (1 + 1e-9)] = REASONS.index("out-of-gamut")
    else:
        total = contrasts + sum(layer.contrast for layer in reference.layers)
        limit = gamut_limit(display, reference.background_xyz, target.modulation_xyz)
        flags[total > limit * (1 + 1e-9)] = REASONS.index("out-of-gamut")
        if np.allclose(target.modulation_xyz, reference.background_xyz, rtol=1e-6):  # achromatic
            flags[total > 1 + 1e-9] = REASONS.index("contrast-above-1")
    return flags


def flag_stimulus(
    stimulus: Stimulus, display: Display, drawn: Field, seen: Field, *, cut: bool = False
) -> int:
    """Say why a stimulus cannot be shown as meant, to the last pixel; 0 if it can.

    With ``cut``, light that the display cannot show is meant to be cut.
    """
    if reason := _geometry(stimulus.layers, drawn, seen):
        return REASONS.index(reason)
    return 0 if cut or fits_gamut(stimulus, drawn, display) else REASONS.index("out-of-gamut")


def _geometry(layers: Sequence[Layer], drawn: Field, seen: Field) -> str:
    """Say why patterns do not fit the pixels, the frames or the extent of a field."""
    nyquist_cpd = _BELOW_NYQUIST * min(drawn.nyquist_cpd, seen.nyquist_cpd)
    for layer in layers:
        hz = 0.0 if layer.flicker is None else layer.flicker.frequency_hz
        if layer.pattern.highest_cpd > nyquist_cpd or hz > drawn.fps / 2:
            return "aliased"
    if any(patterns.share_inside(layer.pattern, drawn) < _SHARE_INSIDE for layer in layers):
        return "window-cut"
    return ""


def realised_contrasts(
    reference: Stimulus, target: Layer, contrasts: Floats, display: Display, field: Field
) -> Floats:
    """Return the contrasts of noise after the display has cut it; others are as asked for.

    The contrast is the standard deviation along the direction of the target, in linear RGB, over
    the mean luminance; sqrt 2 times that where the contrast of the pattern is.
    """
    if not _is_rms(target):
        return contrasts
    background, direction = map(
        display.linear_rgb, (reference.background_xyz, target.modulation_xyz)
    )
    weights = np.array(display.rgb_to_xyz[1])
    scale = math.sqrt(2) if patterns.contrast_of(target.pattern) == "rms_sqrt2" else 1.0
    realised = []
    for rgb in _lights(reference, target, contrasts, display, field):
        shown = rgb.clip(*display.limits_cdm2())
        spread = scale * (direction @ shown).std() / (direction @ direction)
        realised.append(spread / ((weights @ shown).mean() / (weights @ background)))
    return np.array(realised)


def realised_mask(reference: Stimulus, display: Display, field: Field) -> float:
    """Return the contrast of a noise mask after the display has cut it, NaN if there is none."""
    for mask in reference.layers:
        if _is_rms(mask):
            alone = Stimulus(reference.background_xyz)
            contrast = np.array([mask.contrast])
            return float(realised_contrasts(alone, mask, contrast, display, field)[0])
    return float("nan")


def _is_rms(layer: Layer) -> bool:
    # Such a contrast is no bound: peaks of noise lie far above its standard deviation.
    return patterns.contrast_of(layer.pattern) != "amplitude"


def _lights(
    reference: Stimulus, target: Layer, contrasts: Floats, display: Display, field: Field
) -> Iterator[Floats]:
    """Return linear RGB as asked for, [3, pixels], one contrast after the other."""
    base = asked_light(reference, field, display).reshape(3, -1)
    alone = Stimulus((0.0, 0.0, 0.0), (replace(target, contrast=1.0),))
    added = asked_light(alone, field, display).reshape(3, -1)
    return (base + contrast * added for contrast in contrasts)
