"""``tw``: the commands and the one place where errors become exit codes.

Commands import what they need when they run, so that ``tw --help`` stays quick.
"""

import os
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from trainwright.cli import data, pipeline, reading, registry, running, setup
from trainwright.cli.errors import USAGE, guarded, show_problem
from trainwright.core.errors import Problem

app = typer.Typer(
    name="tw",
    help="From a pipeline file to a model in production, and how to make it again.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for module in (pipeline, running, reading, data, registry, setup):
    module.add_to(app)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of our own mistakes.")] = False,
) -> None:
    """From a pipeline file to a model in production, and how to make it again."""
    if version:
        from trainwright import __version__

        print(f"trainwright {__version__}")  # noqa: T201
        raise typer.Exit
    context.obj = debug


def main(arguments: list[str] | None = None) -> None:
    """Run one command and end the process with its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in words or os.environ.get("TW_DEBUG", "") not in {"", "0"}  # noqa: TID251 - before settings
    words = ["--debug", *(w for w in words if w != "--debug")] if debug else words
    raise SystemExit(guarded(lambda: _run(words), debug=debug))


def _run(words: list[str]) -> int:
    if "_TW_COMPLETE" in os.environ:  # noqa: TID251 - set by the shell's completion script
        from typer import completion

        completion.completion_init()  # type: ignore[attr-defined]
    command = typer.main.get_command(app)
    try:
        result = command.main(args=_negative_names(words), prog_name="tw", standalone_mode=False)
    except TyperException as error:
        message = str(error.format_message()) if hasattr(error, "format_message") else str(error)
        show_problem(
            Problem("TW2001", message.strip().rstrip(".") or "no command", remedy=f"see: tw {_verb(words)}--help")
        )
        return USAGE
    except typer.Abort:
        return USAGE
    return result if isinstance(result, int) else 0


def _verb(words: list[str]) -> str:
    verb = next((w for w in words if not w.startswith("-")), "")
    return f"{verb} " if verb else ""


def _negative_names(words: list[str]) -> list[str]:
    """Let ``-1`` (my last run) pass as a name: put ``--`` before it when no option follows."""
    for place, word in enumerate(words):
        if word[:1] == "-" and word[1:].split("/")[0].isdigit():
            later = words[place:]
            options = [w for w in later if w.startswith("-") and not w[1:].split("/")[0].isdigit()]
            names = [w for w in later if w not in options]
            return [*words[:place], *options, "--", *names] if not _takes_value(options) else words
    return words


def _takes_value(options: list[str]) -> bool:
    return any(o in {"-n", "--lines", "--tail", "-p", "--timeout", "--step", "--attempt"} for o in options)


if __name__ == "__main__":
    main()
