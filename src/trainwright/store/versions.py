"""What people decide about dataset versions: tags, removal, how many to keep; and what refers to a version."""

import json
import re
from collections.abc import Collection, Mapping
from datetime import datetime

from trainwright.core.artifact import DatasetVersion
from trainwright.core.dataset import RemovedVersion
from trainwright.core.ids import Digest, ProjectName, RunId
from trainwright.store.database import Rows, Value
from trainwright.store.rows import instant

_VERSION = re.compile(r'"(datasets/[^"@#]+@[0-9]+)(?=["#])')


def tags(rows: Rows, project: ProjectName, name: str | None = None) -> dict[tuple[str, int], tuple[str, ...]]:
    """Return the tags of one dataset or of all: name and version → tags, sorted."""
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    for row in rows.all(
        "SELECT name, version, tag FROM dataset_tag WHERE project = :project AND (:name IS NULL OR name = :name)"
        " ORDER BY name, version, tag",
        {"project": project, "name": name},
    ):
        key = (row["name"], row["version"])
        found[key] = (*found.get(key, ()), row["tag"])
    return found


def tagged(rows: Rows, project: ProjectName, name: str, tag: str) -> int:
    """Return the version that has a tag; 0 when none has."""
    return rows.number(
        "SELECT version FROM dataset_tag WHERE project = :project AND name = :name AND tag = :tag",
        {"project": project, "name": name, "tag": tag},
    )


def set_tag(rows: Rows, project: ProjectName, version: DatasetVersion, tag: str, *, at: datetime, by: str) -> None:
    """Put a tag on a version; it leaves the one that had it."""
    rows.write(
        "INSERT INTO dataset_tag (project, name, tag, version, tagged_at, tagged_by)"
        " VALUES (:project, :name, :tag, :version, :at, :by) ON CONFLICT (project, name, tag) DO UPDATE"
        " SET version = excluded.version, tagged_at = excluded.tagged_at, tagged_by = excluded.tagged_by",
        {
            "project": project,
            "name": version.name,
            "tag": tag,
            "version": version.version,
            "at": instant(at),
            "by": by,
        },
    )


def drop_tag(rows: Rows, project: ProjectName, name: str, tag: str) -> None:
    """Take a tag away."""
    rows.write(
        "DELETE FROM dataset_tag WHERE project = :project AND name = :name AND tag = :tag",
        {"project": project, "name": name, "tag": tag},
    )


def remove(rows: Rows, project: ProjectName, version: DatasetVersion, *, at: datetime, by: str) -> bool:
    """Remove a version that nothing refers to; what it was stays. False when it is gone already."""
    key: dict[str, Value] = {"project": project, "name": version.name, "version": version.version}
    rows.write(
        "INSERT INTO dataset_removed (project, name, version, digest, source, added_at, added_by, removed_at,"
        " removed_by) SELECT project, name, version, digest, source, added_at, added_by, :at, :by FROM dataset_version"
        " WHERE project = :project AND name = :name AND version = :version",
        {**key, "at": instant(at), "by": by},
    )
    gone = rows.write(
        "DELETE FROM dataset_version WHERE project = :project AND name = :name AND version = :version", key
    )
    return gone == 1


def removed(rows: Rows, project: ProjectName, name: str) -> dict[int, RemovedVersion]:
    """Return the removed versions of a dataset by number."""
    found = rows.all(
        "SELECT * FROM dataset_removed WHERE project = :project AND name = :name ORDER BY version",
        {"project": project, "name": name},
    )
    return {
        row["version"]: RemovedVersion(
            name, row["version"], Digest(row["digest"]), row["source"],
            datetime.fromisoformat(row["removed_at"]), row["removed_by"],
        )
        for row in found
    }  # fmt: skip


def set_rule(rows: Rows, project: ProjectName, name: str, last: int, *, at: datetime, by: str) -> None:
    """Say how many versions of a dataset to keep; 0 = all, as without a rule."""
    rows.write("DELETE FROM dataset_keep WHERE project = :project AND name = :name", {"project": project, "name": name})
    if last:
        rows.write(
            "INSERT INTO dataset_keep (project, name, last, ruled_at, ruled_by)"
            " VALUES (:project, :name, :last, :at, :by)",
            {"project": project, "name": name, "last": last, "at": instant(at), "by": by},
        )


def rules(rows: Rows, project: ProjectName) -> Mapping[str, int]:
    """Return how many versions to keep, by the names of the datasets that have a rule."""
    found = rows.all("SELECT name, last FROM dataset_keep WHERE project = :project ORDER BY name", {"project": project})
    return {row["name"]: row["last"] for row in found}


def referred(rows: Rows, project: ProjectName, without: Collection[RunId] = ()) -> set[str]:
    """Return the addresses of all dataset versions that a tag names, or a run read or planned to.

    Models and cache entries belong to runs, so that they name nothing beyond these.

    Args:
        rows: of a transaction.
        project: of the versions.
        without: runs that do not count.
    """
    found = {f"datasets/{name}@{version}" for name, version in tags(rows, project)}
    key: dict[str, Value] = {"project": project, "without": json.dumps(list(without))}
    for row in rows.all(
        "SELECT DISTINCT i.address FROM attempt_input i JOIN run r ON r.id = i.run_id WHERE r.project = :project"
        " AND r.id NOT IN (SELECT value FROM json_each(:without)) AND substr(i.address, 1, 9) = 'datasets/'",
        key,
    ):
        found.add(row["address"].partition("#")[0])
    for row in rows.all(
        "SELECT body FROM plan WHERE project = :project AND digest IN (SELECT r.plan_digest FROM run r"
        " WHERE r.project = :project AND r.id NOT IN (SELECT value FROM json_each(:without)))",
        key,
    ):
        found.update(_VERSION.findall(row["body"]))
    return found


def referents(rows: Rows, project: ProjectName, version: DatasetVersion) -> tuple[str, ...]:
    """Return the addresses of what refers to a version or a slice of it: tags, models, runs, cache entries."""
    key: dict[str, Value] = {"project": project, "name": version.name, "version": version.version}
    tags_ = rows.all(
        "SELECT tag FROM dataset_tag WHERE project = :project AND name = :name AND version = :version ORDER BY tag", key
    )
    found = [f"datasets/{version.name}@{row['tag']}" for row in tags_]
    runs = _runs(rows, project, version.address)
    of_runs = {"project": project, "runs": json.dumps(runs)}
    models = rows.all(
        "SELECT name, version FROM model_version WHERE project = :project"
        " AND run_id IN (SELECT value FROM json_each(:runs)) ORDER BY name, version",
        of_runs,
    )
    entries = rows.all(
        "SELECT label FROM cache_entry WHERE project = :project"
        " AND run_id IN (SELECT value FROM json_each(:runs)) ORDER BY label, key",
        of_runs,
    )
    found += [f"models/{row['name']}/{row['version']}" for row in models]
    found += [f"runs/{run}" for run in runs]
    return (*found, *(f"the cache of {row['label']}" for row in entries))


def _runs(rows: Rows, project: ProjectName, address: str) -> list[RunId]:
    """Return the runs that read a version or planned to, newest first."""
    quoted = json.dumps(address, ensure_ascii=False)
    found = rows.all(
        """SELECT r.id FROM run r WHERE r.project = :project AND (
            EXISTS (SELECT 1 FROM attempt_input i WHERE i.run_id = r.id
                AND (i.address = :address OR substr(i.address, 1, length(:slice)) = :slice))
            OR EXISTS (SELECT 1 FROM plan p WHERE p.project = r.project AND p.digest = r.plan_digest
                AND (instr(p.body, :quoted) > 0 OR instr(p.body, :quoted_slice) > 0))
        ) ORDER BY r.number DESC""",
        {
            "project": project,
            "address": address,
            "slice": f"{address}#",
            "quoted": quoted,
            "quoted_slice": f"{quoted[:-1]}#",
        },
    )
    return [RunId(row["id"]) for row in found]
