"""From an event to its run: at most one, wherever a process dies.

An event is noted under an id that is taken once. Its run is prepared without a transaction, and then written in one
transaction that also enters it at the event, which fails when the event does not wait any more. A process that dies
before that leaves an event that waits, and the next one fires it.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trainwright.core.errors import Problem, SpecError, TrainwrightError, TransientBackendError
from trainwright.core.occasion import EventState, Trigger, TriggerEvent
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import Run
from trainwright.service.context import Context
from trainwright.service.submit import prepare, submit
from trainwright.spec.document import Document
from trainwright.store import journal
from trainwright.store import triggers as store
from trainwright.store.database import Rows

LOG = logging.getLogger(__name__)

ReadDocument = Callable[[Path, str], Document]
"""Reads the pipeline file at a path; the text is its name in messages. Raises as ``app.read_document``."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of events that were to start a run.

    Attributes:
        events: those that share the run; the last one names it.
        run: that was started; None when there was an obstacle.
        reason: why no run was started; None otherwise.
        remark: what a person should know beside that; may be empty.
    """

    trigger: Trigger
    events: tuple[TriggerEvent, ...]
    run: Run | None
    reason: Reason | None = None
    remark: str = ""


class _Taken(Exception):  # noqa: N818 - a signal, not a failure
    """Another process has started the run in between."""


def fire(context: Context, read: ReadDocument, trigger: Trigger, events: Sequence[TriggerEvent]) -> Outcome | None:
    """Start one run for those of the events that still wait; None when none does.

    An obstacle that a person has to take away (a broken file, a refused parameter, data that is gone) is kept with the
    events, which then have failed; the trigger stays armed.

    Raises:
        TransientBackendError: the database or the store takes nothing at present; the events go on waiting.
    """
    with context.database.reading() as rows:
        waiting = tuple(e for e in events if _waits(store.event(rows, trigger, e.id)))
    if not waiting:
        return None
    remark = ""
    try:
        document = read(Path(trigger.path), trigger.file)
        _refuse_another(document, trigger)
        if all(spec != trigger.spec for spec in document.spec.triggers):
            remark = f"{trigger.file} says otherwise by now; to take it over: tw trigger add {trigger.file}"
        run = _start(context, trigger, waiting, document)
    except _Taken:
        return None
    except TransientBackendError:
        raise
    except TrainwrightError as error:
        return _fail(context, trigger, waiting, error.problem)
    except Exception as error:  # whatever it is, it may not end the watch over the other triggers
        LOG.exception("a trigger could not be fired", extra={"trigger": trigger.address})
        return _fail(context, trigger, waiting, Problem("TW9001", f"{type(error).__name__}: {error}"))
    return Outcome(trigger, waiting, run, remark=remark)


def _start(context: Context, trigger: Trigger, events: tuple[TriggerEvent, ...], document: Document) -> Run:
    def enter(rows: Rows, run: Run) -> None:
        if not store.enter_run(rows, trigger, events, run.id):
            raise _Taken(trigger.address)

    mine = replace(context, actor=trigger.address)
    prepared = prepare(mine, document, trigger.spec.params, Path(trigger.path).parent, trigger.file)
    return submit(mine, prepared, enter)


def _fail(context: Context, trigger: Trigger, events: tuple[TriggerEvent, ...], problem: Problem) -> Outcome:
    of_params = problem.where.startswith("-p ") or problem.remedy.startswith("add -p ")  # nobody typed -p
    where = f"params: of {trigger.address}" if of_params else problem.where
    remedy = f"mend params: in {trigger.file}, then: tw trigger add {trigger.file}" if of_params else problem.remedy
    evidence = {"code": problem.code, "message": problem.message, "where": where}
    if remedy:
        evidence["remedy"] = remedy
    reason = Reason(ReasonCode.NOT_TRIGGERED, evidence)
    with context.database.writing() as rows:
        store.enter_failure(rows, trigger, events, reason)
        journal.add_audit(
            rows, context.project, context.clock.now(), trigger.address, "trigger.failed", trigger.address,
            details={"event": events[-1].id, "code": problem.code, "message": problem.message},
        )  # fmt: skip
    return Outcome(trigger, events, None, reason)


def _refuse_another(document: Document, trigger: Trigger) -> None:
    if document.spec.pipeline != trigger.pipeline:
        raise SpecError(
            "TW2308",
            f"{trigger.file} holds the pipeline {document.spec.pipeline} by now, not {trigger.pipeline}",
            where=document.where("pipeline"),
            remedy=f"tw trigger rm {trigger.address.removeprefix('triggers/')}, then tw trigger add {trigger.file}",
        )


def _waits(event: TriggerEvent | None) -> bool:
    return event is not None and event.state is EventState.WAITING
