"""``fechner redundancy``: how much neighbouring responses say about each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fechner.cli.listing import print_table
from fechner.cli.models import DTYPE, TRUST, WEIGHTS, load


def command(
    names: Annotated[list[str], typer.Argument(help="Observers (`fechner list observers`).")],
    layer: Annotated[
        list[str] | None,
        typer.Option(
            help="Layers like this (`fechner layers`): * stays within dots, ** does not; default: "
            "the observer's stages."
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            help="Folder of photographs; default: those of matplotlib, scikit-image and "
            "scikit-learn that are installed."
        ),
    ] = None,
    pictures: Annotated[
        int | None, typer.Option(help="Show only the first N photographs.", min=2)
    ] = None,
    channels: Annotated[
        int, typer.Option(help="Channels of each layer, and pairs of them.", min=1)
    ] = 16,
    pairs: Annotated[
        int, typer.Option(help="Pairs of places of each channel and photograph.", min=100)
    ] = 1000,
    apart: Annotated[
        float | None,
        typer.Option(
            help="Distance of places in pixels of the picture, as near as a layer has them; "
            "default: the next place of each layer.",
            min=1.0,
        ),
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(help="PNG, PDF or SVG of the figure, or CSV by photograph; may be repeated."),
    ] = None,
    ppd: Annotated[float, typer.Option(help="Pixels per degree.")] = 64.0,
    display: Annotated[
        str, typer.Option(help="Display (`fechner list displays`) or TOML file.")
    ] = "decalogue",
    seed: Annotated[int, typer.Option(help="Of the places and pairs of channels.")] = 0,
    weights: WEIGHTS = None,
    dtype: DTYPE = None,
    trust_remote_code: TRUST = False,
) -> None:
    """Estimate the redundancy of responses to photographs, layer by layer.

    Untrained networks pass both checks, too: compare a model with an untrained copy of itself.
    """
    from fechner.errors import FechnerError
    from fechner.physiology import Conditions, measure_redundancy
    from fechner.report.redundancy import COLUMNS, check_redundancy_path, rows, write_redundancy
    from fechner.runs.progress import Bar
    from fechner.stimuli import open_display
    from fechner.stimuli.packaged import packaged_photographs, photographs_in

    paths = [check_redundancy_path(path) for path in out or ()]
    if not ppd > 0:
        raise FechnerError(f"a field has a positive number of pixels per degree, not {ppd:g}.")
    conditions = Conditions(replace(Conditions().field, ppd=ppd), open_display(display))
    shown = packaged_photographs() if images is None else photographs_in(images)
    shown = shown[:pictures]
    if len(shown) < 2:
        raise FechnerError(
            f"an interval needs two photographs or more, and there are {len(shown)}: give --images "
            "FOLDER, or install scikit-image or scikit-learn, which bring some along."
        )
    found = []
    for name in names:
        observer = load(name, weights, dtype, trust_remote_code)
        with Bar() as bar:
            bar.doing(f"{name} looking at photographs")
            found.append(
                measure_redundancy(
                    observer,
                    shown,
                    layer,
                    channels=channels,
                    pairs=pairs,
                    apart_px=apart,
                    seed=seed,
                    conditions=conditions,
                    progress=bar,
                )
            )
    for each in found:
        typer.echo(f"{each.observer}: bits per pair over {len(shown)} photographs")
        print_table(COLUMNS, rows(each))
        if each.left_out:
            typer.echo(f"left out: {', '.join(each.left_out)}")
        for line in each.checks:
            typer.echo(line)
    for path in paths:
        typer.echo(write_redundancy(found, path))
