"""The one question that commands ask: yes or no, and only of a person."""

import sys

from trainwright.cli import output
from trainwright.core.errors import SpecError


def confirmed(question: str, command: str, *, yes: bool) -> bool:
    """Tell whether a person agrees; ``yes`` says so beforehand. Anything but y or yes is a no.

    Args:
        question: without its question mark.
        command: that says yes beforehand, for the remedy.
        yes: whether the flag was given.

    Raises:
        SpecError: there is no terminal to ask.
    """
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise SpecError("TW2307", f"{question}? There is no terminal to ask", remedy=f"say yes beforehand: {command}")
    print(f"{question}? [y/N] ", end="", file=sys.stderr, flush=True)  # noqa: T201
    agreed = sys.stdin.readline().strip().lower() in {"y", "yes"}
    if not agreed:
        output.say("nothing was changed")
    return agreed
