"""The one tree of errors: split by who can fix them, each with a stable code and a remedy.

    TrainwrightError
    ├── SpecError        the author of a document or command line          exit 2
    ├── DeniedError      a rule, quota or approval says no                 exit 3
    │   └── GateError    a check did not pass                              exit 7
    ├── NotFoundError    nothing has this name                             exit 4
    ├── AccessError      the caller may not                                exit 5
    ├── ConflictError    somebody was faster: reload and retry             exit 1
    ├── BackendError     the engine behind a port; transient or not        exit 1
    └── BugError         us                                                exit 1

A "no" that is normal (does not fit, gate not met) is a value in ``core.reasons``, not an exception.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a document.

    Attributes:
        file: name as the person typed it.
        line: 1-based.
        column: 1-based, in characters.
    """

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong, for a person and for a program.

    Attributes:
        code: stable, ``TW`` and four digits; listed in ``core.codes``.
        message: one sentence with the offending value.
        where: file, line and column, or a run and step; empty when there is no place.
        why: the rule behind it; may be empty.
        remedy: what to type or change; may be empty.
        details: facts for programs, JSON scalars only.
    """

    code: str
    message: str
    where: str = ""
    why: str = ""
    remedy: str = ""
    details: Mapping[str, Scalar] = field(default_factory=dict)

    def __str__(self) -> str:
        """Render the four lines that every face prints."""
        lines = [f"error[{self.code}]: {self.message}"]
        lines += [f"where: {self.where}"] if self.where else []
        lines += [f"why: {self.why}"] if self.why else []
        lines += [f"fix: {self.remedy}"] if self.remedy else []
        return "\n".join(lines)


class TrainwrightError(Exception):
    """Root of the tree."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        where: Position | str = "",
        why: str = "",
        remedy: str = "",
        details: Mapping[str, Scalar] | None = None,
    ) -> None:
        self.problem = Problem(code, message, str(where), why, remedy, details or {})
        super().__init__(message)

    def __str__(self) -> str:
        return str(self.problem)


class SpecError(TrainwrightError):
    """A document, a parameter's type or a command line is wrong; its author can fix it."""


class DeniedError(TrainwrightError):
    """A rule, quota or approval refuses; nothing was queued or changed."""


class GateError(DeniedError):
    """A check on a model or step did not pass."""


class NotFoundError(TrainwrightError):
    """Nothing has this name; the message lists near ones."""


class AccessError(TrainwrightError):
    """The caller may not do this."""


class ConflictError(TrainwrightError):
    """The thing changed in between: reload and retry."""


class BackendError(TrainwrightError):
    """An engine, store or source behind a port failed; ``transient`` says whether to try again."""

    transient = False


class TransientBackendError(BackendError):
    """Trying again later may work."""

    transient = True


class BugError(TrainwrightError):
    """Our own mistake."""
