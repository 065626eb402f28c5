"""``tw compare``: everything that differs between two runs, or parameters and metrics of several side by side."""

from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import Json
from trainwright.cli.running import of_run
from trainwright.cli.searching import table_of_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainwright.service.compare import Difference


def compare(
    left: Annotated[str, typer.Argument(help="A run.")],
    right: Annotated[str, typer.Argument(help="Another run.")],
    more: Annotated[list[str] | None, typer.Argument(metavar="[MORE]...", help="More runs.")] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Equal lines too.")] = False,
    code: Annotated[bool, typer.Option("--code", help="Only the lines of code that differ, as a diff.")] = False,
    metrics: Annotated[str, typer.Option("--metrics", help="Only metrics like this: evaluate.*")] = "",
    json: Json = False,
) -> None:
    """Show what differs between two runs: all that was recorded; or the parameters and metrics of several."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.core.errors import SpecError
    from trainwright.service.compare import code_diff
    from trainwright.service.compare import compare as differences

    if code and (more or metrics):
        raise SpecError("TW2001", "--code compares two runs", remedy="name two runs, and leave --metrics out")
    if more or metrics:
        names = [of_run(name) for name in (left, right, *(more or []))]
        table_of_runs(names, metrics or "*", everything=everything, json=json)
        return
    with session() as app:
        diff = list(code_diff(app.context, of_run(left), of_run(right))) if code else []
        if code and not json:
            for line in diff:
                output.put(line)
            return
        first, second, lines = differences(app.context, of_run(left), of_run(right))
    shown = [line for line in lines if everything or not line.equal]
    if json:
        output.put_json({"left": first, "right": second, "differences": shown} | ({"code": diff} if code else {}))
        return
    rows = [(line.part, line.name, output.cell(line.left), output.cell(line.right)) for line in shown]
    sides = [f"#{run.number} {run.id}" for run in (first, second)]
    if rows:
        output.table(("part", "name", *sides), rows)
    else:
        output.put(f"{' and '.join(sides)} differ in nothing")
    _say_files([line for line in shown if line.part == "file"])
    if not everything:
        output.say(f"{sum(line.equal for line in lines)} parts are equal (--all shows them)")


def _say_files(files: "Sequence[Difference]") -> None:
    from trainwright.cli import output

    if files:
        added = sum(line.left is None for line in files)
        removed = sum(line.right is None for line in files)
        changed = len(files) - added - removed
        output.say(f"code: {changed} files changed, {added} added, {removed} removed (--code shows the lines)")
