"""What differs between the code of two runs: file by file, and line by line, out of what was captured."""

import difflib
from collections.abc import Iterator
from contextlib import suppress

from trainwright.core.errors import BackendError, NotFoundError
from trainwright.core.ids import Digest
from trainwright.ports.content import ContentStore

_LONGEST = 1_000_000
"""Bytes of a file that is compared line by line."""


def changed_files(content: ContentStore, left: Digest, right: Digest) -> dict[str, tuple[str | None, str | None]]:
    """Return path → sha256 before and after of each file that is not the same, sorted; None where there is none.

    Empty when one of the trees is not in the store any more.
    """
    if left == right:
        return {}
    with suppress(NotFoundError, BackendError):
        before, after = ({path: sha256 for path, _, sha256 in content.entries(tree)} for tree in (left, right))
        pairs = {path: (before.get(path), after.get(path)) for path in sorted({*before, *after})}
        return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}
    return {}


def unified(content: ContentStore, left: Digest, right: Digest) -> Iterator[str]:
    """Yield the lines of a unified diff of two trees; of what is no text, or too long, one line.

    Raises:
        NotFoundError: a tree, or a file of it, is not in the store any more.
        BackendError: it is damaged.
    """
    content.entries(left), content.entries(right)  # what is gone is said, and not taken for equal
    for path, (before, after) in changed_files(content, left, right).items():
        texts = [_lines(content, sha256) for sha256 in (before, after)]
        names = [f"{side}/{path}" if sha256 else "/dev/null" for side, sha256 in (("a", before), ("b", after))]
        if texts[0] is None or texts[1] is None:
            yield f"Binary files {names[0]} and {names[1]} differ"
            continue
        for line in difflib.unified_diff(texts[0], texts[1], names[0], names[1], lineterm=""):
            yield from line.split("\n")


def _lines(content: ContentStore, sha256: str | None) -> list[str] | None:
    """Return the lines of a stored file, none of a file that there is not; None for what is no text."""
    if sha256 is None:
        return []
    data = content.blob(sha256)
    if b"\0" in data or len(data) > _LONGEST:
        return None
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return None
    last = [f"{lines[-1]}\n\\ No newline at end of file"] if lines[-1] else []  # as git says it, and patch reads it
    return [*lines[:-1], *last]
