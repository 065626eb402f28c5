"""Releases of models to where they serve: what was asked, and what became of it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from trainwright.core.ids import Digest


class ReleaseState(StrEnum):
    """Where a release is.

    A pending one whose process has died stays pending: the next release or rollback of the target finishes or ends it.
    """

    PENDING = "pending"
    RELEASED = "released"
    FAILED = "failed"
    ROLLED_BACK = "rolled-back"


@dataclass(frozen=True, slots=True)
class Release:
    """One version of a model on its way to one target.

    Attributes:
        number: 1, 2, 3 … within the target.
        asked: the address as the person said it.
        rolls_back: number of the release that this one takes back; None for one that goes forward.
        place: where the target says that it is; empty before.
        error: why it failed; empty otherwise.
    """

    target: str
    number: int
    model: str
    version: int
    digest: Digest
    asked: str
    state: ReleaseState
    rolls_back: int | None
    reason: str
    place: str
    error: str
    asked_at: datetime
    asked_by: str
    ended_at: datetime | None = None

    @property
    def id(self) -> str:
        """Return its name for the target: the same whenever it is repeated."""
        return f"{self.target}-{self.number}"

    @property
    def version_address(self) -> str:
        """Return ``models/name/version``."""
        return f"models/{self.model}/{self.version}"


def serving(releases: list[Release]) -> dict[str, Release]:
    """Return model → the release that a target serves, from all releases of that target, oldest first.

    A release that was rolled back does not serve, nor does one before the version that a rollback went back to.
    """
    found: dict[str, Release] = {}
    for release in releases:
        if release.state is ReleaseState.RELEASED:
            found[release.model] = release
    return found


def before(releases: list[Release], model: str) -> Release | None:
    """Return the release that a rollback of ``model`` goes back to; None when there is none.

    Going back twice goes back two versions, not to and fro.
    """
    trail: list[Release] = []
    for release in releases:
        if release.model != model or release.state not in {ReleaseState.RELEASED, ReleaseState.ROLLED_BACK}:
            continue
        if len(trail) > 1 and release.rolls_back == trail[-1].number:
            trail[-2:] = [release]
        elif not trail or trail[-1].version != release.version:
            trail.append(release)
        else:
            trail[-1] = release
    return trail[-2] if len(trail) > 1 else None


def wanted(releases: list[Release], model: str) -> list[Release]:
    """Return the releases of a model, of all those of one target, oldest first, that the target needs as they are.

    What is under way, what serves, and what one rollback would bring back.
    """
    pending = [r for r in releases if r.model == model and r.state is ReleaseState.PENDING]
    now, back = serving(releases).get(model), before(releases, model)
    return [*pending, *(r for r in (now, back) if r is not None)]
