"""Named priorities."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

BUILT_IN: Mapping[str, int] = {"batch": -100, "normal": 0, "high": 100, "urgent": 1000}
"""Classes that everybody knows; a document of kind PriorityClass adds others or gives these other values."""


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """A name for a priority; a larger value is more important."""

    name: str
    value: int
    description: str = ""


def priorities(classes: Iterable[PriorityClass]) -> dict[str, int]:
    """Return the value of every name, declared ones over built-in ones."""
    return {**BUILT_IN, **{known.name: known.value for known in classes}}
