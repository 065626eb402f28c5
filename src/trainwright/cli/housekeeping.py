"""The command that makes room: gc."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import Json

if TYPE_CHECKING:
    from trainwright.service.housekeeping import Collected


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(gc)


def gc(
    keep_runs: Annotated[
        str,
        typer.Option(
            "--keep-runs",
            metavar="AGE",
            help="Also remove finished runs older than this (30d, 12h) that no model and no other run refers to.",
        ),
    ] = "",
    keep_envs: Annotated[
        str,
        typer.Option("--keep-envs", metavar="AGE", help="Remove environments of steps not used for this long."),
    ] = "30d",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    json: Json = False,
) -> None:
    """Free space: scratch of attempts, content that no run, dataset or model names, environments long unused.

    Logs, metrics, results, checkpoints and models stay, and of datasets what tw dataset keep says.
    What is younger than an hour stays too, and an environment that is in use.
    """
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.housekeeping import collect

    age = _age(keep_runs, "--keep-runs")
    envs = _age(keep_envs, "--keep-envs") or timedelta()
    with session() as app:
        collected = collect(app.context, age, dry_run=dry_run, keep_environments_for=envs)
    if json:
        output.put_json({"freed_bytes": collected.freed_bytes, "collected": collected})
    else:
        _show(collected, runs_asked=age is not None)


def _age(text: str, option: str) -> timedelta | None:
    from trainwright.core.errors import SpecError
    from trainwright.core.quantity import duration

    if not text:
        return None
    try:
        return duration(text)
    except ValueError as error:
        raise SpecError("TW2005", str(error), where=option, remedy=f"write {option} 30d") from error


def _show(collected: "Collected", *, runs_asked: bool) -> None:
    from trainwright.cli import output
    from trainwright.core.quantity import show_bytes

    content = collected.content
    parts = (
        ("runs", collected.runs),
        ("scratch of attempts", collected.scratch),
        ("environments", collected.environments),
        ("stored files", content.blobs),
        ("their manifests", content.manifests),
        ("working copies", content.trees),
        ("leftovers", content.drafts),
    )
    rows = [(what, str(amount.count), show_bytes(amount.size_bytes)) for what, amount in parts if amount.count]
    if rows:
        output.table(("what", "count", "size"), rows)
    if collected.versions:
        verb = "would be" if collected.dry_run else "were"
        output.put(f"dataset versions that {verb} removed, as tw dataset keep says: {output.some(collected.versions)}")
    freed = show_bytes(collected.freed_bytes)
    if collected.dry_run:
        output.put(f"would free {freed}; nothing was touched")
    else:
        output.put(f"freed {freed}")
    if content.unreadable:
        output.say(f"warning: {len(content.unreadable)} manifests are damaged, so no stored file goes: tw doctor")
    if not runs_asked:
        output.say("finished runs stay; to remove old ones too: tw gc --keep-runs 30d")
