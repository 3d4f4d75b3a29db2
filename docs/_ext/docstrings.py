"""Signatures and docstrings as people would write them, where Sphinx has other ideas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def _tidy(
    app: Sphinx,
    what: str,
    name: str,
    thing: Any,
    options: Any,
    text: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Hide how protocols are made, which nobody does, and what Sphinx cannot write down."""
    if what == "class" and getattr(thing, "_is_protocol", False):
        return "", None
    return _readable(text), _readable(returns)


def _readable(text: str | None) -> str | None:
    if text is None:
        return None
    return re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text).replace("<factory>", "...")


_set_aside: dict[str, list[str]] = {}


def _before_napoleon(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Set a property's line aside: Napoleon takes the words before a colon in it for a type."""
    has_sections = any(re.fullmatch(r"-{3,}", line.strip()) for line in lines)
    if what in ("attribute", "data", "property") and not has_sections:
        _set_aside[name] = list(lines)
        lines.clear()


def _after_napoleon(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    lines[:] = _set_aside.pop(name, lines)


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen to autodoc."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _before_napoleon, priority=100)
    app.connect("autodoc-process-docstring", _after_napoleon, priority=900)
    app.connect("autodoc-process-signature", _tidy)
    return {"parallel_read_safe": True}
