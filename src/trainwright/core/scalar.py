"""The one typing rule of plain values: file, command line, Python, API and form all use it.

YAML 1.2's core schema, read strictly: ``1e-4`` is a float, ``010`` is ten, ``true`` is a bool; ``no``, ``on``,
``22:30`` and ``2026-03-29`` stay text.
"""

import re
from typing import TypeAlias

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
"""What a document holds once parsed: JSON's shapes."""

_INT = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def parse_scalar(text: str) -> bool | int | float | str | None:
    """Return the value that an unquoted ``text`` stands for; anything unknown is text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _INFINITE.fullmatch(text):
        return float("-inf" if text.startswith("-") else "inf")
    if text in {".nan", ".NaN", ".NAN"}:
        return float("nan")
    return text


def render_scalar(value: Plain) -> str:
    """Return the text that a command receives: bools lower-case, floats exact, None empty, the rest JSON.

    ``float(render_scalar(x)) == x`` for every finite float.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return repr(value)
    from trainwright.core.codec import canonical_json  # noqa: PLC0415 - codec stands above scalars

    return canonical_json(value)
