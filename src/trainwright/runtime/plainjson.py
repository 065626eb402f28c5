"""JSON in and out without the json package, whose import costs more than a whole runner.

The C scanner behind ``json`` is used directly; where there is none, ``json`` itself. Texts are canonical: sorted keys,
no spaces, UTF-8 unescaped, floats exact.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Scan = Callable[[str, int], "tuple[Any, int]"]


class _Settings:
    """What the scanner of ``_json`` wants to know."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float  # NaN and Infinity, as json reads them
    memo: dict[str, str] = {}  # noqa: RUF012 - asked for by old scanners


def loads(text: str | bytes) -> Any:  # noqa: ANN401 - JSON
    """Return the value of one JSON text.

    Raises:
        ValueError: it is not JSON.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    text = text.strip()
    try:
        value, end = _SCAN(text, 0)
    except (StopIteration, SystemError):  # the scanner has no words of its own for an error without json.decoder
        end = -1
        value = None
    if end != len(text):
        raise ValueError("not a JSON text: " + text[:60])
    return value


def dumps(value: object) -> str:
    """Return the canonical text of dicts, lists, texts, finite numbers, bools and None.

    Raises:
        TypeError: anything else.
        ValueError: NaN or an infinity; send it through :func:`number` first.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _QUOTE(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124 - NaN
            raise ValueError("JSON has no number for " + repr(value))
        return float.__repr__(value)
    if isinstance(value, dict):
        return "{" + ",".join(_QUOTE(str(k)) + ":" + dumps(value[k]) for k in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(dumps, value)) + "]"
    raise TypeError(type(value).__name__ + " has no JSON form")


def quote(text: str) -> str:
    """Return the JSON of a text."""
    return _QUOTE(text)


def number(value: float) -> float | str:
    """Return ``value``, or ``"NaN"``, ``"Infinity"``, ``"-Infinity"`` when JSON has no number for it."""
    if value != value:  # noqa: PLR0124 - only NaN differs from itself
        return "NaN"
    if value in {float("inf"), float("-inf")}:
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _scanner() -> tuple[Scan, Callable[[str], str]]:
    try:
        from _json import encode_basestring, make_scanner

        return make_scanner(_Settings), encode_basestring  # type: ignore[arg-type] # it asks for no more
    except (ImportError, AttributeError, TypeError):  # another interpreter: slower, equal
        import json

        return json.JSONDecoder().raw_decode, lambda text: json.dumps(text, ensure_ascii=False)


_SCAN, _QUOTE = _scanner()
