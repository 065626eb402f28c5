"""What the Python face raises when a pipeline is wrong."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trainwright.dsl.places import Place


class PipelineError(Exception):
    """A pipeline is wrong; its author can mend it.

    Attributes:
        code: ``TW`` and four digits, as ``docs/reference/errors.md`` lists them.
        message: one sentence with the offending value.
        where: file, line and column; empty when there is no place.
        why: the rule behind it; may be empty.
        remedy: what to write instead; may be empty.
    """

    def __init__(self, code: str, message: str, *, where: Place | str = "", why: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.where, self.why, self.remedy = code, message, where, why, remedy

    def __str__(self) -> str:
        """Render the four lines that every face prints."""
        lines = [f"error[{self.code}]: {self.message}"]
        lines += [f"where: {self.where}"] if self.where else []
        lines += [f"why: {self.why}"] if self.why else []
        lines += [f"fix: {self.remedy}"] if self.remedy else []
        return "\n".join(lines)
