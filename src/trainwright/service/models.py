"""The registry: finding versions, promoting by evidence, rolling back."""

from trainwright.core.artifact import AliasMove, ModelVersion
from trainwright.core.errors import ConflictError, GateError, NotFoundError, SpecError
from trainwright.service.context import Context
from trainwright.service.nearest import did_you_mean
from trainwright.store import journal, registry
from trainwright.store.database import Rows, Stale

PRODUCTION = "production"


def versions(context: Context, name: str | None = None) -> list[ModelVersion]:
    """Return the versions of one model or of all, by name, newest first.

    Raises:
        NotFoundError: no model has that name.
    """
    with context.database.reading() as rows:
        found = registry.versions(rows, context.project, name)
        if name is not None and not found:
            raise _unknown(rows, context, name)
    return found


def find(context: Context, address: str) -> tuple[ModelVersion, str]:
    """Return a version and the alias it was asked by (empty without one).

    ``digits`` is its newest version; ``digits@candidate``, ``digits/3``; ``models/`` or ``models:/`` may stand before.

    Raises:
        NotFoundError: no such model, version or alias.
    """
    with context.database.reading() as rows:
        return _find(rows, context, address)


def promote(context: Context, address: str, alias: str, reason: str) -> tuple[ModelVersion, AliasMove]:
    """Point an alias (production by default) at a version, by its evidence.

    Raises:
        NotFoundError: no such version.
        GateError: no check of an author's on it has passed.
        ConflictError: it is there already, or somebody moved the alias at the same moment.
    """
    with context.database.reading() as rows:
        version, _ = _find(rows, context, address)
        _, seen = registry.alias_state(rows, context.project, version.name, alias)
    if not any(gate.passed and not gate.default for gate in version.gates):
        raise GateError(
            "TW3203",
            f"{version.address} cannot be promoted: no check on it has passed",
            remedy="register a version from a pipeline whose evaluation has a check",
        )
    return version, _move(context, version, alias, reason or f"promoted {address}", seen)


def rollback(context: Context, name: str, alias: str, reason: str) -> tuple[ModelVersion, AliasMove]:
    """Point an alias back at the version before its last move.

    Raises:
        NotFoundError: no such model, or the alias never pointed elsewhere.
        ConflictError: somebody moved the alias at the same moment.
    """
    model = name.removeprefix("models:/").removeprefix("models/").partition("@")[0]
    with context.database.reading() as rows:
        if not registry.versions(rows, context.project, model):
            raise _unknown(rows, context, model)
        moves = registry.history(rows, context.project, model, alias)
        before = _before(moves)
        version = None if before is None else registry.version(rows, context.project, model, before)
    if version is None:
        raise NotFoundError(
            "TW4104",
            f"{model}@{alias} has no earlier version to go back to",
            remedy=f"see its history: tw model ls {model}",
        )
    return version, _move(context, version, alias, reason or "rolled back", moves[-1].revision)


def history(context: Context, model: str, alias: str) -> list[AliasMove]:
    """Return every move of an alias, oldest first."""
    with context.database.reading() as rows:
        return registry.history(rows, context.project, model, alias)


def _before(moves: list[AliasMove]) -> int | None:
    """Return what an alias pointed at before: going back twice goes back two versions, not to and fro."""
    trail: list[int] = []
    for move in moves:
        if move.after is None:
            continue
        if len(trail) > 1 and trail[-2] == move.after:
            trail.pop()
        else:
            trail.append(move.after)
    return trail[-2] if len(trail) > 1 else None


def _move(context: Context, version: ModelVersion, alias: str, reason: str, seen: int) -> AliasMove:
    """Point an alias at a version, unless it was moved since its revision ``seen`` was read."""
    now = context.clock.now()
    model, after = version.name, version.version
    try:
        with context.database.writing() as rows:
            before, revision = registry.alias_state(rows, context.project, model, alias)
            if before == after and revision == seen:
                raise ConflictError(
                    "TW5101", f"{model}@{alias} points at version {after} already", remedy="nothing to do"
                )
            move = AliasMove(model, alias, seen + 1, before, after, reason, now, context.actor)
            registry.move_alias(rows, context.project, move)
            journal.add_audit(
                rows, context.project, now, context.actor, "model.alias-moved", f"models/{model}@{alias}",
                details={"before": before, "after": after, "reason": reason},
            )  # fmt: skip
    except Stale as stale:
        raise ConflictError(
            "TW5102",
            f"somebody moved {model}@{alias} at the same moment",
            remedy=f"look at it: tw model ls {model}; then repeat",
        ) from stale
    return move


def _find(rows: Rows, context: Context, address: str) -> tuple[ModelVersion, str]:
    text = address.removeprefix("models:/").removeprefix("models/")
    name, at, alias = text.partition("@")
    name, slash, number = name.partition("/")
    known = registry.versions(rows, context.project, name)
    if not known:
        raise _unknown(rows, context, name)
    if at and slash:
        raise SpecError("TW2105", f"{address} names a version and an alias", remedy="write NAME/3 or NAME@alias")
    if at:
        wanted = registry.alias_state(rows, context.project, name, alias)[0]
    elif slash:
        wanted = int(number) if number.isdigit() else None
    else:
        wanted = known[0].version
    found = next((v for v in known if v.version == wanted), None)
    if found is None:
        have = ", ".join(registry.aliases(rows, context.project, name)) or "none"
        raise NotFoundError(
            "TW4103",
            f"there is no {address}",
            remedy=f"model {name} has versions 1..{known[0].version} and aliases: {have}",
        )
    return found, alias


def _unknown(rows: Rows, context: Context, name: str) -> NotFoundError:
    known = registry.names(rows, context.project)
    otherwise = (
        f"known are {', '.join(known)}" if known else "none is registered yet: run a pipeline with uses: register"
    )
    return NotFoundError("TW4102", f"no model is called {name}", remedy=did_you_mean(name, known, otherwise))
