"""Which tests of a suite a user chose, and whether the suite takes what was set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from fnmatch import fnmatchcase

from fechner.errors import FechnerError, UnknownNameError
from fechner.runs.folder import name_of_option
from fechner.runs.plan import with_earlier
from fechner.suites import Asked, Options, Suite, Test, suite

#: More tests than these are not listed where one is mistyped.
_LISTED = 30


def choose_tests(
    suite_name: str, options: Options, names: str | Sequence[str] | None
) -> list[Test]:
    """Return tests of a suite in its own order, with those that they come after.

    Parameters
    ----------
    names
        Names or patterns; None for those that the suite has by default.

    Examples
    --------
    >>> [test.id for test in choose_tests("encoders", Options(), "masking-*")]
    ['masking-coherent', 'masking-incoherent']
    """
    names = [names] if isinstance(names, str) else names
    own = suite(suite_name)
    _refuse_options(own, options.asked)
    if own.shows_pictures and options.asked.pictures is None:
        raise FechnerError(
            f"suite '{suite_name}' shows pictures in classes: give --images FOLDER, or --objects "
            "FOLDER (`fechner objects FOLDER` fetches some)."
        )
    every = {test.id: test for test in own.tests(options)}
    if not names:
        return with_earlier([test for test in every.values() if test.by_default], every)
    chosen: set[str] = set()
    for name in names:
        found = _matching(name, every)
        if not found and (lacking := _matching(name, own.further)):
            raise FechnerError(f"test '{name}' of {suite_name} needs {own.further[lacking[0]]}.")
        if not found:
            listed = f"{suite_name} has {', '.join(every)}"
            if len(every) > _LISTED:
                listed = f"`fechner list tests --suite {suite_name}` shows all {len(every)}"
            raise UnknownNameError("test", name, every, listed)
        chosen.update(found)
    return with_earlier([test for test in every.values() if test.id in chosen], every)


def _matching(name: str, known: Iterable[str]) -> list[str]:
    """Return what has a name, or matches it as a pattern."""
    return [each for each in known if each == name or fnmatchcase(each, name)]


def _refuse_options(own: Suite, asked: Asked) -> None:
    """Say which options a suite does not take."""
    foreign = [
        name_of_option(each.name, getattr(asked, each.name))
        for each in fields(Asked)
        if getattr(asked, each.name) != each.default and each.name not in own.takes
    ]
    if foreign:
        them = "it" if len(foreign) == 1 else "them"
        raise FechnerError(
            f"suite '{own.name}' does not take {' or '.join(foreign)}; leave {them} out."
        )
