"""Releases of model versions to targets: a row before anything is done, and its end after."""

from datetime import datetime

from trainwright.core.ids import Digest, ProjectName
from trainwright.core.release import Release, ReleaseState
from trainwright.store.database import Row, Rows, Stale, Value
from trainwright.store.rows import instant


def next_number(rows: Rows, project: ProjectName, target: str) -> int:
    """Return the number of the next release to a target."""
    return 1 + rows.number(
        "SELECT max(number) FROM model_release WHERE project = :project AND target = :target",
        {"project": project, "target": target},
    )


def insert(rows: Rows, project: ProjectName, release: Release) -> None:
    """Note a release that is about to be made.

    Raises:
        Stale: its number was taken in between.
    """
    rows.write(
        "INSERT INTO model_release (project, target, number, model, version, digest, asked, state, rolls_back, reason,"
        " place, error, asked_at, asked_by, ended_at) VALUES (:project, :target, :number, :model, :version, :digest,"
        " :asked, :state, :rolls_back, :reason, :place, :error, :asked_at, :asked_by, :ended_at)",
        {
            "project": project,
            "target": release.target,
            "number": release.number,
            "model": release.model,
            "version": release.version,
            "digest": release.digest,
            "asked": release.asked,
            "state": release.state,
            "rolls_back": release.rolls_back,
            "reason": release.reason,
            "place": release.place,
            "error": release.error,
            "asked_at": instant(release.asked_at),
            "asked_by": release.asked_by,
            "ended_at": instant(release.ended_at),
        },
    )


def end(rows: Rows, project: ProjectName, release: Release) -> None:
    """Write how a pending release ended: its state, place, error and instant.

    Raises:
        Stale: it is not pending any more.
    """
    changed = rows.write(
        "UPDATE model_release SET state = :state, place = :place, error = :error, ended_at = :at"
        " WHERE project = :project AND target = :target AND number = :number AND state = :pending",
        {
            "state": release.state,
            "place": release.place,
            "error": release.error,
            "at": instant(release.ended_at),
            "project": project,
            "target": release.target,
            "number": release.number,
            "pending": ReleaseState.PENDING,
        },
    )
    if changed == 0:
        raise Stale(f"release {release.id}")


def take_back(rows: Rows, project: ProjectName, target: str, number: int) -> None:
    """Note that a release serves no more because it was rolled back."""
    rows.write(
        "UPDATE model_release SET state = :back WHERE project = :project AND target = :target AND number = :number"
        " AND state = :released",
        {
            "back": ReleaseState.ROLLED_BACK,
            "project": project,
            "target": target,
            "number": number,
            "released": ReleaseState.RELEASED,
        },
    )


def of_target(rows: Rows, project: ProjectName, target: str | None = None) -> list[Release]:
    """Return the releases to one target or to all, by target, oldest first."""
    found = rows.all(
        "SELECT * FROM model_release WHERE project = :project AND (:target IS NULL OR target = :target)"
        " ORDER BY target, number",
        {"project": project, "target": target},
    )
    return [_release_of(row) for row in found]


def of_model(rows: Rows, project: ProjectName, model: str, version: int | None = None) -> list[Release]:
    """Return the releases of a model, or of one version of it, oldest first: what lineage shows downstream."""
    key: dict[str, Value] = {"project": project, "model": model, "version": version}
    found = rows.all(
        "SELECT * FROM model_release WHERE project = :project AND model = :model"
        " AND (:version IS NULL OR version = :version) ORDER BY asked_at, target, number",
        key,
    )
    return [_release_of(row) for row in found]


def _release_of(row: Row) -> Release:
    return Release(
        target=row["target"],
        number=row["number"],
        model=row["model"],
        version=row["version"],
        digest=Digest(row["digest"]),
        asked=row["asked"],
        state=ReleaseState(row["state"]),
        rolls_back=row["rolls_back"],
        reason=row["reason"],
        place=row["place"],
        error=row["error"],
        asked_at=datetime.fromisoformat(row["asked_at"]),
        asked_by=row["asked_by"],
        ended_at=None if row["ended_at"] is None else datetime.fromisoformat(row["ended_at"]),
    )
