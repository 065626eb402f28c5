"""Which gangs run together: the set of the largest total value that fits in so much room.

Where every size divides the next larger one (1, 2, 4, 8 ... GPUs) the best set is found by putting small ones together:
what does not fill a larger size anyway is taken at once, the others become pairs, best with next best, and compete
with those of the larger size. Sizes that break this chain (12 and 24 beside 16) are few: every number of them is tried.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

_MOST_TRIES = 256


class Valued(NamedTuple, Generic[T]):
    """One that may be chosen, or several that are chosen together."""

    value: float
    items: tuple[T, ...]


Classes = Mapping[int, Sequence[Valued[T]]]
"""Size → those of that size, the best first; values are above 0."""


def choose(classes: Classes[T], capacity: int) -> list[T]:
    """Return the chosen ones; among sets of equal value the one found first, so the same for the same input."""
    fitting = {size: of_size[: capacity // size] for size, of_size in sorted(classes.items()) if of_size}
    fitting = {size: of_size for size, of_size in fitting.items() if of_size}
    chain = _chain(fitting)
    best = Valued[T](0.0, ())
    for apart in _apart({size: of_size for size, of_size in fitting.items() if size not in chain}, capacity):
        used = sum(size * count for size, count in apart.items())
        value = sum(one.value for size, count in apart.items() for one in fitting[size][:count])
        items = tuple(item for size, count in apart.items() for one in fitting[size][:count] for item in one.items)
        rest = _best_of_chain({size: fitting[size] for size in chain}, capacity - used)
        if value + rest.value > best.value:
            best = Valued(value + rest.value, (*items, *rest.items))
    return list(best.items)


def _best_of_chain(chain: Classes[T], capacity: int) -> Valued[T]:
    sizes = list(chain)
    taken: list[Valued[T]] = []
    carried: list[Valued[T]] = []
    for at, size in enumerate(sizes):
        of_size = _merged(chain[size], carried)
        if at + 1 == len(sizes):
            taken += of_size[: capacity // size]
            break
        larger = sizes[at + 1]
        spare = capacity % larger // size
        taken += of_size[:spare]
        capacity -= capacity % larger
        together = larger // size
        carried = [
            _joined(of_size[i : i + together])
            for i in range(spare, min(len(of_size), spare + capacity // size), together)
        ]
    return _joined(taken)


def _joined(several: Sequence[Valued[T]]) -> Valued[T]:
    if len(several) == 1:
        return several[0]
    return Valued(sum(one.value for one in several), tuple(item for one in several for item in one.items))


def _merged(some: Sequence[Valued[T]], others: Sequence[Valued[T]]) -> list[Valued[T]]:
    return sorted((*some, *others), key=lambda one: -one.value) if others else list(some)


def _chain(classes: Classes[T]) -> list[int]:
    """Return sizes of which each divides the next, ascending, that have the most members."""
    best: dict[int, tuple[int, list[int]]] = {}
    for size, members in classes.items():
        before = max((best[s] for s in best if size % s == 0), key=lambda one: one[0], default=(0, []))
        best[size] = (before[0] + len(members), [*before[1], size])
    return max(best.values(), key=lambda one: one[0], default=(0, []))[1]


def _apart(classes: Classes[T], capacity: int) -> Iterator[dict[int, int]]:
    """Yield how many to take of each size outside the chain, every way that fits.

    The largest numbers are left out where there would be too many ways.
    """
    tries, counts = 1, {}
    for size, members in sorted(classes.items(), key=lambda each: -each[1][0].value / each[0]):
        most = min(len(members), max(_MOST_TRIES // tries - 1, 0))
        counts[size] = range(most + 1)
        tries *= most + 1
    for numbers in product(*counts.values()):
        way = dict(zip(counts, numbers, strict=True))
        if sum(size * number for size, number in way.items()) <= capacity:
            yield way
