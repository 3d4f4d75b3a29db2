"""Comma-separated lists of names."""

from __future__ import annotations

import re

import typer


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


def split_observers(text: str | None) -> list[str] | None:
    """Return the observers in an option; a name may hold commas between its settings.

    Examples
    --------
    >>> split_observers("pixels, timm/resnet50@size=96,normalise=none")
    ['pixels', 'timm/resnet50@size=96,normalise=none']
    """
    if split_names(text) is None or text is None:
        return None
    parts = (part.strip() for part in re.split(r",(?!\s*\w+=)", text))
    return [part for part in parts if part]
