"""Errors are sentences for the person at the keyboard: what was wrong, and what to do."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path


def nearest(name: str, known: Iterable[str], alike: float = 0.5) -> str | None:
    """Return the known name that is spelt most like one, None if none is.

    Parameters
    ----------
    alike
        How much of the letters must be the same, 0..1.

    Examples
    --------
    >>> nearest("Pixel", ["pixels", "cvvdp"])
    'pixels'
    """
    spellings = {each.lower(): each for each in sorted(known)}
    near = difflib.get_close_matches(name.lower(), list(spellings), n=1, cutoff=alike)
    return spellings[near[0]] if near else None


class FechnerError(Exception):
    """Anything the user can mend; the command line prints it as one line."""


def described(error: BaseException) -> str:
    """Return an error as part of a sentence; ours need no class in front.

    Examples
    --------
    >>> described(ValueError("no pictures.")), described(FechnerError("It is too dark."))
    ('ValueError: no pictures', 'It is too dark')
    """
    text = str(error).strip().rstrip(".")
    if isinstance(error, FechnerError):
        return text
    return f"{type(error).__name__}: {text}".removesuffix(": ")


def raised(error: BaseException) -> str:
    """Return an error of a user's own code as part of a sentence, with the file and line.

    Examples
    --------
    >>> raised(ValueError("too dark."))
    'ValueError: too dark'
    """
    ours = str(Path(__file__).parent)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((ours, "<"))
    ]
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return described(error) + where


class UnknownNameError(FechnerError):
    """A name that nothing answers to, with the nearest spelling."""

    def __init__(self, kind: str, name: str, known: Iterable[str], how_to_list: str) -> None:
        near = nearest(name, known)
        hint = f"did you mean '{near}'? " if near else ""
        super().__init__(f"there is no {kind} named '{name}'; {hint}{how_to_list}.")


def check_names(
    kind: str, names: Iterable[str] | None, known: Iterable[str], there: str = "there are"
) -> None:
    """Raise an error for the first of some names that is not known; it lists those that are.

    Examples
    --------
    >>> check_names("test", ["area"], ["area", "luminance"])
    """
    every = list(dict.fromkeys(known))
    for name in names or ():
        if name not in every:
            raise UnknownNameError(kind, name, every, f"{there} {listed(every)}")


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names in a sentence, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"], most=2)
    'a, b and 2 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


class MissingExtraError(FechnerError):
    """An optional package that is not installed."""

    def __init__(self, what: str, extra: str, cause: str = "") -> None:
        detail = f" ({cause})" if cause else ""
        super().__init__(f"{what} needs an extra package{detail}: pip install 'fechner[{extra}]'.")


class ObserverError(FechnerError):
    """An observer that answered with something that cannot be used."""


class UnansweredError(ObserverError):
    """Questions that stayed without an answer; others of the same kind may have one."""


class InvalidRepliesError(ObserverError):
    """An observer whose replies are none of the options, so that asking on would be wasted."""


class GamutError(FechnerError):
    """A stimulus that the display or its pixels cannot show."""


class PictureError(FechnerError):
    """A picture that cannot be shown; ``problem`` says in a word why."""

    def __init__(self, message: str, problem: str) -> None:
        super().__init__(message)
        self.problem = problem


class RunFolderError(FechnerError):
    """A run folder that cannot be used as asked."""


class BudgetError(FechnerError):
    """A run that has taken as many trials or as much money as it may."""


class WorkerError(FechnerError):
    """Other processes that cannot do their work."""
