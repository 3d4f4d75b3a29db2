"""Normals of triangles' corners, where a file has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

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

    Parameters
    ----------
    positions
        Of the corners, [t, 3, 3].

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
    n = len(positions)
    places = _places(positions.reshape(-1, 3))
    order = np.argsort(places, kind="stable")
    run = places[order]
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
    return total.reshape(n, 3, 3)


def _places(points: Floats) -> NDArray[np.int64]:
    """Return a number for each point, the same for those at the same place."""
    cells = np.round(points / _SAME_PLACE).astype(np.int64)
    # Three whole numbers below 2^18 in size, of either sign, make one below 2^63.
    keys = ((cells[:, 0] << 42) + (cells[:, 1] << 21)) + cells[:, 2]
    _, numbers = np.unique(keys, return_inverse=True)
    found: NDArray[np.int64] = numbers.reshape(-1)
    return found


def _unit(vectors: Floats) -> Floats:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    found: Any = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
    # Faces without area are seen by nobody; any direction will do.
    return np.where(length > 0, found, np.array([0.0, 0.0, 1.0]))
