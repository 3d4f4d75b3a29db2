"""``fechner doctor`` and ``objects``: what is installed, what is missing, how to get it."""

from __future__ import annotations

import platform
import shutil
from importlib import metadata
from pathlib import Path

import typer

import fechner
from fechner.cli.options import info, quick_imports
from fechner.errors import FechnerError


def doctor() -> None:
    """Say what is installed, what is missing and how to get it."""
    with quick_imports():
        import torch

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
