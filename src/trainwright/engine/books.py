"""What the store says that rounds stand on, beside the runs of this engine; read anew when it has changed."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from trainwright.core.ids import Digest, ProjectName, RunId
from trainwright.core.pool import Pool
from trainwright.core.priority import BUILT_IN, priorities
from trainwright.core.queue import Cohort, Queue, QueueName, QueueWord
from trainwright.core.run import Attempt, Run
from trainwright.plan.plan import Plan
from trainwright.store import documents, queues, runs
from trainwright.store.database import Rows


@dataclass(frozen=True, slots=True)
class Declared:
    """Platform documents and people's words, as they hold now.

    Attributes:
        queues: those that somebody holds are marked so, declared or not.
    """

    queues: Mapping[QueueName, Queue] = field(default_factory=dict)
    cohorts: Mapping[str, Cohort] = field(default_factory=dict)
    pools: Mapping[str, Pool] = field(default_factory=dict)
    priorities: Mapping[str, int] = field(default_factory=lambda: BUILT_IN)
    words: Mapping[str, QueueWord] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Foreign:
    """An unfinished run of the project that another engine holds.

    Attributes:
        attempts: that wait or hold room.
    """

    run: Run
    plan: Plan
    attempts: tuple[Attempt, ...]


class Books:
    """Reads for one project, and keeps what it read."""

    def __init__(self, project: ProjectName) -> None:
        self._project = project
        self._declared = Declared()
        self._epoch = -1
        self._foreign: dict[RunId, Foreign] = {}
        self._plans: dict[Digest, Plan] = {}

    def declared(self, rows: Rows, epoch: int) -> Declared:
        """Return documents and words; the same object as long as nothing about them has changed.

        Args:
            rows: of a transaction.
            epoch: another number whenever somebody else may have written.
        """
        if epoch != self._epoch:
            found = self._read(rows)
            self._declared = self._declared if found == self._declared else found
            self._epoch = epoch
        return self._declared

    def foreign(self, rows: Rows, heads: Iterable[runs.Head], own: Collection[RunId]) -> list[Foreign]:
        """Return the unfinished runs of other engines."""
        before, self._foreign = self._foreign, {}
        for head in heads:
            if head.run in own:
                continue
            known = before.get(head.run)
            if known is None or known.run.revision != head.revision:
                known = self._load(rows, head.run)
            if known is not None:
                self._foreign[head.run] = known
        return list(self._foreign.values())

    def used(self, rows: Rows, now: datetime, half_life_s: float) -> Mapping[QueueName, float]:
        """Return what queues used before; see ``ClusterSnapshot``."""
        return queues.used(rows, self._project, now, half_life_s)

    def spent(self, rows: Rows, now: datetime) -> Mapping[QueueName, float]:
        """Return what queues with a budget spent in its present period."""
        periods_s = {q.name: q.budget.period_s for q in self._declared.queues.values() if q.budget is not None}
        return queues.spent(rows, self._project, periods_s, now) if periods_s else {}

    def plan(self, rows: Rows, run: Run) -> Plan:
        """Return the plan of a run that is not ours; kept, since it never changes."""
        if run.plan_digest not in self._plans:
            self._plans[run.plan_digest] = runs.plan(rows, run.project, run.plan_digest)
        return self._plans[run.plan_digest]

    def _read(self, rows: Rows) -> Declared:
        words = queues.words(rows, self._project)
        known = {queue.name: queue for queue in documents.queues(rows, self._project)}
        for subject, word in words.items():
            kind, _, name = subject.partition("/")
            if kind == "queues" and word.held_by:
                queue = QueueName(name)
                known[queue] = replace(known.get(queue, Queue(queue)), held=True)
        return Declared(
            queues=known,
            cohorts={cohort.name: cohort for cohort in documents.cohorts(rows, self._project)},
            pools={pool.name: pool for pool in documents.pools(rows, self._project)},
            priorities=priorities(documents.priority_classes(rows, self._project)),
            words=words,
        )

    def _load(self, rows: Rows, run_id: RunId) -> Foreign | None:
        run = runs.run(rows, run_id)
        return None if run is None else Foreign(run, self.plan(rows, run), tuple(runs.unended(rows, run_id)))
