"""The name somebody probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a remedy that names the nearest known name, or ``otherwise`` when none is near."""
    near = get_close_matches(name, sorted(known), n=1)
    return f"did you mean {near[0]}?" if near else otherwise
