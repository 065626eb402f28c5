"""The order of steps: every step after all it needs, ties by name; circles are shown as a path."""

import heapq
from collections.abc import Mapping, Sequence

from trainwright.core.errors import SpecError
from trainwright.spec.document import Document

Needs = Mapping[str, tuple[str, ...]]
"""Step → the steps of the same file that come before it, sorted."""


def topological(document: Document, needs: Needs) -> tuple[str, ...]:
    """Return all steps, each after what it needs, the smallest name first where there is a choice (Kahn 1962).

    Raises:
        SpecError: some steps wait for one another in a circle; the message shows the path.
    """
    waiting = {name: len(before) for name, before in needs.items()}
    after: dict[str, list[str]] = {name: [] for name in needs}
    for name in needs:
        for needed in needs[name]:
            after[needed].append(name)
    ready: list[str] = [name for name, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order: list[str] = []
    while ready:
        first = heapq.heappop(ready)
        order.append(first)
        for other in after[first]:
            waiting[other] -= 1
            if waiting[other] == 0:
                heapq.heappush(ready, other)
    if len(order) < len(needs):
        _refuse_circle(document, circle({name: needs[name] for name in needs if waiting[name]}))
    return tuple(order)


def circle(needs: Needs) -> tuple[str, ...]:
    """Return the shortest circle through the smallest name that is on one, in the order of what waits for what.

    Args:
        needs: has a circle; needs that are not keys are ignored.
    """
    for start in sorted(needs):
        came: dict[str, str] = {start: ""}
        queue = [start]
        for name in queue:
            for other in needs[name]:
                if other == start:
                    return _path(came, name)
                if other in needs and other not in came:
                    came[other] = name
                    queue.append(other)
    raise AssertionError("there is no circle")


def everything_before(name: str, needs: Needs) -> frozenset[str]:
    """Return all steps that must end before ``name`` begins."""
    found: set[str] = set()
    left = list(needs[name])
    while left:
        other = left.pop()
        if other not in found:
            found.add(other)
            left.extend(needs[other])
    return frozenset(found)


def _path(came: Mapping[str, str], last: str) -> tuple[str, ...]:
    """Follow the search back from ``last``."""
    names = [last]
    while came[names[-1]]:
        names.append(came[names[-1]])
    return tuple(reversed(names))


def _refuse_circle(document: Document, names: Sequence[str]) -> None:
    shown = " → ".join([*names, names[0]])
    lines = ", ".join(f"{name} line {document.where(f'steps.{name}').line}" for name in names)
    raise SpecError(
        "TW1050",
        f"steps wait for one another in a circle: {shown}",
        where=document.where(f"steps.{names[0]}"),
        why=f"each reads from, or depends on, the next one ({lines})",
        remedy="take away one of these references or depends_on:",
    )
