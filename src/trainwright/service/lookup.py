"""How people name runs: an id or its beginning, a number, ``-1``, a pipeline's name, a fingerprint, a model it made."""

import re

from trainwright.core.errors import NotFoundError, SpecError
from trainwright.core.ids import ProjectName, StepName, attempt_id
from trainwright.core.run import Attempt, Run, RunView
from trainwright.plan.plan import Plan
from trainwright.service.context import Context
from trainwright.service.nearest import did_you_mean
from trainwright.service.outline import is_unneeded
from trainwright.store import registry, runs
from trainwright.store.database import Rows

MOST_NAMED = 20
"""Steps in a sentence."""

MOST_SUGGESTED = 1000
"""Steps among which one like a misspelt name is looked for."""


def find_run(rows: Rows, project: ProjectName, name: str) -> Run:
    """Return the run that ``name`` stands for: the newest when several fit a pipeline or fingerprint.

    Raises:
        NotFoundError: none fits.
        SpecError: a beginning of an id fits several.
    """
    found = _candidates(rows, project, name)
    if found is not None:
        return found
    like = runs.runs_like(rows, project, name) if name else []
    if len(like) == 1:
        return like[0]
    if like:
        raise SpecError(
            "TW2103",
            f"{name} is the beginning of several runs: {', '.join(r.id for r in like)}",
            remedy="write more of it",
        )
    newest = runs.newest_runs(rows, project, 20)
    known = {r.pipeline for r in newest} | {str(r.id) for r in newest}
    otherwise = "see them: tw ps" if newest else "there is none yet: tw run FILE"
    raise NotFoundError("TW4001", f"no run is called {name}", remedy=did_you_mean(name, known, otherwise))


def read_run(context: Context, name: str) -> tuple[RunView, Plan]:
    """Return all records of a run and its plan.

    Raises:
        NotFoundError, SpecError: as ``find_run``.
    """
    with context.database.reading() as rows:
        run = find_run(rows, context.project, name)
        return runs.view(rows, run.id), runs.plan(rows, context.project, run.plan_digest)


def find_step(view: RunView, name: str) -> StepName:
    """Return the step of that name.

    Raises:
        NotFoundError: the run has none.
    """
    if StepName(name) not in view.steps:
        top = [s.name for s in view.steps if s.parent is None and not is_unneeded(s)]
        known = [s.name for s in view.steps][:MOST_SUGGESTED]
        otherwise = f"its steps are {', '.join(top[:MOST_NAMED])}{' …' if len(top) > MOST_NAMED else ''}"
        raise NotFoundError(
            "TW4002",
            f"run {view.run.id} has no step {name}",
            remedy=did_you_mean(name, known, otherwise),
        )
    return StepName(name)


def find_attempt(view: RunView, step: StepName, number: int | None) -> Attempt | None:
    """Return an attempt at a step, the latest without a number; None before the first.

    Raises:
        NotFoundError: there was no attempt of that number.
    """
    if number is None:
        return view.latest(step)
    made = [a for a in view.attempts if a.step == step]
    chosen = next((a for a in made if a.number == number), None)
    if chosen is None:
        raise NotFoundError(
            "TW4003", f"step {step} has no attempt {number}", remedy=f"it was tried {len(made)} time(s)"
        )
    return chosen


def tries_of(view: RunView, step: StepName) -> list[Attempt]:
    """Return all attempts at a step, oldest first."""
    ids = (attempt_id(view.run.id, step, number) for number in range(1, view.step(step).attempts + 1))
    return [attempt for attempt in map(view.attempts.get, ids) if attempt is not None]


def split_address(text: str) -> tuple[str, str | None, int | None]:
    """Return run, step and attempt number of ``RUN[/STEP[/N]]``.

    Raises:
        SpecError: more parts, or N is no number.
    """
    run, *rest = text.removeprefix("runs:/").removeprefix("runs/").split("/")
    if len(rest) > 2 or (len(rest) == 2 and not rest[1].isdigit()):  # noqa: PLR2004 - STEP and N
        raise SpecError("TW2104", f"{text} is not RUN, RUN/STEP or RUN/STEP/N", remedy="see the names: tw show RUN")
    return run, rest[0] if rest else None, int(rest[1]) if len(rest) == 2 else None  # noqa: PLR2004


def _candidates(rows: Rows, project: ProjectName, name: str) -> Run | None:
    """Return the run that a number, ``-N``, a pipeline's name, a model version or a fingerprint names."""
    if re.fullmatch(r"-\d+", name):
        newest = runs.newest_runs(rows, project, int(name[1:]))
        return newest[-1] if newest and len(newest) == int(name[1:]) else None
    numbered = re.fullmatch(r"(?:.*#)?(\d+)", name)
    if numbered:
        return runs.run_numbered(rows, project, int(numbered[1]))
    registered = re.fullmatch(r"models:?/([^@]+)/(\d+)", name)
    if registered:
        version = registry.version(rows, project, registered[1], int(registered[2]))
        return None if version is None else runs.run(rows, version.run)
    if name.startswith("fp:"):
        return next(iter(runs.runs_with_fingerprint(rows, project, name.removeprefix("fp:"))), None)
    return next(iter(runs.runs_of_pipeline(rows, project, name)), None)
