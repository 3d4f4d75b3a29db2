"""Patterns in visual degrees with unit amplitude; a contrast is multiplied on later.

A pattern is a hashable recipe. ``draw`` gives a float64 tensor that broadcasts to [h, w].
Formulas use tensor methods only, so that listing experiments never has to load torch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from dataclasses import dataclass, fields, is_dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar, cast

from fechner.arrays import Tensor
from fechner.errors import FechnerError, raised
from fechner.stimuli.pictures import Recent

if TYPE_CHECKING:
    from fechner.stimuli.field import Field

#: What contrast multiplies: a largest value of 1, a standard deviation of 1, or one of 1/sqrt 2.
ContrastOf = Literal["amplitude", "rms", "rms_sqrt2"]


class Pattern(Hashable, Protocol):
    """What every pattern can do: it is drawn, and has a highest frequency.

    A frozen dataclass with these two members can be shown in any experiment. Experiments vary its
    fields by name, such as ``frequency_cpd``, so names carry their units. Fields are numbers,
    words, or tuples of them, since they are stored with results. A field ``seed``, of one whole
    number or several, makes it random: it is drawn afresh at every abscissa.

    Further attributes are optional:

    ``contrast_of``
        `ContrastOf`: ``"amplitude"`` (without the attribute), ``"rms"`` or ``"rms_sqrt2"``. See
        `contrast_of`.
    ``area_deg2``
        Area over which people see it. Without it, pi sigma^2 if it has a ``sigma_deg``, that of its
        window, or the whole field. See `area_deg2`.
    ``share_inside(field)``
        Share of its energy that a field holds. Without it, 1. See `share_inside`.
    ``words``, ``told``
        What it is, as "a Gabor patch", and names of the fields that these words tell already.
        Without them, the name of its class, and none. See `in_words`.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Plaid:
    ...     frequency_cpd: float
    ...     angle_deg: float = 90.0
    ...
    ...     def draw(self, field, device="cpu"):
    ...         half = self.angle_deg / 2
    ...         one, other = (Grating(self.frequency_cpd, turn) for turn in (half, -half))
    ...         return (one.draw(field, device) + other.draw(field, device)) / 2
    ...
    ...     @property
    ...     def highest_cpd(self):
    ...         return self.frequency_cpd
    >>> in_words(Plaid(4.0, angle_deg=60.0))
    'a plaid of 4 cycles/degree, angle 60 degrees'
    """

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the pattern with unit amplitude (see `contrast_of`)."""
        ...

    @property
    def highest_cpd(self) -> float:
        """Highest nominal spatial frequency; above the field's Nyquist limit it aliases."""
        ...


AnyPattern = TypeVar("AnyPattern", bound=Pattern)


def contrast_of(pattern: Pattern) -> ContrastOf:
    """Return what a contrast of 1 means: of its largest value, or of its standard deviation."""
    found: ContrastOf = getattr(pattern, "contrast_of", "amplitude")
    return found


def area_deg2(pattern: Pattern, field: Field) -> float:
    """Return the area over which people see a pattern on a field.

    Examples
    --------
    >>> from fechner.stimuli import Field
    >>> round(area_deg2(Gabor(2.0, sigma_deg=1.0), Field.of(degrees=4, ppd=60)), 4)
    3.1416
    >>> area_deg2(Grating(2.0), Field.of(degrees=4, ppd=60))
    16.0
    """
    own, sigma_deg, along_deg = (
        getattr(pattern, name, None) for name in ("area_deg2", "sigma_deg", "sigma_along_deg")
    )
    if own is not None:
        return float(own)
    if sigma_deg is None:
        return field.area_deg2
    return math.pi * float(sigma_deg**2 if along_deg is None else sigma_deg * along_deg)


def share_inside(pattern: Pattern, field: Field) -> float:
    """Return the share of a pattern's energy that falls inside a field; 1 if it fills any field.

    Examples
    --------
    >>> from fechner.stimuli import Field
    >>> round(share_inside(Gabor(2.0, sigma_deg=2.0), Field.of(degrees=4, ppd=60)), 3)
    0.71
    """
    own = getattr(pattern, "share_inside", None)
    return 1.0 if own is None else float(own(field))


def parameters_of(pattern: Pattern) -> tuple[str, ...]:
    """Return the names of a pattern's fields, which an experiment may vary."""
    return tuple(map(attrgetter("name"), fields(pattern))) if is_dataclass(pattern) else ()


def with_parameter(pattern: AnyPattern, name: str, value: Any) -> AnyPattern:
    """Return a pattern with another value of a field, or of the area of its Gaussian window.

    Examples
    --------
    >>> with_parameter(Gabor(2.0, sigma_deg=1.0), "area_deg2", 4 * math.pi).sigma_deg
    2.0
    """
    known = parameters_of(pattern)
    if name == "area_deg2" and name not in known and "sigma_deg" in known:
        name, value = "sigma_deg", math.sqrt(value / math.pi)
    changed: Any = pattern
    return cast("AnyPattern", replace(changed, **{name: value}))


def can_vary(pattern: Pattern, name: str) -> bool:
    """Whether a pattern has a parameter of that name, see `with_parameter`."""
    known = parameters_of(pattern)
    return name in known or (name == "area_deg2" and "sigma_deg" in known)


def with_seed(pattern: AnyPattern, *seed: int) -> AnyPattern:
    """Return another draw of a pattern that is random, and any other as it is."""
    if "seed" not in parameters_of(pattern):
        return pattern
    return with_parameter(pattern, "seed", seed[0] if len(seed) == 1 else seed)


def seed_of(pattern: Pattern) -> tuple[int, ...]:
    """Return the seed of a pattern, as several numbers; none if it is not random."""
    seed = getattr(pattern, "seed", ())
    return (seed,) if isinstance(seed, int) else tuple(seed)


#: Units as names of parameters end in them.
_UNITS = {
    "cpd": "cycles/degree",
    "deg": "degrees",
    "deg2": "square degrees",
    "cdm2": "cd/m2",
    "hz": "Hz",
    "px": "pixels",
    "s": "seconds",
    "db": "dB",
}


def name_and_unit(parameter: str) -> tuple[str, str]:
    """Return what a parameter is called, and its unit, which may be empty.

    Examples
    --------
    >>> name_and_unit("angle_deg"), name_and_unit("half_width")
    (('angle', 'degrees'), ('half width', ''))
    """
    *rest, last = parameter.split("_")
    if rest and last in _UNITS:
        return " ".join(rest), _UNITS[last]
    return parameter.replace("_", " "), ""


def in_words(pattern: Pattern, without: str = "") -> str:
    """Say what a pattern is, with those of its parameters that are not the usual ones.

    Parameters
    ----------
    without
        A parameter to leave out, since it varies.

    Examples
    --------
    >>> in_words(Gabor(2.0, sigma_deg=1.0, orientation_deg=45.0), without="frequency_cpd")
    'a Gabor patch of sigma 1 degree, orientation 45 degrees'
    """
    what = str(getattr(pattern, "words", ""))
    ours = bool(what)
    if not ours:
        named = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(pattern).__name__).lower()
        what = f"{'an' if named[0] in 'aeiou' else 'a'} {named}"
    left_out = {without, "seed", *getattr(pattern, "told", ())}
    if without == "area_deg2":
        left_out.add("sigma_deg")
    known: tuple[Any, ...] = fields(pattern) if is_dataclass(pattern) else ()
    parts = []
    for each in known:
        value = getattr(pattern, each.name)
        # What is usual for a pattern of a user's is not known.
        usual = ours and value == each.default
        if each.name in left_out or usual or not isinstance(value, int | float | str):
            continue
        name, unit = name_and_unit(each.name)
        if isinstance(value, bool):
            parts.append(name if value else f"no {name}")
        elif isinstance(value, str):
            parts.append(f"{name} {value}")
        else:
            name = "" if name == "frequency" else name
            unit = "degree" if value == 1 and unit == "degrees" else unit
            parts.append(f"{name} {value:g} {unit}".strip())
    return f"{what} of {', '.join(parts)}" if parts else what


def check_positive(pattern: object, *names: str) -> None:
    """Refuse fields that are there and not above 0."""
    for name in names:
        value = getattr(pattern, name)
        if value is not None and not value > 0:
            raise ValueError(f"{name} is {value:g}; it must be above 0.")


class OfOneFrequency:
    """A pattern whose ``frequency_cpd`` is the highest that it has."""

    frequency_cpd: float

    @property
    def highest_cpd(self) -> float:
        """Frequency of the fundamental."""
        return self.frequency_cpd


@dataclass(frozen=True)
class Grating(OfOneFrequency):
    """A grating that fills the field: sin(2 pi f x + phase), or its sign for ``wave="square"``.

    ``phase_deg=90`` is a cosine grating with a bright bar at the centre.

    Parameters
    ----------
    in_float32
        Whether x is found in single precision, as in the masks of Hammou et al. (2025); for
        vertical bars only.
    """

    frequency_cpd: float
    orientation_deg: float = 0.0
    phase_deg: float = 0.0
    wave: Literal["sine", "square"] = "sine"
    in_float32: bool = False

    words: ClassVar[str] = "a grating"

    def __post_init__(self) -> None:
        check_positive(self, "frequency_cpd")
        if self.in_float32 and self.orientation_deg:
            raise ValueError("gratings in single precision have vertical bars only.")

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the pattern with unit amplitude."""
        across, along = field.grid(device, self.orientation_deg)
        if self.in_float32:
            # The distance from the left edge is r sqrt(1 - cos^2), with r and the cosine those of
            # the pixel seen from the upper left corner. Near the left edge the root loses its
            # digits in single precision: errors reach 0.0001 deg.
            right, down = (across - across[:, :1]).float(), (along[:1] - along).float()
            distance = (right.square() + down.square()).sqrt()
            cosine = (down / distance).nan_to_num()  # 0 / 0 in the corner itself
            across = across[:, :1] + distance * (1 - cosine.square()).sqrt()
        wave = (across * (2 * math.pi * self.frequency_cpd) + math.radians(self.phase_deg)).sin()
        return wave.sign() if self.wave == "square" else wave


def _gaussian(across: Tensor, along: Tensor, sigma: float, sigma_along: float | None) -> Tensor:
    sigma_along = sigma if sigma_along is None else sigma_along
    return (across / sigma).square().div(-2).exp() * (along / sigma_along).square().div(-2).exp()


@dataclass(frozen=True)
class Gaussian:
    """A Gaussian blob; ``sigma_along_deg`` (default: the same) makes it oblong."""

    sigma_deg: float
    sigma_along_deg: float | None = None
    orientation_deg: float = 0.0
    x_deg: float = 0.0
    y_deg: float = 0.0

    words: ClassVar[str] = "a Gaussian blob"
    highest_cpd: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_positive(self, "sigma_deg", "sigma_along_deg")

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the pattern with unit amplitude."""
        across, along = field.grid(device, self.orientation_deg)
        if self.x_deg or self.y_deg:
            angle = math.radians(self.orientation_deg)
            across = across - (self.x_deg * math.cos(angle) + self.y_deg * math.sin(angle))
            along = along - (self.y_deg * math.cos(angle) - self.x_deg * math.sin(angle))
        return _gaussian(across, along, self.sigma_deg, self.sigma_along_deg)

    def share_inside(self, field: Field) -> float:
        """Return the share of its energy inside; exact unless it is both oblong and tilted."""
        cos, sin = (turn(math.radians(self.orientation_deg)) for turn in (math.cos, math.sin))
        along = self.sigma_deg if self.sigma_along_deg is None else self.sigma_along_deg
        sides = (
            (math.hypot(self.sigma_deg * cos, along * sin), self.x_deg, field.width_deg),
            (math.hypot(self.sigma_deg * sin, along * cos), self.y_deg, field.height_deg),
        )
        # The energy of a Gaussian of sigma is one of sigma / sqrt 2.
        return math.prod(
            (math.erf((side / 2 - at) / sigma) + math.erf((side / 2 + at) / sigma)) / 2
            for sigma, at, side in sides
        )


@dataclass(frozen=True)
class Gabor(OfOneFrequency):
    """A sine grating (``phase_deg=90``: cosine) in a Gaussian window of standard deviation sigma.

    Examples
    --------
    >>> from fechner.stimuli import Field
    >>> drawn = Gabor(4.0, sigma_deg=0.5, phase_deg=90).draw(Field.of(pixels=121, ppd=60))
    >>> float(drawn[60, 60])
    1.0
    """

    frequency_cpd: float
    sigma_deg: float
    orientation_deg: float = 0.0
    phase_deg: float = 0.0
    sigma_along_deg: float | None = None

    words: ClassVar[str] = "a Gabor patch"

    def __post_init__(self) -> None:
        check_positive(self, "frequency_cpd", "sigma_deg", "sigma_along_deg")

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the pattern with unit amplitude."""
        across, along = field.grid(device, self.orientation_deg)
        wave = (across * (2 * math.pi * self.frequency_cpd) + math.radians(self.phase_deg)).sin()
        return wave * _gaussian(across, along, self.sigma_deg, self.sigma_along_deg)

    def share_inside(self, field: Field) -> float:
        """Return the share of the window's energy inside."""
        window = Gaussian(self.sigma_deg, self.sigma_along_deg, self.orientation_deg)
        return window.share_inside(field)


@dataclass(frozen=True)
class Sum:
    """The weighted sum of patterns."""

    patterns: tuple[Pattern, ...]
    weights: tuple[float, ...]

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw every pattern and add them up."""
        first, *rest = (
            weight * pattern.draw(field, device)
            for weight, pattern in zip(self.weights, self.patterns, strict=True)
        )
        for drawn in rest:
            first = first + drawn
        return first

    @property
    def highest_cpd(self) -> float:
        """Highest of the patterns."""
        return max(pattern.highest_cpd for pattern in self.patterns)

    def share_inside(self, field: Field) -> float:
        """Return the smallest share of the patterns."""
        return min(share_inside(pattern, field) for pattern in self.patterns)


@dataclass(frozen=True)
class Product:
    """One pattern times another: a carrier in a window."""

    carrier: Pattern
    window: Pattern

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw both and multiply."""
        return self.carrier.draw(field, device) * self.window.draw(field, device)

    @property
    def highest_cpd(self) -> float:
        """Highest of the two."""
        return max(self.carrier.highest_cpd, self.window.highest_cpd)

    def share_inside(self, field: Field) -> float:
        """Return the share of the window's energy inside."""
        return share_inside(self.window, field)


#: Patterns drawn, up to so many bytes: hundreds of small pictures, a few of a large display.
DRAWN: Recent[Tensor] = Recent(1 << 27)


def drawn(pattern: Pattern, field: Field, device: str = "cpu") -> Tensor:
    """Draw a pattern, which may be a user's own, or remember it; [h, w]."""
    key = (pattern, field, device)
    if (known := DRAWN.get(key)) is not None:
        return known
    name = f"pattern {type(pattern).__name__}"
    try:
        picture = pattern.draw(field, device).expand(field.height_px, field.width_px)
        highest = float(picture.abs().amax())
    except FechnerError:
        raise
    except Exception as error:
        raise FechnerError(f"{name} could not be drawn: {raised(error)}.") from error
    if not math.isfinite(highest):
        raise FechnerError(f"{name} has values that are not finite.")
    if highest > 1.001 and contrast_of(pattern) == "amplitude":
        raise FechnerError(
            f"{name} has values up to {highest:.3g}; a contrast means what it says only if they "
            "are between -1 and 1."
        )
    return DRAWN.keep(key, picture, picture.nbytes)
