"""``fechner list``, ``doctor`` and ``objects``: what there is, and how to get what is missing."""

from __future__ import annotations

import platform
import shutil
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

import fechner
from fechner.arrays import torch
from fechner.cli.options import info, print_table, quick_imports
from fechner.errors import FechnerError

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


def doctor() -> None:
    """Say what is installed, what is missing and how to get it."""
    with quick_imports():
        from fechner.observers.catalogue import catalogue, families

    typer.echo(f"fechner {fechner.__version__}, Python {platform.python_version()}")
    for package in ("torch", "numpy", "xarray", "scipy", "pillow", "psutil", "rich", "typer"):
        typer.echo(f"  {package} {metadata.version(package)}")
    devices = [f"cpu ({torch.get_num_threads()} threads)"]
    for number in range(torch.cuda.device_count()):
        devices.append(f"cuda:{number} ({torch.cuda.get_device_name(number)})")
    typer.echo(f"devices: {', '.join(devices)}")
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    typer.echo(f"{free:.0f} GB free here; a run needs less than 1 MB per observer")
    missing = "missing; pip install 'fechner[{}]'"
    for entry in catalogue().values():
        state = "ready" if entry.installed else missing.format(entry.extra)
        cached = Path(torch.hub.get_dir(), "checkpoints", entry.fetches)
        if entry.installed and entry.fetches and not cached.exists():
            state += f"; {entry.fetches} is fetched when it is first used, or give --weights PATH"
        typer.echo(f"observer {entry.name}: {state}")
    for family in families().values():
        state = "ready" if family.installed else missing.format(family.extra)
        typer.echo(f"observers {family.label}: {state}")
    try:
        versions = {name: metadata.version(name) for name in ("mitsuba", "trimesh")}
        state = "ready (Mitsuba {mitsuba}, trimesh {trimesh})".format(**versions)
    except metadata.PackageNotFoundError:
        state = missing.format("objects")
    typer.echo(f"3D objects: {state}")


def objects(folder: Path) -> None:
    """Fetch 3D objects in classes of ImageNet, from Debian's furniture and from pybullet.

    Packages that are not installed are downloaded with apt-get and pip; nothing is installed.
    FOLDER/objects.csv says who made each object and under what licence.

    Parameters
    ----------
    folder
        Where to put them; it is made if need be.
    """
    from fechner.stimuli.objects.sets import fetch_objects

    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = fetch_objects(folder)
    except OSError as error:
        raise FechnerError(f"{folder} cannot be written: {error.strerror or error}.") from None
    info(*(f"note: {note}" for note in found.notes))
    classes = len({each.label for each in found.objects})
    typer.echo(
        f"{len(found.objects)} objects of {classes} classes are in {folder}; "
        f"objects.csv there says who made them and under what licence."
    )
