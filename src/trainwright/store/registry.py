"""Models: versions, aliases and the history of every alias."""

from collections import defaultdict
from datetime import datetime

from trainwright.core.artifact import AliasMove, ModelVersion
from trainwright.core.changes import RegisterModel
from trainwright.core.codec import canonical_json
from trainwright.core.ids import ProjectName
from trainwright.store.database import Row, Rows, Stale, Value
from trainwright.store.rows import LARGEST, content_values, instant, model_of, move_of

_VERSION = "project = :project AND name = :name AND version = :version"


def insert_version(rows: Rows, project: ProjectName, model: RegisterModel, now: datetime, actor: str) -> None:
    """Add a version and move its alias.

    Raises:
        Stale: the version number was taken in between, or has been another version's that was removed.
    """
    key: dict[str, Value] = {"project": project, "name": model.model, "version": model.version}
    if rows.one(f"SELECT 1 FROM model_removed WHERE {_VERSION}", key) is not None:  # noqa: S608 - fixed words
        raise Stale(f"{model.model}/{model.version} was removed")
    values: dict[str, Value] = {
        "project": project,
        "name": model.model,
        "version": model.version,
        "run": model.run,
        "step": model.step,
        "output": model.output,
        "metrics": canonical_json(model.metrics),
        "gates": canonical_json(model.gates),
        "signature": None if model.signature is None else canonical_json(model.signature),
        "card": model.card,
        "now": instant(now),
        "actor": actor,
    }
    rows.write(
        "INSERT INTO model_version (project, name, version, digest, files, size_bytes, run_id, step, output, metrics,"
        " gates, signature, card, registered_at, registered_by) VALUES (:project, :name, :version, :digest, :files,"
        " :size_bytes, :run, :step, :output, :metrics, :gates, :signature, :card, :now, :actor)",
        values | content_values(model.content),
    )
    if model.alias:
        before, revision = alias_state(rows, project, model.model, model.alias)
        reason = f"registered by run {model.run}"
        move = AliasMove(
            model.model, model.alias, revision + 1, before, model.version, reason, now, actor, "registered",
            model.evidence,
        )  # fmt: skip
        move_alias(rows, project, move)


def next_version(rows: Rows, project: ProjectName, name: str) -> int:
    """Return the number of the next version: no version has it, nor had one that was removed."""
    key: dict[str, Value] = {"project": project, "name": name}
    tables = ("model_version", "model_removed")
    sql = "SELECT max(version) FROM {} WHERE project = :project AND name = :name"
    return 1 + max(rows.number(sql.format(table), key) for table in tables)


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
        "how": move.how,
        "evidence": canonical_json(move.evidence),
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
        "INSERT INTO alias_move (project, model, alias, revision, before, after, reason, moved_at, moved_by, how,"
        " evidence) VALUES (:project, :model, :alias, :revision, :before, :after, :reason, :at, :by, :how, :evidence)",
        values,
    )


def version(rows: Rows, project: ProjectName, name: str, number: int) -> ModelVersion | None:
    """Return one version, or None."""
    key: dict[str, Value] = {"project": project, "name": name, "version": min(number, LARGEST)}
    row = rows.one(f"SELECT * FROM model_version WHERE {_VERSION}", key)  # noqa: S608 - fixed words
    return None if row is None else _with_aliases(rows, project, [row])[0]


def version_at(rows: Rows, project: ProjectName, address: str) -> ModelVersion | None:
    """Return the version behind ``models/name/3``, or None."""
    name, _, number = address.removeprefix("models/").rpartition("/")
    return version(rows, project, name, int(number)) if number.isdecimal() else None


def newest(rows: Rows, project: ProjectName, name: str) -> ModelVersion | None:
    """Return the newest version of a model, or None."""
    found = versions(rows, project, name, limit=1)
    return found[0] if found else None


def versions(rows: Rows, project: ProjectName, name: str | None = None, *, limit: int = LARGEST) -> list[ModelVersion]:
    """Return the versions of one model or of all, by name, newest first; at most ``limit``."""
    of_one = "" if name is None else " AND name = :name"
    found = rows.all(
        f"SELECT * FROM model_version WHERE project = :project{of_one} ORDER BY name, version DESC LIMIT :limit",  # noqa: S608
        {"project": project, "name": name, "limit": min(limit, LARGEST)},
    )
    return _with_aliases(rows, project, found)


def baseline(rows: Rows, project: ProjectName, model: str, alias: str) -> tuple[str, dict[str, float]] | None:
    """Return address and metrics of the version behind an alias, or None."""
    number, _ = alias_state(rows, project, model, alias)
    found = None if number is None else version(rows, project, model, number)
    return None if found is None else (found.address, dict(found.metrics))


def history(rows: Rows, project: ProjectName, model: str, alias: str | None = None) -> list[AliasMove]:
    """Return every move of an alias, oldest first; without an alias those of all aliases, by alias."""
    of_one = "" if alias is None else " AND alias = :alias"
    found = rows.all(
        f"SELECT * FROM alias_move WHERE project = :project AND model = :model{of_one} ORDER BY alias, revision",  # noqa: S608
        {"project": project, "model": model, "alias": alias},
    )
    return [move_of(row) for row in found]


def held(rows: Rows, project: ProjectName, model: str, number: int) -> set[str]:
    """Return the aliases that point at a version or ever did."""
    found = rows.all(
        "SELECT DISTINCT alias FROM alias_move WHERE project = :project AND model = :model AND after = :version",
        {"project": project, "model": model, "version": number},
    )
    return {str(row["alias"]) for row in found}


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


def _with_aliases(rows: Rows, project: ProjectName, found: list[Row]) -> list[ModelVersion]:
    """Return the versions in rows, each with the aliases that point at it; the aliases of a model are read once."""
    pointing: dict[str, dict[int, tuple[str, ...]]] = {}
    for name in {row["name"] for row in found}:
        here: dict[int, tuple[str, ...]] = defaultdict(tuple)
        for alias, number in aliases(rows, project, name).items():
            here[number] += (alias,)
        pointing[name] = here
    return [model_of(row, pointing[row["name"]].get(row["version"], ())) for row in found]
