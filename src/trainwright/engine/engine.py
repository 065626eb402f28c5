"""The control loop: claim, load, decide, apply, act. Any process may host one; leases make several harmless."""

import logging
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from trainwright.core.changes import Act, Changes, Instruction, applied
from trainwright.core.clock import Clock
from trainwright.core.errors import BackendError, Problem, TransientBackendError
from trainwright.core.ids import AttemptId, Digest, ProjectName, RunId, StepName
from trainwright.core.job import CodeTree
from trainwright.core.node import Node
from trainwright.core.run import Attempt, RunView
from trainwright.core.scalar import Plain
from trainwright.core.states import AttemptState, StepState
from trainwright.core.workload import Workload
from trainwright.engine.lists import read_list
from trainwright.engine.placing import place, run_of, still_fits, workload
from trainwright.lifecycle.advance import Happening, advance
from trainwright.lifecycle.job import build_job
from trainwright.lifecycle.turn import Chance
from trainwright.plan.plan import Plan
from trainwright.ports.backend import Backend, Ended
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
        read_value: returns what stored JSON holds; raises ``TrainwrightError`` when it is none.
        owner: names this engine in leases.
        owner_is_gone: tells whether the engine behind such a name is known to be dead.
    """

    database: Database
    backend: Backend
    clock: Clock
    read_value: Callable[[Digest], Plain]
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
        live: attempts that have not ended.
        rested: whether a turn of ours has brought the records to rest, so that only what happens can change them.
    """

    plan: Plan
    code: CodeTree
    view: RunView
    open: list[OpenInstruction]
    done: list[int]
    live: dict[AttemptId, Attempt] = field(default_factory=dict)
    rested: bool = False

    def with_changes(self, changes: Changes) -> list[Attempt]:
        """Return the attempts that have not ended once the changes are made."""
        later = {**self.live, **{a.id: a for a in changes.attempts}}
        return [a for a in later.values() if not a.state.is_final]


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
        self._late: list[Ended] = []  # ends that the engine itself concluded while acting
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
                happened[run_id] = self._decide(run_id, [h for h in late if run_of(h.attempt) == run_id], now)
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
        attempts = [a for held in self._held.values() for a in held.live.values()]
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
                return _Held(held.plan, held.code, view, todo, held.done, _live(view))
            code = runs.fingerprint(rows, view.run.project, view.run.fingerprint).code
            plan = runs.plan(rows, view.run.project, view.run.plan_digest)
        return _Held(plan, CodeTree(code.tree, code.folder), view, todo, [], _live(view))

    def _with_registry(self, held: _Held, something_happened: bool) -> RunView:  # noqa: FBT001 - private
        """Return the view with the registry's present baselines and next versions, when a decision may need them."""
        if held.view.next_versions and not something_happened:
            return held.view
        steps = held.plan.by_path.values()
        models = {s.baseline_model for s in steps if s.baseline_model}
        models |= {s.registration.model for s in steps if s.registration}
        if not models:
            return held.view
        project = self._world.project
        with self._world.database.reading() as rows:
            found = {name: registry.baseline(rows, project, name, "production") for name in sorted(models)}
            numbers = {name: registry.next_version(rows, project, name) for name in sorted(models)}
        baselines = {name: value for name, value in found.items() if value is not None}
        return replace(held.view, baselines=baselines, next_versions=numbers)

    # observe and decide

    def _decide(self, run_id: RunId, late: Iterable[Ended], now: datetime) -> Changes:
        """Return what follows for a run from what the backend says and what the engine concluded."""
        held = self._held[run_id]
        seen: list[Happening] = [*self._observe(held), *late]
        held.view = self._with_registry(held, bool(seen))
        chance = self._world.chance()
        changes = advance(held.plan, held.view, seen, now, chance, everything=not held.rested)
        waiting = changes.steps if held.rested else applied(held.view, changes).steps
        while lists := self._read_lists(held, [s.name for s in waiting if s.state is StepState.QUEUED], changes):
            more = advance(held.plan, applied(held.view, changes), lists, now, chance, everything=False)
            changes, waiting = changes.then(more), more.steps
        return changes

    def _read_lists(self, held: _Held, queued: list[StepName], changes: Changes) -> list[Happening]:
        """Return the lists of the groups among these steps, which wait for nothing else."""
        groups = [n for n in queued if (g := held.plan.step(n).group) is not None and g.over is not None]
        if not groups:
            return []
        view = applied(held.view, changes)
        return [read_list(held.plan, view, name, self._world.read_value) for name in groups]

    def _observe(self, held: _Held) -> Iterable[Happening]:
        for attempt in held.live.values():
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
        live = {run_id: self._held[run_id].with_changes(changes) for run_id, changes in happened.items()}
        if not any(a.state is AttemptState.QUEUED for attempts in live.values() for a in attempts):
            return {}
        views = {run_id: applied(self._held[run_id].view, changes) for run_id, changes in happened.items()}
        freed = {a.id for changes in happened.values() for a in changes.attempts if not a.state.holds_room}
        with self._world.database.reading() as rows:
            holding = [w for w in self._holding(rows) if w.attempt not in freed]
        self._nodes = self._world.backend.nodes()
        waiting = {run_id: (self._held[run_id].plan, views[run_id], live[run_id]) for run_id in happened}
        words, room_for_all = place(waiting, self._nodes, holding, now)
        placed = {
            run_id: advance(self._held[run_id].plan, views[run_id], said, now, self._world.chance(), everything=False)
            for run_id, said in words.items()
        }
        # members that their group let follow on those that were placed: there may be room for them too
        more = any(a.state is AttemptState.QUEUED for changes in placed.values() for a in changes.attempts)
        self._again = room_for_all and more
        return placed

    def _holding(self, rows: Rows) -> tuple[Workload, ...]:
        found: list[Workload] = []
        plans: dict[RunId, Plan] = {run_id: held.plan for run_id, held in self._held.items()}
        for attempt, run in runs.holding(rows, self._world.project):
            if run.id not in plans:
                plans[run.id] = runs.plan(rows, run.project, run.plan_digest)
            found.append(workload(attempt, plans[run.id], run))
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
                fits = still_fits(held.plan, held.view, happened, placed, self._nodes, lambda: self._holding(rows))
                changes = happened.then(placed) if fits else happened
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
        held.live = {a.id: a for a in held.with_changes(changes)}
        held.view = replace(applied(held.view, changes), run=run)
        held.rested = True
        return True

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
        attempt = held.view.attempts.get(instruction.attempt)
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


def _live(view: RunView) -> dict[AttemptId, Attempt]:
    return {a.id: a for a in view.attempts if not a.state.is_final}
