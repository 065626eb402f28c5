"""What queues used and spent, and what people said about what waits in them."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from trainwright.core.ids import ProjectName, RunId
from trainwright.core.queue import QueueName, QueueWord, Used
from trainwright.store.database import Row, Rows
from trainwright.store.rows import instant

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOUR = timedelta(hours=1)


def add_used(rows: Rows, project: ProjectName, used: Iterable[Used], now: datetime, half_life_s: float) -> None:
    """Add what attempts had used when they ended; what was used before counts less by then."""
    share_s: dict[str, float] = {}
    cost: dict[str, float] = {}
    for one in used:
        share_s[one.queue] = share_s.get(one.queue, 0.0) + one.share_s
        cost[one.queue] = cost.get(one.queue, 0.0) + one.cost
    for queue, seconds in share_s.items():
        row = rows.one(
            "SELECT share_s, at FROM queue_use WHERE project = :project AND queue = :queue",
            {"project": project, "queue": queue},
        )
        before = 0.0 if row is None else _decayed(row, now, half_life_s)
        rows.write(
            "INSERT INTO queue_use (project, queue, share_s, at) VALUES (:project, :queue, :share_s, :at)"
            " ON CONFLICT (project, queue) DO UPDATE SET share_s = excluded.share_s, at = excluded.at",
            {"project": project, "queue": queue, "share_s": before + seconds, "at": instant(now)},
        )
    for queue, amount in cost.items():
        if amount:
            rows.write(
                "INSERT INTO queue_cost (project, queue, hour, cost) VALUES (:project, :queue, :hour, :cost)"
                " ON CONFLICT (project, queue, hour) DO UPDATE SET cost = cost + excluded.cost",
                {"project": project, "queue": queue, "hour": (now - _EPOCH) // _HOUR, "cost": amount},
            )


def used(rows: Rows, project: ProjectName, now: datetime, half_life_s: float) -> Mapping[QueueName, float]:
    """Return queue → dominant share · seconds that ended attempts held, decayed as of now; see ``ClusterSnapshot``."""
    found = rows.all("SELECT queue, share_s, at FROM queue_use WHERE project = :project", {"project": project})
    return {QueueName(row["queue"]): _decayed(row, now, half_life_s) for row in found}


def spent(
    rows: Rows, project: ProjectName, periods_s: Mapping[QueueName, int], now: datetime
) -> Mapping[QueueName, float]:
    """Return queue → money of attempts that ended in the present period of its budget, to the hour."""
    found: dict[QueueName, float] = {}
    for queue, period_s in periods_s.items():
        begin_s = int((now - _EPOCH).total_seconds()) // period_s * period_s
        row = rows.one(
            "SELECT sum(cost) AS cost FROM queue_cost WHERE project = :project AND queue = :queue AND hour >= :hour",
            {"project": project, "queue": queue, "hour": begin_s // 3600},
        )
        found[queue] = float(row["cost"] or 0.0) if row is not None else 0.0
    return found


def words(rows: Rows, project: ProjectName) -> dict[str, QueueWord]:
    """Return what people said about what waits, by subject."""
    found = rows.all("SELECT * FROM queue_word WHERE project = :project ORDER BY subject", {"project": project})
    return {row["subject"]: QueueWord(row["subject"], row["held_by"], row["rank"]) for row in found}


def word(rows: Rows, project: ProjectName, subject: str) -> QueueWord:
    """Return what people said about one; nothing that matters when nobody said anything."""
    row = rows.one(
        "SELECT * FROM queue_word WHERE project = :project AND subject = :subject",
        {"project": project, "subject": subject},
    )
    return QueueWord(subject) if row is None else QueueWord(subject, row["held_by"], row["rank"])


def say(rows: Rows, project: ProjectName, said: QueueWord, now: datetime, actor: str) -> None:
    """Write what somebody says about one; a word that changes nothing any more is taken away."""
    key = {"project": project, "subject": said.subject}
    if not (said.held_by or said.rank):
        rows.write("DELETE FROM queue_word WHERE project = :project AND subject = :subject", key)
        return
    rows.write(
        "INSERT INTO queue_word (project, subject, held_by, rank, said_at, said_by)"
        " VALUES (:project, :subject, :held_by, :rank, :at, :by) ON CONFLICT (project, subject) DO UPDATE SET"
        " held_by = excluded.held_by, rank = excluded.rank, said_at = excluded.said_at, said_by = excluded.said_by",
        {**key, "held_by": said.held_by, "rank": said.rank, "at": instant(now), "by": actor},
    )


def forget_run(rows: Rows, project: ProjectName, run: RunId) -> None:
    """Take away what people said about a run that is over, and about its steps."""
    rows.write(
        "DELETE FROM queue_word WHERE project = :project"
        " AND (subject = :run OR (subject > :run || '/' AND subject < :run || '0'))",  # 0 comes right after /
        {"project": project, "run": f"runs/{run}"},
    )


def _decayed(row: Row, now: datetime, half_life_s: float) -> float:
    """Return dominant share · seconds as they count now; with a half-life of 0 what is past does not count."""
    age_s = max((now - datetime.fromisoformat(row["at"])).total_seconds(), 0.0)
    return float(row["share_s"]) * 0.5 ** (age_s / half_life_s) if half_life_s else 0.0
