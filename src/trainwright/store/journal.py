"""What happened and what is to be done: events, audit, outbox. Rows are only ever added, or marked done."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from trainwright.core.changes import Act, Changes, Instruction
from trainwright.core.codec import canonical_json
from trainwright.core.ids import AttemptId, ProjectName, RunId
from trainwright.core.reasons import Reason
from trainwright.core.run import Run
from trainwright.core.scalar import Plain
from trainwright.store.database import Rows, Value
from trainwright.store.rows import instant, reason_text

_ADD_EVENT = (
    "INSERT INTO event (project, run_id, subject, state, reason, at)"
    " VALUES (:project, :run, :subject, :state, :reason, :at)"
)


SCHEDULER = "scheduler"
"""Who acts where nobody in particular does."""


@dataclass(frozen=True, slots=True)
class OpenInstruction:
    """An instruction that may not have been carried out yet.

    Attributes:
        seq: order in which to carry out.
    """

    seq: int
    run: RunId
    instruction: Instruction


def record_changes(rows: Rows, run: Run, changes: Changes, now: datetime) -> list[OpenInstruction]:
    """Write the events of a turn and put its instructions into the outbox; return those."""
    events = [_event(run, f"runs/{a.id}", a.state, a.reason, now) for a in changes.attempts]
    events += [_event(run, f"runs/{run.id}/{s.name}", s.state, s.reason, now) for s in changes.steps]
    if changes.run is not None:
        events.append(_event(run, f"runs/{run.id}", changes.run.state, changes.run.reason, now))
    rows.write_many(_ADD_EVENT, events)
    for model in changes.models:
        add_audit(
            rows, run.project, now, run.submitted_by, "model.registered",
            f"models/{model.model}/{model.version}", details={"run": run.id, "alias": model.alias},
        )  # fmt: skip
    for note in changes.notes:
        add_audit(rows, run.project, now, SCHEDULER, note.action, note.subject, details=note.details)
    return [OpenInstruction(_put(rows, run, i), run.id, i) for i in changes.instructions]


def _put(rows: Rows, run: Run, instruction: Instruction) -> int:
    return rows.number(
        "INSERT INTO outbox (project, run_id, attempt_id, act, why) VALUES (:project, :run, :attempt, :act, :why)"
        " RETURNING seq",
        {
            "project": run.project,
            "run": run.id,
            "attempt": instruction.attempt,
            "act": instruction.act,
            "why": instruction.why,
        },
    )


def add_event(rows: Rows, run: Run, subject: str, state: str, reason: Reason | None, at: datetime) -> None:
    """Note one change of state."""
    rows.write(_ADD_EVENT, _event(run, subject, state, reason, at))


def _event(run: Run, subject: str, state: str, reason: Reason | None, at: datetime) -> dict[str, Value]:
    return {
        "project": run.project,
        "run": run.id,
        "subject": subject,
        "state": state,
        "reason": reason_text(reason),
        "at": instant(at),
    }


def add_audit(
    rows: Rows,
    project: ProjectName,
    at: datetime,
    actor: str,
    action: str,
    subject: str,
    *,
    details: Mapping[str, Plain] | None = None,
) -> None:
    """Note who did what to what."""
    rows.write(
        "INSERT INTO audit (project, at, actor, action, subject, details)"
        " VALUES (:project, :at, :actor, :action, :subject, :details)",
        {
            "project": project,
            "at": instant(at),
            "actor": actor,
            "action": action,
            "subject": subject,
            "details": canonical_json(details or {}),
        },
    )


def open_instructions(rows: Rows, run: RunId) -> list[OpenInstruction]:
    """Return what is still to be carried out for a run, in order."""
    found = rows.all("SELECT * FROM outbox WHERE run_id = :run AND done_at IS NULL ORDER BY seq", {"run": run})
    return [
        OpenInstruction(
            row["seq"], RunId(row["run_id"]), Instruction(Act(row["act"]), AttemptId(row["attempt_id"]), row["why"])
        )
        for row in found
    ]


def mark_done(rows: Rows, seqs: list[int], now: datetime) -> None:
    """Note that instructions have been carried out."""
    done: list[dict[str, Value]] = [{"seq": seq, "now": instant(now)} for seq in seqs]
    rows.write_many("UPDATE outbox SET done_at = :now WHERE seq = :seq", done)


def close_instructions(rows: Rows, run: RunId, now: datetime) -> None:
    """Mark whatever is still open for a run: it has ended, so there is nothing left to carry out."""
    rows.write(
        "UPDATE outbox SET done_at = :now WHERE run_id = :run AND done_at IS NULL", {"run": run, "now": instant(now)}
    )
