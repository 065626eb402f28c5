"""The manifest: what a stored file or folder consists of; its text is hashed, so it has one form only.

First line ``trainwright-manifest 1 file`` or ``… folder``; then one line of canonical JSON a file,
``["path",bytes,"sha256","x" or "-"]``, sorted by the UTF-8 bytes of the path. One of a ``snapshot``, a version that
somebody else keeps, has one line of canonical JSON instead, names and texts.
"""

from __future__ import annotations

from trainwright.runtime import plainjson
from trainwright.runtime.errors import ContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_HEADER = "trainwright-manifest 1 "
_HEX = frozenset("0123456789abcdef")

SNAPSHOT = "snapshot"
"""The kind of content whose bytes are somewhere else."""


class Entry:
    """One file.

    Attributes:
        path: relative, ``/`` between names.
        size: bytes.
        sha256: 64 hex digits.
        executable: whether its owner may execute it; no other mode counts.
    """

    __slots__ = ("executable", "path", "sha256", "size")

    def __init__(self, path: str, size: int, sha256: str, *, executable: bool) -> None:
        self.path = path
        self.size = size
        self.sha256 = sha256
        self.executable = executable


class Manifest:
    """What is stored under one digest.

    Attributes:
        kind: ``file``, ``folder`` or ``snapshot``.
        entries: sorted by path; exactly one for a file, none for a snapshot.
        facts: of a snapshot, as ``ports.source.Snapshot`` has them.
    """

    __slots__ = ("entries", "facts", "kind")

    def __init__(self, kind: str, entries: Iterable[Entry] = (), facts: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self.facts = dict(facts or {})
        self.entries = tuple(sorted(entries, key=lambda e: e.path))  # code points sort as UTF-8 does

    @property
    def size_bytes(self) -> int:
        """Return the sum over all files."""
        return sum(e.size for e in self.entries)

    def text(self) -> bytes:
        """Return the one text of this manifest."""
        lines = [_HEADER + self.kind]
        if self.kind == SNAPSHOT:
            lines.append(plainjson.dumps(dict(sorted(self.facts.items()))))
        quote = plainjson.quote  # by hand: there may be a million
        lines += [f'[{quote(e.path)},{e.size},"{e.sha256}","{"x" if e.executable else "-"}"]' for e in self.entries]
        return ("\n".join(lines) + "\n").encode()


def parse(text: bytes) -> Manifest:
    """Return the manifest behind ``text``.

    Raises:
        ContentError: malformed, not in its one form, or with a path that leads elsewhere.
    """
    try:
        lines = text.decode().split("\n")
        kind = lines[0][len(_HEADER) :]
        facts = _facts(lines.pop(1)) if kind == SNAPSHOT else {}
        entries = [_entry(line) for line in lines[1:-1]]
    except (ValueError, IndexError) as error:
        raise ContentError(f"the manifest cannot be read: {error}", "store the content anew") from error
    manifest = Manifest(kind, entries, facts)
    numbers = {"file": len(entries) == 1, "folder": True, SNAPSHOT: not entries}
    if not numbers.get(kind, False) or manifest.text() != text:
        raise ContentError("the manifest is not in its one form", "store the content anew")
    refuse_overlaps(manifest)
    return manifest


def kind_in(first_line: bytes) -> str:
    """Return the kind that the first line of a manifest states."""
    return first_line.decode("utf-8", "replace")[len(_HEADER) :].rstrip("\n")


def refuse_path(path: str) -> None:
    """Let a relative path below some folder pass, and nothing else.

    Raises:
        ContentError: absolute, empty, with ``.`` or ``..`` as a name, or with NUL.
    """
    if not path or "\0" in path or any(name in {"", ".", ".."} for name in path.split("/")):
        raise ContentError(f"{path!r} is not a path inside a folder", "use relative paths without ..")


def hex_of(digest: str) -> str:
    """Return the 64 digits of ``sha256:…``.

    Raises:
        ContentError: it is not such a digest.
    """
    digits = digest[7:]
    if digest[:7] != "sha256:" or not _is_hex(digits):
        raise ContentError(f"{digest!r} is not a digest", "a digest is sha256: and 64 hex digits")
    return digits


def _is_hex(digits: object) -> bool:
    return isinstance(digits, str) and len(digits) == 64 and _HEX.issuperset(digits)  # noqa: PLR2004 - sha256


def _facts(line: str) -> dict[str, str]:
    facts = plainjson.loads(line)
    if not isinstance(facts, dict) or not all(isinstance(text, str) for text in facts.values()):
        raise ValueError(f"names and texts expected: {line[:80]}")
    return facts


def _entry(line: str) -> Entry:
    fields = plainjson.loads(line)
    if not isinstance(fields, list) or len(fields) != 4:  # noqa: PLR2004 - path, size, sha256, mode
        raise ValueError(f"four fields expected: {line[:80]}")
    path, size, digits, mode = fields
    if type(path) is not str or type(size) is not int or size < 0 or not _is_hex(digits) or mode not in ("x", "-"):
        raise ValueError(f"a field is malformed: {line[:80]}")
    refuse_path(path)
    return Entry(path, size, digits, executable=mode == "x")


def refuse_overlaps(manifest: Manifest) -> None:
    """Refuse a path that is twice there, or both a file and a folder.

    Raises:
        ContentError: there is one.
    """
    files = {e.path for e in manifest.entries}
    folders = {f for e in manifest.entries for f in parents(e.path)}
    if len(files) != len(manifest.entries) or files & folders:
        raise ContentError("the manifest names one path twice", "store the content anew")


def parents(path: str) -> list[str]:
    """Return the folders above a relative path, outermost first."""
    names = path.split("/")
    return ["/".join(names[:i]) for i in range(1, len(names))]
