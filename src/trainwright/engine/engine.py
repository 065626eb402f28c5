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
from trainwright.core.ids import Digest, ProjectName, RunId, StepName
from trainwright.core.job import CodeTree
from trainwright.core.run import Attempt, RunView
from trainwright.core.scalar import Plain
from trainwright.core.states import AttemptState, StepState
from trainwright.engine.held import Held, live_of
from trainwright.engine.lists import read_list
from trainwright.engine.memory import Ground, Memory
from trainwright.engine.placing import run_of
from trainwright.engine.production import with_registry
from trainwright.engine.rounds import Decided, Rounds
from trainwright.engine.unfinished import Unfinished
from trainwright.lifecycle.advance import Happening, advance
from trainwright.lifecycle.job import build_job, grace_s
from trainwright.lifecycle.reuse import Reused
from trainwright.lifecycle.turn import Chance
from trainwright.plan.cachekey import environment_parts
from trainwright.ports.backend import Backend, Ended, Running
from trainwright.store import journal, runs
from trainwright.store.database import Database, Stale

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
        memory: answers attempts with what was made before; None = every attempt runs.
    """

    database: Database
    backend: Backend
    clock: Clock
    read_value: Callable[[Digest], Plain]
    chance: Callable[[], Chance]
    project: ProjectName
    owner: str
    owner_is_gone: Callable[[str], bool]
    memory: Memory | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why no turn succeeds at present, and since when."""

    problem: Problem
    since: datetime


class Engine:
    """Turns the loop for one project."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._held: dict[RunId, Held] = {}
        self._late: list[Ended] = []  # ends that the engine itself concluded while acting
        self._rounds = Rounds(world.database, world.backend, world.project, world.chance, world.memory)
        self._unfinished = Unfinished(world.database, world.project)
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
        decided = self._rounds.decide(self._held, happened, self._unfinished.heads(), now)
        changed = False
        for run_id in self._rounds.in_order(decided, happened):
            with self._apart(run_id):
                changed |= self._commit(run_id, happened[run_id], decided.get(run_id, Decided()), now)
        for run_id in claimed:
            with self._apart(run_id):
                self._perform(run_id)
        self._again = self._again or self._rounds.again or bool(self._late)
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
        if self._rounds.wake_at is not None:
            due.append((self._rounds.wake_at - now).total_seconds())
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
            return bool(self._unfinished.heads())
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
        mine = [head for head in self._unfinished.heads() if self._holds(head, now) or self._takes(head, now)]
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

    def _load(self, head: runs.Head, held: Held | None) -> Held:
        """Return a run's records; the last turn's when nobody wrote since."""
        if held is not None and held.view.run.revision == head.revision:
            return held
        with self._world.database.reading() as rows:
            view = runs.view(rows, head.run)
            todo = journal.open_instructions(rows, head.run)
            if held is not None:
                todo = [item for item in todo if item.seq not in held.done]
                return Held(held.ground, view, todo, held.done, live_of(view))
            known = runs.fingerprint(rows, view.run.project, view.run.fingerprint)
            plan = runs.plan(rows, view.run.project, view.run.plan_digest)
        code = CodeTree(known.code.tree, known.code.folder)
        return Held(Ground(plan, code, environment_parts(known.environment)), view, todo, [], live_of(view))

    def _with_registry(self, held: Held, something_happened: bool) -> RunView:  # noqa: FBT001 - private
        """Return the view with what the registry says now, when a decision may need it."""
        if not held.ground.plan.models or (held.view.next_versions and not something_happened):
            return held.view
        with self._world.database.reading() as rows:
            return with_registry(rows, self._world.project, held.ground.plan, held.view)

    # observe and decide

    def _decide(self, run_id: RunId, late: Iterable[Ended], now: datetime) -> Changes:
        """Return what follows for a run from what the backend says and what the engine concluded."""
        held = self._held[run_id]
        seen: list[Happening] = [*self._observe(held), *late]
        held.view = self._with_registry(held, bool(seen))
        chance = self._world.chance()
        changes = advance(held.ground.plan, held.view, seen, now, chance, everything=not held.rested)
        waiting = changes.steps if held.rested else applied(held.view, changes).steps
        while told := [
            *self._read_lists(held, [s.name for s in waiting if s.state is StepState.QUEUED], changes),
            *self._remembered(held, changes, now),
        ]:
            more = advance(held.ground.plan, applied(held.view, changes), told, now, chance, everything=False)
            changes, waiting = changes.then(more), more.steps
        memory = self._world.memory
        return replace(changes, entries=memory.entries(held.ground, held.view, changes, now)) if memory else changes

    def _remembered(self, held: Held, changes: Changes, now: datetime) -> list[Happening]:
        """Return what was made before and answers attempts that are queued."""
        queued = [a for a in held.with_changes(changes) if a.state is AttemptState.QUEUED]
        if self._world.memory is None or not queued:
            return []
        found = self._world.memory.answers(held.ground, applied(held.view, changes), queued, now)
        if any(isinstance(answer, Reused) for answer in found):  # its checks are judged by what is in production now
            held.view = self._with_registry(held, something_happened=True)
        return [*found]

    def _read_lists(self, held: Held, queued: list[StepName], changes: Changes) -> list[Happening]:
        """Return the lists of the groups among these steps, which wait for nothing else."""
        groups = [n for n in queued if (g := held.ground.plan.step(n).group) is not None and g.over is not None]
        if not groups:
            return []
        view = applied(held.view, changes)
        return [read_list(held.ground.plan, view, name, self._world.read_value) for name in groups]

    def _observe(self, held: Held) -> Iterable[Happening]:
        for attempt in held.live.values():
            if not attempt.state.holds_room:
                continue
            seen = self._world.backend.observe(attempt.id)
            if isinstance(seen, Running) and seen.saved_at is not None:
                self._rounds.saved[attempt.id] = seen.saved_at
            if not isinstance(seen, Ended):
                seen = self._node_lost(attempt) or seen or self._unheard(held, attempt)
            if seen is not None and (isinstance(seen, Ended) or attempt.state is not AttemptState.RUNNING):
                yield seen

    def _unheard(self, held: Held, attempt: Attempt) -> Ended | None:
        """Conclude what it means that the backend has never heard of an attempt."""
        if any(item.instruction.attempt == attempt.id for item in held.open):
            return None  # the instruction that starts or stops it is still to be carried out
        cause = "stopped" if attempt.state in {AttemptState.STOPPING, AttemptState.PREEMPTING} else "lost"
        return Ended(attempt.id, attempt.token, cause, self._world.clock.now())

    def _node_lost(self, attempt: Attempt) -> Ended | None:
        """Conclude what it means that a node of an attempt is there no more."""
        now = self._world.clock.now()
        self._rounds.look(now)
        node = self._rounds.lost_node(attempt)
        return None if node is None else Ended(attempt.id, attempt.token, "node-lost", now, message=node)

    # apply

    def _commit(self, run_id: RunId, happened: Changes, decided: Decided, now: datetime) -> bool:
        """Write what was decided in one guarded transaction; tell whether anything was written.

        What happened is written also when there is no room any more for what was to follow: two runs that each wait
        for the room of the other's ended attempt would else wait for ever.
        """
        held = self._held[run_id]
        if not (happened or decided.changes or held.done):
            return False
        database = self._world.database
        try:
            with database.writing() as rows:
                before = database.stamp()
                changes = happened.then(self._rounds.confirmed(rows, held, happened, decided, now))
                journal.mark_done(rows, held.done, now)
                written = runs.apply(rows, held.view.run, changes, now, self._world.owner) if changes else None
                self._rounds.account(rows, held, changes, now)
                after = database.stamp()
        except Stale as stale:
            LOG.info("decision dropped as stale", extra={"run": run_id, "cause": str(stale)})
            del self._held[run_id]
            self._again = True
            return False
        self._rounds.wrote(held, before, after)
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

    def _carry_out(self, held: Held, instruction: Instruction) -> bool:
        """Do one act; tell whether it is over, so that nobody has to do it again.

        A start that failed for good stays open until the attempt's end is written: a crash in between repeats it
        and finds the same end. A stop that failed is tried again: its attempt still holds its room.
        """
        attempt = held.view.attempts.get(instruction.attempt)
        if attempt is None:
            return False  # decided by another engine, which has taken the run over
        try:
            if instruction.act is Act.STOP and (not attempt.state.is_final or attempt.state is AttemptState.LOST):
                self._world.backend.stop(attempt.id, instruction.why)
            elif instruction.act is Act.PREEMPT and attempt.state is AttemptState.PREEMPTING:
                self._preempt(attempt, instruction.why, grace_s(held.ground.plan, attempt))
            elif attempt.state in {AttemptState.STARTING, AttemptState.RUNNING}:
                self._world.backend.start(build_job(held.ground.plan, held.view, attempt, held.ground.code))
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

    def _preempt(self, attempt: Attempt, why: str, seconds: float) -> None:
        """Give notice, where the backend can; elsewhere the attempt is told to end."""
        give_notice = getattr(self._world.backend, "preempt", None)
        if give_notice is None:
            self._world.backend.stop(attempt.id, why)
        else:
            give_notice(attempt.id, why, seconds)

    def _conclude(self, attempt: Attempt, message: str) -> None:
        now = self._world.clock.now()
        self._late.append(Ended(attempt.id, attempt.token, "not-started", now, message=message))
