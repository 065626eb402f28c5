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
from typing import Any, TypeVar

from trainwright.core.records import Records

T = TypeVar("T")
_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(value: Any) -> Any:
    """Return the JSON shape of a frozen value: dicts, lists, texts, numbers, bools, None.

    Raises:
        TypeError: for a value that is none of ours.
    """
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return encode_float(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple | Records):
        return [to_json(v) for v in value]
    if is_dataclass(value):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    raise TypeError(f"{type(value).__name__} has no JSON form")


def from_json(kind: type[T], data: object) -> T:
    """Return the value of type ``kind`` whose JSON shape is ``data``; unknown fields are ignored.

    Raises:
        TypeError: when ``data`` does not have that shape.
    """
    value: T = _decode(kind, data)
    return value


def _decode(kind: Any, data: Any) -> Any:
    if data is None:
        return None
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{k: _decode(hints[k], v) for k, v in data.items() if k in hints})
    origin = typing.get_origin(kind)
    if origin in {types.UnionType, typing.Union}:
        return _decode(_member(kind, data), data)
    if origin is tuple:
        return tuple(_decode(inner, v) for inner, v in zip(_inner_kinds(kind, data), data, strict=True))
    if origin is not None and issubclass(origin, Mapping):
        inner = typing.get_args(kind)[1]
        return {k: _decode(inner, v) for k, v in data.items()}
    if kind is float:
        return decode_float(data)
    if kind is datetime:
        return datetime.fromisoformat(data)
    return kind(data) if isinstance(kind, type) and issubclass(kind, Enum) else data


def _shape(value: Any) -> Any:
    """Return the JSON shape of what the encoder does not know; it goes on with what is inside."""
    if is_dataclass(value):
        return {name: getattr(value, name) for name in _names(value.__class__)}
    if isinstance(value, Mapping):
        return {str(k): v for k, v in value.items()}
    if isinstance(value, Records):
        return list(value)
    return to_json(value)


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_shape)

_FLAGS = True, False, False  # sorted keys, none skipped, no bare NaN
_make = getattr(json.encoder, "c_make_encoder", None)
_ENCODE = None if _make is None else _make(None, _shape, json.encoder.encode_basestring, None, ":", ",", *_FLAGS)
"""The same, made once: the encoder above makes a new one for each text, which takes longer than most texts do."""

_EMPTY: Mapping[type, str] = {dict: "{}", tuple: "[]", list: "[]"}


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
    if not value and value.__class__ in _EMPTY:  # most columns of most records
        return _EMPTY[value.__class__]
    try:
        return _ENCODER.encode(value) if _ENCODE is None or value.__class__ is str else "".join(_ENCODE(value, 0))
    except ValueError:  # NaN or infinity somewhere: the slow way turns it into its word
        return _ENCODER.encode(to_json(value))


def digest_of(value: Any) -> str:
    """Return ``sha256:…`` of the canonical JSON of ``value``."""
    return "sha256:" + hashlib.sha256(canonical_json(value).encode()).hexdigest()


def _inner_kinds(kind: Any, data: list[Any]) -> list[Any]:
    """Return one kind an item: ``tuple[X, ...]`` repeats X, ``tuple[X, Y]`` names each."""
    args = typing.get_args(kind)
    return [args[0]] * len(data) if args[-1] is Ellipsis else list(args)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _member(union: Any, data: Any) -> Any:
    """Choose the member of a union by the JSON shape: a dataclass for an object, else the only one that is not None."""
    members = [m for m in typing.get_args(union) if m is not type(None)]
    if isinstance(data, dict):
        for member in members:
            if is_dataclass(member) and set(data) <= {f.name for f in fields(member)}:
                return member
    return members[0] if len(members) == 1 else Any
