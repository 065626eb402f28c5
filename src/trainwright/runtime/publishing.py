"""What a command has made becomes content of the store: all outputs or none."""

from __future__ import annotations

import os

from trainwright.runtime.errors import ContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Refusal(Exception):  # noqa: N818 - it is told, not raised further
    """The outputs are not there, or not as promised.

    Attributes:
        cause: as in ``ports.backend.Ended``.
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


def publish(order: dict[str, Any], folder: str, outputs: Mapping[str, str]) -> dict[str, Any]:
    """Store every output; return the JSON of ``core.artifact.Content`` by name.

    Args:
        order: of the attempt.
        folder: of the attempt; nothing out of it is stored.
        outputs: name → path.

    Raises:
        Refusal: one is missing, or not as declared.
        ContentError: one may not be stored, or there is no room.
        OSError: one cannot be read or stored.
    """
    missing = [f"{name} ({path})" for name, path in outputs.items() if not os.path.lexists(path)]
    if missing:
        raise Refusal("output-missing", ", ".join(missing))
    if not outputs:
        return {}
    _refuse_no_values(order["job"]["outputs"], outputs)
    from trainwright.runtime import content

    store, published = order["store"], {}
    _refuse_without_room(store, outputs)
    for name, path in outputs.items():
        refuse_outside(path, folder)
        stored = content.put(store, path)
        published[name] = {"digest": stored.digest, "files": stored.files, "size_bytes": stored.size_bytes}
    return published


def _refuse_no_values(kinds: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    """Let outputs pass of which each of kind ``value`` is one JSON text.

    Raises:
        Refusal: one is not.
    """
    for name in (name for name in outputs if kinds[name] == "value"):
        from trainwright.runtime.formats import RefusedValue, check_value

        try:
            check_value(outputs[name])
        except (RefusedValue, OSError) as error:
            raise Refusal("output-invalid", f"{name} is not as declared: {error}") from error


def _refuse_without_room(store: str, outputs: Mapping[str, str]) -> None:
    """Compare what is to be stored with what is free, before the disk is filled with half of it.

    Raises:
        ContentError: there is too little room; with both numbers.
    """
    needed = sum(size_of(path) for path in outputs.values())
    room = os.statvfs(store if os.path.isdir(store) else os.path.dirname(store))
    free = room.f_bavail * room.f_frsize
    if needed > free:
        raise ContentError(
            f"no space left for the outputs: {needed} bytes needed, {free} free in {store}",
            "make room and run the step again",
        )


def size_of(path: str) -> int:
    """Return the bytes of a file, or of all files below a folder."""
    if not os.path.isdir(path):
        return os.stat(path).st_size
    return sum(os.lstat(os.path.join(place, n)).st_size for place, _, names in os.walk(path) for n in names)


def refuse_outside(path: str, folder: str) -> None:
    """Let an output pass that is what it seems: not a link to something out of the attempt's folder.

    Raises:
        ContentError: it is one.
    """
    real = os.path.realpath(path)
    if not real.startswith(os.path.realpath(folder) + "/"):
        raise ContentError(f"the output {path} is a link to {real}", "write or copy the file itself")
