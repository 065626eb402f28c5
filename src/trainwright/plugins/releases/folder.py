"""Releases into a folder or an object store, laid out for a server: ``ROOT/MODEL/VERSION/…`` and a pointer.

In a folder the pointer is the link ``current``, replaced by a rename; in an object store it is the small object
``current.json``, written last. Each version lies there whole, with ``release.json``, before the pointer says so.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainwright.core.codec import canonical_json
from trainwright.core.errors import BackendError, SpecError
from trainwright.core.scalar import Plain
from trainwright.ports.release import Export, ReleaseOrder, ReleasePlugin

RECORD, LINK, OBJECT = "release.json", "current", "current.json"

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_STEP = 1 << 20
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "az": "azure", "abfs": "azure", "abfss": "azure"}


class FolderRelease:
    """Lays versions out below ``root``, a path or a URI that fsspec knows."""

    type = "folder"

    def check(self, settings: Mapping[str, Plain], base: Path) -> Mapping[str, Plain]:
        """See ``ReleasePlugin.check``: ``root`` is all there is."""
        unknown = sorted(settings.keys() - {"root"})
        if unknown:
            raise SpecError("TW2903", f"with: of a folder has no {unknown[0]}", remedy="write with: {root: PATH}")
        root = settings.get("root")
        if not isinstance(root, str) or not root or "\0" in root:
            raise SpecError("TW2903", "with: of a folder needs root:", remedy="write with: {root: /srv/models}")
        if _URI.match(root):
            return {"root": root.rstrip("/")}
        return {"root": os.path.normpath(base.absolute() / Path(root).expanduser())}

    def release(self, order: ReleaseOrder, export: Export) -> str:
        """See ``ReleasePlugin.release``."""
        root = str(order.settings["root"])
        _refuse_names(order)
        try:
            if not _URI.match(root):
                return _in_folder(order, Path(root), export)
            if root.startswith(("file://", "local://")):
                return _in_folder(order, Path(root.partition("://")[2]), export)
            return _in_store(order, root, export)
        except BackendError:
            raise
        except Exception as error:  # the libraries behind fsspec raise what they like
            scheme = root.partition("://")[0]
            extra = f"pip install 'trainwright[{_EXTRAS[scheme]}]'" if scheme in _EXTRAS else "look at the target"
            raise BackendError(
                "TW6901",
                f"{order.model}/{order.version} cannot be released to {root}: {error}",
                where=f"release {order.id}",
                remedy=extra if isinstance(error, ImportError) else "mend it, then repeat the command",
            ) from error


_: ReleasePlugin = FolderRelease()


def _refuse_names(order: ReleaseOrder) -> None:
    """Let an order pass that stays below its root and does not hide our own files."""
    wrong = next((f.path for f in order.files if f.path == RECORD or not _is_inside(f.path)), None)
    if not _is_inside(order.model) or "/" in order.model:
        wrong = order.model
    if wrong is not None:
        raise BackendError(
            "TW6901", f"{wrong!r} cannot lie in a release", where=f"release {order.id}", remedy="rename it in the step"
        )


def _is_inside(path: str) -> bool:
    parts = path.split("/")
    return bool(path) and not {"", ".", ".."} & set(parts) and not set(path) & {"\0", "\\"}


def _record(order: ReleaseOrder) -> bytes:
    """Return what lies beside the files: the same for the same version."""
    files = [{"path": f.path, "size_bytes": f.size_bytes, "sha256": f.sha256} for f in order.files]
    facts = {**order.facts, "model": order.model, "version": order.version, "digest": order.digest, "files": files}
    return (json.dumps(json.loads(canonical_json(facts)), ensure_ascii=False, indent=2) + "\n").encode()


# a folder


def _in_folder(order: ReleaseOrder, root: Path, export: Export) -> str:
    home = root / order.model
    home.mkdir(parents=True, exist_ok=True)
    if home.is_symlink() or home.resolve() != root.resolve() / order.model:
        raise OSError(f"{home} is a link")
    place = home / str(order.version)
    if place.is_symlink():
        raise OSError(f"{place} is a link")
    if not _is_whole(order, place):
        _lay_out(order, place, export)
    _point(order, home)
    return str(place)


def _lay_out(order: ReleaseOrder, place: Path, export: Export) -> None:
    """Put a whole version at ``place``; what is damaged there goes."""
    draft, old = (place.with_name(f".{order.id}.{word}") for word in ("part", "old"))
    for left in (draft, old):
        shutil.rmtree(left, ignore_errors=True)
    draft.mkdir()
    exported = export(draft / "content")
    whole = exported
    if not exported.is_dir():
        whole = draft / "folder"
        whole.mkdir()
        exported.rename(whole / order.files[0].path)
    whole.chmod(0o755)
    _write(whole / RECORD, _record(order))
    for folder, _, names in os.walk(whole, topdown=False):
        for name in names:
            _sync(Path(folder) / name)
        _sync(Path(folder))
    if place.exists():
        place.rename(old)
    whole.rename(place)
    _sync(place.parent)
    for left in (draft, old):
        shutil.rmtree(left, ignore_errors=True)


def _is_whole(order: ReleaseOrder, place: Path) -> bool:
    """Tell whether exactly this version lies there, by the bytes of every file."""
    try:
        if (place / RECORD).read_bytes() != _record(order):
            return False
        return all(
            not (place / f.path).is_symlink() and _sha256(place / f.path) == (f.size_bytes, f.sha256)
            for f in order.files
        )
    except OSError:
        return False


def _sha256(path: Path) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while part := file.read(_STEP):
            digest.update(part)
            size += len(part)
    return size, digest.hexdigest()


def _point(order: ReleaseOrder, home: Path) -> None:
    """Let the link name the version: a reader sees the old one or the new one."""
    link, fresh = home / LINK, home / f".{order.id}.link"
    if link.exists() and not link.is_symlink():
        raise OSError(f"{link} is no link")
    if link.is_symlink() and str(link.readlink()) == str(order.version):
        return
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(str(order.version))
    fresh.replace(link)
    _sync(home)


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


# an object store


def _in_store(order: ReleaseOrder, root: str, export: Export) -> str:
    import fsspec

    store, top = fsspec.core.url_to_fs(root)
    home = f"{top.rstrip('/')}/{order.model}"
    place = f"{home}/{order.version}"
    record = _record(order)
    if not _is_stored(store, place, record, order):
        with tempfile.TemporaryDirectory(prefix="tw-release-") as folder:
            exported = export(Path(folder) / "content")
            for file in order.files:
                local = exported / file.path if exported.is_dir() else exported
                store.put_file(str(local), f"{place}/{file.path}")
        store.pipe_file(f"{place}/{RECORD}", record)
        if not _is_stored(store, place, record, order):
            raise OSError(f"{root}/{order.model}/{order.version} is not what was written")
    pointer = {"model": order.model, "version": order.version, "path": str(order.version), "release": order.id}
    store.pipe_file(f"{home}/{OBJECT}", canonical_json(pointer).encode())
    return f"{root}/{order.model}/{order.version}"


def _is_stored(store: Any, place: str, record: bytes, order: ReleaseOrder) -> bool:  # noqa: ANN401 - fsspec has no types
    """Tell whether the version is there: its record, which is written last, and the size of each file."""
    store.invalidate_cache()
    try:
        if store.cat_file(f"{place}/{RECORD}") != record:
            return False
        return all(store.size(f"{place}/{f.path}") == f.size_bytes for f in order.files)
    except FileNotFoundError:
        return False
