"""Mistakes of whoever asks for a simulation, each as one message."""

from collections.abc import Iterable
from typing import NoReturn

from trainwright.core.errors import SpecError
from trainwright.spec.findings import suggest


def wrong(
    option: str, message: str, word: str = "", known: Iterable[str] = (), *, where: str = "", remedy: str = ""
) -> NoReturn:
    """Refuse what was asked for.

    Args:
        option: in which it stands.
        message: what is wrong with it.
        word: that is unknown; the nearest of ``known`` becomes the remedy.
        known: words that would do.
        where: file and line; the option by itself.
        remedy: where there is no unknown word.

    Raises:
        SpecError: always.
    """
    raise SpecError("TW2801", message, where=where or option, remedy=suggest(word, known, "there are") or remedy)


def refuse_line(message: str, file: str, line: int, *, remedy: str = "") -> NoReturn:
    """Refuse a line of a file; line 0 stands for the whole of it.

    Raises:
        SpecError: always.
    """
    where = f"{file}:{line}" if line else file
    raise SpecError("TW2802", message, where=where, remedy=remedy)
