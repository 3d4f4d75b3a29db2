"""Options of suites that ask in words, and what a run would ask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fechner.errors import FechnerError

if TYPE_CHECKING:
    from fechner.runs.preview import Preview


class Kind(StrEnum):
    """Kinds of stimuli."""

    noise = "noise"
    photographs = "photographs"


_PANEL = "Questions (suites verbal and recognition)"


def _option(*names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_PANEL, **more)


ADAPTIVE = Annotated[
    bool | None,
    _option(
        "--adaptive/--constant",
        help="Choose contrasts or levels trial by trial, or show every one; the suite's own if "
        "left out.",
    ),
]
TRIALS = Annotated[
    int | None,
    _option(
        help="Trials of each prompt, or of each class; with --constant, draws of each contrast.",
        min=1,
    ),
]
WIDTH = Annotated[
    float | None,
    _option(help="Stop where the 95 % interval of a threshold is as narrow, in log10."),
]
PROMPTS = Annotated[
    Path | None,
    _option(help="File with your own prompts: a question a line, or two labels with | between."),
]
DITHER = Annotated[
    bool,
    _option(
        "--dither", help="Dither pictures of few grey levels, so that faint contrasts survive."
    ),
]
IMAGES = Annotated[
    Path | None,
    _option(
        help="Folder of photographs, one subfolder a class; a CSV file with columns path,class; or "
        "(suite recognition) a folder of pictures in conditions, as those of model-vs-human."
    ),
]
STIMULI = Annotated[
    Kind,
    _option(help="What is to be detected: a band of noise, or of the photographs of --images."),
]
MAX_TRIALS = Annotated[
    int | None, _option(help="Stop after so many answers in words, earlier starts included.", min=1)
]
MAX_COST = Annotated[
    float | None,
    _option(help="Stop when so many dollars are spent, earlier starts included.", min=0),
]
ACCEPT_INVALID = Annotated[
    bool,
    _option(
        "--accept-invalid",
        help="Go on with an observer even if 20 of its first 25 replies are none of the options.",
    ),
]


def say_what_would_be_done(plans: Sequence[Sequence[Preview]]) -> None:
    """Print how many pictures would be shown and how many questions asked.

    Parameters
    ----------
    plans
        Of every run folder; they differ in what is answered already.
    """
    from fechner.cli.listing import print_table

    if not plans[0]:
        raise FechnerError(
            "none of these tests can be asked of these observers; `fechner list tests` says what "
            "each asks, and `fechner list observers` what each can do."
        )
    priced = any(not math.isnan(row.cost) for row in plans[0])
    print_table(
        (
            *("observer", "test", "pictures, at most", "questions in words, at most", "answered"),
            *(("cost, about", "cost, at most") if priced else ()),
        ),
        (
            (
                row.observer,
                row.test,
                f"{row.pictures:,}",
                f"{row.questions:,}",
                _number(sum(each.answered for each in same)),
                *((_dollars(row.cost), _dollars(row.most)) if priced else ()),
            )
            for same in zip(*plans, strict=True)
            for row in same[:1]
        ),
    )
    several = f" in each of {len(plans)} run folders" if len(plans) > 1 else ""
    pictures = sum(row.pictures for row in plans[0])
    questions = sum(row.questions for row in plans[0])
    typer.echo(
        f"At most {pictures:,} pictures and {questions:,} questions{several}; nothing was shown, "
        "sent or stored."
    )
    if priced:
        known = [row for row in plans[0] if not math.isnan(row.cost)]
        cost, most = sum(row.cost for row in known), sum(row.most for row in known)
        typer.echo(
            f"About {cost:,.2f} dollars{several} with short replies, {most:,.2f} if all are as "
            "long as max_tokens. This is an estimate: 4/3 tokens a word, 85 a picture and 170 for "
            "each 512 x 512 pixels of it, 5 a short reply."
        )


def _dollars(cost: float) -> str:
    return "" if math.isnan(cost) else f"{cost:,.2f}"


def _number(n: int) -> str:
    return f"{n:,}" if n else ""
