"""What people call versions of a dataset, and what is left of one that was removed."""

import re
from dataclasses import dataclass
from datetime import datetime

from trainwright.core.ids import Digest

LATEST, PREVIOUS = "latest", "previous"
"""Words for the newest version and the one before it; the only version is both."""

_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NUMBER = re.compile(r"[vV]?\d+([._-]\d+)*")
_DIGEST = re.compile(r"sha256.*|[0-9a-f]{7,}")


@dataclass(frozen=True, slots=True)
class RemovedVersion:
    """What is known of a version that was removed; its number is not given to other content.

    Attributes:
        digest: of its content; the same content added again is this version again.
        source: the URI or path it was read from.
    """

    name: str
    version: int
    digest: Digest
    source: str
    removed_at: datetime
    removed_by: str


def tag_obstacle(tag: str) -> str:
    """Return why a text cannot be a tag; empty when it can."""
    if tag in {LATEST, PREVIOUS}:
        return f"{tag} already means a version by its age"
    if _NUMBER.fullmatch(tag):
        return "it looks like the number of a version"
    if _DIGEST.fullmatch(tag):
        return "it looks like a digest"
    return "" if _TAG.fullmatch(tag) else "a tag has letters, digits, dots, - and _, at most 64"
