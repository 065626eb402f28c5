"""What a namespace asks of the runs that read or make something in it: committed code."""

from collections.abc import Iterator

from trainwright.core.errors import DeniedError
from trainwright.core.fingerprint import CodeState
from trainwright.core.governance import Namespace
from trainwright.plan.plan import Plan
from trainwright.service.context import Context
from trainwright.store import documents, journal

_NAMED = 3  # files in one message


def refuse_unclean(context: Context, plan: Plan, code: CodeState) -> None:
    """Let a run pass whose code is committed, or that touches no namespace that asks for that.

    A run touches its pipeline, the datasets that it pins and the models that it would register. A refusal is on record.

    Raises:
        DeniedError: a namespace of one of them forbids code that is not committed.
    """
    with context.database.reading() as rows:
        strict = [space for space in documents.namespaces(rows, context.project) if space.clean_code]
    trouble = _trouble(code) if strict else ""
    touched = next(_touched(strict, plan), None) if trouble else None
    if touched is None:
        return
    address, space = touched
    with context.database.writing() as rows:
        journal.add_audit(
            rows, context.project, context.clock.now(), context.actor, "run.refused", f"Namespace/{space.name}",
            details={"pipeline": plan.pipeline, "touches": address, "code": trouble, "tree": code.tree},
        )  # fmt: skip
    owner = f" of team {space.team}" if space.team else ""
    raise DeniedError(
        "TW3207",
        f"{address} is in the namespace {space.name}{owner}, which takes committed code only: {trouble}",
        why=f"Namespace/{space.name} says code: clean",
        remedy="commit it (git add, git commit), then repeat the command",
    )


def _touched(spaces: list[Namespace], plan: Plan) -> Iterator[tuple[str, Namespace]]:
    addresses = [f"pipelines/{plan.pipeline}"]
    addresses += [data.address.partition("@")[0].partition("#")[0] for data in plan.data]
    addresses += [f"models/{step.registration.model}" for step in plan.by_path.values() if step.registration]
    for address in addresses:
        for space in spaces:
            if space.holds(address):
                yield address, space


def _trouble(code: CodeState) -> str:
    """Return what is not committed; empty when everything is."""
    if not code.commit:
        return "the code is in no commit"
    inner = [path for path, submodule in code.submodules.items() if submodule.dirty]
    changed = [*code.modified, *code.untracked, *inner]
    if not changed:
        return "the code has changes" if code.dirty else ""
    more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    return f"{', '.join(changed[:_NAMED])}{more} changed or new"
