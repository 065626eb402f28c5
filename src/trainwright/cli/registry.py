"""Commands that list models and move aliases."""

from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli import model_reading
from trainwright.cli.pipeline import Json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trainwright.core.artifact import AliasMove, Evidence
    from trainwright.service.models import Held

model = typer.Typer(help="Models: versions, aliases, promotion, cards.", no_args_is_help=True, rich_markup_mode=None)

Alias = Annotated[str, typer.Option("--alias", help="Alias to move.")]
Because = Annotated[str, typer.Option("-m", "--reason", help="Why; kept in the history.")]
At = Annotated[
    str,
    typer.Option("--at", metavar="DATE", help="As it was then: a date (the end of that day, UTC) or an instant."),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(model, name="model")


@model.command("ls")
def list_models(
    name: Annotated[
        str | None, typer.Argument(help="Only this model, with the history of its aliases; or NAME@ALIAS with --at.")
    ] = None,
    at: At = "",
    limit: Annotated[
        int, typer.Option("-n", "--limit", min=1, help="Versions of one model that are shown, newest first.")
    ] = 100,
    json: Json = False,
) -> None:
    """List models, their versions, metrics, aliases and owners."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import governing, models

    with session() as app:
        now = app.context.clock.now()
        if at:
            _show_held(models.held_at(app.context, name or "", at), name or "", json=json)
            return
        only = models.split_address(name)[0] if name else None
        found = models.versions(app.context, only, limit) if only else models.versions(app.context)
        moves = models.history(app.context, only) if only else []
        with app.database.reading() as rows:
            teams = governing.owners_of(rows, app.context, sorted({f"models/{v.name}" for v in found}))
    if json:
        output.put_json({"versions": found, "history": moves, "teams": teams} if only else found)
        return
    if not found:
        output.say("no models yet; register one from a pipeline: uses: register")
        return
    output.table(
        ("model", "aliases", "metrics", "gates", "run", "registered", "team"),
        [
            (
                v.address,
                ", ".join(v.aliases),
                "  ".join(f"{k} {output.figure(x)}" for k, x in sorted(v.metrics.items())[:5]),
                f"{sum(g.passed for g in v.gates)} passed",
                v.run,
                output.when(v.registered_at, now),
                ", ".join(teams.get(f"models/{v.name}", ())),
            )
            for v in found
        ],
    )
    for move in moves:
        output.put(_told(move, output.when(move.moved_at, now)))


@model.command()
def history(address: Annotated[str, typer.Argument(help="NAME or NAME@ALIAS.")], json: Json = False) -> None:
    """Print every move of an alias, or of all aliases of a model: when, who, why, on what evidence."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import models

    with session() as app:
        moves = models.history(app.context, address)
        now = app.context.clock.now()
    if json:
        output.put_json(moves)
        return
    for move in moves:
        output.put(_told(move, output.when(move.moved_at, now)))
        for said in move.evidence:
            output.put(f"  evidence: {_said(said)}")


@model.command()
def promote(
    address: Annotated[str, typer.Argument(help="NAME@ALIAS or NAME/VERSION.")],
    alias: Alias = "production",
    reason: Because = "",
    expect: Annotated[
        str, typer.Option("--expect", metavar="VERSION|none", help="Refuse unless the alias points there now.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what its policies say.")] = False,
    json: Json = False,
) -> None:
    """Point an alias (production by default) at a version whose checks have passed and whose policies agree."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import promotion

    with session() as app:
        asked = (
            promotion.foresee(app.context, address, alias)
            if dry_run
            else promotion.promote(app.context, address, alias, reason, expect=expect)
        )
    version, move = asked.version, asked.move
    if dry_run or move is None:
        passed = all(said.passed for said in asked.evidence)
        if json:
            output.put_json({"version": version.address, "alias": alias, "evidence": asked.evidence, "passed": passed})
        else:
            _evidence_table(asked.evidence)
        if not passed:
            raise asked.refusal()
        output.say(f"{version.address} may become {version.name}@{alias}")
        return
    if json:
        output.put_json(move)
        return
    output.put(f"models/{move.model}@{alias} → {version.address}  (before: {_version(move.before)})")
    for gate in version.gates:
        if not gate.default:
            output.put(f"  evidence: {gate.expression} {gate.verdict}")
    for said in move.evidence:
        output.put(f"  policy {said.policy}: {_said(said)}")


@model.command()
def rollback(
    name: Annotated[str, typer.Argument(help="The model.")],
    alias: Alias = "production",
    reason: Because = "",
    json: Json = False,
) -> None:
    """Point an alias back at the version before its last move; no policy stands in the way."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import promotion

    with session() as app:
        version, move = promotion.rollback(app.context, name, alias, reason)
    if json:
        output.put_json(move)
        return
    output.put(f"models/{move.model}@{alias} → {version.address}  (before: {_version(move.before)})")


@model.command("rm")
def remove(
    address: Annotated[str, typer.Argument(help="NAME/VERSION.")], reason: Because = "", json: Json = False
) -> None:
    """Remove a version that nothing refers to; its number is never given again."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.removal import remove as take_out

    with session() as app:
        version = take_out(app.context, address, reason)
    if json:
        output.put_json(version)
        return
    output.put(f"removed {version.address}")
    output.say("its files stay until nothing needs them: tw gc")


model_reading.add_to(model)


def _show_held(held: "Held", address: str, *, json: bool) -> None:
    from trainwright.cli import output

    if json:
        output.put_json(held)
        return
    move = held.move
    until = "it still is" if held.until is None else f"until {held.until:%Y-%m-%d %H:%M:%S} UTC"
    output.put(f"{move.model}@{move.alias} was {held.version.address} at {held.at:%Y-%m-%d %H:%M:%S} UTC")
    output.put(f"  since {move.moved_at:%Y-%m-%d %H:%M:%S} UTC by {move.moved_by}: {move.reason}; {until}")
    if held.moves_that_day:
        name = address.removeprefix("models/")
        output.say(f"it moved {held.moves_that_day} time(s) that day; this is its end: tw model history {name}")


def _told(move: "AliasMove", at: str) -> str:
    before = "new" if move.before is None else str(move.before)
    return f"{move.model}@{move.alias}: {before} → {move.after}  {at} by {move.moved_by}: {move.reason}"


def _said(said: "Evidence") -> str:
    from trainwright.cli import output
    from trainwright.core.scalar import render_scalar

    def shown(value: object) -> str:
        if isinstance(value, float):
            return output.figure(value)
        return ", ".join(map(str, value)) or "none" if isinstance(value, list) else render_scalar(value)  # type: ignore[arg-type]

    values = ", ".join(f"{name} = {'missing' if v is None else shown(v)}" for name, v in said.values.items())
    against = f", against {said.baseline}" if said.baseline else ""
    return f"{said.verdict}: {said.rule}" + (f" [{values}{against}]" if values or against else "")


def _evidence_table(evidence: "Iterable[Evidence]") -> None:
    from trainwright.cli import output

    lines = [(said.policy, said.rule, said.verdict, _said(said).partition(" [")[2].rstrip("]")) for said in evidence]
    if lines:
        output.table(("policy", "rule", "verdict", "evidence"), lines)
    else:
        output.say("no policy governs this alias")


def _version(number: int | None) -> str:
    return "none" if number is None else f"version {number}"
