"""What is remembered of meshes, within bounds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import RLock
from typing import Generic, TypeVar

Thing = TypeVar("Thing")

#: So many triangles are kept ready, by each of those who keep some; about 200 bytes each.
_MOST_TRIANGLES = 3_000_000


class Kept(Generic[Thing]):
    """Things made of meshes; those not used for longest are forgotten first.

    Parameters
    ----------
    most_triangles
        How many triangles they may have together; a single larger one is kept alone.
    forget
        Called with what is forgotten.
    """

    def __init__(
        self,
        most_triangles: int = _MOST_TRIANGLES,
        forget: Callable[[Thing], object] = lambda thing: None,
    ) -> None:
        self._most = most_triangles
        self._forget = forget
        self._things: OrderedDict[str, tuple[Thing, int]] = OrderedDict()
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._things)

    def get(self, key: str, make: Callable[[], Thing], triangles: int | None = None) -> Thing:
        """Return what is remembered by a key, or make it.

        Parameters
        ----------
        triangles
            How many the thing has; if None, its own ``triangles``.
        """
        with self._lock:
            if key not in self._things:
                thing = make()
                size = int(getattr(thing, "triangles", 0)) if triangles is None else triangles
                self._things[key] = (thing, size)
                self._shrink()
            self._things.move_to_end(key)
            return self._things[key][0]

    def _shrink(self) -> None:
        while len(self._things) > 1 and sum(n for _, n in self._things.values()) > self._most:
            _, (thing, _) = self._things.popitem(last=False)
            self._forget(thing)
