"""What follows from what happened for triggers: which occasions are noted, and which runs are started now.

Pure: the same triggers, facts and instant give the same decisions. An occasion has an id that the store takes once, so
a decision that is made twice (a clock set back, a crash, two watchers) starts nothing twice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from trainwright.core.cron import latest_times, next_times
from trainwright.core.occasion import EndedRun, EventState, NewVersion, Trigger, TriggerEvent
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.trigger import TriggerKind

ON_TIME = timedelta(minutes=5)
"""A time of cron that is taken later than this was missed."""

MOST_DEBOUNCES = 10
"""A run starts after so many debounces at the latest, however often something happens."""

MOST_LINKS = 8
"""Runs in a row that may start one another."""

SET_BACK = timedelta(minutes=1)
"""A clock that stands this far before what is dealt with has been set back."""

FAR_BEHIND = 5_000
"""Events of the project; a trigger that has passed over so many writes down how far it has read."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known beside the triggers themselves.

    Attributes:
        waiting: by the address of their trigger, events that are noted and have no run yet, oldest first.
        versions: by the dataset's name, its versions that some trigger has not dealt with, oldest first.
        ended: runs that some trigger has not dealt with, oldest first.
        head_seq: the project's newest event that was read.
    """

    waiting: Mapping[str, tuple[TriggerEvent, ...]] = field(default_factory=dict)
    versions: Mapping[str, tuple[NewVersion, ...]] = field(default_factory=dict)
    ended: tuple[EndedRun, ...] = ()
    head_seq: int = 0


@dataclass(frozen=True, slots=True)
class Note:
    """Write these events down, and that all before them is dealt with; in one transaction."""

    trigger: Trigger
    events: tuple[TriggerEvent, ...]
    since_at: datetime
    since_seq: int


@dataclass(frozen=True, slots=True)
class Fire:
    """Start one run for these events, which are noted by then; the last one names it."""

    trigger: Trigger
    events: tuple[TriggerEvent, ...]


Decision = Note | Fire


def due(triggers: Iterable[Trigger], facts: Facts, now: datetime) -> tuple[Decision, ...]:
    """Return what to note and then to start at ``now``, in the order of the triggers' addresses.

    Args:
        triggers: the armed ones.
        facts: read in one transaction with them.
        now: the present instant; may be before an earlier one when a clock was set back.
    """
    decisions: list[Decision] = []
    for trigger in sorted(triggers, key=lambda t: t.address):
        note = _note(trigger, facts, now)
        if note is not None:
            decisions.append(note)
        fresh = () if note is None else tuple(e for e in note.events if e.state is EventState.WAITING)
        known = facts.waiting.get(trigger.address, ())
        waiting = (*known, *(e for e in fresh if all(e.id != k.id for k in known)))
        decisions += [Fire(trigger, events) for events in _ready(trigger, waiting, now)]
    return tuple(decisions)


def wakes_at(triggers: Iterable[Trigger], facts: Facts, now: datetime) -> datetime | None:
    """Return when time alone makes something due; None when only events can."""
    instants = [
        instant
        for trigger in triggers
        for instant in (
            *(_next_of_cron(trigger) if trigger.spec.kind is TriggerKind.CRON else ()),
            *_quiet_at(trigger, facts.waiting.get(trigger.address, ())),
        )
    ]
    return min((instant for instant in instants if instant > now), default=None)


def circle(starts: Iterable[tuple[str, str]], new: tuple[str, str]) -> tuple[str, ...]:
    """Return the pipelines of a circle that ``new`` closes, from its first on; empty when it closes none.

    Args:
        starts: pairs of pipelines: the end of a run of the first starts one of the second.
        new: the pair that is to be added.
    """
    after: dict[str, list[str]] = {}
    for first, second in sorted({*starts, new}):
        after.setdefault(first, []).append(second)
    paths: list[tuple[str, ...]] = [(new[0], new[1])]
    seen = {new[1]}
    while paths:
        path = paths.pop(0)
        if path[-1] == new[0]:
            return path
        for follower in after.get(path[-1], ()):
            if follower not in seen:
                seen.add(follower)
                paths.append((*path, follower))
    return ()


def cron_event(trigger: Trigger, instant: datetime) -> TriggerEvent:
    """Return the occasion of a nominal instant."""
    nominal = instant.astimezone(UTC)
    return TriggerEvent(trigger.address, nominal.strftime("%Y-%m-%dT%H:%M:%SZ"), nominal)


def _note(trigger: Trigger, facts: Facts, now: datetime) -> Note | None:
    match trigger.spec.kind:
        case TriggerKind.CRON:
            return _note_times(trigger, now)
        case TriggerKind.DATASET:
            return _note_versions(trigger, facts)
        case TriggerKind.RUN:
            return _note_ends(trigger, facts)
        case TriggerKind.WEBHOOK:
            return None  # noted when it is delivered


def _note_times(trigger: Trigger, now: datetime) -> Note | None:
    """Take the newest time that has come; of those before it, and of one that is late, what ``catch_up`` says."""
    spec, since = trigger.spec, trigger.since_at
    if now < since - SET_BACK:
        return Note(trigger, (), now, trigger.since_seq)
    first = next_times(spec.subject, spec.timezone, since, 1)
    if not first or first[0] > now:
        return None
    times = latest_times(spec.subject, spec.timezone, since, now, max(1, spec.catch_up))
    newest = times[-1]
    taken = times if spec.catch_up or now - newest <= ON_TIME else ()
    return Note(trigger, tuple(cron_event(trigger, instant) for instant in taken), newest, trigger.since_seq)


def _note_versions(trigger: Trigger, facts: Facts) -> Note | None:
    name = trigger.spec.subject.removeprefix("datasets/")
    new = [v for v in facts.versions.get(name, ()) if v.number > trigger.since_seq]
    if not new:
        return None
    events = tuple(TriggerEvent(trigger.address, f"datasets/{name}@{v.number}", v.added_at) for v in new)
    return Note(trigger, events, trigger.since_at, new[-1].number)


def _note_ends(trigger: Trigger, facts: Facts) -> Note | None:
    ended = [
        run
        for run in facts.ended
        if run.seq > trigger.since_seq and run.pipeline == trigger.spec.subject and trigger.spec.on.counts(run.state)
    ]
    if not ended and facts.head_seq - trigger.since_seq < FAR_BEHIND:
        return None
    events = tuple(
        _unless_too_long(TriggerEvent(trigger.address, str(r.run), r.at, depth=r.depth + 1, cause=r.run)) for r in ended
    )
    return Note(trigger, events, trigger.since_at, max(facts.head_seq, trigger.since_seq))


def _unless_too_long(event: TriggerEvent) -> TriggerEvent:
    if event.depth < MOST_LINKS:
        return event
    evidence = {"depth": event.depth + 1, "most": MOST_LINKS}
    return replace(event, state=EventState.FAILED, reason=Reason(ReasonCode.CHAIN_TOO_LONG, evidence))


def _ready(trigger: Trigger, waiting: tuple[TriggerEvent, ...], now: datetime) -> list[tuple[TriggerEvent, ...]]:
    """Return the groups of events that each start a run now."""
    if not waiting:
        return []
    if trigger.spec.debounce_s <= 0:
        return [(event,) for event in waiting]
    quiet = timedelta(seconds=trigger.spec.debounce_s)
    since_last, since_first = now - max(e.at for e in waiting), now - min(e.at for e in waiting)
    # a clock that was set back makes ages negative: a long negative age is as good as a long one
    over = abs(since_last) >= quiet or abs(since_first) >= quiet * MOST_DEBOUNCES
    return [waiting] if over else []


def _next_of_cron(trigger: Trigger) -> tuple[datetime, ...]:
    return next_times(trigger.spec.subject, trigger.spec.timezone, trigger.since_at, 1)


def _quiet_at(trigger: Trigger, waiting: tuple[TriggerEvent, ...]) -> tuple[datetime, ...]:
    if not waiting or trigger.spec.debounce_s <= 0:
        return ()
    quiet = timedelta(seconds=trigger.spec.debounce_s)
    return (max(e.at for e in waiting) + quiet, min(e.at for e in waiting) + quiet * MOST_DEBOUNCES)
