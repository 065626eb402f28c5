"""Taking a model version out of the registry, when nothing refers to it."""

from trainwright.core.artifact import ModelVersion
from trainwright.core.errors import DeniedError, SpecError
from trainwright.service.context import Context
from trainwright.service.models import find_in, printable, split_address
from trainwright.store import journal, removal


def remove(context: Context, address: str, reason: str) -> ModelVersion:
    """Remove one version; its number is never given again, its content stays until ``tw gc`` finds nobody needs it.

    Args:
        context: of the project; its actor is who removes it.
        address: with a number: ``digits/3``.
        reason: kept; may be empty.

    Raises:
        SpecError: the address names no number.
        NotFoundError: no such version.
        DeniedError: something refers to it.
    """
    name, number, _ = split_address(address)
    if not number:
        remedy = f"write its number, as in {name}/3: an alias may move while you type"
        raise SpecError("TW2902", f"{printable(address)} names no version", remedy=remedy)
    now = context.clock.now()
    with context.database.writing() as rows:
        version, _ = find_in(rows, context, address)
        found = removal.references(rows, context.project, version)
        if found:
            raise DeniedError(
                "TW3205",
                f"{version.address} cannot be removed: {found[0]} refers to it",
                why=f"{len(found)} thing(s) need it: {'; '.join(found)}",
                remedy="move its aliases and release another version first; what a run read stays with it",
            )
        removal.remove_version(rows, context.project, version, reason, now, context.actor)
        journal.add_audit(
            rows, context.project, now, context.actor, "model.removed", version.address,
            details={"digest": version.content.digest, "run": version.run, "reason": reason},
        )  # fmt: skip
    return version
