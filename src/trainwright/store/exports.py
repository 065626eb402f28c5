"""How far exporters are in our journal, and what they read there. A cursor only ever moves on."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from trainwright.core.artifact import Input, Output
from trainwright.core.ids import AttemptId, ProjectName, RunId
from trainwright.core.reasons import Reason
from trainwright.store.database import Row, Rows, Value
from trainwright.store.rows import input_of, instant, output_of, reason_of


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where one exporter is for one target.

    Attributes:
        seq: every event up to this one is dealt with.
        sent: documents handed over.
        refused: events that the target did not take and that were passed over.
        failures: deliveries in a row that failed for the time being.
        tried_at: when the last one failed; None after a success.
        problem: why; empty after a success.
    """

    exporter: str
    target: str
    seq: int
    sent: int = 0
    refused: int = 0
    failures: int = 0
    tried_at: datetime | None = None
    problem: str = ""


class JournalEvent(NamedTuple):
    """A row of the journal."""

    seq: int
    run: RunId
    subject: str
    state: str
    reason: Reason | None
    at: datetime


def newest(rows: Rows, project: ProjectName) -> int:
    """Return the number of the newest event of a project; 0 without any."""
    return rows.number("SELECT max(seq) FROM event WHERE project = :project", {"project": project})


def cursor(rows: Rows, project: ProjectName, exporter: str, target: str) -> Cursor | None:
    """Return a cursor, or None before there is one."""
    key: dict[str, Value] = {"project": project, "exporter": exporter, "target": target}
    row = rows.one(
        "SELECT * FROM export_cursor WHERE project = :project AND exporter = :exporter AND target = :target", key
    )
    return None if row is None else _cursor_of(row)


def begin(rows: Rows, project: ProjectName, new: Cursor) -> None:
    """Write a cursor unless there is one."""
    rows.write(
        "INSERT INTO export_cursor (project, exporter, target, seq, sent, refused, failures, tried_at, problem)"
        " VALUES (:project, :exporter, :target, :seq, :sent, :refused, :failures, :tried_at, :problem)"
        " ON CONFLICT DO NOTHING",
        _values(project, new),
    )


def move(rows: Rows, project: ProjectName, after: Cursor) -> None:
    """Write how far a cursor is; one that somebody else moved further stays there."""
    rows.write(
        "UPDATE export_cursor SET seq = :seq, sent = :sent, refused = :refused, failures = :failures,"
        " tried_at = :tried_at, problem = :problem"
        " WHERE project = :project AND exporter = :exporter AND target = :target AND seq <= :seq",
        _values(project, after),
    )


def waiting(rows: Rows, project: ProjectName, after: int) -> int:
    """Return how many events come after that number."""
    return rows.number("SELECT count(*) FROM event WHERE project = :p AND seq > :seq", {"p": project, "seq": after})


def events(rows: Rows, project: ProjectName, after: int, limit: int) -> list[JournalEvent]:
    """Return the next events of a project, in order."""
    found = rows.all(
        "SELECT * FROM event WHERE seq > :after AND project = :project ORDER BY seq LIMIT :limit",
        {"project": project, "after": after, "limit": limit},
    )
    return [_event_of(row) for row in found]


def events_of_run(rows: Rows, run: RunId, after: int, upto: int) -> list[JournalEvent]:
    """Return the events of one run whose numbers are above ``after`` and at most ``upto``, in order."""
    found = rows.all(
        "SELECT * FROM event WHERE run_id = :run AND seq > :after AND seq <= :upto ORDER BY seq",
        {"run": run, "after": after, "upto": upto},
    )
    return [_event_of(row) for row in found]


def inputs_of(rows: Rows, attempt: AttemptId) -> tuple[Input, ...]:
    """Return what an attempt reads, by name."""
    found = rows.all("SELECT * FROM attempt_input WHERE attempt_id = :a ORDER BY name", {"a": attempt})
    return tuple(map(input_of, found))


def outputs_of(rows: Rows, attempt: AttemptId) -> tuple[Output, ...]:
    """Return what an attempt published, by name."""
    return tuple(map(output_of, rows.all("SELECT * FROM output WHERE attempt_id = :a ORDER BY name", {"a": attempt})))


def nominal_time(rows: Rows, run: RunId, kinds: Collection[str]) -> datetime | None:
    """Return the instant of the occasion that a run was started for, of a trigger of these kinds; None without one."""
    row = rows.one(
        "SELECT e.at, t.spec FROM trigger_event e JOIN pipeline_trigger t ON t.project = e.project"
        " AND t.pipeline = e.pipeline AND t.name = e.name WHERE e.run_id = :run"
        " AND json_extract(t.spec, '$.kind') IN (SELECT value FROM json_each(:kinds)) ORDER BY e.at DESC LIMIT 1",
        {"run": run, "kinds": "[" + ", ".join(f'"{kind}"' for kind in sorted(kinds)) + "]"},
    )
    return None if row is None else datetime.fromisoformat(row["at"])


def _values(project: ProjectName, one: Cursor) -> dict[str, Value]:
    return {
        "project": project,
        "exporter": one.exporter,
        "target": one.target,
        "seq": one.seq,
        "sent": one.sent,
        "refused": one.refused,
        "failures": one.failures,
        "tried_at": instant(one.tried_at),
        "problem": one.problem,
    }


def _cursor_of(row: Row) -> Cursor:
    return Cursor(
        exporter=row["exporter"],
        target=row["target"],
        seq=row["seq"],
        sent=row["sent"],
        refused=row["refused"],
        failures=row["failures"],
        tried_at=None if row["tried_at"] is None else datetime.fromisoformat(row["tried_at"]),
        problem=row["problem"],
    )


def _event_of(row: Row) -> JournalEvent:
    at = datetime.fromisoformat(row["at"])
    return JournalEvent(row["seq"], RunId(row["run_id"]), row["subject"], row["state"], reason_of(row["reason"]), at)
