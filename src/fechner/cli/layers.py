"""``fechner layers``: where a model can be read out."""

from __future__ import annotations

from typing import Annotated

import typer

from fechner.cli.listing import print_table
from fechner.cli.models import DTYPE, TRUST, WEIGHTS, load


def command(
    name: Annotated[str, typer.Argument(help="An observer (`fechner list observers`).")],
    pattern: Annotated[
        list[str] | None,
        typer.Argument(help="Only layers like these: * stays within dots, ** does not."),
    ] = None,
    weights: WEIGHTS = None,
    dtype: DTYPE = None,
    trust_remote_code: TRUST = False,
) -> None:
    """List the layers at which an observer can be read out, in order; * marks its stages."""
    from fechner.errors import ObserverError
    from fechner.observers.abilities import Encodes, LooksInside, abilities
    from fechner.observers.taps import choose_layers

    observer = load(name, weights, dtype, trust_remote_code)
    if "encodes" not in abilities(observer):
        raise ObserverError(
            f"observer '{name}' is not an encoder, so it has no layers to read out."
        )
    assert isinstance(observer, Encodes)
    stages = set(observer.layers)
    inside = {}
    if isinstance(observer, LooksInside):
        inside = {layer.name: layer for layer in observer.every_layer()}
    rows = []
    for layer in choose_layers(observer, pattern or ["**"]):
        info = inside.get(layer)
        rows.append(
            (
                layer,
                "*" if layer in stages else "",
                "" if info is None else " x ".join(map(str, info.shape)),
                "what it hands on" if info is None else info.kind,
            )
        )
    print_table(("layer", "stage", "shape", "what it is"), rows)
