"""``fechner doctor``: what is installed, what is missing, how to get it."""

from __future__ import annotations

import platform
import shutil
from importlib import metadata
from pathlib import Path

import typer


def command() -> None:
    """Say what is installed, what is missing and how to get it."""
    import fechner
    from fechner.observers.catalogue import catalogue, families

    typer.echo(f"fechner {fechner.__version__}, Python {platform.python_version()}")
    for package in ("torch", "numpy", "xarray", "scipy", "pillow", "psutil", "rich", "typer"):
        typer.echo(f"  {package} {metadata.version(package)}")
    typer.echo(_devices())
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    typer.echo(f"{free:.0f} GB free here; a run needs less than 1 MB per observer")
    for entry in catalogue().values():
        typer.echo(f"observer {entry.name}: {_state(entry)}")
    for family in families().values():
        state = "ready" if family.installed else _missing(family.extra)
        typer.echo(f"observers {family.label}: {state}")
    typer.echo(f"3D objects: {_objects()}")


def _devices() -> str:
    import torch

    found = [f"cpu ({torch.get_num_threads()} threads)"]
    found += [
        f"cuda:{i} ({torch.cuda.get_device_name(i)})" for i in range(torch.cuda.device_count())
    ]
    return "devices: " + ", ".join(found)


def _objects() -> str:
    from fechner.errors import FechnerError
    from fechner.stimuli.objects.raster import renderer

    try:
        drawn_by = renderer()
        return f"ready (Mitsuba {metadata.version('mitsuba')}, OpenGL by {drawn_by})"
    except metadata.PackageNotFoundError:
        return _missing("objects")
    except FechnerError as error:
        return str(error)


def _missing(extra: str) -> str:
    return f"missing; pip install 'fechner[{extra}]'"


def _state(entry: object) -> str:
    from fechner.errors import FechnerError
    from fechner.observers.catalogue import Entry
    from fechner.observers.names import resolve

    assert isinstance(entry, Entry)
    if not entry.installed:
        return _missing(entry.extra)
    try:
        resolve(entry.name)
    except FechnerError as error:
        return str(error)
    return "ready"
