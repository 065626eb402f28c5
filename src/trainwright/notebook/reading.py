"""``tw.ps``, ``tw.show``, ``tw.compare``, ``tw.plan_of``, ``tw.load_model``: the reading commands, for notebooks.

Each opens the project of the working directory, as the command of that name does, and closes it again.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trainwright.app import session
from trainwright.core.scalar import Plain
from trainwright.notebook.views import Comparison, Runs, ShownPlan, ShownRun
from trainwright.service import compare as service
from trainwright.service.documents import read_document
from trainwright.service.lookup import read_run
from trainwright.service.search import Query, find_runs
from trainwright.service.submit import prepare
from trainwright.store import runs


def ps(
    lines: int = 20, *, where: str = "", since: str = "", until: str = "", pipeline: str = "", sort: str = ""
) -> Runs:
    """Return runs, the newest first: all of them, or those that a condition chooses.

    Args:
        lines: at most so many.
        where: as on the command line: ``evaluate.auc > 0.8 and params.C < 1``.
        since: an instant (``2026-03-01``), or how long ago (``2d``).
        until: the same; runs submitted later are left out.
        pipeline: only runs of this one.
        sort: smallest first by a name, or largest first: ``-evaluate.auc``.

    Raises:
        SpecError: the condition is not in the language, or speaks of what no run has.
    """
    query = Query(where, since, until, pipeline, sort=sort, limit=lines)
    with session() as app:
        found = find_runs(app.context, query)
        chosen, values = tuple(run for run, _ in found.lines), tuple(has for _, has in found.lines)
        return Runs(chosen, app.context.clock.now(), found.names, values)


def show(name: str = "-1") -> ShownRun:
    """Return one run: steps, checks, metrics, outputs.

    Args:
        name: as on the command line: an id or its beginning, a number, ``-1`` for the latest, a pipeline, ``fp:…``.

    Raises:
        NotFoundError, SpecError: no run has this name, or several have.
    """
    with session() as app:
        view, plan = read_run(app.context, name)
        with app.database.reading() as rows:
            address = runs.fingerprint(rows, app.context.project, view.run.fingerprint).address
        return ShownRun(view, plan, address, app.context.clock.now())


def compare(left: str, right: str) -> Comparison:
    """Return what differs between two runs.

    Raises:
        NotFoundError, SpecError: as ``show``.
    """
    with session() as app:
        first, second, lines = service.compare(app.context, left, right)
        return Comparison(first, second, tuple(lines))


def load_model(address: str, *, allow_pickle: bool = False, trusted: Sequence[str] = ()) -> Any:  # noqa: ANN401
    """Return a registered model: ``tw.load_model("models/digits@production")``; its bytes are verified first.

    Args:
        address: ``NAME@ALIAS``, ``NAME/VERSION`` or ``NAME`` for its newest version; ``models/`` may stand before.
        allow_pickle: run what a pickle says; without it, no code that is in the files is run.
        trusted: names of types that skops may make beside those it trusts itself.

    Raises:
        NotFoundError: no such version.
        DeniedError: it cannot be loaded without running what is in it, or not at all.
        BackendError: its bytes were altered.
    """
    from trainwright.service.loading import load  # noqa: PLC0415 - reading runs needs none of it

    with session() as app:
        return load(app.context, address, allow_pickle=allow_pickle, trusted=trusted)


def plan_of(file: str | Path, **params: Plain) -> ShownPlan:
    """Return what a run of a pipeline file would do; runs nothing.

    Args:
        file: the pipeline file.
        params: values of its parameters; the others keep their defaults.

    Raises:
        SpecError, DeniedError, NotFoundError: there is no plan, for the reason given.
    """
    document = read_document(Path(file), str(file))
    with session() as app:
        return ShownPlan(prepare(app.context, document, params, Path(file).parent.absolute(), str(file)).plan)
