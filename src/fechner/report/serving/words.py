"""How numbers and states are said on pages, and to programs."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from fechner.report.serving.state import State
from fechner.runs.plan import digest


def duration(seconds: float) -> str:
    """Return a time for people.

    Examples
    --------
    >>> duration(8), duration(200), duration(8000)
    ('8 s', '3 min 20 s', '2 h 13 min')
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def size(count: int) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> size(512), size(862491)
    ('512 B', '862 kB')
    """
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 999.5:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"


def moment(seconds: float) -> str:
    """Return a time of this machine's clock."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def number(value: float) -> str:
    """Return a number with three digits that count.

    Examples
    --------
    >>> number(0.0082435), number(123.4), number(14892)
    ('0.00824', '123', '14,892')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def status(state: State) -> str:
    """Say where a run stands."""
    if state.writing == "now":
        return "being written now"
    if state.writing == "elsewhere":
        return "on another machine"
    if state.problem:
        return "cannot be read"
    if state.writing == "stopped":
        return "stopped"
    if any(cell.state in ("part", "waiting") for cell in state.cells):
        return "not finished"
    counts = {"failed": len(state.failed), "left out": len(state.left_out)}
    bad = [f"{number} {what}" for what, number in counts.items() if number]
    if state.of or bad:
        return ", ".join(["finished", *bad])
    return "nothing measured yet"


def advice(state: State) -> str:
    """Say what to do about where a run stands."""
    if state.writing == "elsewhere":
        return "It is being written on another machine, or was stopped there: nobody here can tell."
    if state.writing == "stopped":
        return "It was stopped before its end; run the same command again to go on."
    return ""


def kind(state: State) -> str:
    """Return the word that style sheets have for where a run stands."""
    if state.live:
        return "live"
    if state.problem or state.failed or state.left_out:
        return "bad"
    return "good" if state.complete else "open"


def left(state: State) -> str:
    """Say how long a run will take."""
    parts = [f"about {duration(state.left_s)}"] if state.left_s else []
    if state.unknown_speed:
        several = "observers" if state.unknown_speed > 1 else "observer"
        parts.append(f"{state.unknown_speed} {several} whose speed is not known yet")
    return ", and ".join(parts)


def as_json(state: State) -> dict[str, Any]:
    """Return where a run stands as plain values."""
    return {
        "id": state.found.id,
        "run": state.found.label,
        "status": status(state),
        "live": state.live,
        "problem": state.problem,
        "suite": state.manifest.suite if state.manifest else None,
        "mode": state.manifest.mode if state.manifest else None,
        "pieces": {"done": state.done, "of": state.of},
        "images": state.images,
        "seconds_left": state.left_s,
        "observers_of_unknown_speed": state.unknown_speed,
        "tests": state.tests,
        "observers": [
            {
                "observer": row.observer,
                "images": row.images,
                "seconds": row.seconds,
                "left_out": row.left_out,
                "cells": [vars(cell) for cell in row.cells],
            }
            for row in state.rows
        ],
    }


def version(state: State, log: list[str]) -> str:
    """Return a mark that changes with anything a page shows."""
    return digest(json.dumps([as_json(state), log]))[:16]


FILTERS = {
    "advice": advice,
    "duration": duration,
    "kind": kind,
    "left": left,
    "moment": moment,
    "number": number,
    "size": size,
    "status": status,
}
