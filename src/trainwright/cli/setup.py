"""Commands about the installation: doctor, completion."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import Json

if TYPE_CHECKING:
    from trainwright.service.finding import Finding


class Shell(StrEnum):
    """Shells that can complete ``tw``."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(doctor)
    app.command()(completion)


def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what a power cut or a broken disk left; deletes no data.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Read and hash all stored content, not only compare sizes.")
    ] = False,
    backup: Annotated[
        Path | None, typer.Option("--backup", metavar="FILE", help="Only write a copy of the database to a new file.")
    ] = None,
    json: Json = False,
) -> int:
    """Check this machine and the state folder; each finding comes with its fix."""
    from trainwright.app import open_app
    from trainwright.cli import output
    from trainwright.core.errors import BackendError
    from trainwright.core.quantity import show_bytes
    from trainwright.service import doctor as service

    try:
        app = open_app()
    except BackendError as error:
        if error.problem.code != "TW6202":
            raise
        return _report(service.without_database(error.problem), json=json)
    try:
        if backup is not None:
            size_bytes = service.save_database(app.context, backup)
            output.put(f"{backup}  {show_bytes(size_bytes)}")
            return 0
        settings = app.settings
        pretended = None
        if app.inventory is not None:
            app.inventory.nodes()  # what is wrong with it is known once it was read
            pretended = app.inventory.path, app.inventory.flaw
        findings = service.examine(
            app.context, settings.home, settings.sockets, deep=deep, repair=repair, inventory=pretended
        )
        if settings.exports and any(f.subject == "database" and f.ok for f in findings):
            findings += [outgoing.finding() for outgoing in app.outgoing]
    finally:
        app.database.close()
    return _report(findings, json=json)


def _report(findings: list["Finding"], *, json: bool) -> int:
    from trainwright.cli import output

    if json:
        output.put_json(findings)
    else:
        for finding in findings:
            output.put(f"{'✓' if finding.ok else '✗' if finding.needed else '-'} {finding.subject:12} {finding.words}")
            if not finding.ok:
                output.put(f"  {'fix:' if finding.needed else 'hint:':12} {finding.remedy}")
    return 0 if all(f.ok or not f.needed for f in findings) else 1


def completion(shell: Annotated[Shell, typer.Argument(help="Your shell.")]) -> None:
    """Print the script that makes a shell complete tw: source <(tw completion bash)."""
    from typer import completion as scripts

    from trainwright.cli import output

    output.put(scripts.get_completion_script(prog_name="tw", complete_var="_TW_COMPLETE", shell=shell.value))  # type: ignore[attr-defined]
