"""Comma-separated lists of names."""

from __future__ import annotations

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
