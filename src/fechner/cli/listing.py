"""``fechner list``: what there is."""

from __future__ import annotations

from typing import Annotated

import typer

from fechner.cli.options import info, print_table

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
    from fechner.references import reference
    from fechner.suites import PRESETS
    from fechner.suites import preset as published

    if preset is not None:
        name = preset.removeprefix("@")
        print_table(
            {
                "observer": row.label,
                "family": row.family,
                "architecture": row.architecture,
                "trained on": row.training_data,
                "read out as published": row.readout,
            }
            for row in published(name)
        )
        typer.echo(f"{reference(name).text}; suite {PRESETS[name]}")
        command = f"fechner run @{name} --suite {PRESETS[name]} --published"
        typer.echo(f"`{command}` sets their scores beside the printed ones")
        return
    entries: list[Entry | Family] = [*catalogue().values(), *families().values()]
    print_table(
        {
            "name": entry.label,
            "ability": entry.ability,
            "installed": "yes" if entry.installed else f"pip install 'fechner[{entry.extra}]'",
            "what it is": entry.summary
            + (f", as {entry.example}" if isinstance(entry, Family) else ""),
        }
        for entry in entries
    )
    typer.echo("your own: path/to/file.py:name, or any torch module or function from Python")
    typer.echo("settings follow a name, as in timm/resnet50.a1_in1k@size=288,normalise=none")
    presets = " or ".join(f"@{name}" for name in PRESETS)
    typer.echo(f"many at once: {presets} (`fechner list observers --preset cai2025`)")


@app.command()
def metrics() -> None:
    """List quality metrics with what each declares of itself."""
    from fechner.observers.catalogue import declared_metrics

    light = {"display": "encoded", "cdm2": "cd/m2"}
    print_table(
        {
            "name": name,
            "family": about.kind,
            "sees": ("colour" if about.wants.colour else "luma")
            + (", video" if about.wants.video else ""),
            "CSF": "yes" if about.csf_based else "no",
            "scores": f"{about.scores[0]:g} to {about.scores[1]:g}",
            "better": "higher" if about.higher_is_better else "lower",
            "light": light[about.wants.light] + ("" if about.fed == "float" else f", {about.fed}"),
            "precision, and why": f"{about.wants.dtype}: {about.precision}",
        }
        for name, about in declared_metrics().items()
    )
    typer.echo("more: pyiqa/NAME, cmd:PROGRAM {test} {reference}, your own path/to/file.py:name")


@app.command()
def suites() -> None:
    """List suites."""
    from fechner.references import reference
    from fechner.suites import suites as every

    problems: list[str] = []
    rows = []
    for suite in every(problems).values():
        tests = suite.build()
        by_default = sum(test.by_default for test in tests)
        more = len(tests) - by_default
        rows.append(
            {
                "name": suite.name,
                "tests": f"{by_default} + {more}" if more else str(by_default),
                "what it is": suite.title,
                "source": reference(suite.reference).text,
            }
        )
    print_table(rows)
    info(*problems)


@app.command("tests")
def show_tests(
    suite: Annotated[str | None, typer.Option(help="Only this suite.")] = None,
) -> None:
    """List tests, where each comes from, and how each kind of observer takes them."""
    from fechner.observers.abilities import ABILITIES
    from fechner.observers.conversions import LIFTS
    from fechner.references import reference
    from fechner.suites import suite as find
    from fechner.suites import suites as every

    chosen = [find(suite)] if suite else list(every().values())
    tests = [(each.name, test.id, test.experiment) for each in chosen for test in each.build()]
    print_table(
        {
            "suite": name,
            "test": test,
            "what is asked": experiment.title,
            "reference": reference(experiment.reference).short if experiment.reference else "",
        }
        for name, test, experiment in tests
    )
    for each in chosen:
        for need in dict.fromkeys(each.further.values()):
            more = [name for name, needs in each.further.items() if needs == need]
            typer.echo(f"{each.name} has {len(more)} more with {need}: {', '.join(more)}")
    typer.echo()
    asked = dict.fromkeys(experiment.asks for *_, experiment in tests)
    rows = []
    for has in ABILITIES:
        row: dict[str, str] = {"an observer that": has}
        for ask in asked:
            lift = LIFTS[has][ask]
            row[f"asked to {ask.removesuffix('s')}"] = f"{lift.kind}: {lift.how}".rstrip(": ")
        rows.append(row)
    print_table(rows)


@app.command()
def human() -> None:
    """List human data and models."""
    from fechner.human import HUMAN
    from fechner.references import reference

    print_table(
        {
            "name": entry.name,
            "kind": entry.kind,
            "what it is": entry.description,
            "source": reference(entry.reference_key).text,
        }
        for entry in HUMAN
    )


@app.command()
def displays() -> None:
    """List named displays."""
    from fechner.stimuli import displays as named

    rows = []
    for each in named().values():
        other = {
            f"light of at least {each.floor_cdm2:g} cd/m2": each.floor_cdm2 > 0,
            "light above the peak is passed on": not each.clips,
            "black is not compensated for": not each.compensates_black,
            "a printed inverse of its matrix": each.xyz_to_rgb is not None,
        }
        rows.append(
            {
                "name": each.name,
                "peak cd/m2": f"{each.peak_cdm2:g}",
                "black cd/m2": f"{each.black_cdm2:g}",
                "encoding": each.eotf + (f" {each.gamma}" if each.eotf == "gamma" else ""),
                "primaries": each.primaries or "its own",
                "bits": str(each.bits or "float") + (", dithered" if each.dither else ""),
                "ambient lux": f"{each.ambient_lux:g}",
                "reflectivity": f"{each.reflectivity:g}",
                "reflected cd/m2": f"{each.reflected_cdm2:.3g}",
                "other": ", ".join(text for text, there in other.items() if there),
            }
        )
    print_table(rows)
    typer.echo("your own: a TOML file with such properties (docs/howto/displays.md)")
