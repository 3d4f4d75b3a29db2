"""``fechner validate``: whether an observer is fit to be measured."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from typing import Annotated

import typer

from fechner.cli.models import DTYPE, TRUST, WEIGHTS, load
from fechner.cli.names import split_names


def command(
    name: Annotated[str, typer.Argument(help="An observer (`fechner list observers`).")],
    layers: Annotated[
        str | None, typer.Option(help="Layers to read out, as for `fechner run`.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda...; an accelerator if there is one.")
    ] = None,
    weights: WEIGHTS = None,
    dtype: DTYPE = None,
    trust_remote_code: TRUST = False,
) -> None:
    """Show an observer a few pictures and say whether it is fit to be measured."""
    from fechner.observers.devices import best_device, check_device
    from fechner.observers.memory import limited_memory
    from fechner.observers.validation import validate

    place = check_device(device) if device else best_device()
    with limited_memory(place):
        observer = load(name, weights, dtype, trust_remote_code, place)
        with redirect_stdout(StringIO()) as printed:
            found = validate(observer, layers=split_names(layers), device=place)
    if printed.getvalue():
        found.warnings.append("it prints while it looks")
    for what, how_much in found.facts.items():
        typer.echo(f"{what}: {how_much}")
    typer.echo(found.verdict)
    if found.problems:
        raise typer.Exit(1)
