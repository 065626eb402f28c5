"""Events that people and other programs bring about: a delivery to a webhook, and times of cron run afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile

from trainwright.core.cron import instant_of, next_times
from trainwright.core.errors import DeniedError, NotFoundError, SpecError
from trainwright.core.occasion import EventState, Trigger, TriggerEvent, TriggerState
from trainwright.core.trigger import TriggerKind
from trainwright.lifecycle.triggers import cron_event
from trainwright.service.context import Context
from trainwright.service.firing import ReadDocument, fire
from trainwright.service.nearest import did_you_mean
from trainwright.service.triggers import find_trigger
from trainwright.store import journal
from trainwright.store import triggers as store

LONGEST_ID = 200
"""Characters in the id of a delivery."""

MOST_AT_ONCE = 1000
"""Times that one backfill may run."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """The answer to a delivery, for one trigger.

    Attributes:
        new: whether it had not been delivered before.
    """

    trigger: Trigger
    event: TriggerEvent
    new: bool


def deliver(context: Context, read: ReadDocument, webhook: str, delivery_id: str | None) -> list[Delivery]:
    """Take a delivery to a webhook; what a server calls, and answers with, when a request has come.

    It is stored before anything else. A repeat with the same id starts nothing and is answered with the run of the
    first; one that failed is tried again. Without an id each call counts.

    Raises:
        NotFoundError: nothing waits for this webhook.
        DeniedError: all that wait are paused.
        SpecError: the id is empty, too long, or holds what cannot be seen.
        TransientBackendError: nothing can be stored at present, or the run not started; a repeat goes on from there.
    """
    if delivery_id is not None and not (delivery_id.isprintable() and 0 < len(delivery_id.strip()) <= LONGEST_ID):
        remedy = f"send at most {LONGEST_ID} characters that can be seen, or none at all"
        raise SpecError("TW2303", f"{delivery_id[:40]!r} is not the id of a delivery", remedy=remedy)
    now = context.clock.now()
    event_id = delivery_id or f"call-{context.ids.new()}"
    with context.database.writing() as rows:
        called = _waiting_for(store.triggers(rows, context.project), webhook)
        fresh = [bool(store.note(rows, t, [TriggerEvent(t.address, event_id, now)])) for t in called]
        for trigger in called:
            store.try_again(rows, trigger, [event_id])
        journal.add_audit(
            rows, context.project, now, context.actor, "webhook.called", f"webhooks/{webhook}",
            details={"delivery": event_id, "new": any(fresh)},
        )  # fmt: skip
    for trigger in called:
        if trigger.spec.debounce_s <= 0:
            fire(context, read, trigger, [TriggerEvent(trigger.address, event_id, now)])
    with context.database.reading() as rows:
        events = [store.event(rows, trigger, event_id) for trigger in called]
    return [Delivery(t, e, new) for t, e, new in zip(called, events, fresh, strict=True) if e is not None]


def times_of(context: Context, name: str, since_text: str, until_text: str) -> tuple[Trigger, list[TriggerEvent]]:
    """Return a cron trigger and its times from one instant on and before another; those it has had as they are.

    Args:
        context: of the project.
        name: of the trigger.
        since_text: date or time, on the clock of the trigger's zone.
        until_text: likewise; empty = now.

    Raises:
        NotFoundError, SpecError: as ``find_trigger``.
        SpecError: the trigger has no times, the range is empty, or holds too many.
    """
    with context.database.reading() as rows:
        trigger = find_trigger(rows, context.project, name)
        if trigger.spec.kind is not TriggerKind.CRON:
            why = f"{trigger.address} waits for a {trigger.spec.kind}, and that has no times"
            raise SpecError("TW2304", "only a cron trigger can be run for times that are over", why=why)
        since, until = _range(since_text, until_text, trigger, context.clock.now())
        before = since - timedelta(microseconds=1)
        found = next_times(trigger.spec.subject, trigger.spec.timezone, before, MOST_AT_ONCE + 1)
        instants = list(takewhile(lambda instant: instant < until, found))
        if len(instants) > MOST_AT_ONCE:
            remedy = "run them in parts: write a later --from or an earlier --to"
            raise SpecError("TW2306", f"the range holds more than {MOST_AT_ONCE} times", remedy=remedy)
        events = [cron_event(trigger, instant) for instant in instants]
        return trigger, [store.event(rows, trigger, e.id) or e for e in events]


def note_times(context: Context, trigger: Trigger, events: Sequence[TriggerEvent]) -> None:
    """Write times down that are to be run now; those that failed are tried again, those that have a run keep it.

    When this process ends before all are fired, whoever watches fires the rest.
    """
    with context.database.writing() as rows:
        store.note(rows, trigger, events)
        store.try_again(rows, trigger, [e.id for e in events if e.state is EventState.FAILED])
        journal.add_audit(
            rows, context.project, context.clock.now(), context.actor, "trigger.backfilled", trigger.address,
            details={"first": events[0].id, "last": events[-1].id, "count": len(events)},
        )  # fmt: skip


def _range(since_text: str, until_text: str, trigger: Trigger, now: datetime) -> tuple[datetime, datetime]:
    zone = trigger.spec.timezone
    try:
        since = instant_of(since_text, zone)
        until = instant_of(until_text, zone) if until_text else now
    except ValueError as error:
        raise SpecError("TW2305", str(error), why=f"times without an offset are of {zone}") from error
    if until <= since:
        sentence = f"{until_text or 'now'} is not after {since_text}"
        raise SpecError("TW2305", sentence, remedy="write --from EARLIER --to LATER")
    return since, until


def _waiting_for(triggers: list[Trigger], webhook: str) -> list[Trigger]:
    hooks = [t for t in triggers if t.spec.kind is TriggerKind.WEBHOOK]
    named = [t for t in hooks if t.spec.subject == webhook]
    if not named:
        otherwise = "arm a pipeline with triggers: {webhook: NAME}"
        remedy = did_you_mean(webhook, {t.spec.subject for t in hooks}, otherwise)
        raise NotFoundError("TW4402", f"no trigger waits for the webhook {webhook}", remedy=remedy)
    armed = [t for t in named if t.state is TriggerState.ARMED]
    if not armed:
        remedy = f"tw trigger resume {named[0].address.removeprefix('triggers/')}"
        raise DeniedError("TW3402", f"what waits for the webhook {webhook} is paused", remedy=remedy)
    return armed
