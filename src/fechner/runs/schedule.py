"""Which piece comes next: in the order of a plan, and never before what its test comes after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fechner.runs.plan import Job


class Schedule:
    """The pieces of a plan, by their numbers in it, from waiting over under way to settled."""

    def __init__(self, plan: Sequence[Job]) -> None:
        self._tests = [job.test for job in plan]
        self._waiting = list(range(len(plan)))
        self._open = Counter(test.id for test in self._tests)
        self._under_way: Counter[str] = Counter()
        #: Tests of which a piece is missing for good.
        self.incomplete: set[str] = set()

    def next(self) -> int | None:
        """Return the next piece that can be begun, None if there is none for now."""
        for place, number in enumerate(self._waiting):
            test = self._tests[number]
            if not any(self._open[name] for name in test.after):
                del self._waiting[place]
                self._under_way[test.id] += 1
                return number
        return None

    def again(self, number: int) -> None:
        """Put a piece that was under way back to the front."""
        self._under_way[self._tests[number].id] -= 1
        self._waiting.insert(0, number)

    def settle(self, number: int, complete: bool) -> None:
        """Be done with a piece that was under way, for good or ill."""
        name = self._tests[number].id
        self._under_way[name] -= 1
        self._open[name] -= 1
        if not complete:
            self.incomplete.add(name)

    def drop(self, test: str) -> list[int]:
        """Take the waiting pieces of a test out, and return them."""
        dropped = [number for number in self._waiting if self._tests[number].id == test]
        self._waiting = [number for number in self._waiting if self._tests[number].id != test]
        self._open[test] -= len(dropped)
        self.incomplete.add(test)
        return dropped

    def under_way(self, test: str) -> bool:
        """Whether a piece of a test is under way."""
        return self._under_way[test] > 0
