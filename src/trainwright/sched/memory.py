"""What a scheduler remembers from one round to the next, to be fast and for nothing else.

A round with a memory decides what the same round without one decides; a property test holds it to that.
"""

from collections.abc import Callable
from typing import TypeVar

P = TypeVar("P")


class Memory:
    """Caches of the modules of ``sched``; belongs to whoever calls ``schedule`` again and again."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._parts: dict[object, object] = {}

    def part(self, kind: Callable[[], P]) -> P:
        """Return the part of that kind, an empty one the first time; each module keeps its own."""
        if kind not in self._parts:
            self._parts[kind] = kind()
        return self._parts[kind]  # type: ignore[return-value]
