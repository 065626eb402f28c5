"""Named datasets and their versions."""

from datetime import datetime

from trainwright.core.artifact import DatasetVersion
from trainwright.core.ids import Digest, ProjectName
from trainwright.store.database import Row, Rows, Value
from trainwright.store.rows import content_of, content_values, instant


def insert(rows: Rows, project: ProjectName, dataset: DatasetVersion) -> None:
    """Add a version; one that was removed before is back.

    Raises:
        Stale: the number or the content was added in between.
    """
    rows.write(
        "INSERT INTO dataset_version (project, name, version, digest, files, size_bytes, source, added_at, added_by)"
        " VALUES (:project, :name, :version, :digest, :files, :size_bytes, :source, :at, :by)",
        {
            **content_values(dataset.content),
            "project": project,
            "name": dataset.name,
            "version": dataset.version,
            "source": dataset.source,
            "at": instant(dataset.added_at),
            "by": dataset.added_by,
        },
    )
    rows.write(
        "DELETE FROM dataset_removed WHERE project = :project AND name = :name AND version = :version",
        {"project": project, "name": dataset.name, "version": dataset.version},
    )


def next_number(rows: Rows, project: ProjectName, name: str, digest: Digest) -> int:
    """Return the number of a version to add: the one that this content had before it was removed, else a new one."""
    key: dict[str, Value] = {"project": project, "name": name, "digest": digest}
    before = rows.number(
        "SELECT version FROM dataset_removed WHERE project = :project AND name = :name AND digest = :digest", key
    )
    if before:
        return before
    highest = "SELECT max(version) FROM {table} WHERE project = :project AND name = :name"
    return 1 + max(rows.number(highest.format(table=table), key) for table in ("dataset_version", "dataset_removed"))


def versions(rows: Rows, project: ProjectName, name: str | None = None) -> list[DatasetVersion]:
    """Return the versions of one dataset or of all, by name, newest first."""
    found = rows.all(
        "SELECT * FROM dataset_version WHERE project = :project AND (:name IS NULL OR name = :name)"
        " ORDER BY name, version DESC",
        {"project": project, "name": name},
    )
    return [_dataset_of(row) for row in found]


def at(rows: Rows, project: ProjectName, address: str) -> DatasetVersion | None:
    """Return the version behind ``datasets/name@number``, or None."""
    name, _, number = address.removeprefix("datasets/").rpartition("@")
    row = rows.one(
        "SELECT * FROM dataset_version WHERE project = :project AND name = :name AND version = :version",
        {"project": project, "name": name, "version": int(number) if number.isdecimal() else 0},
    )
    return None if row is None else _dataset_of(row)


def _dataset_of(row: Row) -> DatasetVersion:
    return DatasetVersion(
        name=row["name"],
        version=row["version"],
        content=content_of(row),
        source=row["source"],
        added_at=datetime.fromisoformat(row["added_at"]),
        added_by=row["added_by"],
    )
