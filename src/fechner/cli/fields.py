"""``fechner fields``: receptive fields of a model's units."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from fechner.cli.listing import print_table
from fechner.cli.models import DTYPE, TRUST, WEIGHTS, load


class By(StrEnum):
    """Ways to find receptive fields."""

    jacobian = "jacobian"
    deltas = "deltas"
    noise = "noise"


class Of(StrEnum):
    """What weights multiply."""

    light = "light"
    pixels = "pixels"


def command(
    name: Annotated[str, typer.Argument(help="An observer (`fechner list observers`).")],
    layer: Annotated[
        list[str] | None,
        typer.Option(
            help="Layers like this (`fechner layers`): * stays within dots, ** does not; default: "
            "the observer's stages."
        ),
    ] = None,
    by: Annotated[
        By,
        typer.Option(
            help="By the derivative at a grey, by steps of single pixels, or by reverse "
            "correlation with noise."
        ),
    ] = By.jacobian,
    units: Annotated[
        int, typer.Option(help="How many channels of each layer, from the first on.", min=1)
    ] = 64,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help="Sheet to write: PNG, PDF, SVG (pages of 225 mm at most) or HTML, or CSV for the "
            "fits; default: a table on the screen."
        ),
    ] = None,
    ppd: Annotated[float, typer.Option(help="Pixels per degree.")] = 64.0,
    display: Annotated[
        str, typer.Option(help="Display (`fechner list displays`) or TOML file.")
    ] = "decalogue",
    luminance: Annotated[float, typer.Option(help="Luminance of the grey, cd/m2.")] = 40.0,
    of: Annotated[
        Of, typer.Option(help="Weights of linear light, or of display-encoded pixels.")
    ] = Of.light,
    window: Annotated[
        float | None,
        typer.Option(
            help="Side of a square at the centre of the field, in degrees; default: the pixels "
            "within reach of the units."
        ),
    ] = None,
    contrast: Annotated[
        float | None,
        typer.Option(
            help="Of steps (default 0.1) or noise (default 0.2; for derivatives 0.01), relative "
            "to the grey."
        ),
    ] = None,
    pictures: Annotated[
        int | None,
        typer.Option(
            help="How many pictures of noise (default 20000); for derivatives the grey only, "
            "unless given.",
            min=1,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the noise.")] = 0,
    weights: WEIGHTS = None,
    dtype: DTYPE = None,
    trust_remote_code: TRUST = False,
) -> None:
    """Find the receptive fields of units, fit them and draw a sheet of them."""
    from fechner.errors import FechnerError
    from fechner.physiology import (
        Conditions,
        Window,
        by_deltas,
        by_jacobian,
        by_noise,
        describe,
        record,
    )
    from fechner.physiology.recording import Where
    from fechner.report.fields import check_sheet_path, write_sheet
    from fechner.report.fields.words import caption, sections
    from fechner.runs.progress import Bar, followed
    from fechner.stimuli import open_display

    paths = [check_sheet_path(path) for path in out or ()]
    screen = open_display(display)
    observer = load(name, weights, dtype, trust_remote_code)
    with Bar() as bar:
        bar.doing(f"{name} by {by.value}")
        if not ppd > 0:
            raise FechnerError(f"a field has a positive number of pixels per degree, not {ppd:g}.")
        field = replace(Conditions().field, ppd=ppd)
        conditions = Conditions(field, screen, luminance, of.value).seen_by(observer.wants)
        where: Where = "support" if window is None else Window.centred(conditions.field, window)
        recording = record(observer, layer, units, conditions=conditions, window=where)
        given = {"contrast": contrast, "pictures": pictures, "seed": seed}
        if by is By.deltas:
            given = {"contrast": contrast}
        find: Any = {"jacobian": by_jacobian, "deltas": by_deltas, "noise": by_noise}[by.value]
        settings = {key: value for key, value in given.items() if value is not None}
        found = find(recording, **settings, progress=bar)
    tunings = [describe(field) for field in followed(found, "fitting")]
    for path in paths:
        typer.echo(write_sheet(tunings, path))
    if not paths:
        rows = [(t.field.layer, *caption(t)) for t in tunings]
        print_table(("layer", "unit", "fit", "explained"), rows)
    for section in sections(tunings):
        typer.echo(f"{section.layer}: {section.counts}")
