"""The local content store: files and folders under the digest of their manifest.

``blobs/ab/<sha256>`` holds bytes, ``manifests/ab/<sha256>`` what belongs together, ``trees/`` read-only working copies
(see ``checkout``), ``verified/`` what needs no reading again (see ``stamps``), ``tmp/`` what is under way,
``quarantine/`` what was found damaged. A manifest is written last, after all its blobs are durable, so content is there
whole or not at all. Its mtime says when it was last stored: until ``sweep.YOUNG_S`` later nobody has to name it.
"""

from __future__ import annotations

import os
import shutil
from hashlib import sha256

from trainwright.runtime import atomic, blobs, lock, manifest, stamps
from trainwright.runtime.errors import ContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trainwright.runtime.manifest import Entry, Manifest


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


def put(root: str, path: str) -> Stored:
    """Store a file or folder; equal content is stored once.

    Names, bytes and the executable bit count; times, owners, other modes, empty folders and order do not.

    Raises:
        ContentError: missing, unreadable, changed while it was read, a special file, a link that leads outside, a name
            that is not UTF-8, or no space left.
    """
    shown = os.path.abspath(path)
    real = os.path.realpath(os.fsencode(shown))
    if os.path.isdir(real):
        return _store(root, "folder", _walk(real, real, b"", (real,)))
    if not os.path.exists(real):
        raise ContentError(f"{path} does not exist", "check the path")
    return _store(root, "file", {os.path.basename(os.fsencode(shown)): real})


def put_files(root: str, base: str, relative_paths: Iterable[str]) -> Stored:
    """Store these files below ``base`` as one folder; a folder among them stands for all it holds.

    Raises:
        ContentError: as :func:`put`, and for a path that leads out of ``base``.
    """
    top = os.path.realpath(os.fsencode(base))
    found: dict[bytes, bytes] = {}
    for path in relative_paths:
        manifest.refuse_path(path)
        name = os.fsencode(path)
        real = _resolve(top, os.path.join(top, name))
        if os.path.isdir(real):
            found.update(_walk(top, real, name + b"/", (real,)))
        else:
            found[name] = real
    return _store(root, "folder", found)


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


def has(root: str, digest: str) -> bool:
    """Tell whether the manifest and every blob it names are there, by name and size."""
    if not os.path.exists(manifest_file(root, digest)):
        return False
    return all(blobs.has(root, e.sha256, e.size) for e in read_manifest(root, digest).entries)


def read(root: str, digest: str, name: str) -> bytes:
    """Return the verified bytes of a stored file, or of the file ``name`` at the top of a stored folder.

    Raises:
        ContentError: no such content, no such file in it, or a blob is missing or altered.
    """
    import hashlib

    kept = read_manifest(root, digest)
    entry = next((e for e in kept.entries if kept.kind == "file" or e.path == name), None)
    if entry is None:
        raise ContentError(f"the folder has no {name}", f"write a file, or a folder with {name} in it")
    try:
        with open(blobs.blob(root, entry.sha256), "rb") as file:
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
        lay_out(root, content.entries, draft, frozen=False)
        single = content.kind == "file"
        os.rename(os.path.join(draft, content.entries[0].path) if single else draft, target)
    except OSError as error:
        raise blobs.refusal(error, os.path.dirname(target), target, content.size_bytes) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def lay_out(root: str, entries: Sequence[Entry], folder: str, *, frozen: bool) -> None:
    """Write verified copies of ``entries`` below an existing folder; frozen ones are read-only.

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
        blobs.copy_out(root, entry, os.path.join(top, entry.path.encode()), mode)


def manifest_file(root: str, digest: str) -> str:
    """Return where the manifest with this digest lives.

    Raises:
        ContentError: it is not a digest.
    """
    digits = manifest.hex_of(digest)
    return os.path.join(root, "manifests", digits[:2], digits)


def _store(root: str, kind: str, files: dict[bytes, bytes]) -> Stored:
    root = os.path.abspath(root)
    names = {name: _utf8(name) for name in files}
    with lock.shared(root):  # from the first look for a blob to the manifest that names it
        entries, large = _store_blobs(root, names, files)
        content = manifest.Manifest(kind, entries)
        text = content.text()
        digest = "sha256:" + sha256(text).hexdigest()
        _write_manifest(root, digest, text)
        if large:
            stamps.note_written(root, digest[7:], large)
    return Stored(digest, len(entries), content.size_bytes)


def put_manifest(root: str, whole: Manifest) -> Stored:
    """Store a manifest whose blobs are all there; who calls holds the lock since it first looked for one of them.

    Raises:
        ContentError: no space left.
    """
    text = whole.text()
    digest = "sha256:" + sha256(text).hexdigest()
    _write_manifest(root, digest, text)
    return Stored(digest, len(whole.entries), whole.size_bytes)


def _store_blobs(
    root: str, names: dict[bytes, str], files: dict[bytes, bytes]
) -> tuple[list[Entry], dict[str, tuple[int, int, int]]]:
    """Return the entries, and what the large blobs looked like after the last byte."""
    staging = blobs.Staging(root)
    try:
        entries = []
        for name, real in sorted(files.items()):
            size, digits, executable = staging.add(real)
            entries.append(manifest.Entry(names[name], size, digits, executable=executable))
        staging.publish()
    finally:
        staging.discard()
    return entries, staging.large


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


def _touch(name: str) -> bool:
    """Make a manifest young again; tell whether we may."""
    try:
        os.utime(name)
    except OSError:  # another user's: written anew
        return False
    return True


def _walk(top: bytes, folder: bytes, prefix: bytes, above: tuple[bytes, ...]) -> dict[bytes, bytes]:
    """Return relative name → real path of every file below ``folder``.

    Args:
        top: nothing may lead out of it.
        folder: real path.
        prefix: what its names are called inside, with a slash at the end.
        above: real paths of the folders we are in, to notice a link that leads back.
    """
    found: dict[bytes, bytes] = {}
    try:
        items = list(os.scandir(folder))
    except OSError as error:
        raise ContentError(f"{blobs.show(folder)} cannot be read: {error.strerror}", "make it readable") from error
    for item in items:
        real = _resolve(top, item.path) if item.is_symlink() else item.path
        if not os.path.isdir(real):
            found[prefix + item.name] = real
        elif real in above:
            raise ContentError(f"{blobs.show(item.path)} is a link to a folder it is in", "remove the link")
        else:
            found.update(_walk(top, real, prefix + item.name + b"/", (*above, real)))
    return found


def _resolve(top: bytes, path: bytes) -> bytes:
    """Follow links as long as they stay inside ``top``."""
    real = os.path.realpath(path)
    if real != top and not real.startswith(top.rstrip(b"/") + b"/"):
        raise ContentError(f"{blobs.show(path)} leads out of {blobs.show(top)}", "copy the file in, or leave it out")
    if not os.path.exists(real):
        raise ContentError(f"{blobs.show(path)} does not exist or leads nowhere", "remove it or leave it out")
    return real


def _utf8(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise ContentError(f"the name {blobs.show(name)} is not UTF-8", "rename the file") from error
