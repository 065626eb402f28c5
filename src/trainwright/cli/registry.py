"""Commands about models."""

from typing import Annotated

import typer

from trainwright.cli.pipeline import Json

model = typer.Typer(help="Models: versions, aliases, promotion.", no_args_is_help=True, rich_markup_mode=None)

Alias = Annotated[str, typer.Option("--alias", help="Alias to move.")]
Because = Annotated[str, typer.Option("-m", "--reason", help="Why; kept in the history.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(model, name="model")


@model.command("ls")
def list_models(
    name: Annotated[str | None, typer.Argument(help="Only this model, with the history of its aliases.")] = None,
    json: Json = False,
) -> None:
    """List models, their versions, metrics and aliases."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import models

    with session() as app:
        found = models.versions(app.context, name)
        aliases = sorted({alias for v in found for alias in v.aliases})
        moves = [m for alias in aliases for m in models.history(app.context, name, alias)] if name else []
        now = app.context.clock.now()
    if json:
        output.put_json({"versions": found, "history": moves} if name else found)
        return
    if not found:
        output.say("no models yet; register one from a pipeline: uses: register")
        return
    output.table(
        ("model", "aliases", "metrics", "gates", "run", "registered"),
        [
            (
                v.address,
                ", ".join(v.aliases),
                "  ".join(f"{k} {output.figure(x)}" for k, x in sorted(v.metrics.items())[:5]),
                f"{sum(g.passed for g in v.gates)} passed",
                v.run,
                output.when(v.registered_at, now),
            )
            for v in found
        ],
    )
    for move in moves:
        before = "new" if move.before is None else str(move.before)
        at = output.when(move.moved_at, now)
        output.put(f"{move.model}@{move.alias}: {before} → {move.after}  {at} by {move.moved_by}: {move.reason}")


@model.command()
def promote(
    address: Annotated[str, typer.Argument(help="NAME@ALIAS or NAME/VERSION.")],
    alias: Alias = "production",
    reason: Because = "",
    json: Json = False,
) -> None:
    """Point an alias (production by default) at a version whose checks have passed."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import models

    with session() as app:
        version, move = models.promote(app.context, address, alias, reason)
    if json:
        output.put_json(move)
        return
    output.put(f"models/{move.model}@{alias} → {version.address}  (before: {_version(move.before)})")
    for gate in version.gates:
        if not gate.default:
            output.put(f"  evidence: {gate.expression} {gate.verdict}")


@model.command()
def rollback(
    name: Annotated[str, typer.Argument(help="The model.")],
    alias: Alias = "production",
    reason: Because = "",
    json: Json = False,
) -> None:
    """Point an alias back at the version before its last move."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import models

    with session() as app:
        version, move = models.rollback(app.context, name, alias, reason)
    if json:
        output.put_json(move)
        return
    output.put(f"models/{move.model}@{alias} → {version.address}  (before: {_version(move.before)})")


def _version(number: int | None) -> str:
    return "none" if number is None else f"version {number}"
