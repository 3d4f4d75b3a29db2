"""The directive ``room``: everything that a room of the package exports, by kind.

Autodoc alone leaves out constants, because their ``#:`` comments stand in another module than the
one that exports them.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_origin

from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx


class Room(SphinxDirective):
    """Document what a module exports: ``.. room:: fechner.stimuli``, and more names after it."""

    required_arguments = 1
    optional_arguments = 100  # names that are met in signatures but not exported

    def run(self) -> list[nodes.Node]:
        """Write the page as autodoc directives and parse it."""
        module = importlib.import_module(self.arguments[0])
        text = "\n".join(_lines(module, self.arguments[1:]))
        return self.parse_text_to_nodes(text)


def _lines(module: ModuleType, more: list[str]) -> Iterator[str]:
    yield f".. module:: {module.__name__}"
    yield ""
    yield inspect.getdoc(module) or ""
    yield ""
    things = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    comments = _comments(module)
    classes = [name for name, thing in things.items() if inspect.isclass(thing)]
    functions = [name for name, thing in things.items() if _is_function(thing)]
    constants = [name for name in things if name not in (*classes, *functions)]
    full = f"{module.__name__}.{{}}".format
    if classes:
        yield from _section("Classes", (f".. autoclass:: {full(name)}" for name in classes))
    if functions:
        yield from _section("Functions", (f".. autofunction:: {full(name)}" for name in functions))
    if constants:
        entries = (_constant(name, things[name], comments.get(name, [])) for name in constants)
        yield from _section("Constants and types", entries)
    if more:
        yield from _section("Met along the way", (f".. autoclass:: {name}" for name in more))


def _is_function(thing: Any) -> bool:
    return inspect.isfunction(inspect.unwrap(thing))  # unwrapped, because some are cached


def _section(title: str, entries: Iterator[str]) -> Iterator[str]:
    yield from (f".. rubric:: {title}", "")  # not a heading: every page would have the same labels
    for entry in entries:
        yield from (entry, "")


def _constant(name: str, thing: Any, comment: list[str]) -> str:
    lines = [f".. data:: {name}", ""]
    lines += [f"   {line}" for line in comment]
    if get_origin(thing) is not None:
        lines += ["", f"   ``{thing}``".replace("typing.", "")]
    return "\n".join(lines)


def _comments(room: ModuleType) -> dict[str, list[str]]:
    """Return the comments on constants in all files of a room, without importing them."""
    home = Path(str(room.__file__))
    found: dict[str, list[str]] = {}
    for file in sorted(home.parent.glob("*.py")) if home.name == "__init__.py" else [home]:
        analyzer = ModuleAnalyzer.for_file(file, f"{room.__name__}.{file.stem}")
        analyzer.analyze()
        found |= {name: lines for (scope, name), lines in analyzer.attr_docs.items() if not scope}
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the directive to Sphinx."""
    app.add_directive("room", Room)
    return {"parallel_read_safe": True}
