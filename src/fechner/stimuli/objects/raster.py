"""Views by a rasteriser: OpenGL on whatever the machine has, its processor if need be.

It is quick and made to look like Mitsuba: the same camera, lights and matt surfaces, shadows of the
lamp from a map of depths, and what each place sees of the sky measured once for each object.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from fechner.errors import FechnerError, MissingExtraError
from fechner.stimuli.objects.kept import Kept
from fechner.stimuli.objects.meshes import Mesh, Part, linear
from fechner.stimuli.objects.shaders import DEPTH_FRAGMENT, DEPTH_VERTEX, FRAGMENT, VERTEX
from fechner.stimuli.objects.sky import Sky, seen_along, with_sky
from fechner.stimuli.objects.studio import Studio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Result = TypeVar("Result")

#: The picture is drawn larger by this factor and then averaged, with so many samples a pixel.
_LARGER = 1
_SAMPLES = 4
#: Sides of the maps of depths.
_LAMP_PX = 1024
_SKY_PX = 256
#: Formats of OpenGL that moderngl has no name for: textures in sRGB with alpha.
_SRGB8_ALPHA8 = 0x8C43
#: Largest picture, of which four times as many pixels are drawn.
_MOST_PX = 4096


def raster(
    key: str, mesh: Mesh, turned: Floats, scale: float, studio: Studio, size_px: tuple[int, int]
) -> Floats:
    """Draw a view; linear light, [h, w, 3], white is 1.

    Parameters
    ----------
    key
        What the mesh is remembered by.
    turned
        Rotation of the object, [3, 3].
    size_px
        (height, width).
    """
    if max(size_px) > _MOST_PX:
        raise FechnerError(
            f"views are rastered with {_MOST_PX} pixels a side at most, not {max(size_px)}."
        )
    return _drawing(os.getpid()).do(
        lambda engine: engine.draw(key, mesh, turned, scale, studio, size_px)
    )


def renderer() -> str:
    """Return what draws, as OpenGL names it."""
    return _drawing(os.getpid()).do(lambda engine: str(engine.context.info["GL_RENDERER"]))


class _Drawing:
    """A thread of its own for OpenGL, whose context belongs to the thread that made it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "raster")
        self._engine: _Engine | None = None

    def do(self, task: Callable[[_Engine], Result]) -> Result:
        """Do something with the engine and wait for it."""
        return self._thread.submit(lambda: task(self._made())).result()

    def _made(self) -> _Engine:
        if self._engine is None:
            self._engine = _Engine()
        return self._engine


@cache
def _drawing(process: int) -> _Drawing:
    """Return the only one of a process; a child of it needs another."""
    return _Drawing()


class _Piece(NamedTuple):
    """A part of an object in the memory of the engine."""

    corners: Any
    shown: Any
    shadow: Any
    texture: Any
    own_texture: bool
    opaque: bool
    middles: NDArray[np.float32]
    order: Any


class _Engine:
    """A context of OpenGL with what it keeps."""

    def __init__(self) -> None:
        self.context = _context()
        self._program = self.context.program(vertex_shader=VERTEX, fragment_shader=FRAGMENT)
        self._depth = self.context.program(
            vertex_shader=DEPTH_VERTEX, fragment_shader=DEPTH_FRAGMENT
        )
        self._white = self._texture(np.full((1, 1, 4), 255, dtype=np.uint8))
        self._lamp = self._map(_LAMP_PX)
        self._sky = self._map(_SKY_PX)
        self._targets: dict[tuple[int, int], tuple[Any, Any]] = {}
        self._objects: Kept[list[_Piece]] = Kept(forget=_release)

    def draw(
        self,
        key: str,
        mesh: Mesh,
        turned: Floats,
        scale: float,
        studio: Studio,
        size_px: tuple[int, int],
    ) -> Floats:
        """Draw a view."""
        pieces = self._objects.get(key, lambda: self._pieces(mesh), mesh.triangles)
        from_lamp = _lamp_view(turned, studio.to_lamp)
        self._depths(pieces, self._lamp, from_lamp)
        return self._view(pieces, turned, scale, studio, size_px, from_lamp)

    def _view(
        self,
        pieces: list[_Piece],
        turned: Floats,
        scale: float,
        studio: Studio,
        size_px: tuple[int, int],
        from_lamp: Floats,
    ) -> Floats:
        import moderngl

        height, width = size_px
        target, plain = self._target(size_px)
        target.use()
        self.context.enable_only(moderngl.DEPTH_TEST | moderngl.BLEND)
        self.context.blend_func = moderngl.SRC_ALPHA, moderngl.ONE_MINUS_SRC_ALPHA
        behind = float(linear(np.array(studio.background)))
        target.clear(behind, behind, behind, 1.0)
        program = self._program
        _set(program, "turned", turned)
        _set(program, "to_clip", _projection(studio, scale, width / height))
        _set(program, "to_map", _to_map(from_lamp, turned, studio.distance))
        _set(program, "to_lamp", studio.to_lamp)
        program["distance_"].value = studio.distance
        program["lamp"].value = studio.lamp
        program["depths"].value = 1
        self._lamp.depth_attachment.use(1)
        # What is seen through comes last, the farthest first.
        ordered = sorted(pieces, key=lambda piece: (not piece.opaque, _farness(piece, turned)))
        for piece in ordered:
            piece.texture.use(0)
            if not piece.opaque:
                piece.order.write(_back_to_front(piece.middles, turned).tobytes())
            piece.shown.render()
        self.context.copy_framebuffer(plain, target)
        content = np.frombuffer(plain.read(components=3, dtype="f4"), dtype=np.float32)
        parts = content.reshape(height, _LARGER, width, _LARGER, 3)
        picture: Floats = parts.mean((1, 3), dtype=np.float64)
        return picture[::-1]

    def _depths(self, pieces: list[_Piece], target: Any, seen_from: Floats) -> None:
        """Draw how far away things are, seen from some direction."""
        import moderngl

        target.use()
        self.context.enable_only(moderngl.DEPTH_TEST)
        target.clear(depth=1.0)
        _set(self._depth, "seen_from", seen_from)
        for piece in pieces:
            if piece.opaque:
                piece.shadow.render()

    def _pieces(self, mesh: Mesh) -> list[_Piece]:
        """Put an object into memory, with what its corners see of the sky."""
        plain = [self._piece(part, np.ones((len(part.positions), 3, 2))) for part in mesh.parts]

        def depths(seen_from: Floats) -> NDArray[np.float32]:
            self._depths(plain, self._sky, seen_from)
            content = self._sky.depth_attachment.read()
            return np.frombuffer(content, dtype=np.float32).reshape(_SKY_PX, _SKY_PX)

        sky = Sky.around(3 * mesh.triangles, depths)
        _release(plain)
        return [self._piece(*with_sky(part, sky)) for part in mesh.parts]

    def _piece(self, part: Part, sky: NDArray[Any]) -> _Piece:
        corners = self.context.buffer(_packed(part, sky))
        order = None if part.is_opaque else self.context.buffer(reserve=12 * len(part.positions))
        texture = self._white if part.texture is None else self._texture(part.texture)
        layout = (corners, "3f 3f 2f 4f 2f", "position", "normal", "uv", "colour", "sky")
        place = (corners, "3f 44x", "position")
        return _Piece(
            corners,
            self.context.vertex_array(self._program, [layout], index_buffer=order),
            self.context.vertex_array(self._depth, [place]),
            texture,
            part.texture is not None,
            part.is_opaque,
            part.positions.mean(1),
            order,
        )

    def _texture(self, pixels: NDArray[np.uint8]) -> Any:
        import moderngl

        height, width = pixels.shape[:2]
        texture = self.context.texture(
            (width, height),
            4,
            np.ascontiguousarray(pixels[::-1]).tobytes(),
            internal_format=_SRGB8_ALPHA8,
        )
        texture.build_mipmaps()
        # Not anisotropic: where a texture is repeated often, Mesa's software driver then reads so
        # many of its pixels for each that is drawn that it takes minutes.
        texture.filter = moderngl.LINEAR_MIPMAP_LINEAR, moderngl.LINEAR
        return texture

    def _map(self, side_px: int) -> Any:
        depths = self.context.depth_texture((side_px, side_px))
        depths.compare_func = "<="
        depths.repeat_x = depths.repeat_y = False
        return self.context.framebuffer(depth_attachment=depths)

    def _target(self, size_px: tuple[int, int]) -> tuple[Any, Any]:
        """Return where a picture is drawn, and where its samples become one."""
        if size_px not in self._targets:
            for old in self._targets.values():
                for each in old:
                    for part in (*each.color_attachments, each.depth_attachment, each):
                        part.release() if part is not None else None
            context, (height, width) = self.context, size_px
            size = _LARGER * width, _LARGER * height
            samples = min(_SAMPLES, context.max_samples)
            many = context.framebuffer(
                [context.renderbuffer(size, 4, samples=samples, dtype="f4")],
                context.depth_renderbuffer(size, samples=samples),
            )
            plain = context.framebuffer([context.renderbuffer(size, 4, dtype="f4")])
            self._targets = {size_px: (many, plain)}
        return self._targets[size_px]


def _context() -> Any:
    try:
        import moderngl
    except ImportError as error:
        raise MissingExtraError("rastering views", "objects", str(error)) from None
    try:
        # Its annotations know no backend but a dictionary; its documentation names this one.
        options: dict[str, Any] = {"standalone": True, "backend": "egl"}
        return moderngl.create_context(**options)
    except Exception as error:  # the library raises plain exceptions
        raise FechnerError(
            f"views are rastered with OpenGL through EGL, which does not start here ({error}); "
            "install it, on Debian with: apt-get install libegl1 libgl1 libgl1-mesa-dri."
        ) from None


def _release(pieces: list[_Piece]) -> None:
    for piece in pieces:
        for each in (piece.shown, piece.shadow, piece.order, piece.corners):
            if each is not None:
                each.release()
        if piece.own_texture:
            piece.texture.release()


def _packed(part: Part, sky: NDArray[Any]) -> bytes:
    """Return place, normal, uv, colour and sky of every corner, in a row."""
    count = len(part.positions)
    colour = np.empty((count, 3, 4), dtype=np.float32)
    colour[..., :3] = part.colour if part.colours is None else part.colours * part.colour
    colour[..., 3] = part.opacity
    uv = np.zeros((count, 3, 2), dtype=np.float32) if part.uv is None else part.uv
    columns = [part.positions, part.normals, uv, colour, sky.astype(np.float32)]
    return np.concatenate(columns, axis=2, dtype=np.float32).tobytes()


def _projection(studio: Studio, scale: float, aspect: float) -> Floats:
    """Return what takes places seen from the camera to the picture, [4, 4]."""
    near, far = studio.distance - 1.05, studio.distance + 1.05
    zoom = scale / studio.half_width
    matrix = np.zeros((4, 4))
    matrix[0, 0] = zoom / max(aspect, 1.0)
    matrix[1, 1] = zoom * min(aspect, 1.0)
    matrix[2, 2:] = (far + near) / (near - far), 2 * far * near / (near - far)
    matrix[3, 2] = -1
    return matrix


def _lamp_view(turned: Floats, to_lamp: Floats) -> Floats:
    """Return what takes places on the object to the lamp's map, [4, 4]."""
    return seen_along(turned.T @ to_lamp)


def _to_map(from_lamp: Floats, turned: Floats, distance: float) -> Floats:
    """Return what takes places seen from the camera to the lamp's map, in 0..1, [4, 4]."""
    back = np.eye(4)
    back[:3, :3] = turned.T
    back[:3, 3] = turned.T @ (0, 0, distance)
    halved = np.diag([0.5, 0.5, 0.5, 1.0])
    halved[:3, 3] = 0.5
    return halved @ from_lamp @ back


def _farness(piece: _Piece, turned: Floats) -> float:
    return float((piece.middles @ turned[2]).mean())


def _back_to_front(middles: NDArray[np.float32], turned: Floats) -> NDArray[np.int32]:
    """Return numbers of corners, those of far triangles first."""
    order = np.argsort(middles @ turned[2].astype(np.float32), kind="stable")
    return (3 * order[:, None] + np.arange(3)).astype(np.int32)


def _set(program: Any, name: str, values: Floats) -> None:
    # OpenGL reads matrices by column.
    program[name].write(np.ascontiguousarray(values.T, dtype=np.float32).tobytes())
