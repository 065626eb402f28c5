"""Records in the order in which they came, each found at once by its key."""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Records(Generic[K, V]):
    """An immutable series of values, one a key: iterates over the values, oldest first.

    ``plus`` copies the index (some ten microseconds for a thousand records); a lookup costs what a dict's costs.
    """

    __slots__ = ("_by_key",)

    def __init__(self, by_key: dict[K, V] | None = None) -> None:
        """Take over ``by_key``, which nobody may change afterwards."""
        self._by_key: dict[K, V] = {} if by_key is None else by_key

    @classmethod
    def of(cls, values: Iterable[V], key: Callable[[V], K]) -> "Records[K, V]":
        """Return the records of ``values``; a later one stands in the place of an earlier one with its key."""
        return cls({key(value): value for value in values})

    def __iter__(self) -> Iterator[V]:
        return iter(self._by_key.values())

    def __reversed__(self) -> Iterator[V]:
        return reversed(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def __getitem__(self, key: K) -> V:
        return self._by_key[key]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Records) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self._by_key))

    def __repr__(self) -> str:
        return f"Records({list(self)!r})"

    def get(self, key: K) -> V | None:
        """Return the value of that key, or None."""
        return self._by_key.get(key)

    def plus(self, more: dict[K, V]) -> "Records[K, V]":
        """Return these with others; one of a known key takes its place, new ones come last."""
        return Records({**self._by_key, **more}) if more else self
