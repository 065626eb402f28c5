"""When those of whom nothing is known will end, learned from those who ended: the Gittins index of service attained.

The hazard of a bin of attained service is the part of those who reached its end or ended in it that ended in it. Those
who still live are counted for the bins that they have passed, and for no other. A size of gang borrows from all sizes
as long as it has seen little, a kin from its size. The index of one that has reached a bin is the best rate of ends per
second of service that any number of further bins promises.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias, TypeVar

from trainwright.core.history import BINS, EDGES, History, Lives

K = TypeVar("K")

Reached: TypeAlias = tuple[int, str, int]
"""Size of the gang, kin, and bin of attained service."""

WIDTHS: tuple[float, ...] = tuple(float(after - before) for before, after in pairwise(EDGES))

_ALL_EVENTS, _ALL_RISK = 0.02, 1.0
"""What is believed of a bin in which nobody was ever seen: one end in fifty."""
_SIZE_WEIGHT = 20.0
_KIN_WEIGHT = 0.5
_SUREST = 0.999
_ARRAYS_FROM = 12
"""So many indices are computed together on arrays; that decides nothing."""


@dataclass(slots=True)
class Living:
    """How many of those who live are in which bin, those in the first left out: they have passed none."""

    by_size: dict[int, Counter[int]] = field(default_factory=dict)
    by_kin: dict[str, Counter[int]] = field(default_factory=dict)

    def count(self, reached: Reached, by: int) -> None:
        """Count one more, or one less."""
        size, kin, served_bin = reached
        if served_bin:
            _count(self.by_size, size, served_bin, by)
            if kin:
                _count(self.by_kin, kin, served_bin, by)


def _count(counts: dict[K, Counter[int]], key: K, served_bin: int, by: int) -> None:
    of_key = counts.setdefault(key, Counter())
    of_key[served_bin] += by
    if not of_key[served_bin]:
        del of_key[served_bin]
        if not of_key:
            del counts[key]


class Hazards:
    """Of one instant."""

    def __init__(self, history: History, living: tuple[Living, ...]) -> None:
        """Compute nothing yet; ``living`` are different ones, and may not change any more."""
        self._history = history
        self._living = living
        self._of_size: dict[int, list[float]] = {}
        self._index: dict[Reached, float] = {}
        self._pooled: list[float] | None = None

    def known_as(self, reached: Reached) -> Reached:
        """Return it without its kin where nothing was seen of that: what then counts is the size."""
        size, kin, served_bin = reached
        seen = kin in self._history.by_kin or any(kin in part.by_kin for part in self._living)
        return reached if seen else (size, "", served_bin)

    def index(self, reached: Reached) -> float:
        """Return the index, in ends per second."""
        known = self._index.get(reached)
        if known is None:
            known = self._index[reached] = _index(self._row(reached[0], reached[1]), reached[2])
        return known

    def prepare(self, reached: Iterable[Reached]) -> None:
        """Compute many indices at once, which is faster than one by one and gives the same."""
        wanted = [one for one in dict.fromkeys(reached) if one not in self._index]
        if len(wanted) < _ARRAYS_FROM:
            return
        rows: dict[tuple[int, str], list[float]] = {}
        for size, kin, _ in wanted:
            if (size, kin) not in rows:
                rows[size, kin] = self._row(size, kin)
        found = _indices([rows[size, kin] for size, kin, _ in wanted], [one[2] for one in wanted])
        self._index.update(zip(wanted, found, strict=True))

    def _row(self, size: int, kin: str) -> list[float]:
        """Return the hazards of a kin, or of a size where ``kin`` is empty."""
        of_size = self._size(size)
        if not kin:
            return of_size
        ended = (self._history.by_kin.get(kin) or _NONE).ended
        risk = _at_risk(ended, _sum(part.by_kin.get(kin, _NOBODY) for part in self._living))
        return [
            min((ended.get(i, 0) + _KIN_WEIGHT * h) / (n + _KIN_WEIGHT), _SUREST)
            for i, (h, n) in enumerate(zip(of_size, risk, strict=True))
        ]

    def _size(self, size: int) -> list[float]:
        known = self._of_size.get(size)
        if known is None:
            ended = self._history.by_size.get(size, _NONE).ended
            risk = _at_risk(ended, _sum(part.by_size.get(size, _NOBODY) for part in self._living))
            known = self._of_size[size] = [
                min((ended.get(i, 0) + _SIZE_WEIGHT * h) / (n + _SIZE_WEIGHT), _SUREST)
                for i, (h, n) in enumerate(zip(self._all(), risk, strict=True))
            ]
        return known

    def _all(self) -> list[float]:
        if self._pooled is None:
            ended: Counter[int] = Counter()
            for lives in self._history.by_size.values():
                ended.update(lives.ended)
            living = _sum(counted for part in self._living for counted in part.by_size.values())
            risk = _at_risk(ended, living)
            self._pooled = [(ended.get(i, 0) + _ALL_EVENTS) / (n + _ALL_RISK) for i, n in enumerate(risk)]
        return self._pooled


_NONE = Lives()
_NOBODY: Counter[int] = Counter()


def _sum(counts: Iterable[Mapping[int, int]]) -> Counter[int]:
    total: Counter[int] = Counter()
    for one in counts:
        total.update(one)
    return total


def _at_risk(ended: Mapping[int, int], living: Mapping[int, int]) -> list[int]:
    """Return for every bin how many ended in it or later, or live beyond it."""
    risk, above = [0] * BINS, 0
    for i in range(BINS - 1, -1, -1):
        above += ended.get(i, 0)
        risk[i] = above
        above += living.get(i, 0)
    return risk


def _index(hazards: Sequence[float], served_bin: int) -> float:
    best, surviving, service = 0.0, 1.0, 0.0
    for hazard, width in zip(hazards[served_bin:], WIDTHS[served_bin:], strict=True):
        service += surviving * width
        surviving *= 1.0 - hazard
        best = max(best, (1.0 - surviving) / service)
    return best


def _indices(hazards: Sequence[Sequence[float]], bins: Sequence[int]) -> list[float]:
    """Return ``_index`` of each, by the same additions and multiplications in the same order."""
    import numpy as np  # noqa: PLC0415 - only where there is much to compute

    ahead = np.arange(BINS)[None, :] >= np.array(bins)[:, None]
    left = np.where(ahead, 1.0 - np.array(hazards), 1.0)
    surviving = np.cumprod(left, axis=1)
    before = np.concatenate([np.ones((len(bins), 1)), surviving[:, :-1]], axis=1)
    service = np.cumsum(np.where(ahead, before * np.array(WIDTHS), 0.0), axis=1)
    rates = np.where(ahead, (1.0 - surviving) / np.where(ahead, service, 1.0), 0.0)
    found: list[float] = rates.max(axis=1).tolist()
    return found
