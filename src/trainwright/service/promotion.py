"""Moving aliases: forward by the evidence that their policies ask for, back at any time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainwright.core.artifact import AliasMove, Evidence, ModelVersion
from trainwright.core.codec import to_json
from trainwright.core.errors import ConflictError, DeniedError, GateError, NotFoundError, SpecError
from trainwright.core.ids import RunId
from trainwright.core.scalar import Plain
from trainwright.lifecycle.promotion import Candidate, weigh
from trainwright.service.context import Context
from trainwright.service.models import PRODUCTION, find_in, gone, printable, split_address, unknown
from trainwright.spec.findings import WrongValueError
from trainwright.spec.names import check_name
from trainwright.store import documents, journal, registry, runs
from trainwright.store.database import Rows, Stale

NONE = "none"
"""What ``expect`` says of an alias that should point nowhere yet."""


@dataclass(frozen=True, slots=True)
class Promotion:
    """What became of a promotion: a "no" is a value with its evidence.

    Attributes:
        evidence: what every rule said, those that passed too.
        move: of the alias; None when a policy refused it.
    """

    version: ModelVersion
    alias: str
    evidence: tuple[Evidence, ...]
    move: AliasMove | None

    def refusal(self) -> DeniedError:
        """Return what to raise where a refusal is an error."""
        failed = [said for said in self.evidence if not said.passed]
        rules = "; ".join(f"{said.rule} {said.verdict}" for said in failed)
        policy, where = failed[0].policy, f"{self.version.name}@{self.alias}"
        return DeniedError(
            "TW3204",
            f"{self.version.address} may not become {where}: {rules}",
            why=f"the policy {policy} governs {where}",
            remedy=f"promote a version that passes, or change the policy: tw config show AliasPolicy/{policy}",
        )


def promote(context: Context, address: str, alias: str, reason: str, *, expect: str = "") -> Promotion:
    """Point an alias (production by default) at a version, by its evidence; that a policy refuses it is on record.

    Args:
        context: of the project; its actor is who moves it.
        address: of the version.
        alias: to move.
        reason: kept in the history.
        expect: the number that the alias has to point at now, or ``none``; empty = whatever it pointed at when we
            began.

    Raises:
        NotFoundError: no such version.
        GateError: no check of an author's on it has passed.
        ConflictError: it is there already, or somebody moved the alias in between.
        SpecError: the name cannot be an alias.
    """
    alias = _checked_name(alias)
    with context.database.reading() as rows:
        version, _ = find_in(rows, context, address)
        holder, seen = registry.alias_state(rows, context.project, version.name, alias)
    if expect and expect != (NONE if holder is None else str(holder)):
        raise _moved(context, version.name, alias, f"it was to point at {expect}")
    if not any(gate.passed and not gate.default for gate in version.gates):
        raise GateError(
            "TW3203",
            f"{version.address} cannot be promoted: no check on it has passed",
            remedy="register a version from a pipeline whose evaluation has a check",
        )
    return _move(context, version, alias, reason or f"promoted {address}", seen, "promoted")


def foresee(context: Context, address: str, alias: str) -> Promotion:
    """Return what the policies of an alias would say of a version now; moves nothing.

    Raises:
        NotFoundError: no such version.
    """
    with context.database.reading() as rows:
        version, _ = find_in(rows, context, address)
        return Promotion(version, alias, _weigh(rows, context, version, alias), None)


def rollback(context: Context, name: str, alias: str, reason: str) -> tuple[ModelVersion, AliasMove]:
    """Point an alias back at the version before its last move; no policy stands in the way.

    Raises:
        NotFoundError: no such model, the alias never pointed elsewhere, or the version was removed since.
        ConflictError: somebody moved the alias at the same moment.
    """
    model, number, _ = split_address(name)
    if number:
        raise SpecError("TW2901", f"{printable(name)} names a version", remedy=f"write the model: {model}")
    with context.database.reading() as rows:
        if registry.newest(rows, context.project, model) is None:
            raise unknown(rows, context, model)
        moves = registry.history(rows, context.project, model, alias)
        before = _before(moves)
        version = None if before is None else registry.version(rows, context.project, model, before)
        if before is not None and version is None:
            raise gone(rows, context, model, before)
    if version is None:
        raise NotFoundError(
            "TW4104",
            f"{model}@{alias} has no earlier version to go back to",
            remedy=f"see its history: tw model history {model}",
        )
    done = _move(context, version, alias, reason or "rolled back", moves[-1].revision, "rolled-back")
    assert done.move is not None  # a rollback asks no policy  # noqa: S101
    return version, done.move


def _before(moves: Sequence[AliasMove]) -> int | None:
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


def _move(context: Context, version: ModelVersion, alias: str, reason: str, seen: int, how: str) -> Promotion:
    """Point an alias at a version, unless it was moved since its revision ``seen`` was read, or a policy refuses it.

    The policies are asked in the transaction that moves: what they compare with cannot change in between.
    """
    now = context.clock.now()
    model, after = version.name, version.version
    try:
        with context.database.writing() as rows:
            before = _still(rows, context, version, alias, seen)
            evidence = _weigh(rows, context, version, alias) if how == "promoted" else ()
            told: dict[str, Plain] = {"version": after, "evidence": to_json(evidence)}
            if not all(said.passed for said in evidence):
                _note(rows, context, "model.alias-refused", version, alias, told)
                return Promotion(version, alias, evidence, None)
            move = AliasMove(model, alias, seen + 1, before, after, reason, now, context.actor, how, evidence)
            registry.move_alias(rows, context.project, move)
            told |= {"before": before, "after": after, "reason": reason, "how": how}
            _note(rows, context, "model.alias-moved", version, alias, told)
    except Stale as stale:
        raise _moved(context, model, alias, str(stale)) from stale
    return Promotion(version, alias, evidence, move)


def _still(rows: Rows, context: Context, version: ModelVersion, alias: str, seen: int) -> int | None:
    """Return what an alias points at, when all is as it was seen and the version is not there yet."""
    holder, revision = registry.alias_state(rows, context.project, version.name, alias)
    if revision != seen:
        raise Stale(f"it was moved {revision - seen} time(s) since this began")
    if registry.version(rows, context.project, version.name, version.version) is None:
        raise Stale(f"{version.address} was removed")
    if holder == version.version:
        where = f"{version.name}@{alias}"
        raise ConflictError("TW5101", f"{where} points at version {holder} already", remedy="nothing to do")
    return holder


def _weigh(rows: Rows, context: Context, version: ModelVersion, alias: str) -> tuple[Evidence, ...]:
    policies = [p for p in documents.alias_policies(rows, context.project) if p.governs(version.name, alias)]
    if not policies:
        return ()
    run = runs.run(rows, RunId(version.run))
    candidate = Candidate(
        model=version.name,
        metrics=version.metrics,
        gates=version.gates,
        params=run.params if run else {},
        held=registry.held(rows, context.project, version.name, version.version),
        production=registry.baseline(rows, context.project, version.name, PRODUCTION),
    )
    return weigh(policies, candidate, alias)


def _note(
    rows: Rows, context: Context, action: str, version: ModelVersion, alias: str, details: Mapping[str, Plain]
) -> None:
    subject = f"models/{version.name}@{alias}"
    journal.add_audit(
        rows, context.project, context.clock.now(), context.actor, action, subject, details=details
    )  # fmt: skip


def _moved(context: Context, model: str, alias: str, cause: str) -> ConflictError:
    """Return what the loser of a race reads: who holds the alias now, and by whose hand."""
    with context.database.reading() as rows:
        holder, revision = registry.alias_state(rows, context.project, model, alias)
        moves = registry.history(rows, context.project, model, alias)
    by = f", moved there by {moves[-1].moved_by}: {moves[-1].reason}" if moves else ""
    now = "no version" if holder is None else f"version {holder}"
    return ConflictError(
        "TW5102",
        f"somebody moved {model}@{alias} in between: it points at {now} (revision {revision}{by})",
        why=cause,
        remedy=f"look at it: tw model history {model}@{alias}; then repeat",
        details={"holder": holder, "revision": revision},
    )


def _checked_name(alias: str) -> str:
    try:
        return check_name(alias, "alias")
    except WrongValueError as wrong:
        raise SpecError(wrong.code, wrong.message, why=wrong.why, remedy=wrong.remedy) from wrong
