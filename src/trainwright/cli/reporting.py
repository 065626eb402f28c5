"""``tw report``: what happened over a time, in sums."""

from typing import Annotated

import typer

from trainwright.cli.pipeline import Json

report = typer.Typer(
    help="Sums over a time: what cpu and GPU time served.", no_args_is_help=True, rich_markup_mode=None
)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(report, name="report")


@report.callback()
def _group() -> None:
    """Sums over a time: what cpu and GPU time served."""


@report.command()
def usage(
    by: Annotated[str, typer.Option("--by", help="purpose, queue, pipeline or person.")] = "purpose",
    since: Annotated[str, typer.Option("--since", help="How long ago it begins: 30d, 12h.")] = "30d",
    json: Json = False,
) -> None:
    """Show what cpu and GPU time served; what scheduling: {purpose: …} of a pipeline says, or its queue."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.core import quantity
    from trainwright.core.errors import SpecError
    from trainwright.service.usage import usage as used

    try:
        length = quantity.duration(since)
    except ValueError as error:
        raise SpecError("TW2403", f"--since {error}") from error
    with session() as app:
        found = used(app.context, by, length)
    if json:
        output.put_json(found)
    elif not found:
        output.say(f"nothing ran in the last {since}")
    else:
        total = sum(one.gpu_hours for one in found)
        lines = [
            (
                one.name,
                f"{one.gpu_hours:.2f}",
                f"{100 * one.gpu_hours / total:.0f}%" if total else "-",
                f"{one.cpu_hours:.2f}",
                str(one.attempts),
            )
            for one in found
        ]
        output.table((by, "GPU hours", "share", "core hours", "attempts"), lines, one_line=(by,))
