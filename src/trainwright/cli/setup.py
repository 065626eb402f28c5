"""Commands about the installation: doctor, completion."""

from enum import StrEnum
from typing import Annotated

import typer

from trainwright.cli.pipeline import Json


class Shell(StrEnum):
    """Shells that can complete ``tw``."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(doctor)
    app.command()(completion)


def doctor(json: Json = False) -> int:
    """Check what trainwright needs on this machine; each finding comes with its fix."""
    from trainwright.app import open_app
    from trainwright.cli import output
    from trainwright.service.doctor import examine

    app = open_app()
    try:
        findings = examine(app.context, app.settings.home)
    finally:
        app.database.close()
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
