"""Identifiers, so that one kind cannot be passed for another."""

from typing import NewType, Protocol

ProjectName = NewType("ProjectName", str)
RunId = NewType("RunId", str)
StepName = NewType("StepName", str)
AttemptId = NewType("AttemptId", str)
Digest = NewType("Digest", str)
"""``sha256:`` and 64 hex digits."""


class IdSource(Protocol):
    """Where new identifiers come from; injected, so that tests and the simulator repeat."""

    def new(self) -> str:
        """Return ten lower-case letters and digits, never the same twice."""
        ...


def attempt_id(run: RunId, step: StepName, number: int) -> AttemptId:
    """Return the identifier of the ``number``-th attempt (from 1) of a step: ``run/step/number``."""
    return AttemptId(f"{run}/{step}/{number}")
