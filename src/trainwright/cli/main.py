"""``tw``: the commands and the one place where errors become exit codes.

Commands import what they need when they run, so that ``tw --help`` stays quick.
"""

import gc
import io
import os
import re
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from trainwright.cli import (
    converting,
    data,
    environments,
    governing,
    gpus,
    housekeeping,
    lineage,
    pipeline,
    reading,
    registry,
    releasing,
    reporting,
    reproducing,
    running,
    setup,
    simulating,
    traced,
    triggers,
    up,
)
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
_PLAIN = (
    ("Value error, ", ""),
    ("Input should be a valid integer.*", "not a whole number"),
    ("Input should be greater than or equal to", "it has to be at least"),
    (r"Got unexpected extra argument\(s\) \((.*)\)", r"\1 is one word too many"),
)
"""How the parser speaks of values, and how we do."""

_GROUPS = frozenset({"config", "dataset", "env", "model", "report", "trigger"})
"""Commands that have commands of their own."""

_NEGATIVE = re.compile(r"-\d+(/.*)?")

converting.only_what_needs_it()
_READING = (reading, data, lineage, registry)
_PLATFORM = (gpus, simulating, releasing, reporting, governing, environments, housekeeping, setup, traced)
for module in (pipeline, running, reproducing, up, triggers, *_READING, *_PLATFORM):
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
    gc.disable()  # most commands end before a collection would find anything; an engine turns it on again
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that this terminal cannot show is no reason to fail
    words = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in words or os.environ.get("TW_DEBUG", "") not in {"", "0"}  # noqa: TID251 - before settings
    words = ["--debug", *(w for w in words if w != "--debug")] if debug else words
    raise SystemExit(guarded(lambda: _run(words), debug=debug))


def _run(words: list[str]) -> int:
    if "_TW_COMPLETE" in os.environ:  # noqa: TID251 - set by the shell's completion script
        from typer import completion

        completion.completion_init()  # type: ignore[attr-defined]
        typer.main.get_command(app).main(prog_name="tw")
    command = typer.main.get_command(app)
    try:
        # not command.main(), which has its own opinion of broken pipes and Ctrl-C
        with command.make_context("tw", _negative_names(command, words)) as context:
            result = command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    except TyperException as error:
        _complain(error, words)
        return USAGE
    except typer.Abort:
        return USAGE
    return result if isinstance(result, int) else 0


def _complain(error: TyperException, words: list[str]) -> None:
    """Say what is wrong with a command line; a command that needs another word shows its help instead."""
    message = error.format_message().strip() if hasattr(error, "format_message") else str(error)
    if message.startswith("Usage:"):
        print(message, file=sys.stderr)  # noqa: T201
        return
    wrong = re.match(r"No such command '([^']*)'(?:.*[Dd]id you mean:? '?([^'?]+))?", message)
    if wrong is None:
        for theirs, plain in _PLAIN:
            message = re.sub(theirs, plain, message)
        message = message.rstrip(".")
        show_problem(Problem("TW2001", message[:1].lower() + message[1:], remedy=f"see: {_verb(words)} --help"))
        return
    group = _verb(words).removesuffix(f" {wrong[1]}")
    near = f"did you mean {group} {wrong[2]}? all of them: {group} --help" if wrong[2] else f"see: {group} --help"
    show_problem(Problem("TW2001", f"there is no command {group} {wrong[1]}", remedy=near))


def _verb(words: list[str]) -> str:
    """Return how the command that was typed begins: ``tw run``, ``tw model promote``."""
    typed = [w for w in words if not w.startswith("-")]
    return " ".join(["tw", *typed[: 2 if typed[:1] and typed[0] in _GROUPS else 1]])


def _negative_names(command: object, words: list[str]) -> list[str]:
    """Let ``-1`` (my last run) and ``-1/train`` pass as names, wherever they stand: names go last, behind ``--``."""
    place = next((i for i, word in enumerate(words) if not word.startswith("-")), len(words))
    verb = getattr(command, "commands", {}).get("".join(words[place : place + 1]))
    if verb is None or "--" in words:
        return words
    valued = {o for p in verb.params if not getattr(p, "is_flag", True) for o in p.opts}
    options: list[str] = []
    names: list[str] = []
    rest = iter(words[place + 1 :])
    for word in rest:
        if _NEGATIVE.fullmatch(word) or not word.startswith("-"):
            names.append(word)
        else:
            options += [word, *([next(rest, "")] if word in valued else [])]
    return [*words[: place + 1], *options, "--", *names] if any(map(_NEGATIVE.fullmatch, names)) else words


if __name__ == "__main__":
    main()
