"""``fechner layers``, ``fields``, ``redundancy`` and ``validate``: looking into a model."""

from __future__ import annotations

from contextlib import redirect_stdout
from dataclasses import replace
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from fechner.cli.options import (
    DISPLAY,
    DTYPE,
    LAYERS,
    MODEL,
    PPD,
    TRUST,
    WEIGHTS,
    load,
    print_table,
    split_names,
)

By = StrEnum("By", "jacobian deltas noise")
Of = StrEnum("Of", "light pixels")


def layers(
    name: MODEL,
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


def fields(
    name: MODEL,
    layer: LAYERS = None,
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
    ppd: PPD = 64.0,
    display: DISPLAY = "decalogue",
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
        conditions = Conditions(field, screen, luminance, cast("Any", of.value)).seen_by(
            observer.wants
        )
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


def redundancy(
    names: Annotated[list[str], typer.Argument(help="Observers (`fechner list observers`).")],
    layer: LAYERS = None,
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
    ppd: PPD = 64.0,
    display: DISPLAY = "decalogue",
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
    from fechner.stimuli.pictures import packaged_photographs, photographs_in

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


def validate(
    name: MODEL,
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
    from fechner.observers.devices import best_device, check_device, limited_memory
    from fechner.observers.validation import validate as check

    place = check_device(device) if device else best_device()
    with limited_memory(place):
        observer = load(name, weights, dtype, trust_remote_code, place)
        with redirect_stdout(StringIO()) as printed:
            found = check(observer, layers=split_names(layers), device=place)
    if printed.getvalue():
        found.warnings.append("it prints while it looks")
    for what, how_much in found.facts.items():
        typer.echo(f"{what}: {how_much}")
    typer.echo(found.verdict)
    if found.problems:
        raise typer.Exit(1)
