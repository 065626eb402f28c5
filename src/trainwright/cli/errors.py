"""The edge: every error becomes one message on stderr and the right exit code."""

import os
import sys
from collections.abc import Callable

from trainwright.core.errors import (
    AccessError,
    DeniedError,
    GateError,
    NotFoundError,
    Problem,
    SpecError,
    TrainwrightError,
)

OK, FAILED, USAGE, REFUSED, NOT_FOUND, NOT_ALLOWED, GATE, TIMED_OUT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 7, 8, 130

_CODES: tuple[tuple[type[TrainwrightError], int], ...] = (
    (GateError, GATE),
    (DeniedError, REFUSED),
    (SpecError, USAGE),
    (NotFoundError, NOT_FOUND),
    (AccessError, NOT_ALLOWED),
    (TrainwrightError, FAILED),
)


def exit_code(error: TrainwrightError) -> int:
    """Return what the process ends with."""
    return next(code for kind, code in _CODES if isinstance(error, kind))


def guarded(work: Callable[[], int | None], *, debug: bool) -> int:
    """Run a command; return its exit code. A traceback is shown only with ``debug``."""
    try:
        return work() or OK
    except TrainwrightError as error:
        if debug:
            raise
        show_problem(error.problem)
        return exit_code(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        forget_output()
        return OK
    except Exception as error:
        if debug:
            raise
        show_problem(
            Problem(
                "TW9001",
                f"trainwright itself failed: {type(error).__name__}: {error}",
                why="this is our mistake, not yours",
                remedy="repeat the command with --debug and report what it prints",
            )
        )
        return FAILED


def forget_output() -> None:
    """Send what is still to be written nowhere: nobody reads any more, and the exit shall be silent."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(nowhere, stream.fileno())


def show_problem(problem: Problem) -> None:
    """Print a problem on stderr, its first word red on a terminal."""
    text = str(problem)
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR"):  # noqa: TID251 - NO_COLOR is a terminal's matter
        head, rest = text.split(":", 1)
        text = f"\033[1;31m{head}\033[0m:{rest}"
    print(text, file=sys.stderr)  # noqa: T201
