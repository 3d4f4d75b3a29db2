"""``fechner layers``, ``fields``, ``redundancy`` and ``validate``: looking into a model."""

from __future__ import annotations

from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fechner.cli.options import (
    DISPLAY,
    LAYERS,
    MODEL,
    MODEL_FLAGS,
    PPD,
    FlagCommand,
    load,
    print_table,
    split_names,
)
from fechner.errors import FechnerError, ObserverError


def _layers(
    name: MODEL,
    pattern: Annotated[list[str] | None, typer.Argument()] = None,
    *,
    given: dict[str, Any],
) -> None:
    """List the layers at which an observer can be read out, in order; * marks its stages.

    Parameters
    ----------
    pattern
        Only layers like these: * stays within dots, ** does not.
    """
    from fechner.observers.abilities import Encodes, abilities
    from fechner.observers.taps import choose_layers

    observer = load(name, given)
    if "encodes" not in abilities(observer):
        raise ObserverError(
            f"observer '{name}' is not an encoder, so it has no layers to read out."
        )
    assert isinstance(observer, Encodes)
    inside = {}
    if hasattr(observer, "every_layer"):
        inside = {layer.name: layer for layer in observer.every_layer()}
    print_table(
        {
            "layer": layer,
            "stage": "*" if layer in observer.layers else "",
            "shape": " x ".join(map(str, inside[layer].shape)) if layer in inside else "",
            "what it is": inside[layer].kind if layer in inside else "what it hands on",
        }
        for layer in choose_layers(observer, pattern or ["**"])
    )


def _fields(
    name: MODEL,
    layer: LAYERS = None,
    by: Literal["jacobian", "deltas", "noise"] = "jacobian",
    units: Annotated[int, typer.Option(min=1)] = 64,
    out: list[Path] | None = None,
    ppd: PPD = 64.0,
    display: DISPLAY = "decalogue",
    luminance: float = 40.0,
    of: Literal["light", "pixels"] = "light",
    window: float | None = None,
    contrast: float | None = None,
    pictures: Annotated[int | None, typer.Option(min=1)] = None,
    seed: int = 0,
    *,
    given: dict[str, Any],
) -> None:
    """Find the receptive fields of units, fit them and draw a sheet of them.

    Parameters
    ----------
    by
        By the derivative at a grey, by steps of single pixels, or by reverse correlation with
        noise.
    units
        How many channels of each layer, from the first on.
    out
        Sheet to write: PNG, PDF, SVG (pages of 225 mm at most) or HTML, or CSV for the fits;
        default: a table on the screen.
    luminance
        Luminance of the grey, cd/m2.
    of
        Weights of linear light, or of display-encoded pixels.
    window
        Side of a square at the centre of the field, in degrees; default: the pixels within reach
        of the units.
    contrast
        Of steps (default 0.1) or noise (default 0.2; for derivatives 0.01), relative to the grey.
    pictures
        How many pictures of noise (default 20000); for derivatives the grey only, unless given.
    seed
        Of the noise.
    """
    from fechner import physiology
    from fechner.report.fields import caption, check_sheet_path, sections, write_sheet
    from fechner.runs.progress import Bar, followed

    paths = [check_sheet_path(path) for path in out or ()]
    shown = _conditions(ppd, display, luminance_cdm2=luminance, of=of)
    observer = load(name, given)
    with Bar() as bar:
        bar.doing(f"{name} by {by}")
        conditions = shown.seen_by(observer.wants)
        where: Any = "support"
        if window is not None:
            where = physiology.Window.centred(conditions.field, window)
        recording = physiology.record(observer, layer, units, conditions=conditions, window=where)
        chosen = {"contrast": contrast, "pictures": pictures, "seed": seed}
        if by == "deltas":
            chosen = {"contrast": contrast}
        settings = {key: value for key, value in chosen.items() if value is not None}
        find: Any = getattr(physiology, f"by_{by}")
        found = find(recording, **settings, progress=bar)
    tunings = [physiology.describe(field) for field in followed(found, "fitting")]
    for path in paths:
        typer.echo(write_sheet(tunings, path))
    if not paths:
        headings = ("layer", "unit", "fit", "explained")
        print_table(dict(zip(headings, (t.field.layer, *caption(t)), strict=True)) for t in tunings)
    for section in sections(tunings):
        typer.echo(f"{section.layer}: {section.counts}")


def _redundancy(
    names: list[str],
    layer: LAYERS = None,
    images: Path | None = None,
    pictures: Annotated[int | None, typer.Option(min=2)] = None,
    channels: Annotated[int, typer.Option(min=1)] = 16,
    pairs: Annotated[int, typer.Option(min=100)] = 1000,
    apart: Annotated[float | None, typer.Option(min=1.0)] = None,
    out: list[Path] | None = None,
    ppd: PPD = 64.0,
    display: DISPLAY = "decalogue",
    seed: int = 0,
    *,
    given: dict[str, Any],
) -> None:
    """Estimate the redundancy of responses to photographs, layer by layer.

    Untrained networks pass both checks, too: compare a model with an untrained copy of itself.

    Parameters
    ----------
    names
        Observers (`fechner list observers`).
    images
        Folder of photographs; default: those of matplotlib, scikit-image and scikit-learn that
        are installed.
    pictures
        Show only the first N photographs.
    channels
        Channels of each layer, and pairs of them.
    pairs
        Pairs of places of each channel and photograph.
    apart
        Distance of places in pixels of the picture, as near as a layer has them; default: the
        next place of each layer.
    out
        PNG, PDF or SVG of the figure, or CSV by photograph; may be repeated.
    seed
        Of the places and pairs of channels.
    """
    from fechner.physiology import measure_redundancy
    from fechner.report.redundancy import COLUMNS, check_redundancy_path, rows, write_redundancy
    from fechner.runs.progress import Bar
    from fechner.stimuli.pictures import packaged_photographs, photographs_in

    paths = [check_redundancy_path(path) for path in out or ()]
    conditions = _conditions(ppd, display)
    shown = packaged_photographs() if images is None else photographs_in(images)
    shown = shown[:pictures]
    if len(shown) < 2:
        raise FechnerError(
            f"an interval needs two photographs or more, and there are {len(shown)}: give --images "
            "FOLDER, or install scikit-image or scikit-learn, which bring some along."
        )
    found = []
    for name in names:
        observer = load(name, given)
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
        print_table(dict(zip(COLUMNS, row, strict=True)) for row in rows(each))
        if each.left_out:
            typer.echo(f"left out: {', '.join(each.left_out)}")
        for line in each.checks:
            typer.echo(line)
    for path in paths:
        typer.echo(write_redundancy(found, path))


def _conditions(ppd: float, display: str, **about: Any) -> Any:
    """Return the conditions of recordings with other pixels per degree, on another display."""
    from fechner.physiology import Conditions
    from fechner.stimuli import open_display

    if not ppd > 0:
        raise FechnerError(f"a field has a positive number of pixels per degree, not {ppd:g}.")
    field = replace(Conditions().field, ppd=ppd)
    return Conditions(field, open_display(display), **about)


def _validate(
    name: MODEL,
    layers: str | None = None,
    device: str | None = None,
    *,
    given: dict[str, Any],
) -> None:
    """Show an observer a few pictures and say whether it is fit to be measured.

    Parameters
    ----------
    layers
        Layers to read out, as for `fechner run`.
    device
        cpu, cuda...; an accelerator if there is one.
    """
    from fechner.observers.devices import best_device, check_device, limited_memory
    from fechner.observers.validation import validate as check

    place = check_device(device) if device else best_device()
    with limited_memory(place):
        observer = load(name, given, place)
        with redirect_stdout(StringIO()) as printed:
            found = check(observer, layers=split_names(layers), device=place)
    if printed.getvalue():
        found.warnings.append("it prints while it looks")
    for what, how_much in found.facts.items():
        typer.echo(f"{what}: {how_much}")
    typer.echo(found.verdict)
    if found.problems:
        raise typer.Exit(1)


layers = FlagCommand(_layers, MODEL_FLAGS)
fields = FlagCommand(_fields, MODEL_FLAGS)
redundancy = FlagCommand(_redundancy, MODEL_FLAGS)
validate = FlagCommand(_validate, MODEL_FLAGS)
