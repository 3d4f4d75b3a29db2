"""How much of the sky each place of an object sees, which nothing but its shape decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fechner.stimuli.objects.meshes import Part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Singles = NDArray[np.float32]

#: Directions that the sky is looked at in: fewer, if there are very many corners to look from.
_DIRECTIONS = 96
_FEWEST_DIRECTIONS = 32
_LOOKS = 20_000_000
#: Edges are halved if they are longer than this (the radius is 1) and if what their middle sees
#: differs by more than that from the mean of their ends.
_SHORT = 0.08
_DIFFERENT = 0.06
_ROUNDS = 5
#: So many times as many triangles, and so many more, may come of it.
_TIMES = 4
_MORE = 5000
#: How far off the surface, and from the corner towards the middle, one looks from.
_OFF = 0.008
_INWARDS = 0.08
#: Differences of depth, of 2, that are none.
_ALLOWANCE = 0.004


def directions(count: int = _DIRECTIONS) -> Floats:
    """Return unit vectors spread evenly over the sphere, [n, 3].

    Examples
    --------
    >>> bool(abs(directions().mean(0)).max() < 0.01)
    True
    """
    steps = np.arange(count) + 0.5
    up = 1 - 2 * steps / count
    around = steps * np.pi * (3 - 5**0.5)
    flat = np.sqrt(1 - up**2)
    return np.stack([flat * np.cos(around), up, flat * np.sin(around)], axis=1)


def seen_along(direction: Floats) -> Floats:
    """Return what takes places to a map seen from a direction far away, [4, 4]."""
    up = np.eye(3)[int(np.abs(direction).argmin())]
    right = np.cross(up, direction)
    right /= np.linalg.norm(right)
    matrix = np.eye(4)
    matrix[:3, :3] = np.stack([right, np.cross(direction, right), -direction]) / 1.02
    return matrix


@dataclass(frozen=True, eq=False)
class Sky:
    """Maps of an object's depths, seen from many directions.

    Parameters
    ----------
    towards
        The directions, [d, 3].
    matrices
        What takes places to the maps, [d, 3, 3].
    depths
        In 0..1, [d, n, n], first row lowest.
    """

    towards: Singles
    matrices: Singles
    depths: Singles

    @classmethod
    def around(cls, corners: int, draw: Callable[[Floats], Singles]) -> Sky:
        """Look at an object from everywhere.

        Parameters
        ----------
        corners
            How many it has.
        draw
            Draws it as `seen_along` has it.
        """
        count = int(np.clip(_LOOKS // max(corners, 1), _FEWEST_DIRECTIONS, _DIRECTIONS))
        towards = directions(count)
        matrices = [seen_along(direction) for direction in towards]
        return cls(
            towards.astype(np.float32),
            np.stack(matrices)[:, :3, :3].astype(np.float32),
            np.stack([draw(matrix) for matrix in matrices]),
        )

    def seen(self, points: Singles, normals: Singles) -> Singles:
        """Return what part of the sky's light reaches either side of places, [n, 2]."""
        light = np.zeros((len(points), 2), dtype=np.float32)
        whole = np.zeros_like(light)
        for direction, matrix, depths in zip(self.towards, self.matrices, self.depths, strict=True):
            side = len(depths)
            cosine = normals @ direction
            off = points + (_OFF * np.sign(cosine))[:, None] * normals
            place = (off @ matrix.T + 1) / 2
            column, row = np.clip((place[:, :2] * side).astype(np.int32), 0, side - 1).T
            open_ = depths[row, column] + _ALLOWANCE >= place[:, 2]
            for number, weight in enumerate((cosine.clip(0), (-cosine).clip(0))):
                whole[:, number] += weight
                light[:, number] += weight * open_
        found: Singles = light / whole.clip(1e-6)
        return found


def with_sky(part: Part, sky: Sky) -> tuple[Part, Singles]:
    """Return a part and what its corners see of the sky, [t, 3, 2].

    Triangles are divided where that is not the mean of what is beside it; edges are halved, so that
    triangles that share one still do.
    """
    columns = [part.positions, part.normals]
    columns += [each for each in (part.uv, part.colours) if each is not None]
    widths = np.cumsum([each.shape[2] for each in columns])
    corners = np.concatenate(columns, axis=2, dtype=np.float32)
    most = _TIMES * len(corners) + _MORE
    done: list[Singles] = []
    seen: list[Singles] = []
    for last in (*[False] * _ROUNDS, True):
        here = _at_corners(corners, sky)
        edges = np.roll(corners, -1, axis=1)
        long = np.linalg.norm((edges - corners)[..., :3], axis=2) > _SHORT
        if last or not long.any() or sum(map(len, done)) + len(corners) > most:
            done.append(corners)
            seen.append(here)
            break
        middles = ((edges + corners) / 2)[long]
        there = np.zeros((*long.shape, 2), dtype=np.float32)
        # Looked at from a little inside, as the corners are.
        centres = np.broadcast_to(corners.mean(1, keepdims=True), corners.shape)[long]
        inside = middles[:, :3] + _INWARDS * (centres - middles)[:, :3]
        there[long] = sky.seen(inside, middles[:, 3:6])
        mean = (here + np.roll(here, -1, axis=1)) / 2
        split = long & (np.abs(there - mean).max(2) > _DIFFERENT)
        whole = ~split.any(1)
        done.append(corners[whole])
        seen.append(here[whole])
        if whole.all():
            break
        corners = _halved(corners[~whole], split[~whole])
    pieces = np.split(np.concatenate(done), widths[:-1], axis=2)
    rest = iter(pieces[2:])
    finer = replace(
        part,
        positions=pieces[0],
        normals=pieces[1],
        uv=None if part.uv is None else next(rest),
        colours=None if part.colours is None else next(rest),
    )
    return finer, np.concatenate(seen)


def _at_corners(corners: Singles, sky: Sky) -> Singles:
    positions, normals = corners[..., :3], corners[..., 3:6]
    inside = positions + _INWARDS * (positions.mean(1, keepdims=True) - positions)
    return sky.seen(inside.reshape(-1, 3), normals.reshape(-1, 3)).reshape(-1, 3, 2)


def _halved(corners: Singles, long: NDArray[np.bool_]) -> Singles:
    """Halve the edges from each corner to the next that are long, [t, 3]."""
    count = long.sum(1)
    found = [corners[count == 0]]
    # Turned so that the first edge is the odd one out: the only long one, or the only short one.
    for number, odd in ((1, long), (2, ~long), (3, long)):
        chosen = count == number
        first = odd[chosen].argmax(1)
        turned = (first[:, None] + np.arange(3)) % 3
        a, b, c = np.take_along_axis(corners[chosen], turned[..., None], axis=1).swapaxes(0, 1)
        ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
        triples = {
            1: [(a, ab, c), (ab, b, c)],
            2: [(a, b, bc), (a, bc, ca), (ca, bc, c)],
            3: [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)],
        }[number]
        found += [np.stack(triple, axis=1) for triple in triples]
    return np.concatenate(found)
