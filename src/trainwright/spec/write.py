"""A document as YAML: block style, the same text at every call; ``reader.read`` gives the very values back."""

import json
import re
from collections.abc import Iterator, Mapping

from trainwright.core.scalar import Plain, parse_scalar
from trainwright.spec.habits import habit

_PLAIN = re.compile(r"[A-Za-z0-9_./$(][^\n]*")
_UNSAFE = re.compile(r": |:$| #|[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]| $")
_FLOW = re.compile(r"[\[\]{},]")
_ESCAPED = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_LINE = re.compile(r"[^\x00-\x09\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]*")
_SHORT = 100
"""Characters of a list or mapping that stays on one line."""


def write(document: Mapping[str, Plain]) -> str:
    """Return the YAML of a document; its keys stay in their order."""
    lines: list[str] = []
    for key, value in document.items():
        lines += _entry(f"{_text(key, flow=True)}:", value, 0, 2 if key == "steps" else 1)
    return "\n".join(lines) + "\n"


def _mapping(values: Mapping[str, Plain], depth: int, open_: int) -> Iterator[str]:
    indent = "  " * depth
    for key, value in values.items():
        yield from _entry(f"{indent}{_text(key, flow=True)}:", value, depth, open_)


def _entry(head: str, value: Plain, depth: int, open_: int = 0) -> Iterator[str]:
    """Yield the lines of what stands behind ``key:`` or ``-``; ``open_`` levels have a line for each key."""
    if isinstance(value, dict) and value and (open_ or not _is_short(value)):
        yield head
        yield from _mapping(value, depth + 1, max(0, open_ - 1))
    elif isinstance(value, list) and value and not _is_short(value):
        yield head
        for item in value:
            yield from _entry("  " * (depth + 1) + "-", item, depth + 1)
    elif isinstance(value, str) and _is_block(value):
        keep = "" if value.endswith("\n") and not value.endswith("\n\n") else "+" if value.endswith("\n") else "-"
        yield f"{head} |{keep}"
        lines = value.removesuffix("\n").split("\n")
        yield from ("  " * (depth + 1) + line if line else "" for line in lines)
    else:
        yield f"{head} {_inline(value)}"


def _is_short(value: Plain) -> bool:
    """Tell whether a list or mapping of scalars and lists of them fits on a line and needs no care there."""
    return all(map(_is_flat, _items(value))) and len(_inline(value)) <= _SHORT


def _items(value: Plain) -> list[Plain]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _is_flat(item: Plain) -> bool:
    if isinstance(item, list):
        return not any(isinstance(inner, list | dict) or not _is_flat(inner) for inner in item)
    return not isinstance(item, dict) and not (isinstance(item, str) and "\n" in item)


def _is_block(text: str) -> bool:
    """Tell whether a text of several lines can stand as a literal block."""
    first = text.split("\n", 1)[0]
    return "\n" in text and bool(_LINE.fullmatch(text)) and bool(first.strip()) and not first.startswith((" ", "\t"))


def _inline(value: Plain) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key, flow=True)}: {_flowing(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flowing, value)) + "]"
    return _scalar(value, flow=False)


def _flowing(value: Plain) -> str:
    return _inline(value) if isinstance(value, list | dict) else _scalar(value, flow=True)


def _scalar(value: Plain, *, flow: bool) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value, flow=flow)
        case float():
            return {"nan": ".nan", "inf": ".inf", "-inf": "-.inf"}.get(repr(value), repr(value))
        case _:
            return repr(value)


def _text(text: str, *, flow: bool) -> str:
    """Return a text bare where nobody could take it for anything else, else in double quotes."""
    plain = _PLAIN.fullmatch(text) and not _UNSAFE.search(text) and not (flow and _FLOW.search(text))
    if plain and _is_text(text) and not (flow and "$" in text):
        return text
    return _ESCAPED.sub(_escape, json.dumps(text, ensure_ascii=False))


def _is_text(text: str) -> bool:
    try:
        return isinstance(parse_scalar(text), str) and not habit(text)
    except ValueError:
        return False


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
