"""A new run that takes over from a finished one whatever is equal; everything else runs."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from trainwright.core.artifact import PinnedData
from trainwright.core.errors import ConflictError, NotFoundError
from trainwright.core.fingerprint import CodeState, Fingerprint
from trainwright.core.ids import StepName
from trainwright.core.run import Resumed, Run, RunView
from trainwright.core.scalar import Plain
from trainwright.plan.compile import compile_plan, data_requests
from trainwright.plan.plan import Plan
from trainwright.service.capture.committed import export_commit
from trainwright.service.context import Context
from trainwright.service.datasets import pin
from trainwright.service.documents import read_document
from trainwright.service.lookup import read_run
from trainwright.service.submit import Prepared, refuse_too_much, with_locks
from trainwright.spec.document import Document
from trainwright.spec.findings import suggest
from trainwright.spec.params import resolve
from trainwright.store import runs


class CodeChoice(StrEnum):
    """Which code the new run has."""

    SAME = "same"  # the snapshot that the old run executed
    HEAD = "HEAD"  # the commit that is checked out, without changes
    WORKTREE = "WORKTREE"  # the files as they are now


@dataclass(frozen=True, slots=True)
class Resumption:
    """A run that takes over from another one, ready to be submitted.

    Attributes:
        before: the finished run.
        dropped: parameters of it that the pipeline does not have any more.
    """

    before: RunView
    prepared: Prepared
    dropped: tuple[str, ...] = ()


@contextmanager
def resumption(
    context: Context, name: str, overrides: Mapping[str, Plain], code: CodeChoice, again_from: Sequence[str]
) -> Iterator[Resumption]:
    """Give a new run of the pipeline of a finished one; the files of its code are there until the block ends.

    Parameters are those of the finished run but for ``overrides``, data is pinned to the same content.

    Args:
        context: of the project.
        name: of the finished run.
        overrides: parameters for the new run.
        code: which code it has.
        again_from: steps that run in any case, and all that comes after them.

    Raises:
        NotFoundError: no such run, step, or pipeline file.
        ConflictError: the run is not over yet.
        SpecError, DeniedError: the pipeline with this code or these parameters is wrong, or refused.
    """
    view, plan = read_run(context, name)
    run = view.run
    refuse_unfinished(run)
    with context.database.reading() as rows:
        known = runs.fingerprint(rows, context.project, run.fingerprint)
    if code is CodeChoice.SAME and not overrides:
        prepared = Prepared(plan, run.source, context.here, code=known.code)
        yield Resumption(view, _with_anew(prepared, view, again_from))
        return
    with tempfile.TemporaryDirectory(prefix="trainwright-", ignore_cleanup_errors=True) as scratch:
        path, state = _pipeline_file(context, run.source, known, code, Path(scratch))
        document = read_document(path, run.source)
        kept = {k: v for k, v in run.params.items() if k in document.spec.params}
        asked = {**kept, **overrides}
        plan = compile_plan(document, resolve(document, asked), _pinned(context, document, plan, path.parent))
        refuse_too_much(context, document, plan)
        plan = with_locks(context, document, plan, path.parent)
        prepared = Prepared(plan, run.source, path.parent, code=state)
        dropped = tuple(sorted(set(run.params) - set(kept)))
        yield Resumption(view, _with_anew(prepared, view, again_from), dropped)


def refuse_unfinished(run: Run) -> None:
    """Let a run pass that is over.

    Raises:
        ConflictError: it is not.
    """
    if not run.state.is_final:
        label = f"{run.pipeline} #{run.number} ({run.id})"
        remedy = f"wait for its end: tw wait {run.id}; or end it: tw stop {run.id}"
        raise ConflictError("TW5301", f"{label} is {run.state}", remedy=remedy)


def _pipeline_file(
    context: Context, source: str, known: Fingerprint, code: CodeChoice, scratch: Path
) -> tuple[Path, CodeState | None]:
    """Return the pipeline file in the chosen code, and what is known of that code; None = to be captured."""
    typed = context.here / source
    needed = typed if code is CodeChoice.WORKTREE else typed.parent
    if code is not CodeChoice.SAME and not needed.exists():
        remedy = "call it in the folder in which the run was started"
        raise NotFoundError("TW4004", f"there is no {needed}", remedy=remedy)
    if code is CodeChoice.WORKTREE:
        return typed, None
    if code is CodeChoice.SAME:
        top = context.content.export(known.code.tree, scratch / "code")
        return top / known.code.folder / typed.name, known.code
    folder, state = export_commit(typed.parent, context.content, context.environ, scratch / "code")
    if not (folder / typed.name).exists():
        remedy = "commit it; or call it in the folder in which the run was started"
        raise NotFoundError("TW4004", f"there is no {source} in the commit that is checked out", remedy=remedy)
    return folder / typed.name, state


def _pinned(context: Context, document: Document, before: Plan, folder: Path) -> tuple[PinnedData, ...]:
    """Return the data of a run: what the finished one had, where the document asks for it in the same words."""
    known = {(data.name, data.asked): data for data in before.data}
    asked = data_requests(document)
    old = [known[entry] for entry in asked.items() if entry in known]
    new = {name: uri for name, uri in asked.items() if (name, uri) not in known}
    where = {name: str(document.positions.get(f"data.{name}", "")) for name in new}
    return (*old, *pin(context, new, folder, where))


def _with_anew(prepared: Prepared, view: RunView, again_from: Sequence[str]) -> Prepared:
    """Return a run that takes over from another, with the steps that run in any case."""
    top = {step.name: step for step in prepared.plan.steps}
    anew: set[StepName] = set()
    todo = [StepName(name) for name in again_from]
    for name in todo:
        if name not in top:
            remedy = suggest(name, top, "it has")
            raise NotFoundError("TW4002", f"the pipeline {prepared.plan.pipeline} has no step {name}", remedy=remedy)
    while todo:
        name = todo.pop()
        if name not in anew:
            anew.add(name)
            todo.extend(prepared.plan.dependents.get(name, ()))
    return replace(prepared, resumes=Resumed(view.run.id, tuple(sorted(anew))))
