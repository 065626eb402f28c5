"""What may be a name: letters of any script, digits, ``_`` and ``-``."""

import re
import unicodedata
from collections.abc import Collection

from trainwright.spec.findings import WrongValueError

LONGEST = 63
"""Characters in a name."""

RESERVED_STEPS = frozenset(
    {
        *("data", "params", "out", "checkpoint", "production", "inputs", "outputs"),
        *("each", "matrix", "loop", "prev", "on_fail"),
    }
)
"""Words that mean something else in references and checks."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_name(text: str, what: str, reserved: Collection[str] = ()) -> str:
    """Return the name in Unicode's composed form (NFC).

    Args:
        text: as written.
        what: it names, for the sentence: ``step``.
        reserved: words it may not be.

    Raises:
        WrongValueError: not a name; says why.
    """
    name = unicodedata.normalize("NFC", text)
    why = _obstacle(name)
    if why:
        raise WrongValueError(
            "TW1015",
            f"{name[:70]!r} cannot be the name of a {what}",
            why=why,
            remedy="use letters of any script, digits, _ and -, beginning with a letter",
        )
    if name in reserved:
        raise WrongValueError(
            "TW1015",
            f"{name!r} cannot be the name of a {what}",
            why="the word has a meaning of its own in references and checks",
            remedy=f"choose another name, such as {name}_{what}",
        )
    return name


def check_variable(text: str) -> str:
    """Return the name of an environment variable.

    Raises:
        WrongValueError: not one that a step may set.
    """
    if not _VARIABLE.fullmatch(text):
        raise WrongValueError(
            "TW1015",
            f"{text[:70]!r} cannot be the name of an environment variable",
            remedy="use A-Z, a-z, 0-9 and _, not beginning with a digit",
        )
    if text.startswith("TW_"):
        raise WrongValueError(
            "TW1015",
            f"the variable {text} cannot be set by a pipeline",
            why="names that begin with TW_ are set by trainwright",
            remedy="choose another name",
        )
    return text


def _obstacle(name: str) -> str:
    if not name:
        return "it is empty"
    if len(name) > LONGEST:
        return f"it has {len(name)} characters; at most {LONGEST} are allowed"
    for sign, word in (("/", "a slash"), ("\\", "a backslash"), (".", "a dot"), (" ", "a space")):
        if sign in name:
            return f"it holds {word}"
    if not name.isprintable():
        return "it holds a character that cannot be seen"
    if name[0] in "-0123456789" or name.endswith("-"):
        return "it begins or ends with a dash, or begins with a digit"
    bad = next((c for c in name if not ("a" + c.replace("-", "_")).isidentifier()), "")
    if bad:
        return f"it holds {bad!r}"
    return "" if name.replace("-", "_").isidentifier() else "it does not begin with a letter"
