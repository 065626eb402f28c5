"""Records in the order in which they came, each found at once by its key."""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_MOST_OVER = 64
"""How many records may lie over an index before a new one is made: copying these costs a microsecond."""

_MOST_STEPS = 8
"""From how many ancestors it is remembered what became different."""

_MOST_KEYS = 4096
"""More keys in one step are not remembered: comparing everything is as fast."""


class Records(Generic[K, V]):
    """An immutable series of values, one a key: iterates over the values, oldest first.

    What ``plus`` adds lies over an index that is shared until enough has come together, so that a turn of a run with
    thousands of steps does not copy them; a lookup costs what one or two of a dict's cost.
    """

    __slots__ = ("_by_key", "_over", "_self", "_steps")

    def __init__(self, by_key: dict[K, V] | None = None, over: dict[K, V] | None = None) -> None:
        """Take over ``by_key`` and what stands over it, which nobody may change afterwards."""
        self._by_key: dict[K, V] = {} if by_key is None else by_key
        self._over: dict[K, V] = {} if over is None else over
        self._self = object()  # what descendants know it by, so that they do not keep it alive
        self._steps: tuple[tuple[object, tuple[K, ...]], ...] = ()  # ancestor → keys that the next one has differently

    @classmethod
    def of(cls, values: Iterable[V], key: Callable[[V], K]) -> "Records[K, V]":
        """Return the records of ``values``; a later one stands in the place of an earlier one with its key."""
        return cls({key(value): value for value in values})

    def __iter__(self) -> Iterator[V]:
        return iter(self._whole().values())

    def __reversed__(self) -> Iterator[V]:
        return reversed(self._whole().values())

    def __len__(self) -> int:
        return len(self._whole())

    def __contains__(self, key: object) -> bool:
        return key in self._over or key in self._by_key

    def __getitem__(self, key: K) -> V:
        return self._over[key] if key in self._over else self._by_key[key]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Records) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self._whole()))

    def __repr__(self) -> str:
        return f"Records({list(self)!r})"

    def get(self, key: K) -> V | None:
        """Return the value of that key, or None."""
        return self._over[key] if key in self._over else self._by_key.get(key)

    def plus(self, more: dict[K, V]) -> "Records[K, V]":
        """Return these with others; one of a known key takes its place, new ones come last."""
        if not more:
            return self
        over = {**self._over, **more}
        made = Records(self._by_key, over) if len(over) <= _MOST_OVER else Records({**self._by_key, **over})
        made._steps = self._steps_with(tuple(more))  # noqa: SLF001 - of our own kind
        return made

    def minus(self, keys: Iterable[K]) -> "Records[K, V]":
        """Return these without those of some keys; unknown keys are no matter."""
        gone = tuple(key for key in keys if key in self)
        if not gone:
            return self
        left = dict(self._whole())
        for key in gone:
            left.pop(key, None)
        made = Records(left)
        made._steps = self._steps_with(gone)
        return made

    def keys(self) -> Iterable[K]:
        """Return the keys, in the order of the values."""
        return self._whole().keys()

    def changed_since(self, before: "Records[K, V]") -> "tuple[list[V], list[K]]":
        """Return the values that are not the very same objects as in ``before``, and the keys that are gone.

        Cheap where one was made from the other by ``plus`` and ``minus``; a comparison of all of them otherwise.
        """
        if self is before:
            return [], []
        for at in range(len(self._steps) - 1, -1, -1):
            if self._steps[at][0] is before._self:  # noqa: SLF001 - of our own kind
                return self._differences(before, [key for _, keys in self._steps[at:] for key in keys])
        mine, its = self._layers(), before._layers()  # noqa: SLF001 - of our own kind
        if mine[0] is its[0]:
            gone = [key for key in its[1] if key not in self]
            touched = {**{key: mine[0][key] for key in its[1] if key in mine[0]}, **mine[1]}
            return [value for key, value in touched.items() if before.get(key) is not value], gone
        old, new = before._whole(), self._whole()  # noqa: SLF001 - of our own kind
        gone = [] if old.keys() <= new.keys() else [key for key in old if key not in new]
        return [value for key, value in new.items() if old.get(key) is not value], gone

    def _differences(self, before: "Records[K, V]", keys: list[K]) -> "tuple[list[V], list[K]]":
        changed, gone = [], []
        for key in dict.fromkeys(keys) if len(keys) > 1 else keys:
            if key in self:
                if before.get(key) is not self[key]:
                    changed.append(self[key])
            elif key in before:
                gone.append(key)
        return changed, gone

    def _steps_with(self, keys: tuple[K, ...]) -> tuple[tuple[object, tuple[K, ...]], ...]:
        """Return the steps to a descendant that differs from this in some keys."""
        if len(keys) > _MOST_KEYS:
            return ()
        return (*self._steps[1 - _MOST_STEPS :], (self._self, keys))

    def _layers(self) -> tuple[dict[K, V], dict[K, V]]:
        return self._by_key, self._over

    def _whole(self) -> dict[K, V]:
        """Return the one index, made once for whoever needs all of it."""
        if self._over:
            self._by_key = {**self._by_key, **self._over}
            self._over = {}
        return self._by_key
