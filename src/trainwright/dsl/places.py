"""Where in the author's files something is written: the file, line and column of a call or decorator."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

_OURS = "trainwright."


class Place:
    """A place in a file.

    Attributes:
        file: absolute.
        line: 1-based.
        column: 1-based.
    """

    __slots__ = ("column", "file", "line")

    def __init__(self, file: str, line: int, column: int = 1) -> None:
        self.file, self.line, self.column = file, line, column

    def __str__(self) -> str:
        return f"{shown(self.file)}:{self.line}:{self.column}"

    def plain(self) -> list[str | int]:
        """Return it as JSON has it: the file as a person would type it, line, column."""
        return [shown(self.file), self.line, self.column]


def caller() -> Place:
    """Return where the author's code calls us: the innermost frame that is not ours."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the documented way to find a caller
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_OURS):
        frame = frame.f_back
    if frame is None:
        return Place("", 1)
    line, column = _instruction(frame.f_code, frame.f_lasti, frame.f_lineno)
    return Place(os.path.abspath(frame.f_code.co_filename), line, column)


def parameters(function: Callable[..., object]) -> dict[str, Place]:
    """Return where each parameter of a function is written; nothing when its source cannot be read."""
    import ast

    code = getattr(function, "__code__", None)
    try:
        with open(code.co_filename, "rb") as source:  # type: ignore[union-attr] # a function without code has no file
            tree = ast.parse(source.read())
    except (AttributeError, OSError, SyntaxError, ValueError):
        return {}
    file = os.path.abspath(code.co_filename)  # type: ignore[union-attr] # as above
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and code is not None:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if node.name == code.co_name and first == code.co_firstlineno:
                every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                return {each.arg: Place(file, each.lineno, each.col_offset + 1) for each in every}
    return {}


def shown(file: str) -> str:
    """Return a path as a person would type it: relative when it is below the working directory."""
    try:
        short = os.path.relpath(file)
    except (OSError, ValueError):
        return file
    return file if short.startswith("..") else short


def _instruction(code: CodeType, offset: int, line: int) -> tuple[int, int]:
    """Return line and column of the expression under way; Python before 3.11 knows the line only."""
    positions = getattr(code, "co_positions", None)
    if positions is None:
        return line, 1
    for index, (first, _, column, _) in enumerate(positions()):
        if index == offset // 2:
            return first or line, (column or 0) + 1
    return line, 1
