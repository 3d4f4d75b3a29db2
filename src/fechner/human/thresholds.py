"""Human thresholds as a parameter of experiments: models, data sets, a file of one's own, or none.

A reference says how little contrast people can see of a target, in the unit of the experiment's
contrast axis, how uncertain that is, and where it comes from. Models answer for any target;
measured thresholds know the abscissae at which they were measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np

from fechner.errors import FechnerError
from fechner.human.castle import castle_csf, castle_csf_disc, castle_threshold_amplitude
from fechner.human.datasets import load
from fechner.human.elatcsf import elatcsf_disc
from fechner.human.inputs import Row, read_rows
from fechner.human.spatial_observer import standard_spatial_observer
from fechner.stimuli.contrast import Unit, convert_contrast
from fechner.stimuli.patterns import Pattern, area_deg2

if TYPE_CHECKING:
    from fechner.stimuli.colour import OpponentSpace
    from fechner.stimuli.field import Field

#: Standard deviation of castleCSF against the studies behind it, which is 2 to 6 dB.
CSF_ERROR_DB = 4.0

#: A 95 % interval is as many standard errors wide.
_WIDTH = 2 * 1.959964


@dataclass(frozen=True)
class Target:
    """What is shown at the abscissa x, and the unit in which its threshold is wanted."""

    x: float
    pattern: Pattern
    unit: Unit
    direction: str
    luminance_cdm2: float
    flicker_hz: float
    field: Field
    space: OpponentSpace

    def parameter(self, name: str, model: str) -> float:
        """Return a parameter of the pattern that a model cannot do without."""
        value = getattr(self.pattern, name, None)
        if value is None:
            raise FechnerError(
                f"{model} needs the {name} of a pattern, which {type(self.pattern).__name__} has "
                "not; give human=None, or thresholds of your own (fechner.human.read_thresholds)."
            )
        return float(value)


class HumanReference(Protocol):
    """Thresholds of people, for an experiment to compare with; a frozen dataclass.

    Optional: ``over``, the only abscissa it knows, and ``name``, for the legend of a figure.
    """

    @property
    def citation(self) -> str:
        """Key in the bibliography, or the citation itself."""
        ...

    @property
    def words(self) -> str:
        """What the thresholds are, as in "Human thresholds are ..."."""
        ...

    @property
    def at(self) -> tuple[float, ...] | None:
        """Abscissae that it has thresholds at; None for a model that has them anywhere."""
        ...

    @property
    def error_db(self) -> float | tuple[float, ...] | None:
        """Standard error of a threshold, 20 log10: of all, of each of ``at``, or not known."""
        ...

    def threshold(self, target: Target) -> float:
        """Return the threshold of a target, in its unit of contrast."""
        ...


@dataclass(frozen=True)
class CastleCSF:
    """Thresholds of castleCSF, for patterns that have a ``frequency_cpd``, and for disks.

    Parameters
    ----------
    unit
        How its thresholds become contrasts of the stimuli. ``"stimulus"``: for the very background
        and direction that are shown, in the unit of the contrast axis. ``"amplitude"``: for its own
        grey, as amplitude over luminance (Hammou et al. 2025). ``"cone"``: cone contrast, taken for
        the unit of the stimuli (Cai et al. 2025).
    area_deg2
        Area of the pattern; None is its own.
    error_db
        Standard deviation of human thresholds around the model.
    """

    unit: Literal["stimulus", "amplitude", "cone"] = "stimulus"
    area_deg2: float | None = None
    error_db: float = CSF_ERROR_DB

    name: ClassVar[str] = "castleCSF"
    citation: ClassVar[str] = "ashraf2024"
    at: ClassVar[None] = None

    @property
    def words(self) -> str:
        """What the thresholds are."""
        area = "" if self.area_deg2 is None else f", for an area of {self.area_deg2:.3g} degree2"
        own = {
            "stimulus": "converted to the unit of the stimuli",
            "amplitude": "taken for its own grey, as amplitude over luminance",
            "cone": "taken as they are, without a change of unit",
        }[self.unit]
        return f"castleCSF's{area}, {own}"

    def threshold(self, target: Target) -> float:
        """Return the threshold of a target."""
        luminance = target.luminance_cdm2
        modulation = target.space.modulation_lms(target.direction, luminance)
        background = target.space.background_lms(luminance)
        light: dict[str, Any] = {"luminance_cdm2": luminance, "direction": target.direction}
        if self.unit == "stimulus":
            light = {"direction": modulation, "background_lms": background}
        light["temporal_hz"] = target.flicker_hz
        pattern: Any = target.pattern
        is_disk = hasattr(pattern, "radius_deg") and not hasattr(pattern, "frequency_cpd")
        if is_disk and self.unit != "amplitude":
            sensitivity = castle_csf_disc(pattern.radius_deg, **light)
        else:
            area = area_deg2(pattern, target.field) if self.area_deg2 is None else self.area_deg2
            frequency = target.parameter("frequency_cpd", "castleCSF")
            if self.unit == "amplitude":
                amplitude = castle_threshold_amplitude(frequency, area_deg2=area, **light)
                return float(amplitude) / luminance
            sensitivity = castle_csf(frequency, area_deg2=area, **light)
        if self.unit == "cone":
            return 1 / float(sensitivity)
        return convert_contrast(
            1 / float(sensitivity),
            unit="cone",
            to=target.unit,
            modulation_lms=modulation,
            background_lms=background,
        )


@dataclass(frozen=True)
class ElaTCSF:
    """Thresholds of elaTCSF for flickering disks, as Michelson contrast."""

    error_db: float = CSF_ERROR_DB

    name: ClassVar[str] = "elaTCSF"
    citation: ClassVar[str] = "cai2024_elatcsf"
    words: ClassVar[str] = "elaTCSF's"
    at: ClassVar[None] = None

    def threshold(self, target: Target) -> float:
        """Return the threshold of a target."""
        radius = target.parameter("radius_deg", "elaTCSF")
        sensitivity = elatcsf_disc(
            target.flicker_hz, luminance_cdm2=target.luminance_cdm2, radius_deg=radius
        )
        return 1 / float(sensitivity)


@dataclass(frozen=True)
class StandardSpatialObserver:
    """Thresholds of the Standard Spatial Observer, for patterns that have a ``frequency_cpd``.

    Parameters
    ----------
    unit
        How its peak contrasts become contrasts of the stimuli: ``"rms"`` as those of a grating,
        ``"peak"`` not at all.
    error_db
        Standard deviation of human thresholds around it, taken to be that of castleCSF.

    Examples
    --------
    >>> from fechner.stimuli import OPPONENT, Field, Grating
    >>> shown = Target(4.0, Grating(4.0), "dkl", "ach", 40.0, 0.0, Field(64, 64, 64.0), OPPONENT)
    >>> round(1 / StandardSpatialObserver("peak").threshold(shown), 4)
    188.8416
    """

    unit: Literal["rms", "peak"] = "rms"
    error_db: float = CSF_ERROR_DB

    name: ClassVar[str] = "Standard Spatial Observer"
    citation: ClassVar[str] = "watson_malo2002"
    at: ClassVar[None] = None

    @property
    def words(self) -> str:
        """What the thresholds are."""
        unit = {"rms": "as RMS contrast of a grating", "peak": "peak contrast taken for RMS"}
        return f"those of the Standard Spatial Observer, {unit[self.unit]}"

    def threshold(self, target: Target) -> float:
        """Return the threshold of a target."""
        frequency = target.parameter("frequency_cpd", "the Standard Spatial Observer")
        orientation = getattr(target.pattern, "orientation_deg", 0.0)
        # The RMS contrast of a grating over its peak contrast.
        factor = 0.5**0.5 if self.unit == "rms" else 1.0
        return 1 / float(standard_spatial_observer(frequency, orientation)) * factor


@dataclass(frozen=True)
class MeasuredThresholds:
    """Thresholds that were measured, in the unit of an experiment's contrast axis.

    Parameters
    ----------
    over
        Name of the abscissa, as the experiment has it.
    at, contrasts
        Abscissae, from the lowest to the highest, and the threshold at each.
    error_db
        Standard error of a threshold, 20 log10: one number, one for each, or None if it is not
        known.
    citation
        Key in the bibliography, or the citation itself.
    source
        What to call them; empty calls them by their citation.

    Examples
    --------
    >>> own = MeasuredThresholds("angle_deg", (0.0, 45.0, 90.0), (0.01, 0.012, 0.02), error_db=1.0)
    >>> own.words
    'those of your own data'
    """

    over: str
    at: tuple[float, ...]
    contrasts: tuple[float, ...]
    error_db: float | tuple[float, ...] | None = None
    citation: str = "your own data"
    source: str = ""

    def __post_init__(self) -> None:
        if not self.at or not self.citation:
            raise FechnerError("human thresholds need at least one abscissa, and a citation.")
        errors = len(self.error_db) if isinstance(self.error_db, tuple) else len(self.at)
        if not len(self.at) == len(self.contrasts) == errors:
            raise FechnerError(
                f"there are {len(self.at)} abscissae, {len(self.contrasts)} thresholds and "
                f"{errors} errors; give a threshold and an error for each, or one error for all."
            )
        if any(not low < high for low, high in zip(self.at, self.at[1:], strict=False)):
            raise FechnerError(f"abscissae rise from one to the next; {self.over} has {self.at}.")
        if not all(0 < contrast < math.inf for contrast in self.contrasts):
            raise FechnerError(f"thresholds are contrasts above 0, not {self.contrasts}.")

    @property
    def words(self) -> str:
        """What the thresholds are."""
        return self.source or f"those of {self.citation}"

    def threshold(self, target: Target) -> float:
        """Return the threshold of a target, which must be at one of the abscissae."""
        if target.x not in self.at:
            raise FechnerError(f"there is no human threshold at {self.over} {target.x:g}.")
        return self.contrasts[self.at.index(target.x)]


def tabulated_thresholds(
    function: Callable[[float], float],
    over: str,
    values: Sequence[float],
    error_db: float | tuple[float, ...] | None = None,
    citation: str = MeasuredThresholds.citation,
) -> MeasuredThresholds:
    """Return what any function of the abscissa says, as thresholds at some values.

    Examples
    --------
    >>> weber = tabulated_thresholds(lambda cdm2: 0.01 + 1 / cdm2, "luminance_cdm2", (10, 100))
    >>> weber.contrasts
    (0.11, 0.02)
    """
    at = tuple(float(value) for value in values)
    return MeasuredThresholds(over, at, tuple(float(function(x)) for x in at), error_db, citation)


def masking_thresholds(
    data: str,
    scored: tuple[float, float] = (0.0, 1.0),
    scored_at: tuple[float, ...] | None = None,
) -> MeasuredThresholds:
    """Return the thresholds of a data set over the contrast of a mask.

    Parameters
    ----------
    data
        Human data set with columns ``mask_contrast`` and ``threshold_contrast``.
    scored
        Open interval of mask contrasts that are compared.
    scored_at
        Mask contrasts that are compared, by thresholds on straight lines between the data and held
        constant past their ends; None are those of the data.

    Examples
    --------
    >>> foley = masking_thresholds("foley1994")
    >>> len(foley.at), foley.error_db
    (10, 0.5)
    """
    table = load(data)
    mask, threshold = table["mask_contrast"], table["threshold_contrast"]
    kept = (mask > scored[0]) & (mask < scored[1])
    if "mask_orientation_deg" in table.columns:
        kept &= table["mask_orientation_deg"] == 0
    at, contrasts = zip(
        *sorted(zip(mask[kept].tolist(), threshold[kept].tolist(), strict=True)), strict=True
    )
    if scored_at is not None:
        between = np.interp(np.array(scored_at), at, contrasts)
        at, contrasts = scored_at, tuple(between.tolist())
    about = table.about
    source = f"the data set {data}"
    return MeasuredThresholds(
        "mask_contrast", at, contrasts, about.uncertainty_db, about.reference_key, source
    )


def read_thresholds(path: Path | str, over: str, citation: str = "") -> MeasuredThresholds:
    r"""Read human thresholds from a CSV file; the first mistake in it is an error in one sentence.

    The file is UTF-8 with commas between columns and a line of their names: the abscissa,
    ``threshold`` (in the unit of the experiment's contrast axis) and, if it is known, how uncertain
    that is: ``low`` and ``high``, the ends of a 95 % interval, or ``error_db``, a standard error in
    20 log10. Lines that begin with ``#`` are comments; columns with other names are ignored.

    Parameters
    ----------
    over
        Name of the abscissa: of the column, and of what the experiment varies, such as
        ``"frequency_cpd"``.
    citation
        Key in the bibliography, or the citation itself; without one, the name of the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> rows = "# Ann, 3 November\nangle_deg,threshold,error_db\n0,0.012,0.8\n90,0.01,0.5\n"
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "mine.csv"
    ...     _ = file.write_text(rows)
    ...     mine = read_thresholds(file, over="angle_deg")
    >>> mine.at, mine.contrasts, mine.error_db, mine.citation
    ((0.0, 90.0), (0.012, 0.01), (0.8, 0.5), 'mine.csv')
    """
    path = Path(path)
    lines: dict[float, int] = {}
    points: list[tuple[float, float, float | None]] = []
    optional = ("low", "high", "error_db")
    for row in read_rows(path, (over, "threshold"), optional, comments=True):
        x = row.number(over)
        if x in lines:
            row.refuse(f"has the {over} of line {lines[x]}, {x:g}; average the two")
        lines[x] = row.line
        threshold = _contrast(row, "threshold")
        points.append((x, threshold, _error_db(row, threshold)))
    if not points:
        raise FechnerError(f"{path} has names of columns but no thresholds; add a row for each.")
    points.sort()
    at, contrasts, errors = zip(*points, strict=True)
    return MeasuredThresholds(
        over, at, contrasts, None if None in errors else errors, citation or path.name
    )


def _error_db(row: Row, threshold: float) -> float | None:
    """Return the standard error of a threshold, None if the file has none."""
    if "error_db" in row:
        if "low" in row or "high" in row:
            raise FechnerError(
                f"{row.path} has both error_db and the ends of an interval; leave out either."
            )
        error = row.number("error_db")
        if error < 0:
            row.refuse(f"has the error_db {error:g}; it must be 0 or above")
        return error
    missing = [name for name in ("low", "high") if name not in row]
    if len(missing) == 2:
        return None
    if missing:
        raise FechnerError(f"{row.path} lacks the column {missing[0]}; an interval has two ends.")
    low, high = (_contrast(row, name) for name in ("low", "high"))
    if not low <= threshold <= high:
        row.refuse(f"has the threshold {threshold:g} outside its interval, {low:g} to {high:g}")
    return 20 * math.log10(high / low) / _WIDTH


def _contrast(row: Row, name: str) -> float:
    value = row.number(name)
    if value <= 0 or (name == "threshold" and value > 1):
        row.refuse(
            f"has the {name} {value:g}; thresholds are contrasts between 0 and 1, not percent, "
            "sensitivities or dB"
        )
    return value
