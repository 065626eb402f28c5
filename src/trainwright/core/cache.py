"""Reuse of what was made before: whether a step may, what code it runs from, and what is remembered of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from trainwright.core.ids import AttemptId, Digest, ProjectName, RunId


class CacheMode(StrEnum):
    """Whether a step may be answered with what was made before; from the freest to the strictest."""

    AUTO = "auto"  # reuse what is equal, remember what was made
    REFRESH = "refresh"  # run, and put the result in the place of what is remembered
    OFF = "off"  # neither reuse nor remember


_STRICTNESS = tuple(CacheMode)


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """What a step says about reuse.

    Attributes:
        ttl_s: seconds after which what was made is too old; None = never.
    """

    mode: CacheMode = CacheMode.AUTO
    ttl_s: float | None = None

    def under(self, asked: CacheMode) -> CacheMode:
        """Return the mode that holds when a whole run was asked for ``asked``: the stricter of both."""
        return max(self.mode, asked, key=_STRICTNESS.index)


@dataclass(frozen=True, slots=True)
class Closure:
    """The code that a command may run or read.

    Attributes:
        name: as shown: ``closure of train.py: 4 modules``, ``whole code tree: several commands``.
        tree: manifest of all captured code, when all of it counts; empty otherwise.
        modules: path in the tree → sha256 of each Python file that counts.
        rest: digest over all files of the tree that are not Python; empty when the whole tree counts.
    """

    name: str
    tree: str = ""
    modules: Mapping[str, str] = field(default_factory=dict)
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Imports:
    """What one Python file says about others.

    Attributes:
        modules: dotted names it imports; ``..x`` is relative, ``x.*`` takes everything.
        files: names of Python files that stand in it as text.
        dynamic: why its imports cannot be told by reading, such as ``uses importlib``; empty when they can.
    """

    modules: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    dynamic: str = ""


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """What is remembered of an attempt: whoever has the same key makes the same.

    Attributes:
        label: ``pipeline/step``; only shown and searched by, not part of the key.
        attempt: whose outputs, metrics and parameters stand for the key.
        parts: what the key was made of.
    """

    project: ProjectName
    key: Digest
    label: str
    run: RunId
    attempt: AttemptId
    parts: Mapping[str, str]
    created_at: datetime
    last_used_at: datetime
