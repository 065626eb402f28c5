"""Values to JSON and back: ``from_json(type(x), to_json(x)) == x``; one canonical text for hashing.

Floats that JSON cannot say travel as the texts ``"NaN"``, ``"Infinity"``, ``"-Infinity"``.
"""

import hashlib
import json
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Any

_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(value: Any) -> Any:
    """Return the JSON shape of a frozen value: dicts, lists, texts, numbers, bools, None.

    Raises:
        TypeError: for a value that is none of ours.
    """
    match value:
        case None | bool() | int():
            return value
        case Enum():
            return value.value
        case str():
            return value
        case float():
            return encode_float(value)
        case datetime():
            return value.astimezone(UTC).isoformat()
        case Mapping():
            return {str(k): to_json(v) for k, v in value.items()}
        case list() | tuple():
            return [to_json(v) for v in value]
        case frozenset():
            return sorted(to_json(v) for v in value)
    if is_dataclass(value):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    raise TypeError(f"{type(value).__name__} has no JSON form")


def from_json(kind: Any, data: Any) -> Any:
    """Return the value of type ``kind`` whose JSON shape is ``data``; unknown fields are ignored.

    Raises:
        TypeError: when ``data`` does not have that shape.
    """
    if is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{k: from_json(hints[k], v) for k, v in data.items() if k in hints})  # type: ignore[operator]
    origin = typing.get_origin(kind)
    if origin in {types.UnionType, typing.Union}:
        return None if data is None else from_json(_member(kind, data), data)
    if origin is tuple:
        inner = typing.get_args(kind)[0]
        return tuple(from_json(inner, v) for v in data)
    if origin is not None and issubclass(origin, Mapping):
        inner = typing.get_args(kind)[1]
        return {k: from_json(inner, v) for k, v in data.items()}
    if kind is float:
        return decode_float(data)
    if kind is datetime:
        return datetime.fromisoformat(data)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    return data


def encode_float(value: float) -> float | str:
    """Return ``value``, or its word when JSON has no number for it."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def decode_float(value: float | str) -> float:
    """Return the float behind a JSON number or one of the three words."""
    return _WORDS[value] if isinstance(value, str) else float(value)


def canonical_json(value: Any) -> str:
    """Return the one text of a value: sorted keys, no spaces, UTF-8 unescaped, no bare NaN."""
    return json.dumps(
        to_json(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def digest_of(value: Any) -> str:
    """Return ``sha256:…`` of the canonical JSON of ``value``."""
    return "sha256:" + hashlib.sha256(canonical_json(value).encode()).hexdigest()


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _member(union: Any, data: Any) -> Any:
    """Choose the member of a union by the JSON shape: a dataclass for an object, else the first that is not None."""
    members = [m for m in typing.get_args(union) if m is not type(None)]
    if isinstance(data, dict):
        for member in members:
            if is_dataclass(member) and set(data) <= set(_hints(member)):
                return member
    return members[0] if len(members) == 1 else Any
