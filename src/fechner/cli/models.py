"""Options of every command that loads a model."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fechner.observers import Observer


class Precision(StrEnum):
    """Precisions of a network."""

    float32 = "float32"
    float64 = "float64"
    bfloat16 = "bfloat16"
    float16 = "float16"


WEIGHTS = Annotated[
    Path | None,
    typer.Option(
        help="Weights for the observer named, instead of its own: safetensors, or a torch file "
        "that holds tensors only."
    ),
]
DTYPE = Annotated[
    Precision | None,
    typer.Option(help="Precision of networks; differences near threshold need float32."),
]
TRUST = Annotated[
    bool,
    typer.Option("--trust-remote-code", help="Run code that comes with weights (torch.hub, hub)."),
]


def load(
    name: str, weights: Path | None, dtype: Precision | None, trust: bool, device: str = "cpu"
) -> Observer:
    """Make the observer that a name and the options stand for."""
    from fechner.observers.names import check_name, resolve, with_settings

    check_name(name)
    given = {"weights": weights, "dtype": dtype and dtype.value}
    settings = {key: str(value) for key, value in given.items() if value}
    with redirect_stdout(sys.stderr):  # libraries report downloads and more
        return resolve(with_settings(name, settings), device=device, trust_remote_code=trust)
