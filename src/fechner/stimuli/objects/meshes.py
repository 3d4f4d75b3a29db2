"""Meshes: triangles with their materials, from OBJ, PLY and GLB files."""

from __future__ import annotations

import contextlib
import hashlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Floats
from fechner.errors import MissingExtraError
from fechner.stimuli.decoding import unreadable

if TYPE_CHECKING:
    from PIL import Image

    Singles = NDArray[np.float32]

#: Larger meshes are not read, since memory may not hold them.
MOST_TRIANGLES = 1_000_000
MOST_BYTES = 1 << 28

#: Textures are made smaller, to a side that no field comes near.
_TEXTURE_PX = 1024
#: Triangles that are let through more light than they stop are glass.
_OPAQUE = 0.999


@dataclass(frozen=True, eq=False)
class Part:
    """Triangles of one material.

    Parameters
    ----------
    positions, normals, colours
        Of the corners, [t, 3, 3].
    colour
        Reflectance in linear light, (r, g, b); it multiplies the texture and the colours. Grey
        where a mesh says nothing of its surface.
    opacity
        1 stops all light, 0 none.
    uv, texture
        Where the corners lie on the texture, from its lower left on, [t, 3, 2], and its pixels,
        sRGB and alpha in 8 bits, [h, w, 4], first row on top.
    """

    positions: Singles
    normals: Singles
    colour: tuple[float, float, float] = (0.5, 0.5, 0.5)
    opacity: float = 1.0
    uv: Singles | None = None
    texture: NDArray[np.uint8] | None = None
    colours: Singles | None = None

    @cached_property
    def is_opaque(self) -> bool:
        """Whether nothing is seen through it."""
        alpha = 1.0 if self.texture is None else float(self.texture[..., 3].min()) / 255
        return self.opacity * alpha > _OPAQUE


def read_mesh(path: Path, name: str = "") -> tuple[Part, ...]:
    """Read a mesh, by material; raise `PictureError` if there is nothing to show.

    It is centred and scaled so that it just fits into a sphere of radius 1.

    Normals are those of the file where it has some; elsewhere edges sharper than 40 degrees are
    sharp and others are smooth. Colours are taken as sRGB, but for factors of GLB, which are linear
    by its standard. Highlights are not shown: all surfaces are matt.

    Parameters
    ----------
    name
        What to call it in errors; empty for its own.
    """
    try:
        import trimesh
    except ImportError as error:
        raise MissingExtraError("reading meshes", "objects", str(error)) from None
    name = name or path.name
    try:
        size = path.stat().st_size
    except OSError as error:
        raise unreadable(name, f"cannot be read: {error.strerror or error}") from None
    if not size:
        raise unreadable(name, "is an empty file")
    if size > MOST_BYTES:
        most = f"more than the {MOST_BYTES >> 20} that are read; make it simpler"
        raise unreadable(name, f"has {size / 2**20:.0f} MB, {most}")
    if path.suffix.lower() not in SUFFIXES:
        raise unreadable(name, "is no mesh in a format that is known: OBJ, PLY or GLB")
    try:
        # What readers have to say of odd files does not concern those who look at them.
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            found = trimesh.load_scene(str(path), process=False).dump()
    except Exception as error:  # readers of broken files raise whatever they like
        why = f"is damaged or no mesh of its kind ({type(error).__name__})"
        raise unreadable(name, why) from None
    meshes = [mesh for mesh in found if len(getattr(mesh, "faces", ()))]
    if not meshes:
        raise unreadable(name, "has no faces, and so there is nothing to see of it")
    corners = [mesh.vertices[mesh.faces] for mesh in meshes]
    every = np.concatenate([positions.reshape(-1, 3) for positions in corners])
    if not np.isfinite(every).all():
        raise unreadable(name, "has corners at places that are not numbers")
    if len(every) > 3 * MOST_TRIANGLES:
        most = f"more than the {MOST_TRIANGLES:,} that are shown; make it simpler"
        raise unreadable(name, f"has {len(every) // 3:,} triangles, {most}")
    centre = (every.min(0) + every.max(0)) / 2
    radius = float(np.linalg.norm(every - centre, axis=1).max())
    if not radius > 0:
        raise unreadable(name, "is a single point, and so there is nothing to see of it")
    parts = []
    for mesh, positions in zip(meshes, corners, strict=True):
        placed = (positions - centre) / radius
        given = mesh.vertex_normals[mesh.faces] if "vertex_normals" in mesh._cache else None
        normals = corner_normals(placed, given).astype(np.float32)
        parts.append(Part(placed.astype(np.float32), normals, **_look(mesh.visual, mesh.faces)))
    return tuple(parts)


def _look(visual: Any, faces: NDArray[np.int64]) -> dict[str, Any]:
    """Return what a surface looks like, as fields of `Part`; empty if nothing is known of it."""
    if visual.kind in ("vertex", "face"):
        if visual.kind == "vertex":
            rgba = np.asarray(visual.vertex_colors)[faces]
        else:
            rgba = np.repeat(np.asarray(visual.face_colors)[:, None], 3, axis=1)
        colours = linear(rgba[..., :3] / 255).astype(np.float32)
        return {"colour": (1.0, 1.0, 1.0), "colours": colours, "opacity": rgba[..., 3].mean() / 255}
    material = getattr(visual, "material", None)
    if visual.kind != "texture" or material is None:
        return {}
    opacity = 1.0
    if hasattr(material, "baseColorFactor"):
        image = material.baseColorTexture
        given = material.baseColorFactor
        factor = np.ones(4) if given is None else np.asarray(given)
        # Whole numbers are those of a byte; fractions are themselves.
        rgba = factor / 255 if factor.dtype.kind in "iu" else factor
        if material.alphaMode not in (None, "OPAQUE"):
            opacity = float(rgba[3])
        colour = rgba[:3]
    else:
        image, given = material.image, material.kwargs.get("kd")
        rgb = np.asarray(material.diffuse[:3]) / 255 if given is None else np.asarray(given)
        # Where there is a texture, the colour beside it is a leftover of the program that wrote it.
        colour = np.ones(3) if image is not None else linear(np.resize(rgb, 3).clip(0, 1))
        for key, sign in (("tr", -1), ("d", 1)):
            with contextlib.suppress(KeyError, IndexError, ValueError):
                value = min(max(float(material.kwargs[key][-1]), 0.0), 1.0)
                opacity = value if sign > 0 else 1 - value
    look: dict[str, Any] = {"colour": tuple(float(value) for value in colour), "opacity": opacity}
    if image is not None and visual.uv is not None:
        look["uv"] = np.asarray(visual.uv)[faces].astype(np.float32)
        look["texture"] = _pixels(image)
    return look


def _pixels(image: Image.Image) -> NDArray[np.uint8]:
    from PIL import Image

    try:
        image = image.convert("RGBA")
    except Exception:  # decoders of broken files raise whatever they like
        return np.full((1, 1, 4), (188, 188, 188, 255), dtype=np.uint8)  # grey, as without any
    image.thumbnail((_TEXTURE_PX, _TEXTURE_PX), Image.Resampling.BOX)
    return np.array(image, dtype=np.uint8)


def linear(encoded: NDArray[Any]) -> NDArray[np.float64]:
    """Turn values in 0..1 by the sRGB curve (IEC 61966-2-1) into linear light.

    Examples
    --------
    >>> linear(np.array([0.0, 0.5, 1.0])).round(4).tolist()
    [0.0, 0.214, 1.0]
    """
    encoded = np.asarray(encoded, dtype=np.float64)
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


#: Names of files that are taken for meshes.
SUFFIXES = (".glb", ".obj", ".ply")


def hash_mesh(path: Path) -> str:
    """Return the sha256 of a mesh and of the files that it names; empty if it cannot be read."""
    digest = hashlib.sha256()
    try:
        for each in (path, *_named_by(path)):
            content = each.read_bytes() if each is path or each.is_file() else b""
            digest.update(f"{len(content)} ".encode())
            digest.update(content)
    except OSError:
        return ""
    return digest.hexdigest()


def companions(path: Path) -> list[Path]:
    """Return the files that a mesh names, materials and textures, as far as they are there."""
    return [each for each in _named_by(path) if each.is_file()]


def lacking(path: Path, name: str) -> tuple[str, ...]:
    """Say in sentences what a mesh, called by a name, lacks to look as it should."""
    try:
        gone = [each.name for each in _named_by(path) if not each.is_file()]
        # What has no faces is told when it is to be drawn.
        if path.suffix.lower() == ".obj":
            faces = any(_lines(path, b"f"))
            # Colours of corners come after their places.
            coloured = any(each.suffix.lower() == ".mtl" for each in companions(path)) or any(
                len(line.split()) >= 5 for line in _lines(path, b"v ")
            )
        else:
            with path.open("rb") as file:
                head = file.read(1 << 16)
            faces = head.startswith((b"glTF", b"ply"))
            words = (b'"materials"', b"COLOR_0", b" red\n", b" red\r", b"TextureFile")
            coloured = any(word in head for word in words)
    except OSError:
        return ()
    found = [f"{name} names {each}, which is not there." for each in gone]
    if faces and not coloured:
        found.append(f"{name} has no materials and is shown in grey.")
    return tuple(found)


def _named_by(path: Path) -> list[Path]:
    if path.suffix.lower() != ".obj":
        return []
    libraries = list(_lines(path, b"mtllib"))[:1]
    textures = [line for each in libraries for line in _lines(path.parent / each, b"map_kd")]
    # A name may not lead out of the folder, whatever the file says.
    names = dict.fromkeys((*libraries, *textures))
    return [path.parent / name for name in names if ".." not in Path(name).parts]


def _lines(path: Path, word: bytes) -> Iterator[str]:
    """Return what follows in lines that begin with a word, in small letters or large."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        for line in map(bytes.strip, file):
            if line[: len(word)].lower() == word:
                yield line[len(word) :].strip().decode("utf-8", "replace")


#: Faces that meet at a smaller angle are parts of one smooth surface.
_SHARP_DEG = 40.0
#: Corners nearer to each other are one; the mesh has a radius of 1.
_SAME_PLACE = 1e-5
#: Faces that meet in one corner are compared with so many others at most.
_NEIGHBOURS = 24


def corner_normals(positions: Floats, given: Floats | None = None) -> Floats:
    """Return unit normals of corners, [t, 3, 3].

    A corner's normal is the mean, weighted by area, of those of the faces around it that are turned
    by less than 40 degrees against its own; or what is given, where that is a direction.

    Examples
    --------
    >>> corner_normals(np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]]))[0, 0].tolist()
    [0.0, 0.0, 1.0]
    """
    areas = np.cross(positions[:, 1] - positions[:, 0], positions[:, 2] - positions[:, 0])
    if given is None:
        given = _smoothed(positions, areas)
    length = np.linalg.norm(given, axis=-1, keepdims=True)
    usable = np.isfinite(length) & (length > 1e-12)
    flat = np.broadcast_to(_unit(areas)[:, None], positions.shape)
    return np.where(usable, given / np.where(usable, length, 1), flat)


def _smoothed(positions: Floats, areas: Floats) -> Floats:
    # Three whole numbers below 2^18 in size, of either sign, make one below 2^63.
    cells = np.round(positions.reshape(-1, 3) / _SAME_PLACE).astype(np.int64)
    keys = ((cells[:, 0] << 42) + (cells[:, 1] << 21)) + cells[:, 2]
    order = np.argsort(keys, kind="stable")
    run = keys[order]
    faces = order // 3
    unit = _unit(areas)
    cosine = np.cos(np.radians(_SHARP_DEG))
    total = np.repeat(areas[:, None], 3, axis=1).reshape(-1, 3).copy()
    # Corners at one place lie side by side in the order: each is compared with the next, the one
    # after it and so on, as long as any has the same place.
    for step in range(1, _NEIGHBOURS):
        same = np.flatnonzero(run[step:] == run[:-step])
        if not len(same):
            break
        one, other = faces[same], faces[same + step]
        alike = (unit[one] * unit[other]).sum(1) > cosine
        near, far = order[same[alike]], order[same[alike] + step]
        # In one pass a corner has one neighbour so many steps on, and one so many steps back.
        total[near] += areas[far // 3]
        total[far] += areas[near // 3]
    return total.reshape(positions.shape)


def _unit(vectors: Floats) -> Floats:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    # Faces without area are seen by nobody; any direction will do.
    has_area = length > 0
    return np.where(has_area, vectors / np.where(has_area, length, 1), np.array([0.0, 0.0, 1.0]))
