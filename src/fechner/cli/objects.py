"""``fechner objects``: a small set of 3D objects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    folder: Annotated[Path, typer.Argument(help="Where to put them; it is made if need be.")],
) -> None:
    """Fetch 3D objects in classes of ImageNet, from Debian's furniture and from pybullet.

    Packages that are not installed are downloaded with apt-get and pip; nothing is installed.
    FOLDER/objects.csv says who made each object and under what licence.
    """
    from fechner.errors import FechnerError
    from fechner.stimuli.objects.fetching import fetch_objects

    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = fetch_objects(folder)
    except OSError as error:
        raise FechnerError(f"{folder} cannot be written: {error.strerror or error}.") from None
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    classes = len({each.label for each in found.objects})
    typer.echo(
        f"{len(found.objects)} objects of {classes} classes are in {folder}; "
        f"objects.csv there says who made them and under what licence."
    )
