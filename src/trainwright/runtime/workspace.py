"""The folders of an attempt: inputs and outputs, if it has any, and a private copy of the code."""

from __future__ import annotations

import os

from trainwright.runtime import plainjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Fetch = Callable[[Mapping[str, str], str], None]

SHARED_ABOVE = 1 << 20
"""Bytes; larger files of the code tree are links to a shared read-only copy, smaller ones are copied."""


class Workspace:
    """Where everything is.

    Attributes:
        cwd: where the command starts.
        inputs: name → path of the file or folder itself.
        outputs: name → path that the command has to write.
        environment: folder of the Python environment that it runs in; empty = that of whoever asked for it.
        snapshots: name → facts of those inputs that are foreign snapshots.
    """

    __slots__ = ("cwd", "environment", "inputs", "outputs", "snapshots")

    def __init__(
        self,
        cwd: str,
        inputs: dict[str, str],
        outputs: dict[str, str],
        snapshots: dict[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.cwd = cwd
        self.inputs = inputs
        self.outputs = outputs
        self.environment = ""
        self.snapshots = snapshots or {}


def prepare(
    folder: str, job: dict[str, Any], store: str, fetch: Fetch | None = None, *, strict: bool = False
) -> Workspace:
    """Make the folders of an attempt and bring in what it reads.

    Args:
        folder: of the attempt, absolute.
        job: JSON of ``core.job.JobSpec``.
        store: root of the content store.
        fetch: brings a foreign snapshot into an empty folder; None when there is none among the inputs.
        strict: hash all data by reference, not only what looks different.

    Raises:
        ContentError: an input or the code is missing or altered, or a snapshot is gone.
        ValueError: a name that is not one path component.
        OSError: a folder cannot be made.
    """
    inputs = {}
    snapshots = {}
    work = _make(folder, "work")
    for name in ("inputs", "outputs"):
        if job[name] or (name == "inputs" and job.get("collections")):
            _make(folder, name)
    for item in job["inputs"]:
        name, path = one_name(item["name"]), ""
        if fetch is not None and may_be_snapshot(item):
            from trainwright.runtime.snapshot import bring

            path, facts = bring(store, item["content"]["digest"], fetch)
            snapshots.update({name: facts} if facts else {})
        else:
            from trainwright.runtime.checkout import checkout

            path = checkout(store, item["content"]["digest"], strict=strict)
        if path.startswith("/"):
            os.symlink(path, os.path.join(folder, "inputs", name))
        inputs[name] = path
    for name, collection in job.get("collections", {}).items():
        inputs[name] = collect(os.path.join(folder, "inputs", one_name(name)), collection, inputs)
    outputs = {name: os.path.join(folder, "outputs", one_name(name)) for name in sorted(job["outputs"])}
    if job["code"]:
        return Workspace(_bring_code(work, job["code"], store), inputs, outputs, snapshots)
    return Workspace(work, inputs, outputs, snapshots)


def may_be_snapshot(item: dict[str, Any]) -> bool:
    """Tell whether an input has no files here: a foreign snapshot, or an empty folder."""
    return not item["content"]["files"]


def collect(path: str, collection: dict[str, Any], inputs: dict[str, str]) -> str:
    """Put the outputs of the members of a group together as one input; return where it is.

    Values become a file with one JSON list. Anything else becomes a folder with an entry a member, named by its
    number with leading zeros, so that the order of names is the order of members.

    Raises:
        OSError: it cannot be made.
        ValueError: a value is no JSON.
    """
    places = [(name.rpartition(".")[2], inputs.pop(name)) for name in collection["inputs"]]
    if collection["kind"] == "value":
        values = []
        for _, place in places:
            with open(os.path.join(place, "value.json") if os.path.isdir(place) else place, "rb") as file:
                text = file.read().strip()
            plainjson.loads(text)
            values.append(text)
        with open(path, "wb") as file:
            file.write(b"[" + b",".join(values) + b"]")
        return path
    os.mkdir(path)
    width = max((len(number) for number, _ in places), default=1)
    for number, place in places:
        os.symlink(place, os.path.join(path, number.zfill(width)))
    return path


def _make(folder: str, name: str) -> str:
    path = os.path.join(folder, name)
    try:
        os.mkdir(path)
    except FileExistsError:
        return path
    return path


def one_name(name: str) -> str:
    """Return ``name`` when it can be a file name.

    Raises:
        ValueError: it leads elsewhere.
    """
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} cannot be a file name")
    return name


def _bring_code(work: str, code: dict[str, str], store: str) -> str:
    """Lay out the code tree as files of the attempt's own, so that nothing it writes reaches anybody else.

    Links to a shared tree would be cheaper, but root writes through them whatever their modes say.
    """
    from trainwright.runtime import content
    from trainwright.runtime.manifest import refuse_path

    kept = content.read_manifest(store, code["digest"])
    small = [e for e in kept.entries if e.size <= SHARED_ABOVE]
    large = [e for e in kept.entries if e.size > SHARED_ABOVE]
    content.lay_out(store, small, work, frozen=False)
    if large:
        from trainwright.runtime.checkout import checkout

        shared = os.fsencode(checkout(store, code["digest"]))
        for entry in large:
            name = entry.path.encode()
            link = os.path.join(os.fsencode(work), name)
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(os.path.join(shared, name), link)
    start = code["folder"]
    if start == ".":
        return work
    refuse_path(start)
    path = os.path.join(work, start)
    os.makedirs(path, exist_ok=True)  # a folder of files that are all ignored by git
    return path
