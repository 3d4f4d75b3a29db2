"""Views of 3D objects, which are recipes as pictures are, and changes of them."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, replace
from dataclasses import field as field_
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from fechner.errors import FechnerError, PictureError
from fechner.stimuli.field import Field
from fechner.stimuli.manipulations.base import Manipulation
from fechner.stimuli.objects.meshes import Mesh, hash_mesh, read_mesh
from fechner.stimuli.objects.rendering import MOST_TRIANGLES, Studio, render, rotation
from fechner.stimuli.pictures import Picture, Recent, Seed, as_drawn, picture_drawn

if TYPE_CHECKING:
    from torch import Tensor

#: Paths per pixel: of views that are measured, and of those among which the best is sought.
SAMPLES = 16
SEARCH_SAMPLES = 4
#: Smallest and largest scale of random views. The paper's go up to 25 of an unknown unit.
SCALES = (0.5, 1.5)

#: Where objects are shown unless another is given.
STUDIO = Studio()

#: Below this a linear value is encoded by a straight line (IEC 61966-2-1).
_TOE = 0.0031308

#: Meshes, or why there is none.
_MESHES: Recent[Mesh | PictureError] = Recent(MOST_TRIANGLES)


@dataclass(frozen=True)
class View(Picture):
    """An object as it is seen from somewhere.

    The object is turned by x about the x axis, which points to the right, then by y about the y
    axis, which points up, then by z about the z axis, which points to the camera. At scale 1 it
    just fits the shorter side of the field, however it is turned; other scales enlarge the picture
    as a lens does, so that no part of it ever comes behind the camera.

    Parameters
    ----------
    name
        Path of the mesh inside the folder, with ``/``.
    sha256
        Of the mesh and of what it names; a mesh that has changed since is not shown.
    samples
        Paths per pixel: noise falls with the square root of their number.
    folder
        Where the mesh is. Not a part of what it is: it may be moved.
    """

    name: str
    sha256: str
    x_deg: float = 0.0
    y_deg: float = 0.0
    z_deg: float = 0.0
    scale: float = 1.0
    studio: Studio = STUDIO
    samples: int = SAMPLES
    folder: str = field_(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.scale < float("inf"):
            raise FechnerError(f"a view has a scale above 0, not {self.scale}.")
        if self.samples < 1:
            raise FechnerError(f"a view has at least one path per pixel, not {self.samples}.")

    def __str__(self) -> str:
        return (
            f"{self.name} at {self.x_deg:.0f}, {self.y_deg:.0f}, {self.z_deg:.0f} degrees, "
            f"scale {self.scale:.2f}"
        )

    def seen(self, **changes: float) -> View:
        """Return the same object with other angles, scale or samples.

        Examples
        --------
        >>> View("mug.obj", "").seen(x_deg=190.0).x_deg
        -170.0
        """
        # Angles in (-180, 180] are not computed with, so that they stay what they are to the bit.
        wrapped: dict[str, Any] = {
            name: 180 - (180 - value) % 360
            if name.endswith("_deg") and not -180 < value <= 180
            else value
            for name, value in changes.items()
        }
        return replace(self, **wrapped)

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        """Draw it, [3, h, w]; what is brighter than white is white."""
        # Noise of its own for every view, and the same each time.
        seed = zlib.crc32(repr((self.x_deg, self.y_deg, self.z_deg, self.scale)).encode())
        light = render(
            self.sha256,
            self._mesh(),
            rotation(self.x_deg, self.y_deg, self.z_deg),
            self.scale,
            self.studio,
            (field.height_px, field.width_px),
            self.samples,
            seed,
        ).clip(0, 1)
        # By the sRGB curve (IEC 61966-2-1), which begins with a straight line.
        curve = 1.055 * light.clip(_TOE) ** (1 / 2.4) - 0.055
        return as_drawn(np.where(light <= _TOE, 12.92 * light, curve), bits, device)

    def _mesh(self) -> Mesh:
        key = (self.sha256, self.name, self.folder)
        found = _MESHES.get(key)
        if found is None:
            path = Path(self.folder) / self.name
            try:
                found = read_mesh(path, self.name)
                if hash_mesh(path) != self.sha256:
                    found = PictureError(
                        f"{self.name} has changed since it was listed.", "unreadable"
                    )
            except PictureError as error:
                found = error
            _MESHES.keep(key, found, found.triangles if isinstance(found, Mesh) else 0)
        if isinstance(found, PictureError):
            raise PictureError(str(found), found.problem)
        return found


def view_of(path: Path | str, samples: int = SAMPLES) -> View:
    """Return a single mesh as it is, not turned."""
    path = Path(path)
    return View(path.name, hash_mesh(path), samples=samples, folder=str(path.absolute().parent))


def random_view(view: View, seed: int, number: int) -> View:
    """Return a random view of the same object, as in the paper: uniform angles and scale.

    Parameters
    ----------
    view
        Any view of the object; the name of its file, without folders, is part of the seed.
    number
        Which of the views; each has random numbers of its own.

    Examples
    --------
    >>> found = random_view(View("mug.obj", ""), 0, 7)
    >>> round(found.x_deg, 2), round(found.scale, 3)
    (99.24, 1.114)
    """
    own = zlib.crc32(PurePosixPath(view.name).name.encode())
    generator = np.random.default_rng((seed, own, number))
    x, y, z, size = generator.random(4).tolist()
    smallest, largest = SCALES
    # 0 is drawn and 1 is not, so that angles are in (-180, 180].
    return view.seen(
        x_deg=180 - 360 * x,
        y_deg=180 - 360 * y,
        z_deg=180 - 360 * z,
        scale=smallest + (largest - smallest) * size,
    )


#: Parameters of a view.
Parameter = Literal["x", "y", "z", "scale"]


@dataclass(frozen=True, kw_only=True)
class OfViews(Manipulation):
    """A parameter of a view is changed, and the view is drawn anew.

    Rotations change the angle of the view about one axis, as the paper does; which is not always
    what turning the picture about that axis would be, since the angles follow each other. Levels of
    scale are octaves: each doubles the object's size, or halves it.

    Parameters
    ----------
    parameter
        Which.
    sign
        1 or -1: in which direction.
    """

    parameter: Parameter
    sign: int

    alone: ClassVar[bool] = True

    def setting(self, level: float) -> float:
        """Return the factor of the size, or the angle in degrees."""
        step = self.sign * level
        return float(2.0**step) if self.parameter == "scale" else step

    def level_of(self, setting: float) -> float:
        """Return the octaves of a factor, or the size of an angle."""
        return self.sign * (math.log2(setting) if self.parameter == "scale" else setting)

    def changed(self, view: View, level: float) -> View:
        """Return a view at a level; at level 0, the view itself.

        Examples
        --------
        >>> OBJECT_MANIPULATIONS["scale3d-down"].changed(View("mug.obj", ""), 1.0).scale
        0.5
        """
        self.check_level(level)
        step = self.sign * level
        if self.parameter == "scale":
            return view.seen(scale=view.scale * 2.0**step)
        angle = f"{self.parameter}_deg"
        return view.seen(**{angle: getattr(view, angle) + step})

    def shown(self, picture: Picture, level: float, seed: Seed, *how: Any) -> Tensor:
        """Draw a view at its level."""
        if not isinstance(picture, View):
            raise FechnerError(
                f"{self.name} needs views of 3D objects, and {picture} is none: give objects "
                "instead of pictures, or another manipulation."
            )
        return picture_drawn(self.changed(picture, level), *how)


def _of_views(parameter: Parameter, sign: int) -> OfViews:
    """Return a change in one direction; ranges are ours, since the paper gives none."""
    way, other, more, direction = (
        ("up", "down", "increased", "positive")
        if sign > 0
        else ("down", "up", "decreased", "negative")
    )
    if parameter == "scale":
        what, title, axis = "scale3d", f"Scale of the object, {more}", "size (octaves)"
        larger = "enlarged" if sign > 0 else "made smaller"
        words = f"is rendered anew, {larger} by so many octaves"
        strongest, most = 5.0, math.inf
    else:
        what, axis = f"rotation3d-{parameter}", "rotation (deg)"
        title = f"Rotation in depth about {parameter}, {direction}"
        words = (
            f"is rendered anew, its angle about the {parameter} axis changed by so many degrees in "
            f"the {direction} direction"
        )
        strongest = most = 180.0  # after half a turn it has turned back
    return OfViews(
        name=f"{what}-{way}",
        opposite=f"{what}-{other}",
        title=title,
        axis=axis,
        reference="richardwebster2018",
        range=(0.02 if parameter == "scale" else 0.5, strongest),
        most=most,
        words=words,
        applies_to="objects",
        parameter=parameter,
        sign=sign,
    )


#: Changes of view, by name; for objects alone.
OBJECT_MANIPULATIONS: dict[str, OfViews] = {
    each.name: each
    for parameter in get_args(Parameter)
    for each in (_of_views(parameter, 1), _of_views(parameter, -1))
}
