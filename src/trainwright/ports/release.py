"""The port to places that models are released to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from trainwright.core.ids import Digest
from trainwright.core.scalar import Plain

Export = Callable[[Path], Path]
"""Copies the files of the version to a path that does not exist yet, verified; a file or a folder, as it was stored.

Raises BackendError when they are not stored any more, were altered, or cannot be written.
"""


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """One file of a version.

    Attributes:
        path: relative, with ``/``; never leads out of the folder that it is in.
    """

    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ReleaseOrder:
    """What a target is asked to serve.

    Attributes:
        id: the same whenever the order is repeated, and no other order's.
        settings: of the target, as ``check`` returned them.
        alias: by which the version was asked for; empty when it was by its number.
        facts: what goes beside the files: metrics, run, signature; the same for the same version.
        rolls_back: whether an earlier version comes back.
        asked_at: the same whenever the order is repeated.
    """

    id: str
    project: str
    target: str
    settings: Mapping[str, Plain]
    model: str
    version: int
    digest: Digest
    alias: str
    files: tuple[ReleaseFile, ...]
    asked_at: datetime
    asked_by: str
    facts: Mapping[str, Plain] = field(default_factory=dict)
    rolls_back: bool = False


class ReleasePlugin(Protocol):
    """Carries models to one type of target."""

    type: str

    def check(self, settings: Mapping[str, Plain], base: Path) -> Mapping[str, Plain]:
        """Return the settings complete, with relative paths made absolute from ``base``; touches nothing.

        Raises:
            SpecError: TW2903, something is missing, unknown or wrong.
        """
        ...

    def release(self, order: ReleaseOrder, export: Export) -> str:
        """Make the version of the order what the target serves; return where it is.

        Whoever reads the target sees the version before or this one, never a part of it. Carried out at least once:
        repeated after it was killed at any line, it ends in the same.

        Raises:
            BackendError: TW6901, the target cannot be reached or written; it serves what it served before.
        """
        ...
