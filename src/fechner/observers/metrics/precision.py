"""The floating-point type of a metric: its own choice, or another on request."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from fechner.observers.metrics.metric import About

#: ``own`` is what a metric declares.
Precision = Literal["own", "float32", "float64"]


def at_precision(about: About, precision: Precision) -> About:
    """Return what a metric declares, computed in another floating-point type.

    Examples
    --------
    >>> from fechner.observers.abilities import Wants
    >>> about = About("other", Wants(dtype="float64"), 1.0, (0.0, 1.0), higher_is_better=True)
    >>> at_precision(about, "float32").wants.dtype, at_precision(about, "own").wants.dtype
    ('float32', 'float64')
    """
    if precision == "own":
        return about
    return replace(
        about, wants=replace(about.wants, dtype=precision), precision=f"{precision} was asked for"
    )
