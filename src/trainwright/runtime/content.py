"""The local content store: files and folders under the digest of their manifest.

``blobs/ab/<sha256>`` holds bytes, ``manifests/ab/<sha256>`` what belongs together, ``trees/`` read-only working copies
(see ``checkout``), ``verified/`` what needs no reading again (see ``stamps``), ``index/`` what paths looked like when
they were hashed, ``origins/`` where content by reference is (see ``index``), ``tmp/`` what is under way,
``quarantine/`` what was found damaged. A manifest is written last, after all its blobs are durable, so content is there
whole or not at all. Its mtime says when it was last stored: until ``sweep.YOUNG_S`` later nobody has to name it.
"""

from __future__ import annotations

import os
import shutil
import time
from hashlib import sha256

from trainwright.runtime import atomic, blobs, index, intake, lock, manifest, staging, stamps, walk
from trainwright.runtime.errors import ContentError
from trainwright.runtime.intake import PLAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trainwright.runtime.index import Index
    from trainwright.runtime.intake import Taken, Wish
    from trainwright.runtime.manifest import Entry, Manifest
    from trainwright.runtime.walk import Found


class Stored:
    """What is now in the store.

    Attributes:
        digest: ``sha256:…`` of the manifest.
        files: how many.
        size_bytes: their sum.
    """

    __slots__ = ("digest", "files", "size_bytes")

    def __init__(self, digest: str, files: int, size_bytes: int) -> None:
        self.digest = digest
        self.files = files
        self.size_bytes = size_bytes


def put(root: str, path: str, wish: Wish = PLAIN) -> Stored:
    """Store a file or folder; equal content is stored once.

    Names, bytes and the executable bit count; times, owners, other modes, empty folders and order do not.

    Raises:
        ContentError: missing, unreadable, changed while it was read, a special file, a link that leads outside, a name
            that is not UTF-8, or no space left.
        TooMuch: more than the wish allows would be copied; nothing was.
    """
    at_ns = time.time_ns()
    kind, found = walk.find(path)
    return _store(root, kind, found, wish, (os.path.abspath(path), at_ns))


def put_files(root: str, base: str, relative_paths: Iterable[str], wish: Wish = PLAIN) -> Stored:
    """Store these files below ``base`` as one folder; a folder among them stands for all it holds.

    Raises:
        TooMuch: more would be copied than the limit; nothing was.
        ContentError: as :func:`put`, and for a path that leads out of ``base``.
    """
    return _store(root, "folder", walk.choose(base, relative_paths), wish, ("", 0))


def put_part(root: str, digest: str, paths: Iterable[str]) -> Stored:
    """Store some files of stored content as content of its own; only a manifest is written, no byte is copied.

    Raises:
        ContentError: no such content, no such file in it, or no space left.
    """
    root = os.path.abspath(root)
    wanted = set(paths)
    with lock.shared(root):  # what the whole names is there, and the new manifest names it before anybody may sweep
        kept = read_manifest(root, digest)
        part = manifest.Manifest(kept.kind, [entry for entry in kept.entries if entry.path in wanted])
        if len(part.entries) != len(wanted):
            raise ContentError(f"some of the {len(wanted)} files are not in {digest}", "name files that are in it")
        if index.note_of(root, digest) and not all(blobs.has(root, e.sha256, e.size) for e in part.entries):
            raise ContentError(
                f"{digest} is by reference, and a part of it needs the bytes in the store",
                "store them: tw dataset add NAME PATH --copy",
            )
        text = part.text()
        found = "sha256:" + sha256(text).hexdigest()
        _write_manifest(root, found, text)
    return Stored(found, len(part.entries), part.size_bytes)


def read_manifest(root: str, digest: str) -> Manifest:
    """Return the manifest with this digest.

    Raises:
        ContentError: there is none, or it was altered.
    """
    name = manifest_file(root, digest)
    try:
        with open(name, "rb") as file:
            text = file.read()
    except OSError as error:
        raise ContentError(f"there is no content {digest} in {root}", "store it anew") from error
    if sha256(text).hexdigest() != manifest.hex_of(digest):
        raise ContentError(f"the manifest {digest} was altered: {name}", "remove that file and store the content anew")
    return manifest.parse(text)


def kind_of(root: str, digest: str) -> str:
    """Return what a manifest is of, by its first line alone; empty when there is none.

    Raises:
        ContentError: it is not a digest.
    """
    try:
        with open(manifest_file(root, digest), "rb") as file:
            return manifest.kind_in(file.readline())
    except OSError:
        return ""


def has(root: str, digest: str) -> bool:
    """Tell whether the manifest and every file it names are there, by name and size: in the store, or by reference."""
    if not os.path.exists(manifest_file(root, digest)):
        return False
    missing = [e for e in read_manifest(root, digest).entries if not blobs.has(root, e.sha256, e.size)]
    note = index.note_of(root, digest) if missing else None
    if note is None:
        return not missing
    return all(index.is_there(note, e) for e in missing)


def read(root: str, digest: str, name: str) -> bytes:
    """Return the verified bytes of a stored file, or of the file ``name`` in a stored folder.

    Raises:
        ContentError: no such content, no such file in it, or a blob is missing or altered.
    """
    import hashlib

    kept = read_manifest(root, digest)
    entry = next((e for e in kept.entries if kept.kind == "file" or e.path == name), None)
    if entry is None:
        raise ContentError(f"the folder has no {name}", f"write a file, or a folder with {name} in it")
    place = blobs.blob(root, entry.sha256)
    if not os.path.exists(place):
        place = _original(index.note_of(root, digest), entry) or place
    try:
        with open(os.fsencode(place), "rb") as file:
            data = file.read()
    except OSError as error:
        raise ContentError(f"{entry.path} is missing in the store", "run the step again") from error
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise ContentError(f"{entry.path} was altered in the store", "run the step again")
    return data


def export(root: str, digest: str, target: str) -> str:
    """Copy content out to the new path ``target``, whole or not at all; return that path.

    Raises:
        ContentError: no such content, a blob is missing or altered, ``target`` exists, or no space is left.
    """
    content = read_manifest(root, digest)
    if content.kind == manifest.SNAPSHOT:
        raise ContentError(f"{content.facts['uri']} is kept elsewhere, and no copy is here", "read it where it is")
    target = os.path.abspath(target)
    if os.path.lexists(target):
        raise ContentError(f"{target} exists already", "name a path that does not exist")
    draft = os.path.join(os.path.dirname(target), "." + atomic.unique() + ".part")
    try:
        blobs.make_folders(draft)
        lay_out(root, content.entries, draft, frozen=False, note=index.note_of(root, digest))
        single = content.kind == "file"
        os.rename(os.path.join(draft, content.entries[0].path) if single else draft, target)
    except OSError as error:
        raise blobs.refusal(error, os.path.dirname(target), target, content.size_bytes) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def lay_out(root: str, entries: Sequence[Entry], folder: str, *, frozen: bool, note: Index | None = None) -> None:
    """Write verified copies of ``entries`` below an existing folder; frozen ones are read-only.

    With a note, what is not in the store is copied from where it is.

    Raises:
        ContentError: a blob is missing or altered, or no space is left.
    """
    top = os.fsencode(folder)
    made: set[str] = set()
    for entry in entries:
        for parent in manifest.parents(entry.path):
            if parent not in made:
                os.makedirs(os.path.join(top, parent.encode()), exist_ok=True)
                made.add(parent)
        writable = 0 if frozen else 0o200
        mode = (0o555 if entry.executable else 0o444) | writable
        blobs.copy_out(root, entry, os.path.join(top, entry.path.encode()), mode, _original(note, entry))


def _original(note: Index | None, entry: Entry) -> str:
    return "" if note is None else index.path_of(note, entry)


def manifest_file(root: str, digest: str) -> str:
    """Return where the manifest with this digest lives.

    Raises:
        ContentError: it is not a digest.
    """
    digits = manifest.hex_of(digest)
    return os.path.join(root, "manifests", digits[:2], digits)


def _store(root: str, kind: str, found: list[Found], wish: Wish, seen: tuple[str, int]) -> Stored:
    """Store files.

    Args:
        root: of the store.
        kind: ``file`` or ``folder``.
        found: what is there.
        wish: how it is to be taken in.
        seen: absolute path that was asked for, and when it was first looked at.
    """
    root = os.path.abspath(root)
    path, at_ns = seen
    with lock.shared(root):  # from the first look for a blob to the manifest that names it
        known = intake.known(root, path, found, wish, stored=True)
        if known.digest and _is_named(root, known.digest):
            return Stored(known.digest, len(found), sum(one.facts[0] for one in found))
        sure = known.digits
        unknown = [one for one in found if one.name not in sure] if len(sure) < len(found) else []
        intake.refuse_too_much(root, unknown, wish.limit)
        taken, large = _store_blobs(root, found, sure, wish)
        stored = put_manifest(root, manifest.Manifest(kind, taken.entries()))
        if large:
            stamps.note_written(root, stored.digest[7:], large)
        note = index.of_origin(root, stored.digest)
        if os.path.exists(note):  # it can be read here now
            blobs.remove(note)
    remember(root, (path, kind, stored.digest), taken, at_ns, wish)
    return stored


def put_manifest(root: str, whole: Manifest) -> Stored:
    """Store a manifest whose bytes can be read; who calls holds the lock since it first looked for one of them.

    Raises:
        ContentError: no space left.
    """
    text = whole.text()
    digest = "sha256:" + sha256(text).hexdigest()
    _write_manifest(root, digest, text)
    return Stored(digest, len(whole.entries), whole.size_bytes)


def digest_of(whole: Manifest) -> str:
    """Return the digest that names a manifest."""
    return "sha256:" + sha256(whole.text()).hexdigest()


def remember(root: str, about: tuple[str, str, str], taken: Taken, at_ns: int, wish: Wish) -> None:
    """Note what the files looked like, so that unchanged ones are not read the next time; losing it costs no more.

    Args:
        root: of the store.
        about: absolute path that was asked for, kind, digest.
        taken: the files.
        at_ns: when they were first looked at.
        wish: whether that is wanted.
    """
    if not wish.remembered:
        return
    file = index.of_path(root, about[0])
    if not taken.hashed and index.digest_in(file) == about[2]:
        return
    try:
        index.write(file, about, taken.rows, at_ns, durable=False)
    except OSError:
        return


def _store_blobs(
    root: str, found: list[Found], sure: dict[str, str], wish: Wish
) -> tuple[Taken, dict[str, tuple[int, int, int]]]:
    """Return what the files are, and what the large blobs looked like after the last byte."""
    if len(sure) == len(found):
        return intake.hash_all(found, sure, staging.hash_only, wish.progress), {}
    arriving = staging.Staging(root, many=len(found) - len(sure) >= staging.MANY)
    try:
        taken = intake.hash_all(found, sure, arriving.add, wish.progress)
        arriving.publish()
    finally:
        arriving.discard()
    return taken, arriving.large


def _write_manifest(root: str, digest: str, text: bytes) -> None:
    name = manifest_file(root, digest)
    if os.path.exists(name) and os.path.getsize(name) == len(text) and _touch(name):
        return
    folder = os.path.dirname(name)
    blobs.make_folders(folder)
    try:
        atomic.replace(name, text)
        atomic.sync_folder(os.path.dirname(folder))
    except OSError as error:
        raise blobs.refusal(error, root, "the manifest", len(text)) from error


def _is_named(root: str, digest: str) -> bool:
    """Tell whether content that is all here has its manifest, young again, and no note that it is elsewhere."""
    name = manifest_file(root, digest)
    if os.path.exists(index.of_origin(root, digest)) or not os.path.exists(name):
        return False
    return os.path.getsize(name) > 0 and _touch(name)


def _touch(name: str) -> bool:
    """Make a manifest young again; tell whether we may."""
    try:
        os.utime(name)
    except OSError:  # another user's: written anew
        return False
    return True
