"""Keeps typer from loading pydantic for words that need no converting."""

from collections.abc import Callable
from typing import Any

import typer.core


class _Late:
    """Stands where typer keeps the converter of one parameter; makes typer's own when a value needs it."""

    def __init__(self, described: Any, make: Callable[[Any], Any]) -> None:  # noqa: ANN401 - typer's own types
        self._described = described
        self._make = make
        self._plain = described.annotation in (str, list[str]) and described.parameter_info.parser is None

    def coerce(self, value: Any, param: Any, ctx: Any) -> object:  # noqa: ANN401 - as above
        """Return what a command gets for a value; text as it was typed."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if self._plain and isinstance(value, list | tuple) == several:
            return [str(word) for word in value] if several else str(value)
        if not several and value is param.default and type(value) is self._described.annotation:
            return value
        return self._make(self._described).coerce(value, param=param, ctx=ctx)


def only_what_needs_it() -> None:
    """Have typer make its converters late; a version of typer that has none stays as it is."""
    make = getattr(typer.core, "build_runtime_param", None)
    if make is not None and not hasattr(make, "late"):

        def late(described: Any) -> object:  # noqa: ANN401 - as above
            return _Late(described, make)

        late.late = True  # type: ignore[attr-defined]
        typer.core.build_runtime_param = late  # type: ignore[assignment,attr-defined]
