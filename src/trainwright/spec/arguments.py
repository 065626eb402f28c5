"""Values under ``with:``: literals, or references without braces."""

import re
from collections.abc import Collection

from trainwright.core.scalar import Plain
from trainwright.spec.references import Reference

SCOPES = frozenset({"params", "data", "each", "matrix", "loop", "prev"})
"""First parts of references that are no steps."""

_DOTTED = re.compile(r"([^\s.{}]+)\.([^\s.{}]+)")


def reference_of(value: Plain, steps: Collection[str]) -> Reference | None:
    """Return the reference that a value is; None for a literal.

    A text ``NAME.FIELD`` refers when NAME is a step or one of ``SCOPES``. Such a text itself is written
    ``{value: NAME.FIELD}``.
    """
    match = _DOTTED.fullmatch(value) if isinstance(value, str) else None
    if match is None or (match[1] not in SCOPES and match[1] not in steps):
        return None
    return Reference(match[1], match[2], 0, bare=True)


def literal_of(value: Plain) -> Plain:
    """Return the value that a literal stands for: ``{value: X}`` is X."""
    if isinstance(value, dict) and set(value) == {"value"}:
        return value["value"]
    return value
