"""Platform documents: every revision stays; the newest one holds."""

import json
from collections.abc import Mapping
from datetime import datetime

from trainwright.core.codec import canonical_json, from_json
from trainwright.core.governance import AliasPolicy, AppliedDocument, Namespace, ReleaseTarget
from trainwright.core.ids import ProjectName
from trainwright.core.pool import Pool
from trainwright.core.priority import PriorityClass
from trainwright.core.queue import Cohort, Queue
from trainwright.core.scalar import Plain
from trainwright.store.database import Row, Rows
from trainwright.store.rows import instant

_NEWEST = (
    "revision = (SELECT max(n.revision) FROM document_revision n"
    " WHERE n.project = d.project AND n.kind = d.kind AND n.name = d.name)"
)


def newest(rows: Rows, project: ProjectName, kind: str, name: str) -> AppliedDocument | None:
    """Return the newest revision of a document, also one that took it away; None when there never was one."""
    row = rows.one(
        "SELECT * FROM document_revision WHERE project = :project AND kind = :kind AND name = :name"
        " ORDER BY revision DESC LIMIT 1",
        {"project": project, "kind": kind, "name": name},
    )
    return None if row is None else _document_of(row)


def in_force(rows: Rows, project: ProjectName, kind: str | None = None) -> list[AppliedDocument]:
    """Return the documents that hold now, of one kind or of all, by kind and name."""
    of_one = "" if kind is None else " AND d.kind = :kind"
    found = rows.all(
        f"SELECT d.* FROM document_revision d WHERE d.project = :project{of_one} AND d.body IS NOT NULL"  # noqa: S608
        f" AND d.{_NEWEST} ORDER BY d.kind, d.name",
        {"project": project, "kind": kind},
    )
    return [_document_of(row) for row in found]


def log(rows: Rows, project: ProjectName, kind: str | None = None, name: str | None = None) -> list[AppliedDocument]:
    """Return every revision, of one document or of all, in the order in which they were applied."""
    found = rows.all(
        "SELECT * FROM document_revision WHERE project = :project AND (:kind IS NULL OR kind = :kind)"
        " AND (:name IS NULL OR name = :name) ORDER BY applied_at, rowid",
        {"project": project, "kind": kind, "name": name},
    )
    return [_document_of(row) for row in found]


def add(rows: Rows, project: ProjectName, document: AppliedDocument) -> None:
    """Write a revision.

    Raises:
        Stale: its number was taken in between: somebody else applied the document.
    """
    rows.write(
        "INSERT INTO document_revision (project, kind, name, revision, body, reason, applied_at, applied_by)"
        " VALUES (:project, :kind, :name, :revision, :body, :reason, :at, :by)",
        {
            "project": project,
            "kind": document.kind,
            "name": document.name,
            "revision": document.revision,
            "body": None if document.spec is None else canonical_json([document.spec, document.value]),
            "reason": document.reason,
            "at": instant(document.applied_at),
            "by": document.applied_by,
        },
    )


def alias_policies(rows: Rows, project: ProjectName) -> tuple[AliasPolicy, ...]:
    """Return the policies in force, by name."""
    return tuple(from_json(AliasPolicy, _named(d)) for d in in_force(rows, project, "AliasPolicy"))


def namespaces(rows: Rows, project: ProjectName) -> tuple[Namespace, ...]:
    """Return the namespaces in force, by name."""
    return tuple(from_json(Namespace, _named(d)) for d in in_force(rows, project, "Namespace"))


def release_targets(rows: Rows, project: ProjectName) -> tuple[ReleaseTarget, ...]:
    """Return the release targets in force, by name."""
    return tuple(from_json(ReleaseTarget, _named(d)) for d in in_force(rows, project, "ReleaseTarget"))


def queues(rows: Rows, project: ProjectName) -> tuple[Queue, ...]:
    """Return the queues in force, by name."""
    return tuple(from_json(Queue, _named(d)) for d in in_force(rows, project, "Queue"))


def cohorts(rows: Rows, project: ProjectName) -> tuple[Cohort, ...]:
    """Return the cohorts in force, by name."""
    return tuple(from_json(Cohort, _named(d)) for d in in_force(rows, project, "Cohort"))


def pools(rows: Rows, project: ProjectName) -> tuple[Pool, ...]:
    """Return the pools in force, by name."""
    return tuple(from_json(Pool, _named(d)) for d in in_force(rows, project, "Pool"))


def priority_classes(rows: Rows, project: ProjectName) -> tuple[PriorityClass, ...]:
    """Return the priority classes in force, by name."""
    return tuple(from_json(PriorityClass, _named(d)) for d in in_force(rows, project, "PriorityClass"))


def _named(document: AppliedDocument) -> Mapping[str, Plain]:
    return {**document.value, "name": document.name}


def _document_of(row: Row) -> AppliedDocument:
    spec, value = (None, {}) if row["body"] is None else json.loads(row["body"])
    return AppliedDocument(
        kind=row["kind"],
        name=row["name"],
        revision=row["revision"],
        spec=spec,
        value=value,
        reason=row["reason"],
        applied_at=datetime.fromisoformat(row["applied_at"]),
        applied_by=row["applied_by"],
    )
