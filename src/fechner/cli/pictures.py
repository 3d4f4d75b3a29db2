"""Options of suites that show pictures in classes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fechner.cli.names import split_names

if TYPE_CHECKING:
    from fechner.observers.dropout import Dropout


class AmongWhat(StrEnum):
    """What is chosen from."""

    own = "own"
    shown = "shown"


class Which(StrEnum):
    """Which pictures of a class are shown."""

    preferred = "preferred"
    drawn = "drawn"


_PANEL = "Pictures in classes (suite recognition)"


def _option(*names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_PANEL, **more)


OBJECTS = Annotated[
    Path | None,
    _option(
        help="Folder of 3D objects (OBJ, PLY, GLB), one subfolder a class, instead of --images; "
        "`fechner objects` fetches some."
    ),
]
VIEWS = Annotated[
    int | None,
    _option(help="Views of each class of --objects among which the best is sought; 1000.", min=1),
]
LEVELS = Annotated[
    int | None, _option(help="Levels of each manipulation beside the original; 200 if left out.")
]
PER_CLASS = Annotated[int, _option(help="Pictures of each class that are shown.", min=1)]
AMONG = Annotated[
    AmongWhat,
    _option(help="What classifiers choose from: all their own classes, or those that are shown."),
]
CATEGORIES = Annotated[
    str | None,
    _option(help="Categories to choose from: 16-class, or a CSV file with columns class,category."),
]
SHOW = Annotated[
    Which,
    _option(
        help="Pictures that each observer knows best, or drawn by seed and the same for all, as "
        "`fechner consistency` wants them."
    ),
]
DROPOUT = Annotated[
    str | None,
    _option(
        help="Layers of networks in which half of the activations are dropped, comma-separated."
    ),
]
DROPOUT_SHARE = Annotated[float, _option(help="Share of activations that is dropped.")]
DROPOUT_RUNS = Annotated[int, _option(help="Seeds of --dropout.", min=1)]


def dropped(layers: str | None, share: float, runs: int) -> Dropout | None:
    """Return what is to be dropped."""
    from fechner.observers.dropout import Dropout

    names = split_names(layers)
    return Dropout(tuple(names), share, runs) if names else None
