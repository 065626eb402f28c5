"""``tw reproduce``: a finished run made again, with nothing reused, and compared with the original."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import Json

if TYPE_CHECKING:
    from trainwright.core.reproduction import Tolerance
    from trainwright.service.context import Context
    from trainwright.service.originals import Original
    from trainwright.service.reproduce import Reproduction

Name = Annotated[
    str,
    typer.Argument(
        metavar="RUN|FOLDER", help="A finished run, a fingerprint (fp:…), or a folder it was restored into."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(reproduce)


def reproduce(
    name: Name,
    *,
    into: Annotated[
        Path | None, typer.Option("--into", metavar="FOLDER", help="Only restore code and data into a new folder.")
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option("--tolerance", metavar="METRIC=AMOUNT", help="0.001, or 1% of the original; may be repeated."),
    ] = None,
    detach: Annotated[bool, typer.Option("-d", "--detach", help="Return at once; prints the run's id.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the grade and every gap and stop.")] = False,
    json: Json = False,
) -> int:
    """Make a run again from its record, nothing reused, and compare; exit code 7 when the metrics differ."""
    from trainwright.cli import output
    from trainwright.cli.running import submit_and_follow
    from trainwright.cli.session import session
    from trainwright.service.reproduce import reproduction

    allowed = _tolerances(tolerance or [])
    with session() as app:
        found = reproduction(app.context, _original(app.context, name), allowed)
        if dry_run and json:
            output.put_json(_facts(found))
            return 0
        _announce(found)
        if dry_run:
            return 0
        if into is not None:
            _restore(app.context, found, into, json=json)
            return 0
        return submit_and_follow(app, found.prepared(app.context), detach=detach, json=json, cache="off")[1]


def _original(context: "Context", name: str) -> "Original":
    """Return the records of a run of the project, or of one that lies in a folder."""
    from trainwright.cli.running import of_run
    from trainwright.service.originals import RECORD, take_in
    from trainwright.service.reproduce import find_original

    folder = context.here / name
    if name.startswith((".", "/")) or (folder / RECORD).is_file():
        return take_in(context, folder)
    return find_original(context, name if name.startswith("models") else of_run(name))


def _tolerances(texts: list[str]) -> "dict[str, Tolerance]":
    from trainwright.core.errors import SpecError
    from trainwright.core.reproduction import tolerance_of

    found = {}
    for text in texts:
        name, _, amount = text.rpartition("=")
        try:
            found[name] = tolerance_of(amount)
        except ValueError as error:
            remedy = "write --tolerance auc=0.001, or --tolerance train.loss=1%"
            raise SpecError("TW2209", f"{text}: {error}", where="--tolerance", remedy=remedy) from error
    return found


def _announce(found: "Reproduction") -> None:
    """Say how surely the run will be the same, and every reason why it is not surer."""
    from trainwright.cli import output
    from trainwright.core.reproduction import Grade

    run = found.original.view.run
    output.say(f"reproduces {run.pipeline} #{run.number} ({run.id}), {found.original.fingerprint.address}")
    output.say(f"grade: {found.grade or 'none, it cannot start'}")
    for gap in found.gaps:
        head = "lost:" if gap in found.lost else "note:" if gap.best is Grade.EXACT else "gap:"
        output.say(f"{head:6} {gap.part}: {gap.sentence}")


def _facts(found: "Reproduction") -> dict[str, object]:
    run = found.original.view.run
    return {"original": run, "grade": found.grade, "gaps": found.gaps, "lost": found.lost, "tolerance": found.tolerance}


def _restore(context: "Context", found: "Reproduction", into: Path, *, json: bool) -> None:
    from trainwright.cli import output
    from trainwright.service.restore import restore

    place = into / restore(context, found, context.here / into).relative_to(context.here / into)
    if json:
        output.put_json({**_facts(found), "folder": str(into)})
        return
    output.put(f"restored into {into}")
    output.put(f"  code:  {place}")
    output.put(f"  next:  tw reproduce {into if '/' in str(into) else f'./{into}'}")
