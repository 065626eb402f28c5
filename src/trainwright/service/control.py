"""What people do to runs that exist."""

from trainwright.core.errors import ConflictError
from trainwright.core.ids import RunId
from trainwright.core.run import Run
from trainwright.core.states import RunState
from trainwright.lifecycle.again import Again, again
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


def try_again(context: Context, name: str, *, dry_run: bool = False) -> tuple[Run, Again]:
    """Let what failed in a finished run begin anew: the same run, the same code, parameters and data.

    Args:
        context: of the project.
        name: of the run.
        dry_run: only return what would begin anew.

    Raises:
        NotFoundError: no such run.
        ConflictError: it is not over yet, nothing in it failed, or somebody else was faster.
    """
    now = context.clock.now()
    with context.database.writing() as rows:
        run = find_run(rows, context.project, name)
        label = f"{run.pipeline} #{run.number} ({run.id})"
        if not run.state.is_final:
            raise ConflictError("TW5301", f"{label} is {run.state}", remedy=f"wait for its end: tw wait {run.id}")
        if run.state is RunState.SUCCEEDED:
            raise ConflictError("TW5302", f"{label} succeeded: there is nothing to try again", remedy="tw run FILE")
        found = again(runs.plan(rows, context.project, run.plan_digest), runs.view(rows, run.id))
        if not dry_run:
            if not runs.reopen(rows, run, found.steps, now):
                raise ConflictError("TW5301", f"{label} was changed at this moment", remedy="look again: tw ps")
            journal.add_audit(rows, context.project, now, context.actor, "run.retried", f"runs/{run.id}")
    return run, found


def state_of(context: Context, run_id: RunId) -> Run:
    """Return the present record of a run that exists."""
    with context.database.reading() as rows:
        record = runs.run(rows, run_id)
    if record is None:
        raise LookupError(run_id)
    return record
