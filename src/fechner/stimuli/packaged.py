"""Photographs that installed packages carry, and those of a folder, without classes."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from fechner.errors import FechnerError
from fechner.stimuli.listing import SUFFIXES
from fechner.stimuli.photographs import Photograph, photograph

#: By package: photographs in colour of scenes, animals and people.
_PACKAGED = {
    "matplotlib": ("mpl-data/sample_data/grace_hopper.jpg",),
    "skimage": tuple(
        f"data/{name}"
        for name in (
            "astronaut.png",
            "chelsea.png",
            "coffee.png",
            "motorcycle_left.png",
            "rocket.jpg",
        )
    ),
    "sklearn": ("datasets/images/china.jpg", "datasets/images/flower.jpg"),
}


def packaged_photographs() -> tuple[Photograph, ...]:
    """Return the photographs that matplotlib, scikit-image and scikit-learn bring along.

    The first is required by fechner; of the others, those that are installed are taken.

    Examples
    --------
    >>> "grace_hopper.jpg" in [each.name for each in packaged_photographs()]
    True
    """
    found = []
    for package, names in _PACKAGED.items():
        # Found, not imported, for that takes seconds.
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            paths = (Path(spec.origin).parent / name for name in names)
            found += [photograph(path, package) for path in paths if path.is_file()]
    return tuple(found)


def photographs_in(folder: Path | str, most: int | None = None) -> tuple[Photograph, ...]:
    """Return the pictures of a folder and of the folders in it, sorted by their paths."""
    place = Path(folder)
    if not place.is_dir():
        raise FechnerError(f"there is no folder '{place}' of pictures.")
    paths = sorted(each for each in place.rglob("*") if each.name.lower().endswith(SUFFIXES))
    if not paths:
        raise FechnerError(f"'{place}' has no pictures ({', '.join(SUFFIXES)}).")
    return tuple(photograph(path, path.parent.name) for path in paths[:most])
