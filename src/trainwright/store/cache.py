"""What is remembered of what steps made, by key; and what source files import, which is told once a file."""

import json
from datetime import datetime, timedelta
from typing import NamedTuple

from trainwright.core.artifact import Content, Output
from trainwright.core.cache import CacheEntry, Imports
from trainwright.core.changes import Changes
from trainwright.core.codec import canonical_json, from_json
from trainwright.core.ids import AttemptId, Digest, ProjectName, RunId
from trainwright.core.reasons import ReasonCode
from trainwright.core.run import Attempt, MetricSummary
from trainwright.core.states import AttemptState, ExitClass, StepState
from trainwright.store.database import Row, Rows, Stale, Value
from trainwright.store.rows import HOLDING, attempt_of, instant, metric_of, output_of

_LIKE = 20  # entries of one step that are compared to say what changed
_IMPORTS_AGE = timedelta(days=90)


class Made(NamedTuple):
    """What an attempt left behind.

    Attributes:
        attempt: with its metrics and the parameters it noted.
    """

    attempt: Attempt
    outputs: dict[str, Content]


def entry(rows: Rows, project: ProjectName, key: Digest) -> CacheEntry | None:
    """Return what is remembered under a key, or None."""
    row = rows.one(
        "SELECT * FROM cache_entry WHERE project = :project AND key = :key", {"project": project, "key": key}
    )
    return None if row is None else _entry_of(row)


def entries_of_step(rows: Rows, project: ProjectName, label: str) -> list[CacheEntry]:
    """Return the latest entries of a step, ``pipeline/step``, newest first."""
    found = rows.all(
        "SELECT * FROM cache_entry WHERE project = :project AND label = :label ORDER BY created_at DESC LIMIT :limit",
        {"project": project, "label": label, "limit": _LIKE},
    )
    return [_entry_of(row) for row in found]


def made(rows: Rows, attempt: AttemptId) -> Made | None:
    """Return what an attempt left behind; None when its run was removed."""
    key: dict[str, Value] = {"id": attempt}
    row = rows.one("SELECT * FROM attempt WHERE id = :id", key)
    if row is None:
        return None
    metrics: dict[str, MetricSummary] = {
        m["name"]: metric_of(m) for m in rows.all("SELECT * FROM metric WHERE attempt_id = :id ORDER BY name", key)
    }
    outputs: list[Output] = [
        output_of(o) for o in rows.all("SELECT * FROM output WHERE attempt_id = :id ORDER BY name", key)
    ]
    return Made(attempt_of(row, metrics, 0), {output.name: output.content for output in outputs})


def made_by_run(rows: Rows, run: RunId, key: Digest) -> Made | None:
    """Return what a run's own attempt with this key left behind, if its step passed or only a check stopped it."""
    row = rows.one(
        "SELECT a.id FROM attempt a JOIN step s ON s.run_id = a.run_id AND s.name = a.step"
        " WHERE a.run_id = :run AND a.key = :key AND a.state = :succeeded AND a.exit_class = :ok"
        " AND (s.state IN (:step_succeeded, :cached) OR s.reason LIKE :gate) ORDER BY a.number DESC LIMIT 1",
        {
            "run": run,
            "key": key,
            "succeeded": AttemptState.SUCCEEDED.value,
            "ok": ExitClass.OK.value,
            "step_succeeded": StepState.SUCCEEDED.value,
            "cached": StepState.CACHED.value,
            "gate": f'%"code":"{ReasonCode.GATE_FAILED.value}"%',
        },
    )
    return None if row is None else made(rows, AttemptId(row["id"]))


def remember(rows: Rows, new: CacheEntry) -> None:
    """Write an entry in the place of any that has the same key."""
    rows.write(
        "INSERT INTO cache_entry (project, key, label, run_id, attempt_id, parts, created_at, last_used_at)"
        " VALUES (:project, :key, :label, :run, :attempt, :parts, :created_at, :last_used_at)"
        " ON CONFLICT (project, key) DO UPDATE SET label = excluded.label, run_id = excluded.run_id,"
        " attempt_id = excluded.attempt_id, created_at = excluded.created_at, last_used_at = excluded.last_used_at",
        {
            "project": new.project,
            "key": new.key,
            "label": new.label,
            "run": new.run,
            "attempt": new.attempt,
            "parts": canonical_json(new.parts),
            "created_at": instant(new.created_at),
            "last_used_at": instant(new.last_used_at),
        },
    )


def apply(rows: Rows, project: ProjectName, changes: Changes, now: datetime) -> None:
    """Write what a turn wants remembered, and note what it used.

    Raises:
        Stale: an entry that it used stands for something else by now, or is gone.
    """
    for new in changes.entries:
        remember(rows, new)
    for attempt in changes.attempts:
        origin = attempt.origin
        if origin is None or attempt.key is None:
            continue
        if attempt.reuse is not None and attempt.reuse.code is ReasonCode.TAKEN_OVER:
            if rows.one("SELECT 1 FROM attempt WHERE id = :id", {"id": origin}) is None:
                raise Stale(f"attempt {origin}")
        elif not use(rows, project, attempt.key, origin, now):
            raise Stale(f"cache entry {attempt.key}")


def use(rows: Rows, project: ProjectName, key: Digest, origin: AttemptId, now: datetime) -> bool:
    """Note that an entry is used; tell whether it still stands for what ``origin`` made."""
    changed = rows.write(
        "UPDATE cache_entry SET last_used_at = :now WHERE project = :project AND key = :key AND attempt_id = :origin",
        {"project": project, "key": key, "origin": origin, "now": instant(now)},
    )
    return changed == 1


def makers(rows: Rows, project: ProjectName, key: Digest) -> list[Attempt]:
    """Return the attempts that hold room and make what the key stands for, oldest first."""
    found = rows.all(
        "SELECT a.* FROM attempt a JOIN run r ON r.id = a.run_id WHERE a.key = :key AND r.project = :project"  # noqa: S608
        f" AND a.state IN {HOLDING} ORDER BY r.number, a.id",
        {"key": key, "project": project},
    )
    return [attempt_of(row, {}, 0) for row in found]


def forget_run(rows: Rows, run: RunId) -> None:
    """Let every entry of a run that goes stand for an attempt of another run with the same key, or go as well."""
    key: dict[str, Value] = {"run": run, "succeeded": AttemptState.SUCCEEDED.value}
    heir = (
        "SELECT {column} FROM attempt a JOIN run r ON r.id = a.run_id WHERE a.key = cache_entry.key"
        " AND r.project = cache_entry.project AND a.run_id <> :run AND a.state = :succeeded"
        " AND EXISTS (SELECT 1 FROM output o WHERE o.attempt_id = a.id) ORDER BY r.number DESC LIMIT 1"
    )
    rows.write(
        f"UPDATE cache_entry SET (run_id, attempt_id) = ({heir.format(column='a.run_id, a.id')})"  # noqa: S608
        f" WHERE run_id = :run AND EXISTS ({heir.format(column='1')})",
        key,
    )
    rows.write("DELETE FROM cache_entry WHERE run_id = :run", {"run": run})


def known_imports(rows: Rows, sha256: str, reading: int) -> Imports | None:
    """Return what a source file imports, as it was read by these rules; None when it was not."""
    row = rows.one(
        "SELECT body FROM source_imports WHERE sha256 = :sha256 AND reading = :reading",
        {"sha256": sha256, "reading": reading},
    )
    return None if row is None else from_json(Imports, json.loads(row["body"]))


def keep_imports(rows: Rows, found: dict[str, Imports], reading: int, now: datetime) -> None:
    """Write what source files import, by the sha256 of each."""
    rows.write_many(
        "INSERT INTO source_imports (sha256, reading, body, read_at) VALUES (:sha256, :reading, :body, :now)"
        " ON CONFLICT DO NOTHING",
        [
            {"sha256": sha256, "reading": reading, "body": canonical_json(imports), "now": instant(now)}
            for sha256, imports in found.items()
        ],
    )


def drop_old_imports(rows: Rows, now: datetime) -> None:
    """Remove what was read long ago: it is read again when it is needed."""
    rows.write("DELETE FROM source_imports WHERE read_at < :before", {"before": instant(now - _IMPORTS_AGE)})


def _entry_of(row: Row) -> CacheEntry:
    return CacheEntry(
        project=ProjectName(row["project"]),
        key=Digest(row["key"]),
        label=row["label"],
        run=RunId(row["run_id"]),
        attempt=AttemptId(row["attempt_id"]),
        parts=json.loads(row["parts"]),
        created_at=datetime.fromisoformat(row["created_at"]),
        last_used_at=datetime.fromisoformat(row["last_used_at"]),
    )
