"""Taking model versions out of the registry: what still refers to one, and the note that stays of it."""

from datetime import datetime

from trainwright.core.artifact import ModelVersion
from trainwright.core.ids import ProjectName
from trainwright.core.release import wanted
from trainwright.store import releases
from trainwright.store.database import Rows, Value
from trainwright.store.rows import instant

MOST = 20
"""References of one kind that are named."""


def references(rows: Rows, project: ProjectName, version: ModelVersion) -> list[str]:
    """Return what refers to a version, in words: aliases, releases, runs that read it and models made by those."""
    found = [f"the alias {version.name}@{alias}" for alias in version.aliases]
    key: dict[str, Value] = {
        "project": project,
        "name": version.name,
        "version": version.version,
        "digest": version.content.digest,
        "run": version.run,
        "address": version.address,
        "most": MOST,
    }
    for target in sorted({r.target for r in releases.of_model(rows, project, version.name, version.version)}):
        needed = wanted(releases.of_target(rows, project, target), version.name)
        found += [f"release {r.id} ({r.state})" for r in needed if r.version == version.version]
    readers = rows.all(
        "SELECT DISTINCT i.run_id FROM attempt_input i JOIN run r ON r.id = i.run_id WHERE r.project = :project"
        " AND (i.address = :address OR (i.digest = :digest AND i.run_id <> :run"
        " AND substr(i.address, 1, 5) = 'runs:')) ORDER BY i.run_id LIMIT :most",
        key,
    )
    for row in readers:
        made = rows.all(
            "SELECT name, version FROM model_version WHERE project = :project AND run_id = :reader"
            " ORDER BY name, version LIMIT :most",
            {"project": project, "reader": row["run_id"], "most": MOST},
        )
        models = ", ".join(f"models/{m['name']}/{m['version']}" for m in made)
        found.append(f"run {row['run_id']}, which read it" + (f" and made {models}" if models else ""))
    return found


def remove_version(
    rows: Rows, project: ProjectName, version: ModelVersion, reason: str, now: datetime, actor: str
) -> None:
    """Take a version out and note its number, which is never given again.

    To be called in a transaction that writes and has asked ``references``.
    """
    key: dict[str, Value] = {"project": project, "name": version.name, "version": version.version}
    rows.write(
        "INSERT INTO model_removed (project, name, version, digest, run_id, reason, removed_at, removed_by)"
        " VALUES (:project, :name, :version, :digest, :run, :reason, :at, :by)",
        {
            **key,
            "digest": version.content.digest,
            "run": version.run,
            "reason": reason,
            "at": instant(now),
            "by": actor,
        },
    )
    rows.write("DELETE FROM model_version WHERE project = :project AND name = :name AND version = :version", key)


def was_removed(rows: Rows, project: ProjectName, name: str, number: int) -> tuple[str, str, str] | None:
    """Return when a version was removed, by whom and why; None when it was not."""
    row = rows.one(
        "SELECT removed_at, removed_by, reason FROM model_removed"
        " WHERE project = :project AND name = :name AND version = :version",
        {"project": project, "name": name, "version": number},
    )
    return None if row is None else (row["removed_at"], row["removed_by"], row["reason"])
