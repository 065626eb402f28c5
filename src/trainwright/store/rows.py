"""Between rows and values: the only place that knows how a value lies in a column."""

import json
import math
from datetime import UTC, datetime

from trainwright.core.artifact import (
    AliasMove,
    ArtifactKind,
    Content,
    Evidence,
    GateResult,
    Input,
    ModelVersion,
    Output,
    Signature,
)
from trainwright.core.cache import CacheMode
from trainwright.core.codec import canonical_json, from_json
from trainwright.core.ids import AttemptId, Digest, ProjectName, RunId, StepName
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.reproduction import Reproduced
from trainwright.core.run import Attempt, MetricSummary, Resumed, Run, StepRun, Tally
from trainwright.core.states import HOLDING_ATTEMPT_STATES, AttemptState, ExitClass, RunState, StepState
from trainwright.core.workload import Assignment
from trainwright.store.database import Row, Value

LARGEST = 2**63 - 1
"""SQLite's largest integer; people and scripts may write larger ones."""

HOLDING = f"({', '.join(repr(state.value) for state in HOLDING_ATTEMPT_STATES)})"
"""The states of attempts that hold room, as SQL says it behind ``IN``."""


def instant(value: datetime | None) -> str | None:
    """Return the sortable text of an instant: UTC, always with microseconds."""
    return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds")


def number(value: float) -> float | None:
    """Return the column of a metric; NaN becomes NULL, which SQLite would do silently and Postgres would not."""
    return None if math.isnan(value) else value


def reason_text(reason: Reason | None) -> str | None:
    """Return a reason as JSON."""
    if reason is not None and not reason.evidence:
        return f'{{"code":"{reason.code.value}","evidence":{{}}}}'  # what most reasons are, without the encoder
    return None if reason is None else canonical_json(reason)


def run_values(run: Run) -> dict[str, Value]:
    """Return the columns of a run but for its lease."""
    return {
        "id": run.id,
        "project": run.project,
        "number": run.number,
        "pipeline": run.pipeline,
        "source": run.source,
        "plan_digest": run.plan_digest,
        "fingerprint": run.fingerprint,
        "params": canonical_json(run.params),
        "state": run.state,
        "reason": reason_text(run.reason),
        "submitted_at": instant(run.submitted_at),
        "submitted_by": run.submitted_by,
        "started_at": instant(run.started_at),
        "finished_at": instant(run.finished_at),
        "stop_asked_by": run.stop_asked_by,
        "revision": run.revision,
        "cache": run.cache,
        "resumes": None if run.resumes is None else canonical_json(run.resumes),
        "reproduces": None if run.reproduces is None else canonical_json(run.reproduces),
    }


def run_of(row: Row) -> Run:
    """Return the run in a row."""
    return Run(
        id=RunId(row["id"]),
        project=ProjectName(row["project"]),
        number=row["number"],
        pipeline=row["pipeline"],
        source=row["source"],
        plan_digest=Digest(row["plan_digest"]),
        fingerprint=Digest(row["fingerprint"]),
        params=json.loads(row["params"]),
        state=RunState(row["state"]),
        reason=reason_of(row["reason"]),
        submitted_at=datetime.fromisoformat(row["submitted_at"]),
        submitted_by=row["submitted_by"],
        started_at=_instant(row["started_at"]),
        finished_at=_instant(row["finished_at"]),
        stop_asked_by=row["stop_asked_by"],
        revision=row["revision"],
        cache=CacheMode(row["cache"]),
        resumes=None if row["resumes"] is None else from_json(Resumed, json.loads(row["resumes"])),
        reproduces=None if row["reproduces"] is None else from_json(Reproduced, json.loads(row["reproduces"])),
    )


def step_values(step: StepRun) -> dict[str, Value]:
    """Return the columns of a step."""
    return {
        "run_id": step.run,
        "name": step.name,
        "position": step.position,
        "state": step.state,
        "reason": reason_text(step.reason),
        "attempts": step.attempts,
        "started_at": instant(step.started_at),
        "finished_at": instant(step.finished_at),
        "metadata": canonical_json(step.metadata),
        "gates": canonical_json(step.gates),
        "parent": step.parent,
        "item": None if step.item is None else canonical_json(step.item),
        "tally": None if step.tally is None else canonical_json(step.tally),
        "forgiven": step.forgiven,
    }


def step_of(row: Row) -> StepRun:
    """Return the step in a row."""
    return StepRun(
        run=RunId(row["run_id"]),
        name=StepName(row["name"]),
        position=row["position"],
        state=StepState(row["state"]),
        reason=reason_of(row["reason"]),
        attempts=row["attempts"],
        started_at=_instant(row["started_at"]),
        finished_at=_instant(row["finished_at"]),
        metadata=json.loads(row["metadata"]),
        gates=tuple(from_json(GateResult, gate) for gate in json.loads(row["gates"])),
        parent=None if row["parent"] is None else StepName(row["parent"]),
        item=None if row["item"] is None else json.loads(row["item"]),
        tally=None if row["tally"] is None else from_json(Tally, json.loads(row["tally"])),
        forgiven=row["forgiven"],
    )


def attempt_values(attempt: Attempt) -> dict[str, Value]:
    """Return the columns of an attempt; its metrics lie in a table of their own."""
    return {
        "id": attempt.id,
        "run_id": attempt.run,
        "step": attempt.step,
        "number": attempt.number,
        "state": attempt.state,
        "token": attempt.token,
        "queued_at": instant(attempt.queued_at),
        "not_before": instant(attempt.not_before),
        "places": canonical_json(attempt.places),
        "reason": reason_text(attempt.reason),
        "exit_class": attempt.exit_class,
        "exit_code": attempt.exit_code,
        "signal": attempt.signal,
        "started_at": instant(attempt.started_at),
        "finished_at": instant(attempt.finished_at),
        "params": canonical_json(attempt.params),
        "key": attempt.key,
        "reuse": reason_text(attempt.reuse),
        "placed_at": instant(attempt.placed_at),
        "claim": canonical_json(attempt.claim),
        "served_s": attempt.served_s,
        "preempted_at": canonical_json(attempt.preempted_at),
        "claimed_at": instant(attempt.claimed_at),
        "told_at": instant(attempt.told_at),
    }


def attempt_of(row: Row, metrics: dict[str, MetricSummary], ooms: int) -> Attempt:
    """Return the attempt in a row; ``ooms`` counts those at its step before it that ran out of memory."""
    return Attempt(
        id=AttemptId(row["id"]),
        run=RunId(row["run_id"]),
        step=StepName(row["step"]),
        number=row["number"],
        state=AttemptState(row["state"]),
        token=row["token"],
        queued_at=datetime.fromisoformat(row["queued_at"]),
        not_before=_instant(row["not_before"]),
        places=places_of(row["places"]),
        reason=reason_of(row["reason"]),
        exit_class=None if row["exit_class"] is None else ExitClass(row["exit_class"]),
        exit_code=row["exit_code"],
        signal=row["signal"],
        started_at=_instant(row["started_at"]),
        finished_at=_instant(row["finished_at"]),
        metrics=metrics,
        params=json.loads(row["params"]),
        ooms=ooms,
        key=None if row["key"] is None else Digest(row["key"]),
        reuse=reason_of(row["reuse"]),
        placed_at=_instant(row["placed_at"]),
        claim=places_of(row["claim"]),
        served_s=row["served_s"],
        preempted_at=tuple(map(datetime.fromisoformat, json.loads(row["preempted_at"]))),
        claimed_at=_instant(row["claimed_at"]),
        told_at=_instant(row["told_at"]),
    )


def metric_values(attempt: Attempt) -> list[dict[str, Value]]:
    """Return one row a metric."""
    return [
        {
            "attempt_id": attempt.id,
            "run_id": attempt.run,
            "step": attempt.step,
            "name": name,
            "last": number(metric.last),
            "low": number(metric.low),
            "high": number(metric.high),
            "count": metric.count,
            "last_step": metric.last_step if abs(metric.last_step or 0) <= LARGEST else None,
        }
        for name, metric in attempt.metrics.items()
    ]


def metric_of(row: Row) -> MetricSummary:
    """Return the metric in a row; NULL is NaN."""
    last, low, high = (math.nan if row[k] is None else float(row[k]) for k in ("last", "low", "high"))
    return MetricSummary(last, low, high, row["count"], row["last_step"])


def content_values(content: Content) -> dict[str, Value]:
    """Return the three columns of stored content."""
    return {"digest": content.digest, "files": content.files, "size_bytes": content.size_bytes}


def content_of(row: Row) -> Content:
    """Return the stored content that a row names."""
    return Content(Digest(row["digest"]), row["files"], row["size_bytes"])


def input_of(row: Row) -> Input:
    """Return the input in a row."""
    return Input(row["name"], ArtifactKind(row["kind"]), content_of(row), row["address"])


def output_of(row: Row) -> Output:
    """Return the output in a row."""
    return Output(
        AttemptId(row["attempt_id"]),
        RunId(row["run_id"]),
        StepName(row["step"]),
        row["name"],
        ArtifactKind(row["kind"]),
        content_of(row),
    )


def model_of(row: Row, aliases: tuple[str, ...]) -> ModelVersion:
    """Return the model version in a row."""
    return ModelVersion(
        name=row["name"],
        version=row["version"],
        content=content_of(row),
        run=RunId(row["run_id"]),
        step=StepName(row["step"]),
        output=row["output"],
        metrics={name: float(value) for name, value in json.loads(row["metrics"]).items()},
        gates=tuple(from_json(GateResult, gate) for gate in json.loads(row["gates"])),
        registered_at=datetime.fromisoformat(row["registered_at"]),
        registered_by=row["registered_by"],
        aliases=aliases,
        signature=None if row["signature"] is None else from_json(Signature, json.loads(row["signature"])),
        card=None if row["card"] is None else Digest(row["card"]),
    )


def move_of(row: Row) -> AliasMove:
    """Return the move of an alias in a row."""
    return AliasMove(
        row["model"], row["alias"], row["revision"], row["before"], row["after"], row["reason"],
        datetime.fromisoformat(row["moved_at"]), row["moved_by"], row["how"],
        tuple(from_json(Evidence, said) for said in json.loads(row["evidence"])),
    )  # fmt: skip


def places_of(text: str) -> tuple[Assignment, ...]:
    """Return the places in a column; most are of one replica, or of none."""
    return () if text == "[]" else tuple(from_json(Assignment, place) for place in json.loads(text))


def reason_of(text: str | None) -> Reason | None:
    """Return the reason in a column."""
    if text is None:
        return None
    data = json.loads(text)
    return Reason(ReasonCode(data["code"]), data["evidence"])


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
