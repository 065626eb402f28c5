"""Triggers and their events. An event's id is taken once; its run is entered in the transaction that makes the run."""

import json
from collections.abc import Sequence
from datetime import datetime

from trainwright.core.codec import canonical_json, from_json
from trainwright.core.ids import ProjectName, RunId
from trainwright.core.occasion import EndedRun, EventState, NewVersion, Trigger, TriggerEvent, TriggerState, address
from trainwright.core.reasons import Reason
from trainwright.core.states import RunState
from trainwright.core.trigger import TriggerSpec
from trainwright.store.database import Row, Rows, Stale, Value
from trainwright.store.rows import instant, reason_text

_OVER = "('" + "', '".join(sorted(s for s in RunState if s.is_final)) + "')"
_ONE = "project = :project AND pipeline = :pipeline AND name = :name"


def put(rows: Rows, trigger: Trigger) -> None:
    """Write a trigger that is new, or in place of the one with its name."""
    values: dict[str, Value] = {
        **_key(trigger),
        "spec": canonical_json(trigger.spec),
        "file": trigger.file,
        "path": trigger.path,
        "state": trigger.state,
        "armed_at": instant(trigger.armed_at),
        "armed_by": trigger.armed_by,
        "since_at": instant(trigger.since_at),
        "since_seq": trigger.since_seq,
        "revision": trigger.revision,
    }
    columns = ", ".join(values)
    changes = ", ".join(f"{c} = excluded.{c}" for c in values if c not in {"project", "pipeline", "name", "revision"})
    rows.write(
        f"INSERT INTO pipeline_trigger ({columns}) VALUES ({', '.join(f':{c}' for c in values)})"
        f" ON CONFLICT (project, pipeline, name) DO UPDATE SET {changes}, revision = pipeline_trigger.revision + 1",
        values,
    )


def remove(rows: Rows, trigger: Trigger) -> None:
    """Take a trigger away, with its events that have no run yet; the others stay, so that nothing is run again."""
    rows.write(f"DELETE FROM pipeline_trigger WHERE {_ONE}", _key(trigger))
    rows.write(
        f"DELETE FROM trigger_event WHERE {_ONE} AND state = :waiting",
        {**_key(trigger), "waiting": EventState.WAITING},
    )


def triggers(rows: Rows, project: ProjectName, state: TriggerState | None = None) -> list[Trigger]:
    """Return the triggers of a project, by pipeline and name; only those in ``state`` when it is given."""
    found = rows.all(
        "SELECT * FROM pipeline_trigger WHERE project = :project AND (:state IS NULL OR state = :state)"
        " ORDER BY pipeline, name",
        {"project": project, "state": state},
    )
    return [_trigger_of(row) for row in found]


def move_on(rows: Rows, trigger: Trigger, since_at: datetime, since_seq: int, state: TriggerState) -> None:
    """Note how far a trigger has dealt with what happened, and its state.

    Raises:
        Stale: it was written, or taken away, since it was read.
    """
    changed = rows.write(
        "UPDATE pipeline_trigger SET since_at = :since_at, since_seq = :since_seq, state = :state,"
        f" revision = revision + 1 WHERE {_ONE} AND revision = :revision",
        {
            **_key(trigger),
            "since_at": instant(since_at),
            "since_seq": since_seq,
            "state": state,
            "revision": trigger.revision,
        },
    )
    if changed == 0:
        raise Stale(trigger.address)


def note(rows: Rows, trigger: Trigger, events: Sequence[TriggerEvent]) -> int:
    """Write events down; return how many are new. One whose id is known already stays as it is."""
    return sum(
        rows.write(
            "INSERT INTO trigger_event (project, pipeline, name, event_id, at, state, run_id, reason, depth, cause)"
            " VALUES (:project, :pipeline, :name, :id, :at, :state, :run, :reason, :depth, :cause)"
            " ON CONFLICT (project, pipeline, name, event_id) DO NOTHING",
            {
                **_key(trigger),
                "id": event.id,
                "at": instant(event.at),
                "state": event.state,
                "run": event.run,
                "reason": reason_text(event.reason),
                "depth": event.depth,
                "cause": event.cause,
            },
        )
        for event in events
    )


def enter_run(rows: Rows, trigger: Trigger, events: Sequence[TriggerEvent], run: RunId) -> bool:
    """Note that the events have their run; tell whether all of them were still waiting for one.

    To be called in the transaction that writes the run, which must not commit when this says no.
    """
    return all(_settle(rows, trigger, event.id, EventState.FIRED, run, None) for event in events)


def enter_failure(rows: Rows, trigger: Trigger, events: Sequence[TriggerEvent], reason: Reason) -> None:
    """Note why the events get no run; those that have one by now keep it."""
    for event in events:
        _settle(rows, trigger, event.id, EventState.FAILED, None, reason)


def try_again(rows: Rows, trigger: Trigger, ids: Sequence[str]) -> None:
    """Let events that failed wait for a run once more."""
    for event_id in ids:
        rows.write(
            f"UPDATE trigger_event SET state = :waiting, reason = NULL WHERE {_ONE} AND event_id = :id"
            " AND state = :failed",
            {**_key(trigger), "id": event_id, "waiting": EventState.WAITING, "failed": EventState.FAILED},
        )


def event(rows: Rows, trigger: Trigger, event_id: str) -> TriggerEvent | None:
    """Return one event of a trigger, or None."""
    row = rows.one(
        f"SELECT * FROM trigger_event WHERE {_ONE} AND event_id = :id",
        {**_key(trigger), "id": event_id},
    )
    return None if row is None else _event_of(row)


def newest_events(rows: Rows, trigger: Trigger, limit: int) -> list[TriggerEvent]:
    """Return what a trigger noted last, newest first."""
    found = rows.all(
        f"SELECT * FROM trigger_event WHERE {_ONE} ORDER BY seq DESC LIMIT :limit",
        {**_key(trigger), "limit": limit},
    )
    return [_event_of(row) for row in found]


def waiting(rows: Rows, project: ProjectName) -> list[TriggerEvent]:
    """Return the events that have no run yet, oldest first."""
    found = rows.all(
        "SELECT * FROM trigger_event WHERE project = :project AND state = :waiting ORDER BY seq",
        {"project": project, "waiting": EventState.WAITING},
    )
    return [_event_of(row) for row in found]


def behind_run(rows: Rows, run: RunId) -> list[TriggerEvent]:
    """Return the events that a run was started for, oldest first; none when a person started it."""
    return [
        _event_of(row) for row in rows.all("SELECT * FROM trigger_event WHERE run_id = :run ORDER BY seq", {"run": run})
    ]


def after_run(rows: Rows, run: RunId) -> list[TriggerEvent]:
    """Return the events that the end of a run is, oldest first."""
    return [
        _event_of(row) for row in rows.all("SELECT * FROM trigger_event WHERE cause = :run ORDER BY seq", {"run": run})
    ]


def head_seq(rows: Rows) -> int:
    """Return the newest event of all runs."""
    return rows.number("SELECT max(seq) FROM event")


def newest_version(rows: Rows, project: ProjectName, dataset: str) -> int:
    """Return the number of a dataset's newest version; 0 before the first."""
    return rows.number(
        "SELECT max(version) FROM dataset_version WHERE project = :project AND name = :name",
        {"project": project, "name": dataset},
    )


def versions_after(rows: Rows, project: ProjectName, dataset: str, number: int) -> tuple[NewVersion, ...]:
    """Return the versions of a dataset after a number, oldest first."""
    found = rows.all(
        "SELECT version, added_at FROM dataset_version WHERE project = :project AND name = :name AND version > :number"
        " ORDER BY version",
        {"project": project, "name": dataset, "number": number},
    )
    return tuple(NewVersion(row["version"], datetime.fromisoformat(row["added_at"])) for row in found)


def ended_after(rows: Rows, project: ProjectName, seq: int) -> tuple[EndedRun, ...]:
    """Return the runs that ended after an event, oldest first; reads only what came after it.

    Those that make another one again are left out: their end is no news.
    """
    found = rows.all(
        "SELECT e.seq, e.run_id, e.state, e.at, r.pipeline,"
        " (SELECT max(t.depth) FROM trigger_event t WHERE t.run_id = e.run_id) AS depth"
        " FROM event e JOIN run r ON r.id = e.run_id"
        " WHERE e.seq > :seq AND e.project = :project AND e.subject = 'runs/' || e.run_id AND r.reproduces IS NULL"
        f" AND e.state IN {_OVER} ORDER BY e.seq",
        {"project": project, "seq": seq},
    )
    return tuple(
        EndedRun(
            row["seq"],
            RunId(row["run_id"]),
            row["pipeline"],
            RunState(row["state"]),
            datetime.fromisoformat(row["at"]),
            row["depth"] or 0,
        )
        for row in found
    )


def _settle(
    rows: Rows, trigger: Trigger, event_id: str, state: EventState, run: RunId | None, reason: Reason | None
) -> bool:
    changed = rows.write(
        f"UPDATE trigger_event SET state = :state, run_id = :run, reason = :reason WHERE {_ONE}"
        " AND event_id = :id AND state = :waiting",
        {
            **_key(trigger),
            "id": event_id,
            "state": state,
            "run": run,
            "reason": reason_text(reason),
            "waiting": EventState.WAITING,
        },
    )
    return changed == 1


def _key(trigger: Trigger) -> dict[str, Value]:
    return {"project": trigger.project, "pipeline": trigger.pipeline, "name": trigger.spec.name}


def _trigger_of(row: Row) -> Trigger:
    return Trigger(
        project=ProjectName(row["project"]),
        pipeline=row["pipeline"],
        spec=from_json(TriggerSpec, json.loads(row["spec"])),
        file=row["file"],
        path=row["path"],
        state=TriggerState(row["state"]),
        armed_at=datetime.fromisoformat(row["armed_at"]),
        armed_by=row["armed_by"],
        since_at=datetime.fromisoformat(row["since_at"]),
        since_seq=row["since_seq"],
        revision=row["revision"],
    )


def _event_of(row: Row) -> TriggerEvent:
    return TriggerEvent(
        trigger=address(row["pipeline"], row["name"]),
        id=row["event_id"],
        at=datetime.fromisoformat(row["at"]),
        state=EventState(row["state"]),
        run=None if row["run_id"] is None else RunId(row["run_id"]),
        reason=None if row["reason"] is None else from_json(Reason, json.loads(row["reason"])),
        depth=row["depth"],
        cause=None if row["cause"] is None else RunId(row["cause"]),
    )
