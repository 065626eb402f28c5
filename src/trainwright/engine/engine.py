"""The control loop: claim, load, decide, apply, act. Any process may host one; leases make several harmless."""

import logging
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from trainwright.core.changes import Act, Changes, applied
from trainwright.core.clock import Clock
from trainwright.core.errors import BackendError
from trainwright.core.ids import AttemptId, ProjectName, RunId
from trainwright.core.job import CodeTree
from trainwright.core.run import Attempt, Run, RunView
from trainwright.core.states import AttemptState
from trainwright.core.workload import ClusterSnapshot, Decision, Placement, Workload
from trainwright.lifecycle.advance import Chance, Happening, advance
from trainwright.lifecycle.job import build_job
from trainwright.plan.plan import Plan
from trainwright.ports.backend import Backend, Ended
from trainwright.sched.invariants import broken
from trainwright.sched.round import schedule
from trainwright.store import journal, registry, runs
from trainwright.store.database import Database, Rows, Stale

LOG = logging.getLogger(__name__)

LONGEST_WAIT_S = 0.2
"""How late a stop asked by another process, or a start, is noticed; an end is noticed at once."""


@dataclass(frozen=True, slots=True)
class World:
    """What an engine works on.

    Attributes:
        owner: names this engine in leases.
        owner_is_gone: tells whether the engine behind such a name is known to be dead.
    """

    database: Database
    backend: Backend
    clock: Clock
    chance: Callable[[], Chance]
    project: ProjectName
    owner: str
    owner_is_gone: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """One claimed run as the last turn left it."""

    plan: Plan
    code: CodeTree
    view: RunView


class Engine:
    """Turns the loop for one project."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._loaded: dict[RunId, _Loaded] = {}
        self._leases: dict[RunId, datetime] = {}
        self._late: list[Happening] = []  # ends that the engine itself concluded while acting

    def turn(self) -> bool:
        """Go once around; tell whether anything changed.

        A run whose turn fails is left to a later turn; the others go on.
        """
        now = self._world.clock.now()
        claimed = self._claim(now)
        happenings, self._late = self._late, []
        decided: dict[RunId, Changes] = {}
        for run_id in claimed:
            loaded = self._loaded[run_id]
            seen = [*self._observe(loaded.view), *(h for h in happenings if _run_of(h) == run_id)]
            loaded = self._loaded[run_id] = replace(loaded, view=self._with_registry(loaded, bool(seen)))
            decided[run_id] = advance(loaded.plan, loaded.view, seen, now, self._world.chance())
        self._place(decided, now)
        changed = [run_id for run_id, changes in decided.items() if changes and self._commit(run_id, changes, now)]
        for run_id in claimed:
            if run_id in self._loaded:
                self._perform(run_id)
        self._forget_finished()
        return bool(changed or self._late)

    def wait(self, seconds: float = LONGEST_WAIT_S) -> None:
        """Return when an attempt may have ended, a repetition is due, or after ``seconds``."""
        now = self._world.clock.now()
        live = [a.id for loaded in self._loaded.values() for a in loaded.view.attempts if a.state.holds_room]
        due = [
            (a.not_before - now).total_seconds()
            for loaded in self._loaded.values()
            for a in loaded.view.attempts
            if a.state is AttemptState.QUEUED and a.not_before is not None and a.not_before > now
        ]
        limit = max(0.0, min([seconds, *due]))
        if live:
            self._world.backend.wait(live, limit)
        else:
            self._world.clock.sleep(limit)

    def has_work(self) -> bool:
        """Tell whether the project has an unfinished run, whoever holds it."""
        with self._world.database.reading() as rows:
            return bool(runs.unfinished(rows, self._world.project))

    # claim and load

    def _claim(self, now: datetime) -> list[RunId]:
        """Return the unfinished runs that are ours, oldest first; take those whose holder is gone."""
        world = self._world
        with world.database.reading() as rows:
            heads = runs.unfinished(rows, world.project)
        mine = [head for head in heads if self._holds(head, now) or self._takes(head, now)]
        with world.database.reading() as rows:
            self._loaded = {head.run: self._load(rows, head.run, head.revision) for head in mine}
        return [head.run for head in mine]

    def _holds(self, head: runs.Head, now: datetime) -> bool:
        """Tell whether the lease is ours for a good while yet."""
        expires_at = head.lease_expires_at
        return head.lease_owner == self._world.owner and expires_at is not None and expires_at > now + runs.LEASE / 2

    def _takes(self, head: runs.Head, now: datetime) -> bool:
        """Take or renew the lease, unless a living engine holds it."""
        owner, world = head.lease_owner, self._world
        foreign = owner is not None and owner != world.owner
        held = foreign and head.lease_expires_at is not None and head.lease_expires_at > now
        if held and not world.owner_is_gone(owner or ""):
            return False
        with world.database.writing() as rows:
            return runs.take_lease(rows, head.run, world.owner, owner, now + runs.LEASE)

    def _load(self, rows: Rows, run_id: RunId, revision: int) -> _Loaded:
        """Return a run's records; the last turn's when nobody wrote since."""
        loaded = self._loaded.get(run_id)
        if loaded is not None and loaded.view.run.revision == revision:
            return loaded
        view = runs.view(rows, run_id)
        if loaded is not None:
            return replace(loaded, view=view)
        code = runs.fingerprint(rows, view.run.project, view.run.fingerprint).code
        plan = runs.plan(rows, view.run.project, view.run.plan_digest)
        return _Loaded(plan, CodeTree(code.tree, code.folder), view)

    def _with_registry(self, loaded: _Loaded, something_happened: bool) -> RunView:  # noqa: FBT001 - private
        """Return the view with the registry's present baselines and next versions, when a decision may need them."""
        if loaded.view.next_versions and not something_happened:
            return loaded.view
        models = {s.baseline_model for s in loaded.plan.steps if s.baseline_model}
        models |= {s.registration.model for s in loaded.plan.steps if s.registration}
        if not models:
            return loaded.view
        project = self._world.project
        with self._world.database.reading() as rows:
            found = {name: registry.baseline(rows, project, name, "production") for name in sorted(models)}
            numbers = {name: registry.next_version(rows, project, name) for name in sorted(models)}
        baselines = {name: value for name, value in found.items() if value is not None}
        return replace(loaded.view, baselines=baselines, next_versions=numbers)

    # observe and decide

    def _observe(self, view: RunView) -> Iterable[Happening]:
        for attempt in view.attempts:
            if not attempt.state.holds_room:
                continue
            seen = self._world.backend.observe(attempt.id)
            if seen is None:
                seen = self._unheard(attempt)
            if seen is not None and not (attempt.state is AttemptState.RUNNING and not isinstance(seen, Ended)):
                yield seen

    def _unheard(self, attempt: Attempt) -> Ended | None:
        """Conclude what it means that the backend has never heard of an attempt."""
        with self._world.database.reading() as rows:
            waiting = {o.instruction.attempt for o in journal.open_instructions(rows, attempt.run)}
        if attempt.id in waiting:
            return None  # the instruction that starts or stops it is still to be carried out
        cause = "stopped" if attempt.state is AttemptState.STOPPING else "lost"
        return Ended(attempt.id, attempt.token, cause, self._world.clock.now())

    def _place(self, decided: dict[RunId, Changes], now: datetime) -> None:
        """Let the scheduler decide about every attempt that waits for room, and add its word to ``decided``."""
        views = {run_id: applied(self._loaded[run_id].view, changes) for run_id, changes in decided.items()}
        pending = [
            _workload(attempt, self._loaded[run_id].plan, view.run)
            for run_id, view in views.items()
            for attempt in view.attempts
            if attempt.state is AttemptState.QUEUED and (attempt.not_before is None or attempt.not_before <= now)
        ]
        if not pending:
            return
        freed = {a.id for view in views.values() for a in view.attempts if not a.state.holds_room}
        with self._world.database.reading() as rows:
            holding = self._holding(rows)
        snapshot = ClusterSnapshot(
            self._world.backend.nodes(), tuple(pending), tuple(w for w in holding if w.attempt not in freed)
        )
        decisions: dict[RunId, list[Decision]] = {}
        for decision in schedule(snapshot):
            decisions.setdefault(_run_of(decision), []).append(decision)
        for run_id, words in decisions.items():
            later = advance(self._loaded[run_id].plan, views[run_id], words, now, self._world.chance())
            decided[run_id] = decided[run_id].then(later)

    def _holding(self, rows: Rows) -> tuple[Workload, ...]:
        found: list[Workload] = []
        plans: dict[RunId, Plan] = {run_id: loaded.plan for run_id, loaded in self._loaded.items()}
        for attempt, run in runs.holding(rows, self._world.project):
            if run.id not in plans:
                plans[run.id] = runs.plan(rows, run.project, run.plan_digest)
            found.append(_workload(attempt, plans[run.id], run))
        return tuple(found)

    # apply

    def _commit(self, run_id: RunId, changes: Changes, now: datetime) -> bool:
        """Write what was decided in one guarded transaction; tell whether it still held."""
        loaded = self._loaded[run_id]
        try:
            with self._world.database.writing() as rows:
                self._recheck(rows, loaded, changes)
                run = runs.apply(rows, loaded.view.run, changes, now, self._world.owner)
        except Stale as stale:
            LOG.info("decision dropped as stale", extra={"run": run_id, "cause": str(stale)})
            del self._loaded[run_id]
            return False
        self._loaded[run_id] = replace(loaded, view=replace(applied(loaded.view, changes), run=run))
        return True

    def _recheck(self, rows: Rows, loaded: _Loaded, changes: Changes) -> None:
        """Hold the placements against what is committed by now.

        Raises:
            Stale: another engine gave the room away.
        """
        started = {i.attempt for i in changes.instructions if i.act is Act.START}
        if not started:
            return
        ended = {a.id for a in changes.attempts if not a.state.holds_room}
        placed = [a for a in changes.attempts if a.id in started]
        nodes = self._world.backend.nodes()
        snapshot = ClusterSnapshot(
            nodes,
            tuple(_workload(replace(a, devices=()), loaded.plan, loaded.view.run) for a in placed),
            tuple(w for w in self._holding(rows) if w.attempt not in ended),
        )
        placements = tuple(Placement(a.id, nodes[0].name, a.devices) for a in placed)
        if broken(snapshot, placements):
            raise Stale("room was given away in between")

    # act

    def _perform(self, run_id: RunId) -> None:
        """Carry out the open instructions of a run, in order; each may be carried out again after a crash."""
        with self._world.database.reading() as rows:
            todo = journal.open_instructions(rows, run_id)
        if not todo:
            return
        done = [item.seq for item in todo if self._carry_out(run_id, item.instruction.act, item.instruction.attempt)]
        with self._world.database.writing() as rows:
            journal.mark_done(rows, done, self._world.clock.now())

    def _carry_out(self, run_id: RunId, act: Act, attempt_id: AttemptId) -> bool:
        """Do one act; tell whether it is over, one way or the other."""
        loaded = self._loaded[run_id]
        attempt = next(a for a in loaded.view.attempts if a.id == attempt_id)
        try:
            if act is Act.STOP:
                self._world.backend.stop(attempt_id, "stop asked")
            elif attempt.state in {AttemptState.STARTING, AttemptState.RUNNING}:
                self._world.backend.start(build_job(loaded.plan, loaded.view, attempt_id, loaded.code))
        except BackendError as error:
            if error.transient:
                LOG.warning("act failed, will be tried again", extra={"attempt": attempt_id, "error": str(error)})
                return False
            self._conclude(attempt, error.problem.message)
        except Exception as error:  # around a plugin anything may come; kept with its traceback
            detail = "".join(traceback.format_exception(error))
            LOG.exception("a backend broke", extra={"attempt": attempt_id})
            self._conclude(attempt, f"{type(error).__name__}: {error}\n{detail}")
        return True

    def _conclude(self, attempt: Attempt, message: str) -> None:
        now = self._world.clock.now()
        self._late.append(Ended(attempt.id, attempt.token, "not-started", now, message=message))

    def _forget_finished(self) -> None:
        self._loaded = {i: loaded for i, loaded in self._loaded.items() if not loaded.view.run.state.is_final}


def _workload(attempt: Attempt, plan: Plan, run: Run) -> Workload:
    step = plan.step(attempt.step)
    position = next(i for i, s in enumerate(plan.steps) if s.name == attempt.step)
    return Workload(
        attempt=attempt.id,
        label=f"{run.pipeline}#{run.number}/{attempt.step}",
        asked=step.resources,
        run_number=run.number,
        position=position,
        queued_at=attempt.queued_at,
        devices=attempt.devices,
    )


def _run_of(happening: Happening) -> RunId:
    return RunId(happening.attempt.split("/", 1)[0])
