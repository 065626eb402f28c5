"""Problems of one file: collected, put in the order of the file, raised as one error."""

import difflib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from trainwright.core.errors import Position, SpecError

ABSENT = "TW1012"
"""What is absent has no place of its own, so anything else at the same place goes first."""


class WrongValueError(ValueError):
    """A value is not what its key wants; the place is added by whoever knows it.

    Attributes:
        at: path below the value, such as ``.1`` for the second item.
    """

    def __init__(self, code: str, message: str, *, why: str = "", remedy: str = "", at: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.why, self.remedy, self.at = code, message, why, remedy, at


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem and its place."""

    where: Position
    code: str
    message: str
    why: str = ""
    remedy: str = ""

    def error(self, more: int = 0) -> SpecError:
        """Return it as an exception that tells how many ``more`` problems the file has."""
        others = f"{more} more problem{'s' if more > 1 else ''} in this file" if more else ""
        why = "; ".join(part for part in (self.why, others) if part)
        return SpecError(self.code, self.message, where=self.where, why=why, remedy=self.remedy)


@dataclass(slots=True)
class Findings:
    """The problems found so far in one file."""

    found: list[Finding] = field(default_factory=list)

    def add(self, where: Position, wrong: WrongValueError) -> None:
        """Keep a problem."""
        self.found.append(Finding(where, wrong.code, wrong.message, wrong.why, wrong.remedy))

    def raise_first(self) -> None:
        """Return when there is nothing to report.

        Raises:
            SpecError: the first problem in the order of the file.
        """
        unique = list(dict.fromkeys(self.found))
        if unique:
            first = min(unique, key=lambda f: (f.where.line, f.where.column, f.code == ABSENT))
            raise first.error(len(unique) - 1)


def refuse(where: Position, code: str, message: str, *, why: str = "", remedy: str = "") -> NoReturn:
    """Raise one problem at once.

    Raises:
        SpecError: always.
    """
    raise Finding(where, code, message, why, remedy).error()


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word most like ``word``, or an empty text when none is near."""
    candidates = sorted(known)
    folded = {name.lower(): name for name in reversed(candidates)}
    close = difflib.get_close_matches(word.lower(), sorted(folded), n=1, cutoff=0.6)
    return folded[close[0]] if close else ""


def suggest(word: str, known: Iterable[str], what: str = "known") -> str:
    """Return a remedy: the nearest word, or all there are."""
    names = sorted(known)
    near = nearest(word, names)
    if near:
        return f"did you mean {near}?"
    return f"{what}: {', '.join(names)}" if names else ""


LONGEST_SHOWN = 60
"""Characters of a value in a sentence."""


def show(value: object) -> str:
    """Return a value as a person would write it in the file, cut to ``LONGEST_SHOWN`` characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return clip(text)


def clip(text: str) -> str:
    """Return a text of at most ``LONGEST_SHOWN`` characters."""
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def shape(value: object) -> str:
    """Return the name of a value's shape, for sentences."""
    names = {bool: "a bool", int: "an integer", float: "a number", str: "text", list: "a list", dict: "a mapping"}
    return "nothing" if value is None else names.get(type(value), type(value).__name__)
