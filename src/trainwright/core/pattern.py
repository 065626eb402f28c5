"""Patterns of paths as a shell reads them, for listings of what is not on this machine's disk."""

import re
from collections.abc import Callable

_MAGIC = re.compile(r"[*?\[]")


def has_magic(text: str) -> bool:
    """Tell whether a text holds ``*``, ``?`` or ``[``."""
    return _MAGIC.search(text) is not None


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that tells whether a relative path matches, or is below a folder that does.

    ``*`` and ``?`` stand for letters within a name, ``[…]`` for one of them, ``**`` for any number of folders. A name
    that begins with a dot is matched only by one that does.
    """
    names = pattern.split("/")
    text = ""
    for place, name in enumerate(names):
        last = place == len(names) - 1
        if name == "**":
            text += r"(?:(?!\.)[^/]+/)*" + (r"(?!\.)[^/]+" if last else "")
        else:
            text += _name(name) + ("" if last else "/")
    whole = re.compile(text if names[-1] == "**" else text + r"(?:/.*)?", re.DOTALL)
    return lambda path: whole.fullmatch(path) is not None


def _name(name: str) -> str:
    found = "" if name.startswith(".") else r"(?!\.)"
    place = 0
    while place < len(name):
        letter = name[place]
        end = name.find("]", place + 2) if letter == "[" else -1
        if letter == "*":
            found += "[^/]*"
        elif letter == "?":
            found += "[^/]"
        elif end > 0:
            found += f"(?!/){_set(name[place + 1 : end])}"
            place = end
        else:
            found += re.escape(letter)
        place += 1
    return found


def _set(inner: str) -> str:
    """Return what stands between ``[`` and ``]``; a range that ends before it begins holds no letter."""
    is_other, letters = inner.startswith("!"), inner.removeprefix("!")
    parts: list[str] = []
    place = 0
    while place < len(letters):
        first, last = letters[place], letters[place + 2 : place + 3]
        if letters[place + 1 : place + 2] == "-" and last:
            parts += [f"{re.escape(first)}-{re.escape(last)}"] if first <= last else []
            place += 3
        else:
            parts.append(re.escape(first))
            place += 1
    if not parts:
        return "." if is_other else "(?!)"
    return f"[{'^' if is_other else ''}{''.join(parts)}]"
