"""Views of 3D objects by Mitsuba 3, which follows light; and changes of them.

A view is a recipe, as pictures are: the mesh is read, and the scene built, when it is drawn.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, replace
from dataclasses import field as field_
from pathlib import Path, PurePosixPath
from threading import RLock
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from fechner.arrays import Floats, Tensor
from fechner.errors import FechnerError, MissingExtraError, PictureError
from fechner.stimuli.decoding import unreadable
from fechner.stimuli.field import Field
from fechner.stimuli.manipulations.base import Manipulation
from fechner.stimuli.objects.meshes import Part, hash_mesh, linear, read_mesh
from fechner.stimuli.pictures import Manipulated, Picture, Recent, as_drawn, picture_drawn

#: Paths per pixel: of views that are measured, and of those among which the best is sought.
SAMPLES = 16
SEARCH_SAMPLES = 4
#: Smallest and largest scale of random views. The paper's go up to 25 of an unknown unit.
SCALES = (0.5, 1.5)

#: Mitsuba's scalar engine needs nothing that does not come with it.
_VARIANT = "scalar_rgb"
#: So many times as many paths where some of them go through glass, which they do by chance.
_THROUGH_GLASS = 4
#: Below this a linear value is encoded by a straight line (IEC 61966-2-1).
_TOE = 0.0031308

#: Scenes of Mitsuba and whether they are opaque, or why there is none; so many triangles are kept
#: ready, of about 200 bytes each.
_SCENES: Recent[tuple[Any, bool] | PictureError] = Recent(3_000_000)
_ONE_AT_A_TIME = RLock()


@dataclass(frozen=True)
class Studio:
    """Where objects are shown.

    The camera looks down the z axis at the object in the origin, x to the right and y up. There is
    light from everywhere, and a lamp far away that stays where it is when the object turns. A
    white, matt surface that nothing shades and that faces the lamp is shown as white.

    Parameters
    ----------
    angle_deg
        At which the camera sees a sphere of radius 1, which then just fits the field.
    lamp
        What part of the light comes from the lamp.
    right_deg, up_deg
        How far the lamp is to the right of the camera and above it, seen from the object.
    background
        Grey of what is behind the object, display-encoded.
    """

    angle_deg: float = 30.0
    lamp: float = 0.5
    right_deg: float = -30.0
    up_deg: float = 40.0
    background: float = 0.5

    @property
    def distance(self) -> float:
        """How far away the camera is, in radii."""
        return 1 / math.sin(math.radians(self.angle_deg) / 2)

    @property
    def half_width(self) -> float:
        """Tangent of half the angle that the shorter side of the field spans at scale 1."""
        return math.tan(math.radians(self.angle_deg) / 2)

    @property
    def to_lamp(self) -> Floats:
        """Unit vector from the object to the lamp."""
        right, up = math.radians(self.right_deg), math.radians(self.up_deg)
        return np.array(
            [math.cos(up) * math.sin(right), math.sin(up), math.cos(up) * math.cos(right)]
        )


def rotation(x_deg: float, y_deg: float, z_deg: float) -> Floats:
    """Return the matrix that turns by x about the x axis, then by y, then by z.

    Examples
    --------
    >>> (rotation(0, 0, 90) @ [1, 0, 0]).round(9).tolist()
    [0.0, 1.0, 0.0]
    """
    turned = np.eye(3)
    for axis, degrees in enumerate((x_deg, y_deg, z_deg)):
        one, two = (axis + 1) % 3, (axis + 2) % 3
        cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        if degrees % 90 == 0:  # exact at right angles
            cosine, sine = round(cosine), round(sine)
        matrix = np.eye(3)
        matrix[one, one] = matrix[two, two] = cosine
        matrix[two, one], matrix[one, two] = sine, -sine
        turned = matrix @ turned
    return turned


#: Where objects are shown unless another is given.
STUDIO = Studio()


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
        Path of the mesh inside the folder, with ``/``. The folder may be moved.
    sha256
        Of the mesh and of what it names; a mesh that has changed since is not shown.
    samples
        Paths per pixel: noise falls with the square root of their number.
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
        """Render it, [3, h, w]; what is brighter than white is white."""
        try:
            import mitsuba as mi
        except ImportError as error:
            raise MissingExtraError("rendering with Mitsuba", "objects", str(error)) from None
        if mi.variant() != _VARIANT:
            mi.set_variant(_VARIANT)
            mi.set_log_level(mi.LogLevel.Error)
        scene, is_opaque = self._scene(mi)
        samples = self.samples if is_opaque else _THROUGH_GLASS * self.samples
        # Turning the object is the same as turning everything else the other way round, which
        # spares sorting its triangles anew. Mitsuba wants the place of the camera and where it
        # looks.
        back = rotation(self.x_deg, self.y_deg, self.z_deg).T
        look_at = mi.ScalarTransform4f().look_at
        eye, up = back @ (0, 0, self.studio.distance), back @ (0, 1, 0)
        sensor = mi.load_dict(
            {
                "type": "perspective",
                "fov": 2 * float(np.degrees(np.arctan(self.studio.half_width / self.scale))),
                "fov_axis": "smaller",
                "to_world": look_at(origin=list(eye), target=[0, 0, 0], up=list(up)),
                "near_clip": 1e-2,
                "film": {
                    "type": "hdrfilm",
                    "width": field.width_px,
                    "height": field.height_px,
                    "pixel_format": "rgba",
                    "component_format": "float32",
                    "rfilter": {"type": "box"},
                },
                "sampler": {"type": "multijitter", "sample_count": samples},
            }
        )
        # Noise of its own for every view, and the same each time.
        seed = zlib.crc32(repr((self.x_deg, self.y_deg, self.z_deg, self.scale)).encode())
        lamp = back @ -self.studio.to_lamp
        across = np.eye(3)[int(np.abs(lamp).argmin())]  # any direction that is not the lamp's
        # The lamp is put into the scene, which threads share.
        with _ONE_AT_A_TIME:
            settings = mi.traverse(scene)
            turned = look_at(origin=[0, 0, 0], target=list(lamp), up=list(across))
            settings["lamp.to_world"] = turned
            settings["lamp.irradiance.value"] = float(np.pi * self.studio.lamp)
            settings["sky.radiance.value"] = float(1 - self.studio.lamp)
            settings.update()
            rendered = mi.render(scene, sensor=sensor, seed=seed, spp=samples)
            shown = np.array(rendered, dtype=np.float64)
        behind = float(linear(np.array(self.studio.background)))
        light = (shown[..., :3] + (1 - shown[..., 3:4].clip(0, 1)) * behind).clip(0, 1)
        # By the sRGB curve (IEC 61966-2-1), which begins with a straight line.
        curve = 1.055 * light.clip(_TOE) ** (1 / 2.4) - 0.055
        return as_drawn(np.where(light <= _TOE, 12.92 * light, curve), bits, device)

    def _scene(self, mi: Any) -> tuple[Any, bool]:
        """Return the object with its lights, or remember it, and whether it is opaque."""
        key = (self.sha256, self.name, self.folder)
        found = _SCENES.get(key)
        if found is None:
            path, size = Path(self.folder) / self.name, 0
            try:
                mesh = read_mesh(path, self.name)
                if hash_mesh(path) != self.sha256:
                    raise unreadable(self.name, "has changed since it was listed")
            except PictureError as error:
                found = error
            else:
                size = sum(len(part.positions) for part in mesh)
                is_opaque = all(part.is_opaque for part in mesh)
                # The usual one lets a pane of glass cast the shadow of a wall.
                follows = "path" if is_opaque else "volpath"
                parts: dict[str, Any] = {
                    f"part{number}": _shape(mi, part) for number, part in enumerate(mesh)
                }
                lights = {
                    # Rays that leave a matt surface at random find the sky as often as it lights
                    # the surface, without noise where nothing is in the way; no others are sent.
                    "sky": {"type": "constant", "radiance": 1.0, "sampling_weight": 0.0},
                    "lamp": {"type": "directional", "direction": [0, 0, -1], "irradiance": 1.0},
                }
                # Light meets so many surfaces on its way, counting panes of glass.
                integrator = {"type": follows, "max_depth": 6, "hide_emitters": True}
                scene = {"type": "scene", "integrator": integrator, **lights, **parts}
                found = mi.load_dict(scene), is_opaque
            _SCENES.keep(key, found, size)
        if isinstance(found, PictureError):
            raise PictureError(str(found), found.problem)
        return found


def _shape(mi: Any, part: Part) -> Any:
    surface = mi.Properties()
    surface["surface"] = mi.load_dict(_surface(mi, part))
    count = len(part.positions)
    shape = mi.Mesh(
        "part",
        vertex_count=3 * count,
        face_count=count,
        has_vertex_normals=True,
        has_vertex_texcoords=part.uv is not None,
        props=surface,
    )
    if part.colours is not None:
        shape.add_attribute("vertex_colour", 3, part.colours.ravel())
    settings = mi.traverse(shape)
    settings["vertex_positions"] = part.positions.ravel()
    settings["vertex_normals"] = part.normals.ravel()
    if part.uv is not None:
        settings["vertex_texcoords"] = part.uv.ravel()
    settings["faces"] = np.arange(3 * count, dtype=np.uint32)
    settings.update()
    return shape


def _surface(mi: Any, part: Part) -> dict[str, Any]:
    """Return a matt surface, seen from both sides."""

    def bitmap(pixels: Floats) -> dict[str, Any]:
        values = mi.Bitmap(np.ascontiguousarray(pixels, dtype=np.float32))
        return {"type": "bitmap", "bitmap": values, "raw": True, "wrap_mode": "repeat"}

    reflectance: dict[str, Any] = {"type": "rgb", "value": list(part.colour)}
    alpha: Any = part.opacity
    if part.colours is not None:
        reflectance = {"type": "mesh_attribute", "name": "vertex_colour"}
    elif part.texture is not None:
        # For Mitsuba the first row is where v is 0, which is the lowest.
        pixels = linear(part.texture[::-1, :, :3] / 255) * part.colour
        reflectance = bitmap(pixels)
        if not part.is_opaque:
            alpha = bitmap(part.texture[::-1, :, 3:] / 255 * part.opacity)
    matt = {"type": "twosided", "bsdf": {"type": "diffuse", "reflectance": reflectance}}
    if part.is_opaque:
        return matt
    return {"type": "mask", "opacity": alpha, "nested": matt}


def view_of(path: Path | str, samples: int = SAMPLES) -> View:
    """Return a single mesh as it is, not turned."""
    path = Path(path)
    return View(path.name, hash_mesh(path), samples=samples, folder=str(path.absolute().parent))


def random_view(view: View, seed: int, number: int) -> View:
    """Return a random view of the same object, as in the paper: uniform angles and scale.

    Each number has random numbers of its own; the name of the file, without folders, is part of
    the seed.

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

    The sign, 1 or -1, is the direction.
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

    def shown(self, recipe: Manipulated, field: Field, bits: int | None, device: str) -> Tensor:
        """Draw a view at its level."""
        if not isinstance(recipe.picture, View):
            raise FechnerError(
                f"{self.name} needs views of 3D objects, and {recipe.picture} is none: give "
                "objects instead of pictures, or another manipulation."
            )
        return picture_drawn(self.changed(recipe.picture, recipe.level), field, bits, device)


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
