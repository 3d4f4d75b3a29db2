"""Options that are names: one, or a comma-separated list."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection
from typing import Annotated

import typer

DISPLAY = Annotated[
    str | None,
    typer.Option(
        help="Display that stimuli are shown on: a name (`fechner list displays`) or a TOML file; "
        "the suite's own if left out."
    ),
]


def split_names(text: str | None) -> list[str] | None:
    """Return the names in an option, None if it was left out.

    Examples
    --------
    >>> split_names("area, luminance")
    ['area', 'luminance']
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise typer.BadParameter("an empty list: name at least one, or leave the option out.")
    return parts


def split_observers(text: str | None, known: Collection[str] = ()) -> list[str] | None:
    """Return the observers in an option, whose names may hold commas themselves.

    Commas belong to a name between its settings, and wherever they do in one that is ``known``.

    Examples
    --------
    >>> split_observers("pixels, timm/resnet50@size=96,normalise=none")
    ['pixels', 'timm/resnet50@size=96,normalise=none']
    >>> split_observers("mine, yours,pixels", known={"mine, yours"})
    ['mine, yours', 'pixels']
    """
    if split_names(text) is None or text is None:
        return None
    parts = text.split(",")
    names = []
    while parts:
        joined = [(",".join(parts[:end]), end) for end in range(len(parts), 0, -1)]
        spellings = ((name, end) for each, end in joined for name in (each, each.strip()))
        settings = itertools.takewhile(re.compile(r"\s*\w+=").match, parts[1:])
        last = 1 + len(list(settings))
        otherwise = (",".join(parts[:last]).strip(), last)
        name, end = next((found for found in spellings if found[0] in known), otherwise)
        names += [name] if name else []
        parts = parts[end:]
    return names
