"""What people do to work that waits, and to the queues it waits in. What runs already is left alone."""

from dataclasses import replace

from trainwright.core.errors import ConflictError
from trainwright.core.queue import DEFAULT_QUEUE, QueueName, QueueWord
from trainwright.core.scalar import Plain
from trainwright.service.context import Context
from trainwright.service.lookup import find_run, find_step, split_address
from trainwright.store import documents, journal, queues, runs
from trainwright.store.database import Rows


def hold(context: Context, what: str) -> QueueWord:
    """Keep a run, a step or a queue from starting anything until it is released; return what holds now.

    Args:
        context: of the project.
        what: ``RUN``, ``RUN/STEP``, ``queues/NAME``, or the name of a queue.

    Raises:
        NotFoundError: there is none.
        ConflictError: the run is over.
    """
    with context.database.writing() as rows:
        before = _word(rows, context, what)
        return before if before.held_by else _say(rows, context, "queue.held", replace(before, held_by=context.actor))


def release(context: Context, what: str) -> QueueWord:
    """Let go what somebody held; return what holds now.

    Raises:
        NotFoundError, ConflictError: as ``hold``.
    """
    with context.database.writing() as rows:
        before = _word(rows, context, what)
        return _say(rows, context, "queue.released", replace(before, held_by="")) if before.held_by else before


def move(context: Context, what: str, rank: int) -> QueueWord:
    """Change the place of a run or step among those of its queue and priority; return what holds now.

    Args:
        context: of the project.
        what: ``RUN`` or ``RUN/STEP``.
        rank: lower goes first; everybody has 0 until moved.

    Raises:
        NotFoundError: there is none.
        ConflictError: the run is over, or it is a queue.
    """
    with context.database.writing() as rows:
        before = _word(rows, context, what)
        if before.subject.startswith("queues/"):
            raise ConflictError(
                "TW5812", f"{what} is a queue, and queues have no place among others",
                remedy="give it more weight: tw config show Queue/NAME",
            )  # fmt: skip
        return _say(rows, context, "queue.moved", replace(before, rank=rank)) if before.rank != rank else before


def move_to_front(context: Context, what: str) -> QueueWord:
    """Let a run or step go first among those of its queue and priority; return what holds now.

    Raises:
        NotFoundError, ConflictError: as ``move``.
    """
    with context.database.reading() as rows:
        first = min((word.rank for word in queues.words(rows, context.project).values()), default=0)
    return move(context, what, min(first, 0) - 1)


def _word(rows: Rows, context: Context, what: str) -> QueueWord:
    return queues.word(rows, context.project, _subject(rows, context, what))


def _subject(rows: Rows, context: Context, what: str) -> str:
    """Return the subject that a text means: a queue by its name, else a run or a step of it that is not over."""
    name = QueueName(what.removeprefix("queues/"))
    known = {DEFAULT_QUEUE, *(queue.name for queue in documents.queues(rows, context.project))}
    if what.startswith("queues/") or name in known:
        return f"queues/{name}"
    run_name, step_name, _ = split_address(what)
    run = find_run(rows, context.project, run_name)
    if run.state.is_final:
        raise ConflictError(
            "TW5811", f"{run.pipeline} #{run.number} ({run.id}) is {run.state}: nothing of it waits", remedy="tw ps"
        )
    if step_name is None:
        return f"runs/{run.id}"
    view = runs.view(rows, run.id)
    return f"runs/{run.id}/{find_step(view, step_name)}"


def _say(rows: Rows, context: Context, action: str, said: QueueWord) -> QueueWord:
    """Write a word with its row of the audit trail."""
    now = context.clock.now()
    queues.say(rows, context.project, said, now, context.actor)
    details: dict[str, Plain] = {"held_by": said.held_by, "rank": said.rank}
    journal.add_audit(rows, context.project, now, context.actor, action, said.subject, details=details)
    return said
