"""Runs, steps, attempts and what they read and published."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from trainwright.core.artifact import Input, Output
from trainwright.core.changes import Changes
from trainwright.core.codec import canonical_json, from_json
from trainwright.core.fingerprint import Fingerprint
from trainwright.core.ids import AttemptId, Digest, ProjectName, RunId, StepName
from trainwright.core.run import Attempt, MetricSummary, Run, RunView, StepRun, attempts_of, outputs_of, steps_of
from trainwright.core.states import AttemptState, ExitClass, RunState, StepState
from trainwright.core.workload import Assignment
from trainwright.plan.plan import Plan
from trainwright.store import cache, journal, queues, registry
from trainwright.store.database import Row, Rows, Stale, Value
from trainwright.store.rows import (
    HOLDING,
    LARGEST,
    attempt_of,
    attempt_values,
    content_values,
    input_of,
    instant,
    metric_of,
    metric_values,
    output_of,
    places_of,
    run_of,
    run_values,
    step_of,
    step_values,
)

LEASE = timedelta(seconds=15)
"""How long a lease lasts without renewal."""

_ATTEMPTS = (
    "SELECT a.*, (SELECT COUNT(*) FROM attempt b WHERE b.run_id = a.run_id AND b.step = a.step"
    " AND b.number < a.number AND b.exit_class = 'oom') AS ooms FROM attempt a"
)
_UNFINISHED = (RunState.PENDING.value, RunState.RUNNING.value)


def insert_run(rows: Rows, view: RunView, plan: Plan, fingerprint: Fingerprint) -> None:
    """Write a new run with its plan, fingerprint and steps.

    Raises:
        Stale: its number was taken in between.
    """
    run = view.run
    for table, digest, body in (
        ("plan", run.plan_digest, canonical_json(plan)),
        ("fingerprint", run.fingerprint, canonical_json(fingerprint)),
    ):
        rows.write(
            f"INSERT INTO {table} (project, digest, body) VALUES (:project, :digest, :body) ON CONFLICT DO NOTHING",  # noqa: S608 - two fixed names
            {"project": run.project, "digest": digest, "body": body},
        )
    _insert(rows, "run", [run_values(run)])
    _insert(rows, "step", [step_values(step) for step in view.steps])
    journal.add_event(rows, run, f"runs/{run.id}", run.state, run.reason, run.submitted_at)


def next_number(rows: Rows, project: ProjectName) -> int:
    """Return the number that the next run of the project gets."""
    return rows.number("SELECT max(number) FROM run WHERE project = :project", {"project": project}) + 1


def run(rows: Rows, run_id: RunId) -> Run | None:
    """Return a run, or None."""
    row = rows.one("SELECT * FROM run WHERE id = :id", {"id": run_id})
    return None if row is None else run_of(row)


def run_numbered(rows: Rows, project: ProjectName, number: int) -> Run | None:
    """Return the run with that number, or None."""
    row = rows.one(
        "SELECT * FROM run WHERE project = :project AND number = :number",
        {"project": project, "number": min(number, LARGEST)},
    )
    return None if row is None else run_of(row)


def newest_runs(rows: Rows, project: ProjectName, limit: int) -> list[Run]:
    """Return the latest runs, newest first."""
    found = rows.all(
        "SELECT * FROM run WHERE project = :project ORDER BY number DESC LIMIT :limit",
        {"project": project, "limit": min(limit, LARGEST)},
    )
    return [run_of(row) for row in found]


def runs_like(rows: Rows, project: ProjectName, prefix: str) -> list[Run]:
    """Return the runs whose id begins with ``prefix``, newest first; at most ten."""
    found = rows.all(
        "SELECT * FROM run WHERE project = :project AND substr(id, 1, length(:prefix)) = :prefix"
        " ORDER BY number DESC LIMIT 10",
        {"project": project, "prefix": prefix},
    )
    return [run_of(row) for row in found]


def runs_of_pipeline(rows: Rows, project: ProjectName, pipeline: str) -> list[Run]:
    """Return the runs of a pipeline, newest first."""
    found = rows.all(
        "SELECT * FROM run WHERE project = :project AND pipeline = :pipeline ORDER BY number DESC",
        {"project": project, "pipeline": pipeline},
    )
    return [run_of(row) for row in found]


def runs_with_fingerprint(rows: Rows, project: ProjectName, prefix: str) -> list[Run]:
    """Return the runs whose fingerprint begins with ``prefix`` (hex digits), newest first."""
    found = rows.all(
        "SELECT * FROM run WHERE project = :project AND substr(fingerprint, 1, length(:prefix)) = :prefix"
        " ORDER BY number DESC",
        {"project": project, "prefix": f"sha256:{prefix}"},
    )
    return [run_of(row) for row in found]


def reproductions(rows: Rows, project: ProjectName, original: RunId) -> list[Run]:
    """Return the runs that make a run again, oldest first."""
    found = rows.all(  # the text is canonical, so that the name of the original stands in it just so
        "SELECT * FROM run WHERE project = :project AND reproduces IS NOT NULL AND instr(reproduces, :named) > 0"
        " ORDER BY number",
        {"project": project, "named": canonical_json({"run": original})[1:-1]},
    )
    return [run for run in map(run_of, found) if run.reproduces is not None and run.reproduces.run == original]


def plan(rows: Rows, project: ProjectName, digest: Digest) -> Plan:
    """Return a stored plan."""
    return from_json(Plan, json.loads(_body(rows, "plan", project, digest)))


def fingerprint(rows: Rows, project: ProjectName, digest: Digest) -> Fingerprint:
    """Return a stored fingerprint."""
    return from_json(Fingerprint, json.loads(_body(rows, "fingerprint", project, digest)))


def view(rows: Rows, run_id: RunId) -> RunView:
    """Return everything about one run that a decision may look at, but for baselines and next versions.

    Raises:
        LookupError: no such run.
    """
    row = rows.one("SELECT * FROM run WHERE id = :id", {"id": run_id})
    if row is None:
        raise LookupError(run_id)
    key: dict[str, Value] = {"run": run_id}
    metrics: dict[str, dict[str, MetricSummary]] = defaultdict(dict)
    for metric in rows.all("SELECT * FROM metric WHERE run_id = :run ORDER BY name", key):
        metrics[metric["attempt_id"]][metric["name"]] = metric_of(metric)
    inputs: dict[AttemptId, tuple[Input, ...]] = defaultdict(tuple)
    for given in rows.all("SELECT * FROM attempt_input WHERE run_id = :run ORDER BY attempt_id, name", key):
        inputs[AttemptId(given["attempt_id"])] += (input_of(given),)
    # by number, not by instant: the last attempt at a step stays the last when a clock was set back
    attempts = rows.all("SELECT * FROM attempt WHERE run_id = :run ORDER BY number, queued_at, step", key)
    steps = rows.all("SELECT * FROM step WHERE run_id = :run ORDER BY rowid", key)
    return RunView(
        run=run_of(row),
        steps=steps_of(map(step_of, steps)),
        attempts=attempts_of(_oldest_first(attempts, metrics)),
        inputs=dict(inputs),
        outputs=outputs_of(_outputs(rows, run_id)),
    )


def _oldest_first(rows: list[Row], metrics: dict[str, dict[str, MetricSummary]]) -> Iterator[Attempt]:
    """Yield the attempts in rows that come by number, and count on the way."""
    ooms: Counter[str] = Counter()
    for row in rows:
        yield attempt_of(row, metrics.get(row["id"], {}), ooms[row["step"]])
        ooms[row["step"]] += row["exit_class"] == ExitClass.OOM


def step(rows: Rows, run_id: RunId, name: StepName) -> StepRun | None:
    """Return one step of a run, or None."""
    row = rows.one("SELECT * FROM step WHERE run_id = :run AND name = :name", {"run": run_id, "name": name})
    return None if row is None else step_of(row)


def apply(
    rows: Rows, before: Run, changes: Changes, now: datetime, lease_owner: str
) -> tuple[Run, list[journal.OpenInstruction]]:
    """Commit what a turn decided; return the run with its new revision, and the instructions now open.

    Raises:
        Stale: the run was written, or its lease taken, since ``before`` was loaded; or what an attempt is answered with
            is not remembered any more.
    """
    after = changes.run or before
    values = run_values(after)
    changed = rows.write(
        "UPDATE run SET state = :state, reason = :reason, started_at = :started_at, finished_at = :finished_at,"
        " revision = :revision + 1 WHERE id = :id AND revision = :revision AND lease_owner = :owner",
        {**values, "revision": before.revision, "owner": lease_owner},
    )
    if changed == 0:
        raise Stale(f"run {before.id}")
    _upsert(rows, "step", ("run_id", "name"), [step_values(s) for s in changes.steps])
    _upsert(rows, "attempt", ("id",), [attempt_values(a) for a in changes.attempts])
    _upsert(rows, "metric", ("attempt_id", "name"), [m for a in changes.attempts for m in metric_values(a)])
    _insert(
        rows,
        "attempt_input",
        [
            {
                **content_values(i.content),
                "attempt_id": attempt,
                "run_id": before.id,
                "name": i.name,
                "kind": i.kind,
                "address": i.address,
            }
            for attempt, inputs in changes.inputs.items()
            for i in inputs
        ],
    )
    _insert(
        rows,
        "output",
        [
            {
                **content_values(o.content),
                "attempt_id": o.attempt,
                "run_id": o.run,
                "step": o.step,
                "name": o.name,
                "kind": o.kind,
            }
            for o in changes.outputs
        ],
    )
    for model in changes.models:
        registry.insert_version(rows, before.project, model, now, before.submitted_by)
    cache.apply(rows, before.project, changes, now)
    opened = journal.record_changes(rows, before, changes, now)
    if after.state.is_final:
        journal.close_instructions(rows, before.id, now)
        queues.forget_run(rows, before.project, before.id)
    return replace(after, revision=before.revision + 1), opened


def cached_steps(rows: Rows, project: ProjectName, since: int) -> dict[RunId, int]:
    """Return how many steps were answered from memory, of each run from that number on that has any."""
    found = rows.all(
        "SELECT s.run_id, count(*) AS count FROM run r JOIN step s ON s.run_id = r.id"
        " WHERE r.project = :project AND r.number >= :since AND s.state = :cached GROUP BY s.run_id",
        {"project": project, "since": since, "cached": StepState.CACHED},
    )
    return {RunId(row["run_id"]): row["count"] for row in found}


def ask_to_stop(rows: Rows, run_id: RunId, actor: str) -> bool:
    """Note that somebody wants the run to end; tell whether it was still unfinished."""
    changed = rows.write(
        "UPDATE run SET stop_asked_by = coalesce(stop_asked_by, :actor), revision = revision + 1"
        " WHERE id = :id AND state IN (:pending, :running)",
        {"id": run_id, "actor": actor, "pending": _UNFINISHED[0], "running": _UNFINISHED[1]},
    )
    return changed == 1


def reopen(rows: Rows, before: Run, steps: Iterable[StepRun], now: datetime) -> bool:
    """Let a finished run go on with these steps; tell whether it was still as ``before`` says."""
    changed = rows.write(
        "UPDATE run SET state = :running, reason = NULL, finished_at = NULL, stop_asked_by = NULL, lease_owner = NULL,"
        " lease_expires_at = NULL, revision = revision + 1 WHERE id = :id AND revision = :revision AND state = :state",
        {"running": RunState.RUNNING, "id": before.id, "revision": before.revision, "state": before.state},
    )
    if changed == 1:
        _upsert(rows, "step", ("run_id", "name"), [step_values(s) for s in steps])
        journal.add_event(rows, before, f"runs/{before.id}", RunState.RUNNING, None, now)
    return changed == 1


class Head(NamedTuple):
    """What one needs to know of an unfinished run to claim it."""

    run: RunId
    revision: int
    lease_owner: str | None
    lease_expires_at: datetime | None


def unfinished(rows: Rows, project: ProjectName) -> list[Head]:
    """Return every unfinished run, oldest first."""
    found = rows.all(
        "SELECT id, revision, lease_owner, lease_expires_at FROM run"
        " WHERE project = :project AND state IN (:pending, :running) ORDER BY number",
        {"project": project, "pending": _UNFINISHED[0], "running": _UNFINISHED[1]},
    )
    return [
        Head(
            RunId(row["id"]),
            row["revision"],
            row["lease_owner"],
            None if row["lease_expires_at"] is None else datetime.fromisoformat(row["lease_expires_at"]),
        )
        for row in found
    ]


def take_lease(rows: Rows, run_id: RunId, owner: str, held_by: str | None, until: datetime) -> bool:
    """Take or renew the lease of a run; tell whether ``held_by`` still held it, so that it is ours now."""
    changed = rows.write(
        "UPDATE run SET lease_owner = :owner, lease_expires_at = :until WHERE id = :id AND"
        " (lease_owner = :held_by OR (lease_owner IS NULL AND :held_by IS NULL))",
        {"id": run_id, "owner": owner, "held_by": held_by, "until": instant(until)},
    )
    return changed == 1


def holding(rows: Rows, project: ProjectName) -> list[tuple[Attempt, Run]]:
    """Return every attempt of the project that holds room, with its run."""
    # by state alone: few attempts hold room, and a join would begin with all runs of the project
    found = rows.all(f"{_ATTEMPTS} WHERE a.state IN {HOLDING} ORDER BY a.id")
    owners = {run_id: run(rows, RunId(run_id)) for run_id in {str(row["run_id"]) for row in found}}
    pairs = ((row, owners[row["run_id"]]) for row in found)
    mine = ((row, owner) for row, owner in pairs if owner is not None and owner.project == project)
    return [(attempt_of(row, {}, row["ooms"]), owner) for row, owner in mine]


def unended(rows: Rows, run_id: RunId) -> list[Attempt]:
    """Return the attempts of a run that wait or hold room, by id."""
    found = rows.all(
        f"{_ATTEMPTS} WHERE a.run_id = :run AND (a.state = 'queued' OR a.state IN {HOLDING}) ORDER BY a.id",
        {"run": run_id},
    )
    return [attempt_of(row, {}, row["ooms"]) for row in found]


def newest_ends(rows: Rows, project: ProjectName, limit: int) -> list[tuple[Attempt, Run]]:
    """Return the attempts that were made last and have done their work, newest first, each with its run."""
    found = rows.all(
        f"{_ATTEMPTS} JOIN run r ON r.id = a.run_id WHERE r.project = :project AND a.state = 'succeeded'"
        " AND a.placed_at IS NOT NULL ORDER BY a.rowid DESC LIMIT :limit",
        {"project": project, "limit": limit},
    )
    owners = {run_id: run(rows, RunId(run_id)) for run_id in {str(row["run_id"]) for row in found}}
    pairs = ((attempt_of(row, {}, row["ooms"]), owners[row["run_id"]]) for row in found)
    return [(attempt, owner) for attempt, owner in pairs if owner is not None]


def claims(rows: Rows, project: ProjectName) -> dict[AttemptId, tuple[Assignment, ...]]:
    """Return the attempts that wait for claimed room, with its places."""
    found = rows.all(
        "SELECT a.id, a.claim FROM attempt a JOIN run r ON r.id = a.run_id"
        " WHERE a.state = 'queued' AND a.claim <> '[]' AND r.project = :project",
        {"project": project},
    )
    return {AttemptId(row["id"]): places_of(row["claim"]) for row in found}


def state_of(rows: Rows, attempt: AttemptId) -> AttemptState | None:
    """Return the state of an attempt as it is committed by now, or None."""
    row = rows.one("SELECT state FROM attempt WHERE id = :id", {"id": attempt})
    return None if row is None else AttemptState(row["state"])


def _outputs(rows: Rows, run_id: RunId) -> tuple[Output, ...]:
    found = rows.all("SELECT * FROM output WHERE run_id = :run ORDER BY attempt_id, name", {"run": run_id})
    return tuple(output_of(row) for row in found)


def _body(rows: Rows, table: str, project: ProjectName, digest: Digest) -> str:
    row: Row | None = rows.one(
        f"SELECT body FROM {table} WHERE project = :project AND digest = :digest",  # noqa: S608 - two fixed names
        {"project": project, "digest": digest},
    )
    if row is None:
        raise LookupError(f"{table} {digest}")
    return str(row["body"])


def _insert(rows: Rows, table: str, records: list[dict[str, Value]]) -> None:
    if records:
        columns = ", ".join(records[0])
        values = ", ".join(f":{c}" for c in records[0])
        rows.write_many(f"INSERT INTO {table} ({columns}) VALUES ({values})", records)  # noqa: S608 - our own names


def _upsert(rows: Rows, table: str, key: tuple[str, ...], records: list[dict[str, Value]]) -> None:
    if not records:
        return
    columns = list(records[0])
    values = ", ".join(f":{c}" for c in columns)
    changes = ", ".join(f"{c} = excluded.{c}" for c in columns if c not in key)
    sql = (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})"  # noqa: S608 - our own names
        f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}"
    )
    rows.write_many(sql, records)
