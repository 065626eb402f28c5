"""Watching over armed triggers: look, note what happened, start what is due."""

from datetime import datetime, timedelta

from trainwright.core.cron import check_zone
from trainwright.core.errors import Problem, TransientBackendError
from trainwright.core.occasion import NewVersion, Trigger, TriggerEvent, TriggerState
from trainwright.core.trigger import TriggerKind
from trainwright.lifecycle.triggers import Facts, Fire, Note, due, wakes_at
from trainwright.service.context import Context
from trainwright.service.firing import Outcome, ReadDocument, fire
from trainwright.store import triggers as store
from trainwright.store.database import Rows, Stale

MOST_AT_ONCE = 10
"""Runs that one look starts; the rest follow at the next look, so that a long backlog can be told of and left."""

REST = timedelta(seconds=10)
"""How long a trigger is left alone after the database or the store took nothing."""


class Watch:
    """One process's watch over a project; several are harmless, one is enough.

    Attributes:
        wakes_at: when time alone makes something due; None when only events can.
        trouble: why a run could not be started at the last look, though nothing is wrong with its pipeline; its events
            go on waiting.
    """

    def __init__(self, context: Context, read: ReadDocument) -> None:
        self._context = context
        self._read = read
        self._head = 0  # events of runs that were looked at, and had nothing for anybody
        self._resting: dict[str, datetime] = {}
        self.wakes_at: datetime | None = None
        self.trouble: Problem | None = None

    def look(self) -> list[Outcome]:
        """Note what happened since the last look, start what is due, and return what became of it.

        Starts at most ``MOST_AT_ONCE`` runs; ``wakes_at`` is now when more are due.

        Raises:
            TransientBackendError: the database takes nothing at present; nothing is lost.
        """
        now = self._context.clock.now()
        self.trouble = None
        with self._context.database.reading() as rows:
            armed = store.triggers(rows, self._context.project, TriggerState.ARMED)
            facts = self._facts(rows, armed)
        self.trouble = next((found for trigger in armed if (found := _without_zone(trigger))), None)
        decisions = due(armed, facts, now)
        notes = [d for d in decisions if isinstance(d, Note)]
        stale = {note.trigger.address for note in notes if not self._note(note)}
        if not stale:
            self._head = max(self._head, facts.head_seq)
        fires = [d for d in decisions if isinstance(d, Fire) and d.trigger.address not in stale]
        ready = [d for d in fires if not self._rests(d.trigger, now)]
        outcomes = [outcome for d in ready[:MOST_AT_ONCE] for outcome in self._fire(d, now)]
        self.wakes_at = now if notes or outcomes or len(ready) > MOST_AT_ONCE else wakes_at(armed, facts, now)
        return outcomes

    def _note(self, note: Note) -> bool:
        """Write an event down together with how far its trigger has got; tell whether nobody was faster."""
        trigger = note.trigger
        try:
            with self._context.database.writing() as rows:
                store.move_on(rows, trigger, note.since_at, note.since_seq, trigger.state)
                store.note(rows, trigger, note.events)
        except Stale:
            return False
        return True

    def _fire(self, decision: Fire, now: datetime) -> list[Outcome]:
        try:
            outcome = fire(self._context, self._read, decision.trigger, decision.events)
        except TransientBackendError as error:
            self._resting[decision.trigger.address] = now
            self.trouble = error.problem
            return []
        return [] if outcome is None else [outcome]

    def _rests(self, trigger: Trigger, now: datetime) -> bool:
        since = self._resting.get(trigger.address)
        return since is not None and abs(now - since) < REST

    def _facts(self, rows: Rows, armed: list[Trigger]) -> Facts:
        waiting: dict[str, tuple[TriggerEvent, ...]] = {}
        for event in store.waiting(rows, self._context.project):
            waiting[event.trigger] = (*waiting.get(event.trigger, ()), event)
        versions: dict[str, tuple[NewVersion, ...]] = {}
        for name, number in _farthest(armed).items():
            versions[name] = store.versions_after(rows, self._context.project, name, number)
        seqs = [t.since_seq for t in armed if t.spec.kind is TriggerKind.RUN]
        if not seqs:
            return Facts(waiting, versions)
        ended = store.ended_after(rows, self._context.project, max(self._head, min(seqs)))
        return Facts(waiting, versions, ended, store.head_seq(rows))


def _without_zone(trigger: Trigger) -> Problem | None:
    """Return a problem when the zone of a cron trigger has gone, as an update of the zones may have it."""
    try:
        if trigger.spec.kind is TriggerKind.CRON:
            check_zone(trigger.spec.timezone)
    except ValueError as error:
        remedy = f"mend timezone: in {trigger.file}, then: tw trigger add {trigger.file}"
        return Problem("TW1091", f"{error}, so {trigger.address} has no times", remedy=remedy)
    return None


def _farthest(armed: list[Trigger]) -> dict[str, int]:
    """Return for each dataset that is waited for the last version that all its triggers have dealt with."""
    found: dict[str, int] = {}
    for trigger in armed:
        if trigger.spec.kind is TriggerKind.DATASET:
            name = trigger.spec.subject.removeprefix("datasets/")
            found[name] = min(found.get(name, trigger.since_seq), trigger.since_seq)
    return found
