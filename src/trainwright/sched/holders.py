"""The names of those who hold room, in order, so that a reason can name the first few of thousands."""

from bisect import bisect_left, insort
from collections.abc import Sequence

_FEW = 64
"""So many are put in one by one; sorting is faster for more."""


class Holders:
    """Labels of holders, sorted."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._labels: list[str] = []

    def __len__(self) -> int:
        return len(self._labels)

    def first(self, count: int) -> list[str]:
        """Return so many labels, or as many as there are."""
        return self._labels[:count]

    def change(self, gone: Sequence[str], come: Sequence[str]) -> None:
        """Leave some out, which are there, and put some in."""
        if len(gone) + len(come) > _FEW:
            out: dict[str, int] = {}
            for label in gone:
                out[label] = out.get(label, 0) + 1
            kept = [label for label in self._labels if not _is_taken(label, out)]
            self._labels = sorted([*kept, *come])
            return
        for label in gone:
            del self._labels[bisect_left(self._labels, label)]
        for label in come:
            insort(self._labels, label)


def _is_taken(label: str, out: dict[str, int]) -> bool:
    left = out.get(label, 0)
    if left:
        out[label] = left - 1
    return left > 0
