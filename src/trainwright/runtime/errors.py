"""What the runtime raises on purpose; each says what to do about it."""

from __future__ import annotations


class ContentError(Exception):
    """Content cannot be stored, read or brought out.

    Attributes:
        message: one sentence with the path or digest.
        remedy: what to do about it; may be empty.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class TooMuch(ContentError):  # noqa: N818 - a limit, not a failure
    """More would be copied than somebody said may be.

    Attributes:
        size_bytes, files: what would be copied.
        limit_bytes: what may be.
    """

    def __init__(self, size_bytes: int, files: int, limit_bytes: int) -> None:
        super().__init__(f"{size_bytes} bytes would be copied, {limit_bytes} may be", "leave them where they are")
        self.size_bytes = size_bytes
        self.files = files
        self.limit_bytes = limit_bytes


class ParamConflict(ValueError):  # noqa: N818 - a script catches it by this name
    """A fact was noted with another value than it has.

    Attributes:
        key: name of the parameter.
        old: value it has.
        new: value that was refused.
    """

    def __init__(self, key: str, old: object, new: object, *, declared: bool) -> None:
        origin = "is declared by the run" if declared else "was noted by this attempt"
        super().__init__(
            f"{key} {origin} as {old!r} and cannot become {new!r}: "
            + ("pass the value to the script" if declared else "note it once")
            + ", or use another name"
        )
        self.key = key
        self.old = old
        self.new = new
