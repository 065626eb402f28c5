"""Scheduling rounds of an engine: what they see, what they say to its runs, and whether that still holds at the commit.

A round sees all that waits and holds room in the project, also in runs of other engines, and decides for all of it;
this engine carries out what concerns its own runs. A decision is held against what is committed by then, gang by gang.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from trainwright.core.changes import Changes, applied
from trainwright.core.decision import Claim, Decision, Eviction, Placement, Refusal, Resize, Round
from trainwright.core.ids import AttemptId, ProjectName, RunId
from trainwright.core.node import Node
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.records import Records
from trainwright.core.run import Attempt
from trainwright.core.snapshot import ClusterSnapshot, workloads_of
from trainwright.core.states import AttemptState
from trainwright.core.workload import Workload
from trainwright.engine.books import Books, Declared, Foreign
from trainwright.engine.held import Held
from trainwright.engine.learning import Learning
from trainwright.engine.memory import Memory
from trainwright.engine.occupancy import Occupancy, updated
from trainwright.engine.placing import Known, Setting, is_due, natural, run_of, workload
from trainwright.engine.usage import used_by, with_running
from trainwright.lifecycle.advance import advance
from trainwright.lifecycle.turn import Chance
from trainwright.plan.plan import Plan
from trainwright.ports.backend import Backend
from trainwright.sched import memory as sched_memory
from trainwright.sched.invariants import broken
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sched.room import occupied
from trainwright.sched.round import schedule
from trainwright.store import queues, runs
from trainwright.store.database import Database, Rows

LONGEST_REST = timedelta(seconds=10)
"""How long a round is left out in which nothing has changed; what time alone changes wakes it earlier."""

NODES_LAST = timedelta(seconds=2)
"""How late an engine notices that a node is gone while nothing waits."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What a round says to one run, and what follows."""

    words: tuple[Decision, ...] = ()
    changes: Changes = field(default_factory=Changes)


@dataclass(frozen=True, slots=True)
class _Turn:
    """The runs of an engine in one turn.

    Attributes:
        held: as committed.
        happened: what their attempts did since.
        live: attempts that have not ended after that.
    """

    held: Mapping[RunId, Held]
    happened: Mapping[RunId, Changes]
    live: dict[RunId, list[Attempt]]
    now: datetime


class Rounds:
    """Decides for one engine; keeps what is the same in the next round."""

    def __init__(
        self,
        database: Database,
        backend: Backend,
        project: ProjectName,
        chance: Callable[[], Chance],
        memory: Memory | None,
    ) -> None:
        self._database, self._backend, self._project = database, backend, project
        self._chance, self._memory = chance, memory
        self.nodes: tuple[Node, ...] = ()  # as they were seen last
        self.saved: dict[AttemptId, datetime] = {}  # when attempts last saved their work
        self.again = False  # whether the next turn has something to decide at once
        self.wake_at: datetime | None = None  # when time alone may change something
        self._looked_at: datetime | None = None
        self._books, self._known, self._occupancy = Books(project), Known(), Occupancy()
        self._learning = Learning(project, self._books)
        self._ended: list[Attempt] = []  # with the commit that is under way
        self._memory_of_rounds = sched_memory.Memory()
        self._declared = Declared()
        self._pending: Records[AttemptId, Workload] = Records()
        self._holding: Records[AttemptId, Workload] = Records()
        self._current: tuple[int, int] | None = None  # stamp of what the last round saw and what we wrote since
        self._epoch = 0
        self._rest: tuple[object, ...] | None = None
        self._freeing: set[RunId] = set()  # runs whose room was given to others, and that is not committed yet

    def look(self, now: datetime, *, at_once: bool = False) -> None:
        """Ask the backend for its nodes, unless they were seen a moment ago."""
        if at_once or self._looked_at is None or now - self._looked_at >= NODES_LAST:
            before = {node.name: node for node in self.nodes}
            found = tuple(before[n.name] if before.get(n.name) == n else n for n in self._backend.nodes())
            same = len(found) == len(self.nodes) and all(a is b for a, b in zip(found, self.nodes, strict=True))
            self.nodes = self.nodes if same else found
            self._looked_at = now

    def lost_node(self, attempt: Attempt) -> str | None:
        """Return a node that an attempt is on and that is gone; None when all are there, or nothing can be told."""
        names = {node.name for node in self.nodes}
        return next((p.node for p in attempt.places if names and p.node and p.node not in names), None)

    def decide(
        self, held: Mapping[RunId, Held], happened: Mapping[RunId, Changes], heads: Iterable[runs.Head], now: datetime
    ) -> dict[RunId, Decided]:
        """Return what a round says to the runs in ``happened``, on top of that; to nobody when nothing has changed.

        Args:
            held: our runs, as committed.
            happened: what their attempts did since.
            heads: all unfinished runs of the project.
            now: the present instant.
        """
        self.again, self._freeing = False, set()
        turn = _Turn(held, happened, {r: held[r].with_changes(c) for r, c in happened.items()}, now)
        if not any(_asks(held[run_id].ground.plan, attempts) for run_id, attempts in turn.live.items()):
            self.wake_at, self._rest = None, None
            return {}
        self.look(now, at_once=True)
        stamp = self._database.stamp()  # before the reading: what is written in between shows at the commit
        self._epoch += stamp != self._current
        self._current = stamp
        rest = (stamp, self.nodes, tuple(happened))
        resting = self._rest is not None and all(a is b or a == b for a, b in zip(rest, self._rest, strict=True))
        if resting and not any(happened.values()) and (self.wake_at is None or now < self.wake_at):
            return {}
        decided = self._round(turn, heads)
        self._freeing = {r for r, c in happened.items() if any(not a.state.holds_room for a in c.attempts)}
        self._rest = None if any(d.changes for d in decided.values()) else rest
        return decided

    def _round(self, turn: _Turn, heads: Iterable[runs.Head]) -> dict[RunId, Decided]:
        with self._database.reading() as rows:
            self._declared = self._books.declared(rows, self._epoch)
            foreign = self._books.foreign(rows, heads, turn.happened)
            half_life_s = DEFAULT_POLICY.ordering.half_life_s
            used, spent = self._books.used(rows, turn.now, half_life_s), self._books.spent(rows, turn.now)
        for run_id, changes in turn.happened.items():
            ended = [a for a in changes.attempts if a.state.is_final and a.places]
            self._learning.note_early(ended, turn.held[run_id].ground.plan, turn.held[run_id].view.run)
        self._known.begin(self._setting())
        self._holding = updated(self._holding, self._holders(turn, foreign))
        words = self._hold_back(turn, foreign)
        self._pending = updated(self._pending, self._waiters(turn, foreign, words))
        self._known.keep([*self._holding.keys(), *self._pending.keys()])
        snapshot = ClusterSnapshot(
            nodes=self._occupancy.update(self.nodes, self._holding),
            pending=self._pending,
            holding=self._holding,
            queues=self._declared.queues,
            cohorts=self._declared.cohorts,
            pools=self._declared.pools,
            used=used,
            history=self._learning.history,
            spent=with_running(spent, self._holding, self.nodes, self._declared, turn.now),
        )
        said = schedule(snapshot, DEFAULT_POLICY, turn.now, self._memory_of_rounds)
        if said.waiting and self._has_learnt():  # from now on somebody waits, and who ran how long matters
            snapshot = replace(snapshot, history=self._learning.history)
            said = schedule(snapshot, DEFAULT_POLICY, turn.now, self._memory_of_rounds)
        self.wake_at = min(filter(None, (said.wake_at, turn.now + LONGEST_REST, _next_due(turn))))
        for word in _words(said, turn, self._pending):
            words.setdefault(run_of(word.attempt), []).append(word)
        decided = {run_id: self._follow(turn, run_id, tuple(told)) for run_id, told in words.items()}
        # members that their group let follow on those that were placed: there may be room for them too
        begun = (a for told in decided.values() for a in told.changes.attempts if a.state is AttemptState.QUEUED)
        self.again |= not said.waiting and any(begun)
        return decided

    def _has_learnt(self) -> bool:
        with self._database.reading() as rows:
            return self._learning.begin(rows)

    def _setting(self) -> Setting:
        first = self.nodes[0].name if self.nodes else ""
        return Setting(first, self._declared.priorities, self._declared.words)

    def _holders(self, turn: _Turn, foreign: Iterable[Foreign]) -> dict[AttemptId, Workload]:
        found: dict[AttemptId, Workload] = {}
        for run_id, attempts in turn.live.items():
            plan, run = turn.held[run_id].ground.plan, turn.held[run_id].view.run
            for a in attempts:
                if a.state.holds_room:
                    found[a.id] = self._known.workload(a, plan, run, self.saved.get(a.id))
        for other in foreign:
            for a in other.attempts:
                if a.state.holds_room:
                    found[a.id] = self._known.workload(a, other.plan, other.run, self.saved.get(a.id))
        self.saved = {name: at for name, at in self.saved.items() if name in found}
        return found

    def _hold_back(self, turn: _Turn, foreign: Iterable[Foreign]) -> dict[RunId, list[Decision]]:
        """Take out of the turn what memory answers later; return the word on it."""
        if self._memory is None:
            return {}
        committed = [a for held in turn.held.values() for a in held.live.values() if a.state.holds_room]
        committed += [a for other in foreign for a in other.attempts if a.state.holds_room]
        words = self._memory.hold_back(turn.live, committed, turn.now)
        ended = any(not a.state.holds_room for changes in turn.happened.values() for a in changes.attempts)
        self.again |= bool(ended and any(words.values()))  # what they wait for may have ended this very turn
        return words

    def _waiters(
        self, turn: _Turn, foreign: Iterable[Foreign], words: dict[RunId, list[Decision]]
    ) -> dict[AttemptId, Workload]:
        """Return what the round decides about; who waits for a turn of its own run is told so."""
        found: dict[AttemptId, Workload] = {}
        for run_id, attempts in turn.live.items():
            plan, run = turn.held[run_id].ground.plan, turn.held[run_id].view.run
            queued = [a for a in attempts if is_due(a, turn.now)]
            queued.sort(key=lambda a: (plan.position(a.step), a.queued_at, natural(a.step)))
            limit = len(queued)
            if plan.parallel:
                limit = max(0, plan.parallel - sum(a.state.holds_room for a in attempts))
            for a in queued[:limit]:
                found[a.id] = self._known.workload(a, plan, run)
            reason = Reason(ReasonCode.WAITING_FOR_TURN, {"limit": plan.parallel})
            late = [Refusal(a.id, reason) for a in queued[limit:] if not _said(a.reason, reason)]
            if late:
                words.setdefault(run_id, []).extend(late)
        for other in foreign:
            for a in other.attempts:
                if is_due(a, turn.now) and _is_for_scheduler(a):
                    found[a.id] = self._known.workload(a, other.plan, other.run)
        return found

    def _follow(self, turn: _Turn, run_id: RunId, words: tuple[Decision, ...]) -> Decided:
        held = turn.held[run_id]
        view = applied(held.view, turn.happened[run_id])
        changes = advance(held.ground.plan, view, words, turn.now, self._chance(), everything=False)
        return Decided(words, changes)

    # the commit

    def in_order(self, decided: Mapping[RunId, Decided], happened: Collection[RunId]) -> list[RunId]:
        """Return our runs in the order of their commits: who frees room, who claims it, and then the others.

        A claim is written before those leave who make the room for it: an engine that dies in between loses nothing.
        """

        def rank(run_id: RunId) -> tuple[bool, bool]:
            words = decided[run_id].words if run_id in decided else ()
            return run_id not in self._freeing, not any(isinstance(word, Claim) for word in words)

        return sorted(happened, key=rank)

    def confirmed(self, rows: Rows, held: Held, happened: Changes, decided: Decided, now: datetime) -> Changes:
        """Return what of a round's word may be written, held against what is committed by now."""
        if not decided.words:
            return Changes()
        starts = {word.attempt for word in decided.words if isinstance(word, Placement)}
        dropped = {a.id for a in decided.changes.attempts if a.id in starts and not self._is_first(rows, a)}
        self.again |= bool(dropped)
        if self._database.stamp() != self._current or self._freeing - {held.view.run.id}:
            dropped |= self._stale(rows, held, happened, decided)
        if not dropped:
            return decided.changes
        kept = [word for word in decided.words if word.attempt not in dropped]
        view = applied(held.view, happened)
        return advance(held.ground.plan, view, kept, now, self._chance(), everything=False) if kept else Changes()

    def account(self, rows: Rows, held: Held, changes: Changes, now: datetime) -> None:
        """Write what the attempts had used that have ended with these changes."""
        ended = [a for a in changes.attempts if a.state.is_final and a.places and a.id in held.live]
        self._ended = ended
        if ended:
            self.look(now)
            used = used_by(ended, held.ground.plan, self.nodes, self._declared.pools)
            queues.add_used(rows, self._project, used, now, DEFAULT_POLICY.ordering.half_life_s)

    def wrote(self, held: Held, before: tuple[int, int], after: tuple[int, int]) -> None:
        """Take notice of a commit of ours: it makes the round's sight of the world no older."""
        self._freeing.discard(held.view.run.id)
        self._learning.note(self._ended, held.ground.plan, held.view.run)
        if before == self._current:
            self._current = after

    def _is_first(self, rows: Rows, attempt: Attempt) -> bool:
        """Tell whether nobody else makes the same by now, nor has made it."""
        return self._memory is None or self._memory.lets_start(rows, [attempt])

    def _stale(self, rows: Rows, held: Held, happened: Changes, decided: Decided) -> set[AttemptId]:
        """Return the attempts about which the round decided on what is not so any more."""
        view, ended = applied(held.view, happened), {a.id for a in happened.attempts if not a.state.holds_room}
        placements = [word for word in decided.words if isinstance(word, Placement)]
        setting = self._setting()
        asked = (view.attempts[word.attempt] for word in placements)
        pending = workloads_of(*(workload(a, held.ground.plan, view.run, setting) for a in asked))
        pairs = [(a, run) for a, run in runs.holding(rows, self._project) if a.id not in ended]
        holding = workloads_of(
            *(workload(a, held.ground.plan if run.id == view.run.id else self._books.plan(rows, run), run, setting)
              for a, run in pairs)
        )  # fmt: skip
        snapshot = ClusterSnapshot(
            occupied(self.nodes, holding), pending, holding, self._declared.queues, self._declared.cohorts
        )
        stale = {placement.attempt for placement in broken(snapshot, placements)}
        claimed = runs.claims(rows, self._project)
        if any(self._claim_seen(name) != places for name, places in claimed.items()):
            stale |= {placement.attempt for placement in placements}  # somebody holds room that the round took for free
        evictions = [word for word in decided.words if isinstance(word, Eviction) and word.beneficiary]
        waiting = {e.beneficiary: runs.state_of(rows, e.beneficiary) for e in evictions}
        return stale | {e.attempt for e in evictions if waiting[e.beneficiary] is not AttemptState.QUEUED}

    def _claim_seen(self, attempt: AttemptId) -> tuple[object, ...]:
        known = self._pending.get(attempt)
        return () if known is None else known.standing.claim


def _asks(plan: Plan, attempts: Iterable[Attempt]) -> bool:
    """Tell whether a round may have something to say to a run."""
    elastic = any(gang.least < gang.count for gang in plan.gangs.values())
    return any(a.state is AttemptState.QUEUED or (elastic and a.state is AttemptState.RUNNING) for a in attempts)


def _words(said: Round, turn: _Turn, pending: Records[AttemptId, Workload]) -> Iterable[Decision]:
    """Yield what a round says that is new to our runs."""
    own = {a.id: a for attempts in turn.live.values() for a in attempts}
    yield from (placement for placement in said.placements if placement.attempt in own)
    for attempt, why in said.waiting.items():
        # numbers and names change with every attempt that ends, and are looked up when asked for
        if attempt in own and not _said(own[attempt].reason, why):
            yield Refusal(attempt, why)
    claims = {claim.attempt: claim for claim in said.claims}
    for waiting in pending:
        claim = claims.get(waiting.attempt, Claim(waiting.attempt, ()))
        if waiting.attempt in own and claim.places != waiting.standing.claim and waiting.attempt in said.waiting:
            yield claim
    leaving: Iterable[Eviction | Resize] = (*said.evictions, *said.resizes)
    yield from (told for told in leaving if told.attempt in own)


def _next_due(turn: _Turn) -> datetime | None:
    due = (a.not_before for attempts in turn.live.values() for a in attempts if a.not_before is not None)
    return min((at for at in due if at > turn.now), default=None)


def _said(before: Reason | None, reason: Reason) -> bool:
    return before is not None and before.code is reason.code


def _is_for_scheduler(attempt: Attempt) -> bool:
    """Tell whether another engine's attempt waits for room, and not for something of its own."""
    code = None if attempt.reason is None else attempt.reason.code
    return code not in {ReasonCode.WAITING_FOR_EQUAL, ReasonCode.WAITING_FOR_TURN, ReasonCode.VERIFYING}
