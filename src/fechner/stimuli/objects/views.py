"""Views of 3D objects: recipes, as pictures are."""

from __future__ import annotations

import zlib
from dataclasses import InitVar, dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from fechner.errors import FechnerError, PictureError
from fechner.stimuli.field import Field
from fechner.stimuli.objects.kept import Kept
from fechner.stimuli.objects.mesh_files import hash_mesh
from fechner.stimuli.objects.studio import Studio, rotation
from fechner.stimuli.pictures import Picture, rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from fechner.stimuli.objects.meshes import Mesh

#: What draws: OpenGL, which is quick, or Mitsuba, which follows light.
Engine = Literal["raster", "mitsuba"]

#: Paths per pixel.
SAMPLES = 16
#: Smallest and largest scale of random views. The paper's go up to 25 of an unknown unit.
SCALES = (0.5, 1.5)

#: Where objects are shown unless another is given.
STUDIO = Studio()

#: Below this a linear value is encoded by a straight line (IEC 61966-2-1).
_TOE = 0.0031308

#: Meshes, or why there is none.
_MESHES: Kept[Mesh | PictureError] = Kept()


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
    engine
        What draws it.
    samples
        Paths per pixel, for Mitsuba.
    folder
        Where the mesh is. Not a part of what it is: it may be moved.
    """

    name: str
    sha256: str
    x_deg: float = 0.0
    y_deg: float = 0.0
    z_deg: float = 0.0
    scale: float = 1.0
    engine: Engine = "raster"
    studio: Studio = STUDIO
    samples: int = SAMPLES
    folder: InitVar[str] = ""

    _folder: ClassVar[str] = ""

    def __post_init__(self, folder: str) -> None:
        if not 0 < self.scale < float("inf"):
            raise FechnerError(f"a view has a scale above 0, not {self.scale}.")
        if self.engine not in ("raster", "mitsuba"):
            raise FechnerError(f"views are drawn by 'raster' or 'mitsuba', not '{self.engine}'.")
        object.__setattr__(self, "_folder", folder)

    def __str__(self) -> str:
        return (
            f"{self.name} at {self.x_deg:.0f}, {self.y_deg:.0f}, {self.z_deg:.0f} degrees, "
            f"scale {self.scale:.2f}"
        )

    @property
    def place(self) -> str:
        """Where the folder is."""
        return self._folder

    def seen(
        self,
        *,
        x_deg: float | None = None,
        y_deg: float | None = None,
        z_deg: float | None = None,
        scale: float | None = None,
        engine: Engine | None = None,
    ) -> View:
        """Return another view of the same object; what is None stays.

        Examples
        --------
        >>> View("mug.obj", "").seen(x_deg=190.0).x_deg
        -170.0
        """
        return View(
            self.name,
            self.sha256,
            self.x_deg if x_deg is None else wrapped(x_deg),
            self.y_deg if y_deg is None else wrapped(y_deg),
            self.z_deg if z_deg is None else wrapped(z_deg),
            self.scale if scale is None else scale,
            self.engine if engine is None else engine,
            self.studio,
            self.samples,
            self._folder,
        )

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        """Draw it, [3, h, w]."""
        import torch

        light = self.light((field.height_px, field.width_px))
        pixels = torch.as_tensor(_encoded(light), device=device).permute(2, 0, 1).contiguous()
        return rounded(pixels, bits)

    def light(self, size_px: tuple[int, int]) -> NDArray[np.float64]:
        """Return linear light, white is 1, [h, w, 3].

        Parameters
        ----------
        size_px
            (height, width).
        """
        mesh = self._mesh()
        turned = rotation(self.x_deg, self.y_deg, self.z_deg)
        if self.engine == "raster":
            from fechner.stimuli.objects.raster import raster

            return raster(self.sha256, mesh, turned, self.scale, self.studio, size_px)
        from fechner.stimuli.objects.pathtracing import render

        # Noise of its own for every view, and the same each time.
        seed = zlib.crc32(repr((self.x_deg, self.y_deg, self.z_deg, self.scale)).encode())
        return render(
            self.sha256, mesh, turned, self.scale, self.studio, size_px, self.samples, seed
        )

    def _mesh(self) -> Mesh:
        found = _MESHES.get(f"{self.sha256} {self.name} {self._folder}", self._read)
        if isinstance(found, PictureError):
            raise PictureError(str(found), found.problem)
        return found

    def _read(self) -> Mesh | PictureError:
        from fechner.stimuli.objects.meshes import read_mesh

        path = Path(self._folder) / self.name
        try:
            mesh = read_mesh(path, self.name)
        except PictureError as error:
            return error
        if hash_mesh(path) != self.sha256:
            return PictureError(f"{self.name} has changed since it was listed.", "unreadable")
        return mesh


def view_of(path: Path | str, engine: Engine = "raster") -> View:
    """Return a single mesh as it is, not turned."""
    path = Path(path)
    return View(path.name, hash_mesh(path), engine=engine, folder=str(path.absolute().parent))


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


def wrapped(degrees: float) -> float:
    """Return an angle in (-180, 180].

    Examples
    --------
    >>> wrapped(-180.0), wrapped(540.0), wrapped(-190.0)
    (180.0, 180.0, 170.0)
    """
    # Angles in range are not computed with, so that they stay what they are to the bit.
    return degrees if -180 < degrees <= 180 else 180 - (180 - degrees) % 360


def _encoded(light: NDArray[np.float64]) -> NDArray[np.float64]:
    """Encode linear light by the sRGB curve; what is brighter than white is white."""
    light = light.clip(0, 1)
    curve = 1.055 * light.clip(_TOE) ** (1 / 2.4) - 0.055
    return np.where(light <= _TOE, 12.92 * light, curve)
