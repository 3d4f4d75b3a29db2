"""Replies by stimulus: what observers said in words, invalid replies first."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fechner.report.contenders import Contender

#: Rows of a table, examples in a row, and characters of an example.
_ROWS, _EXAMPLES, _LONGEST = 36, 3, 60

#: What stands for replies that are none of the options.
INVALID = "invalid"


class Replies(NamedTuple):
    """Replies of an observer to stimuli of one abscissa whose contrasts are within an octave.

    Parameters
    ----------
    abscissa, contrast
        In words; blanks have no abscissa.
    choices
        How often each option was chosen, and how often none was.
    examples
        The most frequent replies with their numbers, invalid ones first.
    finish
        Why replies ended, where it was not by themselves.
    """

    observer: str
    abscissa: str
    contrast: str
    choices: Mapping[str, int]
    examples: list[tuple[str, int]]
    finish: str


def replies_to(contenders: Sequence[Contender], test: str) -> tuple[list[Replies], int]:
    """Return a table of replies in a test, and how many rows it has no room for."""
    together: dict[tuple[int, float, float], list[dict[str, Any]]] = {}
    for number, contender in enumerate(contenders):
        for row in contender.run.trials(contender.observer):
            if row["test"] == test:
                where = _number(row["abscissa"]), _octave(_number(row["contrast"]))
                together.setdefault((number, *where), []).append(row)
    order = sorted(together, key=lambda key: (-_invalid(together[key]), *map(_known_first, key)))
    shown = [_row(contenders[key[0]].label, key, together[key]) for key in order[:_ROWS]]
    return shown, len(order) - len(shown)


def _row(label: str, key: tuple[int, float, float], rows: Sequence[dict[str, Any]]) -> Replies:
    _, abscissa, contrast = key
    options = {option: 0 for row in rows for option in json.loads(row["options"])}
    counted = Counter(
        INVALID if row["choice"] is None else json.loads(row["options"])[row["choice"]]
        for row in rows
    )
    said = Counter((row["choice"] is not None, _short(row["reply"])) for row in rows)
    examples = sorted(said.items(), key=lambda each: (each[0][0], -each[1], each[0][1]))
    ends = Counter(row["finish_reason"] for row in rows if row["finish_reason"] not in ("", "stop"))
    return Replies(
        label,
        "" if math.isnan(abscissa) else f"{abscissa:.3g}",
        "" if math.isnan(contrast) else f"{contrast:.2g}",
        {**options, **counted},
        [(text, n) for (_, text), n in examples[:_EXAMPLES]],
        ", ".join(f"{why} ({n})" for why, n in ends.most_common()),
    )


def _invalid(rows: Sequence[dict[str, Any]]) -> int:
    return sum(row["choice"] is None for row in rows)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _octave(contrast: float) -> float:
    """Return the middle of the octave of a contrast; 0 and NaN stay.

    Examples
    --------
    >>> _octave(0.11), _octave(0.0)
    (0.125, 0.0)
    """
    return 2.0 ** round(math.log2(contrast)) if contrast > 0 else contrast


def _known_first(value: float) -> tuple[bool, float]:
    return math.isnan(value), 0.0 if math.isnan(value) else value


def _short(reply: str) -> str:
    text = " ".join(reply.split()) or "(empty)"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
