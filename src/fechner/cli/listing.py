"""``fechner list``: what there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fechner.cli.options import info, print_table

if TYPE_CHECKING:
    from fechner.observers.abilities import Wants
    from fechner.suites import Test

app = typer.Typer(
    name="list",
    add_completion=False,
    help="List observers, metrics, suites, tests, human references or displays.",
    no_args_is_help=True,
)


@app.command()
def observers(
    preset: Annotated[
        str | None, typer.Option(help="Only those of a published table, such as cai2025.")
    ] = None,
) -> None:
    """List observers by name, or those of a published table."""
    from fechner.observers.catalogue import Entry, Family, catalogue, families
    from fechner.suites import PRESETS

    if preset is not None:
        _show_preset(preset.removeprefix("@"))
        return
    entries: list[Entry | Family] = [*catalogue().values(), *families().values()]
    print_table(
        ("name", "ability", "installed", "what it is"),
        (
            (
                entry.label,
                entry.ability,
                "yes" if entry.installed else f"pip install 'fechner[{entry.extra}]'",
                entry.summary + (f", as {entry.example}" if isinstance(entry, Family) else ""),
            )
            for entry in entries
        ),
    )
    typer.echo("your own: path/to/file.py:name, or any torch module or function from Python")
    typer.echo("settings follow a name, as in timm/resnet50.a1_in1k@size=288,normalise=none")
    presets = " or ".join(f"@{name}" for name in PRESETS)
    typer.echo(f"many at once: {presets} (`fechner list observers --preset cai2025`)")


@app.command()
def metrics() -> None:
    """List quality metrics with what each declares of itself."""
    from fechner.observers.catalogue import declared_metrics

    found = declared_metrics()
    print_table(
        ("name", "family", "sees", "CSF", "scores", "better", "light", "precision, and why"),
        (
            (
                name,
                about.kind,
                _sees(about.wants),
                "yes" if about.csf_based else "no",
                f"{about.scores[0]:g} to {about.scores[1]:g}",
                "higher" if about.higher_is_better else "lower",
                {"display": "encoded", "cdm2": "cd/m2"}[about.wants.light]
                + ("" if about.fed == "float" else f", {about.fed}"),
                f"{about.wants.dtype}: {about.precision}",
            )
            for name, about in found.items()
        ),
    )
    typer.echo("more: pyiqa/NAME, cmd:PROGRAM {test} {reference}, your own path/to/file.py:name")


def _sees(wants: Wants) -> str:
    return ("colour" if wants.colour else "luma") + (", video" if wants.video else "")


def _show_preset(name: str) -> None:
    from fechner.references import reference
    from fechner.suites import PRESETS, preset

    print_table(
        ("observer", "family", "architecture", "trained on", "read out as published"),
        (
            (row.label, row.family, row.architecture, row.training_data, row.readout)
            for row in preset(name)
        ),
    )
    typer.echo(f"{reference(name).text}; suite {PRESETS[name]}")
    command = f"fechner run @{name} --suite {PRESETS[name]} --published"
    typer.echo(f"`{command}` sets their scores beside the printed ones")


@app.command()
def suites() -> None:
    """List suites."""
    from fechner.references import reference
    from fechner.suites import suites as every

    problems: list[str] = []
    print_table(
        ("name", "tests", "what it is", "source"),
        (
            (
                suite.name,
                _number_of_tests(suite.build()),
                suite.title,
                reference(suite.reference).text,
            )
            for suite in every(problems).values()
        ),
    )
    info(*problems)


def _number_of_tests(tests: Sequence[Test]) -> str:
    by_default = sum(test.by_default for test in tests)
    more = len(tests) - by_default
    return f"{by_default} + {more}" if more else str(by_default)


@app.command("tests")
def show_tests(
    suite: Annotated[str | None, typer.Option(help="Only this suite.")] = None,
) -> None:
    """List tests, where each comes from, and how each kind of observer takes them."""
    from fechner.observers.abilities import ABILITIES
    from fechner.observers.lifts import LIFTS
    from fechner.references import reference
    from fechner.suites import suite as find
    from fechner.suites import suites as every

    chosen = [find(suite)] if suite else list(every().values())
    asked = []
    rows = []
    for each in chosen:
        for test in each.build():
            experiment = test.experiment
            asked.append(experiment.asks)
            cited = reference(experiment.reference).short if experiment.reference else ""
            rows.append((each.name, test.id, experiment.title, cited))
    print_table(("suite", "test", "what is asked", "reference"), rows)
    for each in chosen:
        for need in dict.fromkeys(each.further.values()):
            more = [name for name, needs in each.further.items() if needs == need]
            typer.echo(f"{each.name} has {len(more)} more with {need}: {', '.join(more)}")
    typer.echo()
    columns = list(dict.fromkeys(asked))
    print_table(
        ("an observer that", *(f"asked to {ability.removesuffix('s')}" for ability in columns)),
        (
            (
                has,
                *(f"{LIFTS[has][ask].kind}: {LIFTS[has][ask].how}".rstrip(": ") for ask in columns),
            )
            for has in ABILITIES
        ),
    )


@app.command()
def human() -> None:
    """List human data and models."""
    from fechner.human import HUMAN
    from fechner.references import reference

    print_table(
        ("name", "kind", "what it is", "source"),
        (
            (entry.name, entry.kind, entry.description, reference(entry.reference_key).text)
            for entry in HUMAN
        ),
    )


@app.command()
def displays() -> None:
    """List named displays."""
    from fechner.stimuli import displays as named

    print_table(
        (
            "name",
            "peak cd/m2",
            "black cd/m2",
            "encoding",
            "primaries",
            "bits",
            "ambient lux",
            "reflectivity",
            "reflected cd/m2",
            "other",
        ),
        (
            (
                each.name,
                f"{each.peak_cdm2:g}",
                f"{each.black_cdm2:g}",
                each.eotf + (f" {each.gamma}" if each.eotf == "gamma" else ""),
                each.primaries or "its own",
                str(each.bits or "float") + (", dithered" if each.dither else ""),
                f"{each.ambient_lux:g}",
                f"{each.reflectivity:g}",
                f"{each.reflected_cdm2:.3g}",
                ", ".join(
                    text
                    for there, text in (
                        (each.floor_cdm2 > 0, f"light of at least {each.floor_cdm2:g} cd/m2"),
                        (not each.clips, "light above the peak is passed on"),
                        (not each.compensates_black, "black is not compensated for"),
                        (each.xyz_to_rgb is not None, "a printed inverse of its matrix"),
                    )
                    if there
                ),
            )
            for each in named().values()
        ),
    )
    typer.echo("your own: a TOML file with such properties (docs/howto/displays.md)")
