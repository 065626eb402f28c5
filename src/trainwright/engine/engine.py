"""The control loop: claim, load, decide, apply, act. Any process may host one; leases make several harmless."""

import logging
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from trainwright.core.changes import Act, Changes, Instruction, applied
from trainwright.core.clock import Clock
from trainwright.core.errors import BackendError, Problem, TransientBackendError
from trainwright.core.ids import ProjectName, RunId
from trainwright.core.job import CodeTree
from trainwright.core.node import Node
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
from trainwright.store.journal import OpenInstruction

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


@dataclass(slots=True)
class _Held:
    """One run that is ours, as the last turn left it.

    Attributes:
        open: instructions still to be carried out, in order.
        done: carried out, to be marked by the next commit: a crash before it carries them out again.
    """

    plan: Plan
    code: CodeTree
    view: RunView
    open: list[OpenInstruction]
    done: list[int]


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why no turn succeeds at present, and since when."""

    problem: Problem
    since: datetime


class Engine:
    """Turns the loop for one project."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._held: dict[RunId, _Held] = {}
        self._late: list[Happening] = []  # ends that the engine itself concluded while acting
        self._nodes: tuple[Node, ...] = ()  # as the last scheduling round saw them
        self.trouble: Trouble | None = None
        self._again = False  # whether the next turn has something to do at once

    def turn(self) -> bool:
        """Go once around; tell whether anything changed.

        A run whose turn fails is left to a later turn; the others go on. When the database takes nothing at all (a full
        disk, a lock that is held too long), nothing is lost and ``trouble`` says so until a turn succeeds again.
        """
        try:
            changed = self._turn()
        except TransientBackendError as error:
            LOG.warning("a turn failed: %s", error.problem.message)
            self.trouble = self.trouble or Trouble(error.problem, self._world.clock.now())
            return False
        self.trouble = None
        return changed

    def _turn(self) -> bool:
        now = self._world.clock.now()
        claimed = self._claim(now)
        late, self._late = self._late, []
        self._again = False
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
        self._again = self._again or bool(self._late)
        return changed or bool(self._late)

    def wait(self, seconds: float = LONGEST_WAIT_S) -> None:
        """Return when an attempt may have ended, a repetition is due, or after ``seconds``.

        Returns at once after a turn that left something to do.
        """
        if self._again:
            return
        now = self._world.clock.now()
        attempts = [a for held in self._held.values() for a in held.view.attempts if not a.state.is_final]
        live = [a.id for a in attempts if a.state.holds_room]
        due = [
            (a.not_before - now).total_seconds() for a in attempts if a.not_before is not None and a.not_before > now
        ]
        limit = max(0.0, min([seconds, *due]))
        if live:
            self._world.backend.wait(live, limit)
        else:
            self._world.clock.sleep(limit)

    def view(self, run_id: RunId) -> RunView:
        """Return the records of a run: those of the last turn when it is ours, else as they are in the store."""
        held = self._held.get(run_id)
        if held is not None:
            return held.view
        with self._world.database.reading() as rows:
            return runs.view(rows, run_id)

    def has_work(self) -> bool:
        """Tell whether the project has an unfinished run, whoever holds it, or whether that cannot be told."""
        try:
            with self._world.database.reading() as rows:
                return bool(runs.unfinished(rows, self._world.project))
        except TransientBackendError:
            return True

    @contextmanager
    def _apart(self, run_id: RunId) -> Iterator[None]:
        """Let a run whose turn fails hold up no other: it is noted, and loaded anew by a later turn."""
        try:
            yield
        except BackendError as error:
            LOG.warning("the turn of a run failed: %s", error.problem.message, extra={"run": run_id})
            self._held.pop(run_id, None)
        except Exception:
            LOG.exception("the turn of a run failed", extra={"run": run_id})
            self._held.pop(run_id, None)

    # claim and load

    def _claim(self, now: datetime) -> list[RunId]:
        """Return the unfinished runs that are ours, oldest first; take those whose holder is gone."""
        world = self._world
        with world.database.reading() as rows:
            heads = runs.unfinished(rows, world.project)
        mine = [head for head in heads if self._holds(head, now) or self._takes(head, now)]
        before, self._held = self._held, {}
        for head in mine:
            with self._apart(head.run):
                self._held[head.run] = self._load(head, before.get(head.run))
        return list(self._held)

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

    def _load(self, head: runs.Head, held: _Held | None) -> _Held:
        """Return a run's records; the last turn's when nobody wrote since."""
        if held is not None and held.view.run.revision == head.revision:
            return held
        with self._world.database.reading() as rows:
            view = runs.view(rows, head.run)
            todo = journal.open_instructions(rows, head.run)
            if held is not None:
                todo = [item for item in todo if item.seq not in held.done]
                return _Held(held.plan, held.code, view, todo, held.done)
            code = runs.fingerprint(rows, view.run.project, view.run.fingerprint).code
            plan = runs.plan(rows, view.run.project, view.run.plan_digest)
        return _Held(plan, CodeTree(code.tree, code.folder), view, todo, [])

    def _with_registry(self, held: _Held, something_happened: bool) -> RunView:  # noqa: FBT001 - private
        """Return the view with the registry's present baselines and next versions, when a decision may need them."""
        if held.view.next_versions and not something_happened:
            return held.view
        models = {s.baseline_model for s in held.plan.steps if s.baseline_model}
        models |= {s.registration.model for s in held.plan.steps if s.registration}
        if not models:
            return held.view
        project = self._world.project
        with self._world.database.reading() as rows:
            found = {name: registry.baseline(rows, project, name, "production") for name in sorted(models)}
            numbers = {name: registry.next_version(rows, project, name) for name in sorted(models)}
        baselines = {name: value for name, value in found.items() if value is not None}
        return replace(held.view, baselines=baselines, next_versions=numbers)

    # observe and decide

    def _decide(self, run_id: RunId, late: Iterable[Happening], now: datetime) -> Changes:
        """Return what follows for a run from what the backend says and what the engine concluded."""
        held = self._held[run_id]
        seen = [*self._observe(held), *late]
        held.view = self._with_registry(held, bool(seen))
        return advance(held.plan, held.view, seen, now, self._world.chance())

    def _observe(self, held: _Held) -> Iterable[Happening]:
        for attempt in held.view.attempts:
            if not attempt.state.holds_room:
                continue
            seen = self._world.backend.observe(attempt.id) or self._unheard(held, attempt)
            if seen is not None and (isinstance(seen, Ended) or attempt.state is not AttemptState.RUNNING):
                yield seen

    def _unheard(self, held: _Held, attempt: Attempt) -> Ended | None:
        """Conclude what it means that the backend has never heard of an attempt."""
        if any(item.instruction.attempt == attempt.id for item in held.open):
            return None  # the instruction that starts or stops it is still to be carried out
        cause = "stopped" if attempt.state is AttemptState.STOPPING else "lost"
        return Ended(attempt.id, attempt.token, cause, self._world.clock.now())

    def _place(self, happened: dict[RunId, Changes], now: datetime) -> dict[RunId, Changes]:
        """Return what the scheduler's word on every attempt that waits for room changes, on top of ``happened``."""
        views = {run_id: applied(self._held[run_id].view, changes) for run_id, changes in happened.items()}
        pending = [
            _workload(attempt, self._held[run_id].plan, view.run)
            for run_id, view in views.items()
            for attempt in view.attempts
            if attempt.state is AttemptState.QUEUED and (attempt.not_before is None or attempt.not_before <= now)
        ]
        if not pending:
            return {}
        freed = {a.id for view in views.values() for a in view.attempts if not a.state.holds_room}
        with self._world.database.reading() as rows:
            holding = self._holding(rows)
        self._nodes = self._world.backend.nodes()
        snapshot = ClusterSnapshot(self._nodes, tuple(pending), tuple(w for w in holding if w.attempt not in freed))
        words: dict[RunId, list[Decision]] = {}
        for decision in schedule(snapshot):
            words.setdefault(_run_of(decision), []).append(decision)
        return {
            run_id: advance(self._held[run_id].plan, views[run_id], decisions, now, self._world.chance())
            for run_id, decisions in words.items()
        }

    def _holding(self, rows: Rows) -> tuple[Workload, ...]:
        found: list[Workload] = []
        plans: dict[RunId, Plan] = {run_id: held.plan for run_id, held in self._held.items()}
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
        held = self._held[run_id]
        if not (happened or placed or held.done):
            return False
        try:
            with self._world.database.writing() as rows:
                changes = happened.then(placed) if self._has_room(rows, held, happened, placed) else happened
                journal.mark_done(rows, held.done, now)
                written = runs.apply(rows, held.view.run, changes, now, self._world.owner) if changes else None
        except Stale as stale:
            LOG.info("decision dropped as stale", extra={"run": run_id, "cause": str(stale)})
            del self._held[run_id]
            self._again = True
            return False
        held.done = []
        if written is None:
            return False
        run, opened = written
        held.open += opened
        held.view = replace(applied(held.view, changes), run=run)
        return True

    def _has_room(self, rows: Rows, held: _Held, happened: Changes, placed: Changes) -> bool:
        """Hold the placements against what is committed by now: nobody else may have been given the room."""
        started = {i.attempt for i in placed.instructions if i.act is Act.START}
        if not started:
            return True
        ended = {a.id for a in happened.attempts if not a.state.holds_room}
        attempts = [a for a in placed.attempts if a.id in started]
        snapshot = ClusterSnapshot(
            self._nodes,
            tuple(_workload(replace(a, devices=()), held.plan, held.view.run) for a in attempts),
            tuple(w for w in self._holding(rows) if w.attempt not in ended),
        )
        return not broken(snapshot, tuple(Placement(a.id, self._nodes[0].name, a.devices) for a in attempts))

    # act

    def _perform(self, run_id: RunId) -> None:
        """Carry out the open instructions of a run, in order; each may be carried out again after a crash."""
        held = self._held.get(run_id)
        if held is None or not held.open:
            return
        for item in list(held.open):
            if self._carry_out(held, item.instruction):
                held.open.remove(item)
                held.done.append(item.seq)

    def _carry_out(self, held: _Held, instruction: Instruction) -> bool:
        """Do one act; tell whether it is over, so that nobody has to do it again.

        A start that failed for good stays open until the attempt's end is written: a crash in between repeats it
        and finds the same end. A stop that failed is tried again: its attempt still holds its room.
        """
        attempt = next((a for a in reversed(held.view.attempts) if a.id == instruction.attempt), None)
        if attempt is None:
            return False  # decided by another engine, which has taken the run over
        try:
            if instruction.act is Act.STOP and not attempt.state.is_final:
                self._world.backend.stop(attempt.id, instruction.why)
            elif attempt.state in {AttemptState.STARTING, AttemptState.RUNNING}:
                self._world.backend.start(build_job(held.plan, held.view, attempt, held.code))
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


def _workload(attempt: Attempt, plan: Plan, run: Run) -> Workload:
    step = plan.step(attempt.step)
    return Workload(
        attempt=attempt.id,
        label=f"{run.pipeline}#{run.number}/{attempt.step}",
        asked=step.resources,
        run_number=run.number,
        position=plan.positions[attempt.step],
        queued_at=attempt.queued_at,
        devices=attempt.devices,
    )


def _run_of(happening: Happening) -> RunId:
    return RunId(happening.attempt.split("/", 1)[0])
