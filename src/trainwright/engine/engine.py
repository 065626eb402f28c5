"""The control loop: claim, load, decide, apply, act. Any process may host one; leases make several harmless."""

import logging
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from trainwright.core.changes import Act, Changes, Instruction, applied
from trainwright.core.clock import Clock
from trainwright.core.errors import BackendError
from trainwright.core.ids import ProjectName, RunId
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
        self._late: list[Happening] = []  # ends that the engine itself concluded while acting

    def turn(self) -> bool:
        """Go once around; tell whether anything changed.

        A run whose turn fails is left to a later turn; the others go on.
        """
        now = self._world.clock.now()
        claimed = self._claim(now)
        late, self._late = self._late, []
        happened: dict[RunId, Changes] = {}
        for run_id in claimed:
            with self._apart(run_id):
                happened[run_id] = self._decide(run_id, [h for h in late if _run_of(h) == run_id], now)
        placed = self._place(happened, now)
        changed = False
        for run_id, changes in happened.items():
            with self._apart(run_id):
                changed |= self._commit(run_id, changes, placed.get(run_id, Changes()), now)
        for run_id in claimed:
            with self._apart(run_id):
                self._perform(run_id)
        self._forget_finished()
        return changed or bool(self._late)

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

    @contextmanager
    def _apart(self, run_id: RunId) -> Iterator[None]:
        """Let a run whose turn fails hold up no other: it is noted, and loaded anew by a later turn."""
        try:
            yield
        except BackendError as error:
            LOG.warning("the turn of a run failed: %s", error.problem.message, extra={"run": run_id})
            self._loaded.pop(run_id, None)
        except Exception:
            LOG.exception("the turn of a run failed", extra={"run": run_id})
            self._loaded.pop(run_id, None)

    # claim and load

    def _claim(self, now: datetime) -> list[RunId]:
        """Return the unfinished runs that are ours, oldest first; take those whose holder is gone."""
        world = self._world
        with world.database.reading() as rows:
            heads = runs.unfinished(rows, world.project)
        mine = [head for head in heads if self._holds(head, now) or self._takes(head, now)]
        before, self._loaded = self._loaded, {}
        with world.database.reading() as rows:
            for head in mine:
                with self._apart(head.run):
                    self._loaded[head.run] = self._load(rows, head, before.get(head.run))
        return list(self._loaded)

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

    def _load(self, rows: Rows, head: runs.Head, loaded: _Loaded | None) -> _Loaded:
        """Return a run's records; the last turn's when nobody wrote since."""
        if loaded is not None and loaded.view.run.revision == head.revision:
            return loaded
        view = runs.view(rows, head.run)
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

    def _decide(self, run_id: RunId, late: Iterable[Happening], now: datetime) -> Changes:
        """Return what follows for a run from what the backend says and what the engine concluded."""
        loaded = self._loaded[run_id]
        seen = [*self._observe(loaded.view), *late]
        loaded = self._loaded[run_id] = replace(loaded, view=self._with_registry(loaded, bool(seen)))
        return advance(loaded.plan, loaded.view, seen, now, self._world.chance())

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

    def _place(self, happened: dict[RunId, Changes], now: datetime) -> dict[RunId, Changes]:
        """Return what the scheduler's word on every attempt that waits for room changes, on top of ``happened``."""
        views = {run_id: applied(self._loaded[run_id].view, changes) for run_id, changes in happened.items()}
        pending = [
            _workload(attempt, self._loaded[run_id].plan, view.run)
            for run_id, view in views.items()
            for attempt in view.attempts
            if attempt.state is AttemptState.QUEUED and (attempt.not_before is None or attempt.not_before <= now)
        ]
        if not pending:
            return {}
        freed = {a.id for view in views.values() for a in view.attempts if not a.state.holds_room}
        with self._world.database.reading() as rows:
            holding = self._holding(rows)
        snapshot = ClusterSnapshot(
            self._world.backend.nodes(), tuple(pending), tuple(w for w in holding if w.attempt not in freed)
        )
        decisions: dict[RunId, list[Decision]] = {}
        for decision in schedule(snapshot):
            decisions.setdefault(_run_of(decision), []).append(decision)
        return {
            run_id: advance(self._loaded[run_id].plan, views[run_id], words, now, self._world.chance())
            for run_id, words in decisions.items()
        }

    def _holding(self, rows: Rows) -> tuple[Workload, ...]:
        found: list[Workload] = []
        plans: dict[RunId, Plan] = {run_id: loaded.plan for run_id, loaded in self._loaded.items()}
        for attempt, run in runs.holding(rows, self._world.project):
            if run.id not in plans:
                plans[run.id] = runs.plan(rows, run.project, run.plan_digest)
            found.append(_workload(attempt, plans[run.id], run))
        return tuple(found)

    # apply

    def _commit(self, run_id: RunId, happened: Changes, placed: Changes, now: datetime) -> bool:
        """Write what was decided in one guarded transaction; tell whether anything was written.

        What happened is written also when there is no room any more for what was to follow: two runs that each wait
        for the room of the other's ended attempt would else wait for ever.
        """
        if not (happened or placed):
            return False
        loaded = self._loaded[run_id]
        try:
            with self._world.database.writing() as rows:
                changes = happened.then(placed) if self._has_room(rows, loaded, happened, placed) else happened
                if not changes:
                    return False
                run = runs.apply(rows, loaded.view.run, changes, now, self._world.owner)
        except Stale as stale:
            LOG.info("decision dropped as stale", extra={"run": run_id, "cause": str(stale)})
            del self._loaded[run_id]
            return False
        self._loaded[run_id] = replace(loaded, view=replace(applied(loaded.view, changes), run=run))
        return True

    def _has_room(self, rows: Rows, loaded: _Loaded, happened: Changes, placed: Changes) -> bool:
        """Hold the placements against what is committed by now: nobody else may have been given the room."""
        started = {i.attempt for i in placed.instructions if i.act is Act.START}
        if not started:
            return True
        ended = {a.id for a in happened.attempts if not a.state.holds_room}
        attempts = [a for a in placed.attempts if a.id in started]
        nodes = self._world.backend.nodes()
        snapshot = ClusterSnapshot(
            nodes,
            tuple(_workload(replace(a, devices=()), loaded.plan, loaded.view.run) for a in attempts),
            tuple(w for w in self._holding(rows) if w.attempt not in ended),
        )
        return not broken(snapshot, tuple(Placement(a.id, nodes[0].name, a.devices) for a in attempts))

    # act

    def _perform(self, run_id: RunId) -> None:
        """Carry out the open instructions of a run, in order; each may be carried out again after a crash."""
        if run_id not in self._loaded:
            return
        with self._world.database.reading() as rows:
            todo = journal.open_instructions(rows, run_id)
        done = [item.seq for item in todo if self._carry_out(run_id, item.instruction)]
        if done:
            with self._world.database.writing() as rows:
                journal.mark_done(rows, done, self._world.clock.now())

    def _carry_out(self, run_id: RunId, instruction: Instruction) -> bool:
        """Do one act; tell whether it is over, so that nobody has to do it again.

        A start that failed for good stays open until the attempt's end is written: a crash in between repeats it
        and finds the same end. A stop that failed is tried again: its attempt still holds its room.
        """
        loaded = self._loaded[run_id]
        attempt = next((a for a in loaded.view.attempts if a.id == instruction.attempt), None)
        if attempt is None:
            return False  # decided by another engine, which has taken the run over
        try:
            if instruction.act is Act.STOP and not attempt.state.is_final:
                self._world.backend.stop(attempt.id, instruction.why)
            elif attempt.state in {AttemptState.STARTING, AttemptState.RUNNING}:
                self._world.backend.start(build_job(loaded.plan, loaded.view, attempt.id, loaded.code))
        except BackendError as error:
            LOG.warning("act failed", extra={"attempt": attempt.id, "act": instruction.act, "error": str(error)})
            if instruction.act is Act.START and not error.transient:
                self._conclude(attempt, error.problem.message)
            return False
        except Exception as error:  # around a plugin anything may come; kept with its traceback
            LOG.exception("a backend broke", extra={"attempt": attempt.id, "act": instruction.act})
            if instruction.act is Act.START:
                detail = "".join(traceback.format_exception(error))
                self._conclude(attempt, f"{type(error).__name__}: {error}\n{detail}")
            return False
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
