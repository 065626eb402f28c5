"""Models: versions, aliases and the history of every alias."""

from datetime import datetime

from trainwright.core.artifact import AliasMove, ModelVersion
from trainwright.core.changes import RegisterModel
from trainwright.core.codec import canonical_json
from trainwright.core.ids import Digest, ProjectName
from trainwright.store.database import Row, Rows, Stale, Value
from trainwright.store.rows import content_values, instant, model_of


def insert_version(rows: Rows, project: ProjectName, model: RegisterModel, now: datetime, actor: str) -> None:
    """Add a version and move its alias.

    Raises:
        Stale: the version number was taken in between.
    """
    values: dict[str, Value] = {
        "project": project,
        "name": model.model,
        "version": model.version,
        "run": model.run,
        "step": model.step,
        "output": model.output,
        "metrics": canonical_json(model.metrics),
        "gates": canonical_json(model.gates),
        "now": instant(now),
        "actor": actor,
    }
    rows.write(
        "INSERT INTO model_version (project, name, version, digest, files, size_bytes, run_id, step, output, metrics,"
        " gates, registered_at, registered_by) VALUES (:project, :name, :version, :digest, :files, :size_bytes, :run,"
        " :step, :output, :metrics, :gates, :now, :actor)",
        values | content_values(model.content),
    )
    if model.alias:
        before, revision = alias_state(rows, project, model.model, model.alias)
        reason = f"registered by run {model.run}"
        move = AliasMove(model.model, model.alias, revision + 1, before, model.version, reason, now, actor)
        move_alias(rows, project, move)


def next_version(rows: Rows, project: ProjectName, name: str) -> int:
    """Return the number of the next version."""
    return 1 + rows.number(
        "SELECT max(version) FROM model_version WHERE project = :project AND name = :name",
        {"project": project, "name": name},
    )


def alias_state(rows: Rows, project: ProjectName, model: str, alias: str) -> tuple[int | None, int]:
    """Return the version an alias points at and its revision; None and 0 before it existed."""
    row = rows.one(
        "SELECT version, revision FROM model_alias WHERE project = :project AND model = :model AND alias = :alias",
        {"project": project, "model": model, "alias": alias},
    )
    return (None, 0) if row is None else (row["version"], row["revision"])


def move_alias(rows: Rows, project: ProjectName, move: AliasMove) -> None:
    """Write one move: compare-and-set on the revision before it.

    Raises:
        Stale: somebody else moved it in between.
    """
    values: dict[str, Value] = {
        "project": project,
        "model": move.model,
        "alias": move.alias,
        "revision": move.revision,
        "before": move.before,
        "after": move.after,
        "reason": move.reason,
        "at": instant(move.moved_at),
        "by": move.moved_by,
    }
    changed = rows.write(
        "INSERT INTO model_alias (project, model, alias, version, revision)"
        " VALUES (:project, :model, :alias, :after, :revision) ON CONFLICT (project, model, alias) DO UPDATE"
        " SET version = excluded.version, revision = excluded.revision WHERE model_alias.revision = :revision - 1",
        values,
    )
    if changed == 0:
        raise Stale(f"alias {move.model}@{move.alias}")
    rows.write(
        "INSERT INTO alias_move (project, model, alias, revision, before, after, reason, moved_at, moved_by)"
        " VALUES (:project, :model, :alias, :revision, :before, :after, :reason, :at, :by)",
        values,
    )


def version(rows: Rows, project: ProjectName, name: str, number: int) -> ModelVersion | None:
    """Return one version, or None."""
    row = rows.one(
        "SELECT * FROM model_version WHERE project = :project AND name = :name AND version = :version",
        {"project": project, "name": name, "version": number},
    )
    return None if row is None else model_of(row, _aliases(rows, row))


def version_at(rows: Rows, project: ProjectName, address: str) -> ModelVersion | None:
    """Return the version behind ``models/name/3``, or None."""
    name, _, number = address.removeprefix("models/").rpartition("/")
    return version(rows, project, name, int(number)) if number.isdecimal() else None


def versions(rows: Rows, project: ProjectName, name: str | None = None) -> list[ModelVersion]:
    """Return the versions of one model or of all, by name, newest first."""
    found = rows.all(
        "SELECT * FROM model_version WHERE project = :project AND (:name IS NULL OR name = :name)"
        " ORDER BY name, version DESC",
        {"project": project, "name": name},
    )
    return [model_of(row, _aliases(rows, row)) for row in found]


def versions_with(rows: Rows, project: ProjectName, digest: Digest) -> list[ModelVersion]:
    """Return the versions with this content."""
    found = rows.all(
        "SELECT * FROM model_version WHERE project = :project AND digest = :digest ORDER BY name, version",
        {"project": project, "digest": digest},
    )
    return [model_of(row, _aliases(rows, row)) for row in found]


def baseline(rows: Rows, project: ProjectName, model: str, alias: str) -> tuple[str, dict[str, float]] | None:
    """Return address and metrics of the version behind an alias, or None."""
    number, _ = alias_state(rows, project, model, alias)
    found = None if number is None else version(rows, project, model, number)
    return None if found is None else (found.address, dict(found.metrics))


def history(rows: Rows, project: ProjectName, model: str, alias: str) -> list[AliasMove]:
    """Return every move of an alias, oldest first."""
    found = rows.all(
        "SELECT * FROM alias_move WHERE project = :project AND model = :model AND alias = :alias ORDER BY revision",
        {"project": project, "model": model, "alias": alias},
    )
    return [
        AliasMove(
            row["model"], row["alias"], row["revision"], row["before"], row["after"], row["reason"],
            datetime.fromisoformat(row["moved_at"]), row["moved_by"],
        )
        for row in found
    ]  # fmt: skip


def names(rows: Rows, project: ProjectName) -> list[str]:
    """Return the names of all models, sorted."""
    found = rows.all("SELECT DISTINCT name FROM model_version WHERE project = :p ORDER BY name", {"p": project})
    return [str(row["name"]) for row in found]


def aliases(rows: Rows, project: ProjectName, model: str) -> dict[str, int]:
    """Return alias → version of a model, sorted by alias."""
    found = rows.all(
        "SELECT alias, version FROM model_alias WHERE project = :project AND model = :model AND version IS NOT NULL"
        " ORDER BY alias",
        {"project": project, "model": model},
    )
    return {str(row["alias"]): int(row["version"]) for row in found}


def _aliases(rows: Rows, row: Row) -> tuple[str, ...]:
    pointing = aliases(rows, ProjectName(row["project"]), row["name"])
    return tuple(alias for alias, number in pointing.items() if number == row["version"])
