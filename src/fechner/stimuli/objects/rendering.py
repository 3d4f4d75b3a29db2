"""The studio that objects are shown in, and views of it by Mitsuba 3, which follows light."""

from __future__ import annotations

import math
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import MissingExtraError
from fechner.stimuli.objects.meshes import Mesh, Part, linear
from fechner.stimuli.pictures import Recent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Mitsuba's scalar engine needs nothing that does not come with it.
_VARIANT = "scalar_rgb"
#: Surfaces that light meets on its way, counting panes of glass.
_DEPTH = 6
#: So many times as many paths where some of them go through glass, which they do by chance.
_THROUGH_GLASS = 4

#: So many triangles are kept ready, by each of those who keep some; about 200 bytes each.
MOST_TRIANGLES = 3_000_000


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
        """How far away the camera is, in radii.

        Examples
        --------
        >>> round(Studio().distance, 3)
        3.864
        """
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


_SCENES: Recent[Any] = Recent(MOST_TRIANGLES)
_ONE_AT_A_TIME = RLock()


def render(
    key: str,
    mesh: Mesh,
    turned: Floats,
    scale: float,
    studio: Studio,
    size_px: tuple[int, int],
    samples: int,
    seed: int,
) -> Floats:
    """Render a view; linear light, [h, w, 3], white is 1.

    Parameters
    ----------
    key
        What the mesh is remembered by.
    turned
        Rotation of the object, [3, 3].
    size_px
        (height, width).
    samples
        Paths per pixel, or a quarter of them for an object with panes of glass; noise falls with
        the square root of their number.
    seed
        Of the paths: the same gives the same picture, to the bit.
    """
    mi = _mitsuba()
    samples *= 1 if mesh.is_opaque else _THROUGH_GLASS
    scene = _SCENES.get(key) or _SCENES.keep(key, _scene(mi, mesh), mesh.triangles)
    # Turning the object is the same as turning everything else the other way round, which spares
    # sorting its triangles anew. Mitsuba wants the place of the camera and where it looks.
    back = turned.T
    eye, up = back @ (0, 0, studio.distance), back @ (0, 1, 0)
    transform = mi.ScalarTransform4f
    height, width = size_px
    sensor = mi.load_dict(
        {
            "type": "perspective",
            "fov": 2 * float(np.degrees(np.arctan(studio.half_width / scale))),
            "fov_axis": "smaller",
            "to_world": transform().look_at(origin=list(eye), target=[0, 0, 0], up=list(up)),
            "near_clip": 1e-2,
            "film": {
                "type": "hdrfilm",
                "width": width,
                "height": height,
                "pixel_format": "rgba",
                "component_format": "float32",
                "rfilter": {"type": "box"},
            },
            "sampler": {"type": "multijitter", "sample_count": samples},
        }
    )
    # The lamp is put into the scene, which threads share.
    with _ONE_AT_A_TIME:
        settings = mi.traverse(scene)
        lamp = back @ -studio.to_lamp
        across = np.eye(3)[int(np.abs(lamp).argmin())]  # any direction that is not the lamp's
        settings["lamp.to_world"] = transform().look_at(
            origin=[0, 0, 0], target=list(lamp), up=list(across)
        )
        settings["lamp.irradiance.value"] = float(np.pi * studio.lamp)
        settings["sky.radiance.value"] = float(1 - studio.lamp)
        settings.update()
        shown = np.array(mi.render(scene, sensor=sensor, seed=seed, spp=samples), dtype=np.float64)
    behind = float(linear(np.array(studio.background)))
    return shown[..., :3] + (1 - shown[..., 3:4].clip(0, 1)) * behind


def _mitsuba() -> Any:
    try:
        import mitsuba as mi
    except ImportError as error:
        raise MissingExtraError("rendering with Mitsuba", "objects", str(error)) from None
    if mi.variant() != _VARIANT:
        mi.set_variant(_VARIANT)
        mi.set_log_level(mi.LogLevel.Error)
    return mi


def _scene(mi: Any, mesh: Mesh) -> Any:
    # The usual one lets a pane of glass cast the shadow of a wall.
    follows = "path" if mesh.is_opaque else "volpath"
    return mi.load_dict(
        {
            "type": "scene",
            "integrator": {"type": follows, "max_depth": _DEPTH, "hide_emitters": True},
            # Rays that leave a matt surface at random find the sky as often as it lights the
            # surface, without noise where nothing is in the way; no others are sent there.
            "sky": {"type": "constant", "radiance": 1.0, "sampling_weight": 0.0},
            "lamp": {"type": "directional", "direction": [0, 0, -1], "irradiance": 1.0},
            **{f"part{number}": _shape(mi, part) for number, part in enumerate(mesh.parts)},
        }
    )


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
