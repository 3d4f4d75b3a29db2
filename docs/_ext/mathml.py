"""Formulas as MathML, which browsers show themselves: no script, no font, no network."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

_logger = logging.getLogger(__name__)


def _markup(node: nodes.math | nodes.math_block, *, block: bool) -> str:
    try:
        return tex2mathml(node.astext(), as_block=block)
    except MathError as error:
        _logger.warning("formula cannot be shown as MathML: %s", error, location=node)
        return f"<code>{escape(node.astext())}</code>"


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(_markup(node, block=False))
    raise nodes.SkipNode


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body += ['<div class="math">', _markup(node, block=True), "</div>\n"]
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the renderer to Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
