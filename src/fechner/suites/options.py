"""Options: what a user may set, said once.

A suite has one frozen dataclass of options. Flags of the command line, keywords of
`fechner.evaluate`, entries of the manifest, words on pages and checks of wrong values all derive
from its fields.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from fechner.errors import FechnerError, nearest
from fechner.experiments import MatchBy
from fechner.stimuli import Display, open_display
from fechner.stimuli.display import make_display

if TYPE_CHECKING:
    from fechner.experiments.base import Scene


Mode = Literal["default", "published"]

_METADATA = "fechner"


@dataclass(frozen=True)
class Option:
    """A field of an options dataclass, as a user meets it; made by `option`.

    Parameters
    ----------
    name, type, default
        Of the field; the type without ``None``.
    help
        One or two sentences, shown by ``--help``.
    unit
        Unit of its value.
    low, high, above, below
        Bounds of a number; the last two are exclusive.
    flag
        Its name on the command line, if that is not the field's.
    negative
        Name of the flag for False, of an option that is True, False or neither.
    words
        What pages say where it was set; ``{}`` stands for the value.
    text
        Turns a value into a few words.
    read
        Turns what a user gives, such as a path, into the value.
    store, restore
        Turn the value into JSON values of the manifest, and back.
    comparable
        Whether numbers of a paper still stand beside those that were measured with another value.
    """

    help: str
    name: str = ""
    type: Any = str
    default: Any = None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    flag: str = ""
    negative: str = ""
    words: str = ""
    text: Callable[[Any], str] | None = None
    read: Callable[[Any], Any] | None = None
    store: Callable[[Any], Any] | None = None
    restore: Callable[[Any], Any] | None = None
    comparable: bool = True

    @property
    def flags(self) -> tuple[str, ...]:
        """Its flag, and for True-or-False options that are not False by default, that for False."""
        on = f"--{self.flag or self.name.replace('_', '-')}"
        if self.type is not bool or self.default is False:
            return (on,)
        return on, f"--{self.negative or 'no-' + on.removeprefix('--')}"

    @property
    def choices(self) -> tuple[str, ...]:
        """What it can be, if that is one of a few values, as words."""
        return tuple(map(str, get_args(self.type))) if get_origin(self.type) is Literal else ()

    @property
    def is_list(self) -> bool:
        """Whether it holds several values."""
        return get_origin(self.type) is tuple

    def convert(self, value: Any) -> Any:
        """Return a value as its field holds it, or say what is wrong with it.

        Examples
        --------
        >>> trials = Option("Trials.", "trials", int, low=1)
        >>> trials.convert("12")
        12
        >>> trials.convert(0)
        Traceback (most recent call last):
        fechner.errors.FechnerError: --trials must be at least 1, not 0.
        """
        if value is None and self.default is None:
            return None
        if self.read is not None:
            return self.read(value)
        if self.choices:
            if str(value) in self.choices:
                return get_args(self.type)[self.choices.index(str(value))]
            near = nearest(str(value), self.choices)
            hint = f"; did you mean {near}?" if near else "."
            listed = " or ".join(self.choices)
            raise FechnerError(f"{self.flags[0]} must be {listed}, not '{value}'{hint}")
        if self.is_list:
            words = value.split(",") if isinstance(value, str) else value
            each_one = replace(self, type=get_args(self.type)[0], default=...)
            stripped = (each.strip() if isinstance(each, str) else each for each in words)
            return tuple(each_one.convert(each) for each in stripped if each != "")
        if self.type is Path:
            return Path(value)
        if self.type is bool and not isinstance(value, bool):
            raise FechnerError(f"{self.flags[0]} must be True or False, not {value!r}.")
        return self._number(value) if self.type in (int, float) else value

    def _number(self, value: Any) -> float:
        number = math.nan
        with suppress(TypeError, ValueError, OverflowError):
            number = self.type(value)
        same = isinstance(value, str) or number == value
        if isinstance(value, bool) or not math.isfinite(number) or not same:
            what = "a whole number" if self.type is int else "a number"
            raise FechnerError(f"{self.flags[0]} must be {what}, not '{value}'.")
        if (
            (self.low is not None and number < self.low)
            or (self.above is not None and number <= self.above)
            or (self.high is not None and number > self.high)
            or (self.below is not None and number >= self.below)
        ):
            raise FechnerError(f"{self.flags[0]} must be {self.bounds}, not {number:g}.")
        return number

    @property
    def bounds(self) -> str:
        """Its bounds in words, empty if it has none."""
        named = {"at least": self.low, "above": self.above, "at most": self.high}
        named["below"] = self.below
        said = " and ".join(f"{word} {at:g}" for word, at in named.items() if at is not None)
        return f"{said} {self.unit}".rstrip() if said else ""

    def in_words(self, value: Any) -> str:
        """Return a value for people, with its unit.

        Examples
        --------
        >>> Option("Angle.", "angle", float, 90.0, unit="degrees").in_words(60.0)
        '60 degrees'
        """
        if self.text is not None:
            return self.text(value)
        if isinstance(value, tuple):
            return ", ".join(map(str, value))
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        return f"{shown} {self.unit}" if self.unit else shown

    def as_flag(self, value: Any) -> str:
        """Return a value as one would give it on the command line.

        Examples
        --------
        >>> Option("Seed.", "seed", int, 0).as_flag(3)
        '--seed 3'
        """
        if self.type is bool and isinstance(value, bool):
            if value:
                return self.flags[0]
            return self.flags[1] if len(self.flags) > 1 else f"without {self.flags[0]}"
        if value is None:
            return f"without {' or '.join(self.flags)}"
        if self.is_list:
            shown = ",".join(map(str, value))
        else:
            shown = str(value) if self.choices else self.in_words(value)
        return f"{self.flags[0]} {shown.removesuffix(' ' + self.unit) if self.unit else shown}"

    def sentence(self, value: Any) -> str:
        """Return what pages say of a value that was set.

        Examples
        --------
        >>> Option("Angle.", "angle", float, 90.0, unit="degrees").sentence(60.0)
        'angle 60 degrees'
        """
        name = self.name.replace("_", " ")
        if isinstance(value, bool) and not self.words:
            return name if value else f"no {name}"
        if value is None:
            return f"no {name}"
        return (self.words or f"{name} {{}}").format(self.in_words(value))


def option(default: Any, *, help: str, **about: Any) -> Any:
    """Make a field of an options dataclass.

    Parameters
    ----------
    default
        Its value where a user sets none.
    help
        One or two sentences for ``--help``.
    about
        More about it: unit, low, high, above, below, flag, words and others (see `Option`).

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Plaids(Options):
    ...     angle: float = option(90.0, help="Between gratings.", unit="degrees", above=0, high=180)
    >>> Plaids(angle=60).words()
    ['angle 60 degrees']
    >>> Plaids(angle=0)
    Traceback (most recent call last):
    fechner.errors.FechnerError: --angle must be above 0 and at most 180 degrees, not 0.
    """
    return field(default=default, metadata={_METADATA: Option(help, default=default, **about)})


def _options_of(kind: Any) -> Mapping[str, Option]:
    """Return the options of a dataclass by name.

    Examples
    --------
    >>> list(options_of(Options))
    ['published', 'seed', 'ppd', 'resize']
    """
    if "__dataclass_fields__" not in vars(kind):
        raise FechnerError(
            f"{kind.__name__} needs the line @dataclass(frozen=True, kw_only=True) before it."
        )
    types = get_type_hints(kind)
    found = {}
    for each in fields(kind):
        about = each.metadata.get(_METADATA)
        if about is not None:
            # Without None; what may be several things is Any.
            kinds = [t for t in get_args(types[each.name]) if t is not NoneType]
            is_union = get_origin(types[each.name]) in (Union, UnionType)
            own = types[each.name] if not is_union else kinds[0] if len(kinds) == 1 else Any
            found[each.name] = replace(about, name=each.name, type=own)
        elif each.compare:
            raise FechnerError(
                f"field '{each.name}' of {kind.__name__} is no option yet: write "
                f"{each.name}: ... = option(default, help=...)."
            )
    return found


#: The options of a dataclass by name.
options_of: Callable[[Any], Mapping[str, Option]] = cache(_options_of)


class Checked:
    """A dataclass whose options check themselves."""

    def __post_init__(self) -> None:
        for name, each in options_of(type(self)).items():
            object.__setattr__(self, name, each.convert(getattr(self, name)))

    def changed(self) -> dict[str, Any]:
        """Return the options that have another value than their default."""
        known = options_of(type(self))
        return {
            n: getattr(self, n) for n, each in known.items() if getattr(self, n) != each.default
        }


@dataclass(frozen=True, kw_only=True)
class Options(Checked):
    """What a user may set in every suite; suites with options of their own derive from it.

    Parameters
    ----------
    people
        Trials of people (`HumanTrials`) in tests of the suite; nothing that is measured depends on
        them.

    Examples
    --------
    >>> Options(published=True).mode
    'published'
    """

    published: bool = option(
        False, help="Rebuild the published numbers.", words="as published", text=str
    )
    seed: int = option(0, help="Seed of everything random in the stimuli.", low=0)
    ppd: float | None = option(
        None,
        help="Pixels per degree; left out, those an observer is made for, or the suite's own.",
        unit="pixels/degree",
        above=0,
        words="{}",
        comparable=False,
    )
    resize: bool | None = option(
        None,
        help="Draw at the suite's size and resample for models that want another size.",
        words="{}",
        text={True: "resampled", False: "drawn at each observer's size"}.__getitem__,
        comparable=False,
    )
    people: Any = field(default=None, compare=False, repr=False)

    @property
    def mode(self) -> Mode:
        """Published, or with what was wrong put right."""
        return "published" if self.published else "default"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should be told before a run, in sentences."""
        return ()

    def opened(self, spool: Path | None = None) -> Self:
        """Return the same, ready for a run.

        Suites that list pictures, or cannot do without something from a user, override it.

        Parameters
        ----------
        spool
            Folder for pictures that come from an iterator; None is a temporary one.
        """
        return self

    def words(self) -> list[str]:
        """Return what was set, as pages say it."""
        known = options_of(type(self))
        return [known[name].sentence(value) for name, value in self.changed().items()]

    @property
    def as_printed(self) -> Self:
        """The same without what papers had no choice of."""
        known = options_of(type(self))
        return replace(
            self, **{name: each.default for name, each in known.items() if not each.comparable}
        )

    def shown_in(self, scene: Scene) -> Scene:
        """Return a scene with the pixels per degree and resizing that a user chose.

        Observers' own pixels per degree give way to those of a user, and to those of a paper.
        """
        if self.ppd is not None:
            scene = scene.at_ppd(self.ppd)
        if self.ppd is not None or self.published:
            scene = replace(scene, own_ppd=False)
        return scene if self.resize is None else replace(scene, resize=self.resize)


def _restored_display(stored: Mapping[str, Any]) -> Display:
    return make_display(stored["name"], {k: stored[k] for k in stored.keys() - {"kind", "name"}})


@dataclass(frozen=True, kw_only=True)
class DisplayOptions(Options):
    """Options of suites that show light, on a display that a user may choose."""

    display: Any = option(
        None,
        help="Display that stimuli are shown on: a name (`fechner list displays`) or a TOML file; "
        "the suite's own if left out.",
        read=open_display,
        restore=_restored_display,
        text=lambda display: str(display.name),
        words="display {}",
        comparable=False,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.published and self.display is not None:
            raise FechnerError("--published has the display of the paper: leave --display out.")

    def shown_in(self, scene: Scene) -> Scene:
        """Return a scene with what a user chose, the display included."""
        if self.display is not None:
            scene = replace(scene, display=self.display)
        return super().shown_in(scene)


def spaced(low: float, high: float, n: int) -> tuple[float, ...]:
    """Return values equally spaced on a logarithmic scale, both ends included.

    Examples
    --------
    >>> spaced(0.5, 2, 3)
    (0.5, 1.0, 2.0)
    """
    return tuple(float(value) for value in np.geomspace(low, high, n))


@dataclass(frozen=True, kw_only=True)
class MatchOptions(DisplayOptions):
    """Options of suites in which contrast is matched across frequency."""

    match: MatchBy = option(
        "response",
        help="Match contrast across frequency by equal responses against a uniform field, or by "
        "direct comparison of the gratings.",
        words="gratings matched by {}",
        text={"response": "response", "direct": "direct comparison"}.__getitem__,
        comparable=False,
    )


@dataclass(frozen=True, kw_only=True)
class PlacementOptions(Options):
    """Options of suites that choose contrasts or levels trial by trial, or show every one."""

    adaptive: bool | None = option(
        None,
        help="Choose contrasts or levels trial by trial, or show every one; the suite's own way if "
        "left out.",
        negative="constant",
        words="{}",
        text={True: "adaptive levels", False: "constant levels"}.__getitem__,
    )
    trials: int | None = option(
        None,
        help="Trials of each prompt, or of each class; with --constant, draws of each contrast.",
        low=1,
        words="{} trials",
    )
    width: float | None = option(
        None,
        help="Stop once the threshold's 95% interval is narrower than this (log10 units).",
        above=0,
        words="stopped at intervals of {} log10 units",
    )
