"""What attempts used, and when."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from trainwright.core.ids import Digest, ProjectName, StepName
from trainwright.store.database import Rows
from trainwright.store.rows import instant


@dataclass(frozen=True, slots=True)
class Used:
    """The time that one attempt held room.

    Attributes:
        finished_at: None = it still does.
    """

    pipeline: str
    plan_digest: Digest
    step: StepName
    actor: str
    queued_at: datetime
    started_at: datetime
    finished_at: datetime | None


def attempts_between(rows: Rows, project: ProjectName, since: datetime, until: datetime) -> Iterator[Used]:
    """Yield the attempts that ran at any time from ``since`` to ``until``, in no particular order."""
    found = rows.all(
        "SELECT r.pipeline, r.plan_digest, r.submitted_by, a.step, a.queued_at, a.started_at, a.finished_at"
        " FROM attempt a JOIN run r ON r.id = a.run_id"
        " WHERE r.project = :project AND a.started_at < :until AND (a.finished_at IS NULL OR a.finished_at > :since)",
        {"project": project, "since": instant(since), "until": instant(until)},
    )
    for row in found:
        yield Used(
            pipeline=row["pipeline"],
            plan_digest=Digest(row["plan_digest"]),
            step=StepName(row["step"]),
            actor=row["submitted_by"],
            queued_at=datetime.fromisoformat(row["queued_at"]),
            started_at=datetime.fromisoformat(row["started_at"]),
            finished_at=None if row["finished_at"] is None else datetime.fromisoformat(row["finished_at"]),
        )
