"""What people do to runs that exist."""

from trainwright.core.ids import RunId
from trainwright.core.run import Run
from trainwright.service.context import Context
from trainwright.service.lookup import find_run
from trainwright.store import journal, runs


def stop(context: Context, name: str) -> tuple[Run, bool]:
    """Ask a run to end; tell whether it was still unfinished.

    Raises:
        NotFoundError: no such run.
    """
    with context.database.writing() as rows:
        run = find_run(rows, context.project, name)
        asked = runs.ask_to_stop(rows, run.id, context.actor)
        if asked:
            now = context.clock.now()
            journal.add_audit(rows, context.project, now, context.actor, "run.stop-asked", f"runs/{run.id}")
    return run, asked


def state_of(context: Context, run_id: RunId) -> Run:
    """Return the present record of a run that exists."""
    with context.database.reading() as rows:
        record = runs.run(rows, run_id)
    if record is None:
        raise LookupError(run_id)
    return record
