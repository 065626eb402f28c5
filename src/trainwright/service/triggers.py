"""Arming the triggers of a pipeline file, and what people do to those that are armed."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from trainwright.core.cron import next_times
from trainwright.core.errors import DeniedError, NotFoundError, SpecError
from trainwright.core.ids import ProjectName, RunId
from trainwright.core.occasion import Trigger, TriggerEvent, TriggerState
from trainwright.core.trigger import TriggerKind, TriggerSpec
from trainwright.lifecycle.triggers import circle
from trainwright.service.context import Context
from trainwright.service.nearest import did_you_mean
from trainwright.spec.document import Document
from trainwright.spec.params import resolve
from trainwright.store import journal
from trainwright.store import triggers as store
from trainwright.store.database import Rows

SHOWN_TIMES = 5


class Change(StrEnum):
    """What arming a file does to one trigger."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Arming:
    """One trigger that a file has, or had.

    Attributes:
        trigger: as it is afterwards, or was.
        next: the next instants of a cron trigger.
        moved_from: the other file that it was armed from; empty when there was none.
    """

    trigger: Trigger
    change: Change
    next: tuple[datetime, ...] = ()
    moved_from: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """A trigger with what is to come and what was last.

    Attributes:
        next: the next instants of an armed cron trigger.
        last: its newest events, newest first.
    """

    trigger: Trigger
    next: tuple[datetime, ...]
    last: tuple[TriggerEvent, ...]


def look_at(context: Context, document: Document, file: str, path: Path) -> list[Arming]:
    """Return what ``arm`` would change; changes nothing.

    Raises:
        SpecError: the file has no triggers and had none, or gives a part of a parameter a wrong value.
        DeniedError: pipelines would start one another for ever, or a parameter is outside what is allowed.
    """
    with context.database.reading() as rows:
        return _armings(context, rows, document, file, path)


def arm(context: Context, document: Document, file: str, path: Path) -> list[Arming]:
    """Make the armed triggers of a pipeline those of its file; one that is paused stays paused.

    A trigger that waits for the same as before goes on where it was, a new one begins now.

    Raises:
        SpecError, DeniedError: as ``look_at``.
    """
    with context.database.writing() as rows:
        armings = _armings(context, rows, document, file, path)
        for arming in armings:
            if arming.change is Change.GONE:
                store.remove(rows, arming.trigger)
            elif arming.change is not Change.UNCHANGED:
                store.put(rows, arming.trigger)
        changed = [a for a in armings if a.change is not Change.UNCHANGED]
        if changed:
            journal.add_audit(
                rows, context.project, context.clock.now(), context.actor, "trigger.armed",
                f"triggers/{document.spec.pipeline}",
                details={"file": str(path), **{a.trigger.spec.name: a.change.value for a in changed}},
            )  # fmt: skip
        return armings


def listed(context: Context, events: int = SHOWN_TIMES) -> list[Listed]:
    """Return the project's triggers, by pipeline and name."""
    now = context.clock.now()
    with context.database.reading() as rows:
        return [
            Listed(t, _next(t, now), tuple(store.newest_events(rows, t, events)))
            for t in store.triggers(rows, context.project)
        ]


def pause(context: Context, name: str) -> Trigger:
    """Let a trigger take no notice; what happens meanwhile is not made up for.

    Raises:
        NotFoundError, SpecError: as ``find_trigger``.
    """
    return _set_state(context, name, TriggerState.PAUSED)


def resume(context: Context, name: str) -> Trigger:
    """Let a paused trigger take notice from now on.

    Raises:
        NotFoundError, SpecError: as ``find_trigger``.
    """
    return _set_state(context, name, TriggerState.ARMED)


def remove(context: Context, name: str) -> Trigger:
    """Take a trigger away; runs that it started, and the events they were started for, stay.

    Raises:
        NotFoundError, SpecError: as ``find_trigger``.
    """
    with context.database.writing() as rows:
        trigger = find_trigger(rows, context.project, name)
        store.remove(rows, trigger)
        now = context.clock.now()
        journal.add_audit(rows, context.project, now, context.actor, "trigger.removed", trigger.address)
    return trigger


def find_trigger(rows: Rows, project: ProjectName, name: str) -> Trigger:
    """Return the trigger that ``PIPELINE/NAME`` stands for, or ``PIPELINE`` when it has one only.

    Raises:
        NotFoundError: there is none.
        SpecError: the pipeline has several.
    """
    known = store.triggers(rows, project)
    short = name.removeprefix("triggers/")
    found = [t for t in known if short in {f"{t.pipeline}/{t.spec.name}", t.pipeline}]
    if len(found) == 1:
        return found[0]
    names = [t.address.removeprefix("triggers/") for t in found or known]
    if found:
        raise SpecError("TW2302", f"{short} has {len(found)} triggers", remedy=f"name one of {', '.join(names)}")
    otherwise = "see them: tw trigger ls" if known else "there is none yet: tw trigger add FILE"
    raise NotFoundError("TW4401", f"no trigger is called {short}", remedy=did_you_mean(short, names, otherwise))


def story_of(context: Context, run: RunId) -> tuple[list[TriggerEvent], list[TriggerEvent]]:
    """Return the events that a run was started for, and those that its own end is."""
    with context.database.reading() as rows:
        return store.behind_run(rows, run), store.after_run(rows, run)


def _armings(context: Context, rows: Rows, document: Document, file: str, path: Path) -> list[Arming]:
    spec = document.spec
    known = store.triggers(rows, context.project)
    mine = {t.spec.name: t for t in known if t.pipeline == spec.pipeline}
    if not spec.triggers and not mine:
        remedy = 'add some, such as triggers: {cron: "30 2 * * *", timezone: Europe/Berlin}'
        raise SpecError("TW2301", f"{file} has no triggers:", remedy=remedy)
    _check_params(document)
    _check_circles(document, [(t.spec.subject, t.pipeline) for t in known if _waits_for_run(t.spec)])
    wanted = {t.name for t in spec.triggers}
    armings = [
        _arming(context, mine.get(t.name), _fresh(context, rows, document, t, file, path)) for t in spec.triggers
    ]
    return [*armings, *(Arming(t, Change.GONE) for name, t in mine.items() if name not in wanted)]


def _fresh(context: Context, rows: Rows, document: Document, spec: TriggerSpec, file: str, path: Path) -> Trigger:
    """Return a trigger for which everything up to now is dealt with."""
    now = context.clock.now()
    return Trigger(
        project=context.project,
        pipeline=document.spec.pipeline,
        spec=spec,
        file=file,
        path=str(path),
        state=TriggerState.ARMED,
        armed_at=now,
        armed_by=context.actor,
        since_at=now,
        since_seq=_seq_now(rows, context.project, spec),
    )


def _arming(context: Context, before: Trigger | None, fresh: Trigger) -> Arming:
    now = context.clock.now()
    if before is None:
        return Arming(fresh, Change.NEW, _next(fresh, now))
    moved_from = before.path if before.path != fresh.path else ""
    if before.spec == fresh.spec and not moved_from and before.file == fresh.file:
        return Arming(before, Change.UNCHANGED, _next(before, now))
    after = replace(fresh, state=before.state)
    if before.spec.watches_the_same(fresh.spec):
        after = replace(after, since_at=before.since_at, since_seq=before.since_seq)
    return Arming(after, Change.CHANGED, _next(after, now), moved_from)


def _check_params(document: Document) -> None:
    """Put the parameters of every trigger together once, as a run will."""
    for index, spec in enumerate(document.spec.triggers):
        try:
            resolve(document, spec.params)
        except SpecError as error:
            place = str(document.where(f"triggers.{index}.params"))
            error.problem = replace(error.problem, where=place)
            raise


def _check_circles(document: Document, others: list[tuple[str, str]]) -> None:
    starts = [(a, b) for a, b in others if b != document.spec.pipeline]
    for index, spec in enumerate(document.spec.triggers):
        if not _waits_for_run(spec):
            continue
        new = (spec.subject, document.spec.pipeline)
        path = circle(starts, new)
        if path:
            raise DeniedError(
                "TW3401",
                f"the end of {' starts '.join(path)}",
                where=document.where(f"triggers.{index}.run"),
                why="pipelines that start one another in a circle never end",
                remedy="leave one of these triggers out: tw trigger ls shows those that are armed",
            )
        starts.append(new)


def _set_state(context: Context, name: str, state: TriggerState) -> Trigger:
    with context.database.writing() as rows:
        trigger = find_trigger(rows, context.project, name)
        if trigger.state is state:
            return trigger
        now = context.clock.now()
        store.move_on(rows, trigger, now, _seq_now(rows, context.project, trigger.spec), state)
        action = "trigger.paused" if state is TriggerState.PAUSED else "trigger.resumed"
        journal.add_audit(rows, context.project, now, context.actor, action, trigger.address)
        return replace(trigger, state=state, since_at=now)


def _seq_now(rows: Rows, project: ProjectName, spec: TriggerSpec) -> int:
    if spec.kind is TriggerKind.DATASET:
        return store.newest_version(rows, project, spec.subject.removeprefix("datasets/"))
    return store.head_seq(rows) if _waits_for_run(spec) else 0


def _next(trigger: Trigger, now: datetime) -> tuple[datetime, ...]:
    if trigger.spec.kind is not TriggerKind.CRON or trigger.state is TriggerState.PAUSED:
        return ()
    return next_times(trigger.spec.subject, trigger.spec.timezone, max(now, trigger.since_at), SHOWN_TIMES)


def _waits_for_run(spec: TriggerSpec) -> bool:
    return spec.kind is TriggerKind.RUN
