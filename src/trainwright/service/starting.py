"""What people ask the lineage of: a model, an alias, data, a file, a run, a step, an attempt, an output."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trainwright.core.artifact import Content, DatasetVersion, ModelVersion, Output
from trainwright.core.errors import NotFoundError
from trainwright.core.ids import Digest, StepName
from trainwright.core.lineage import LineageNode, NodeKind
from trainwright.core.quantity import show_bytes
from trainwright.core.run import Attempt, RunView
from trainwright.lifecycle.inputs import made
from trainwright.plan.plan import GroupKind
from trainwright.service import models, slices
from trainwright.service.context import Context
from trainwright.service.datasets import resolve
from trainwright.service.lookup import find_attempt, find_run, find_step, split_address
from trainwright.service.nearest import did_you_mean
from trainwright.service.provenance import Records, content_words, source, turn
from trainwright.store import lineage as store
from trainwright.store import registry

_SHA = re.compile(r"sha256:[0-9a-f]{64}")
_RUN = re.compile(r"runs:?/")
_MODEL = re.compile(r"[^/:@]+(/\d+|@[^/:@]+)?")
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Start:
    """What an address means.

    Attributes:
        root: its node.
        attempts: the attempts it stands for; one whose address is the root's is the root itself.
        outputs: the outputs it stands for, likewise.
        model: the version; the root may be an alias of it.
        raw: addresses of data that it is, or is a part of → its name there: the path of a file.
    """

    root: LineageNode
    attempts: tuple[tuple[RunView, Attempt], ...] = ()
    outputs: tuple[Output, ...] = ()
    model: ModelVersion | None = None
    raw: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Named:
    """An address whose name the registry or the datasets know; found before the walk, in transactions of their own.

    Attributes:
        model: the version, and the alias that it was asked by (empty without one).
        dataset: the version that it is, or is a part of.
        part: address and content of the slice that is asked for; None for none.
    """

    asked: str
    model: tuple[ModelVersion, str] | None = None
    dataset: DatasetVersion | None = None
    part: tuple[str, Content] | None = None


def named(context: Context, asked: str) -> Named:
    """Look up the name in an address.

    Raises:
        NotFoundError: no model or dataset has it.
        SpecError: it names a version and an alias, or a slice that is none.
    """
    if asked.startswith("datasets/"):
        whole, part = slices.split(asked)
        name, _, rest = whole.partition("@")
        version = rest.partition("/")[0]
        found = resolve(context, f"{name}@{version}" if version else name)
        return Named(asked, dataset=found, part=slices.cut(context, found, part) if part else None)
    if asked.startswith(("models/", "models:/")):
        return Named(asked, model=models.find(context, asked))
    if _RUN.match(asked) or not _MODEL.fullmatch(asked) or (context.here / asked).exists():
        return Named(asked)
    with context.database.reading() as rows:
        if store.is_source(rows, context.project, asked):
            return Named(asked)
    return Named(asked, model=models.find(context, asked))


def find(records: Records, name: Named) -> Start:
    """Return what an address means.

    Raises:
        NotFoundError: nothing has that address, or no data holds that file.
        SpecError: the beginning of an id fits several runs.
    """
    if name.dataset is not None:
        return _dataset(records, name, name.dataset)
    if name.model is not None:
        return _model(records, *name.model)
    if _RUN.match(name.asked):
        return _run(records, name.asked)
    if _SHA.fullmatch(name.asked):
        return _by_hash(records, name.asked)
    return _place(records, name.asked)


def _model(records: Records, version: ModelVersion, alias: str) -> Start:
    output = records.published(version.run, version.step, version.output, version.content.digest)
    root = records.alias(version, alias) if alias else records.model(version)
    return Start(root, outputs=(output,) if output else (), model=version)


# data


def _dataset(records: Records, name: Named, found: DatasetVersion) -> Start:
    if name.part is not None:
        address, content = name.part
        root = LineageNode(address, NodeKind.SLICE, content.digest, content_words(content))
        return Start(root, raw={address: ""})
    _, slash, path = name.asked.partition("@")[2].partition("/")
    if not slash:
        return Start(records.dataset(found), raw={found.address: ""})
    entries = {p: (size, sha256) for p, size, sha256 in records.context.content.entries(found.content.digest)}
    if path not in entries:
        raise NotFoundError(
            "TW4111",
            f"{found.address} has no file {path}",
            remedy=did_you_mean(path, entries, f"it has {', '.join(sorted(entries)[:5])}"),
        )
    size, sha256 = entries[path]
    return _file(records, f"{found.address}/{path}", sha256, f"{show_bytes(size)} in {found.address}", found)


def _by_hash(records: Records, asked: str) -> Start:
    same = [v for v in records.versions().values() if v.content.digest == asked]
    if same:
        root = LineageNode(asked, NodeKind.FILE, asked, f"all of {', '.join(v.address for v in same)}")
        return Start(root, raw={v.address: "" for v in same})
    return _file(records, asked, asked.removeprefix("sha256:"), "")


def _file(records: Records, address: str, sha256: str, note: str, known: DatasetVersion | None = None) -> Start:
    """Return the start for the bytes of one file, wherever they lie in data that the project knows."""
    raw = _holding(records, sha256, known)
    if not raw:
        versions = len(records.versions())
        raise NotFoundError(
            "TW4112",
            f"none of {versions} dataset version{'s' if versions != 1 else ''} holds the bytes of {address}",
            where=f"sha256:{sha256}",
            why="a file is looked for by its content; data that lies elsewhere by reference is known as a whole only",
            remedy="see what there is: tw dataset ls",
        )
    return Start(LineageNode(address, NodeKind.FILE, f"sha256:{sha256}", note), raw=raw)


def _holding(records: Records, sha256: str, known: DatasetVersion | None) -> dict[str, str]:
    """Return the addresses of data that holds a file, with its path there; ``known`` holds it for certain."""
    by_digest: dict[Digest, list[str]] = {}
    for version in sorted(records.versions().values(), key=lambda v: (v != known, v.name, v.version)):
        by_digest.setdefault(version.content.digest, []).append(version.address)
    for address, digest in store.raw_inputs(records.rows, records.context.project):
        by_digest.setdefault(digest, []).append(address)
    held = records.context.content.holding(sha256, list(by_digest))
    return {address: paths[0] for digest, paths in held.items() for address in by_digest[digest]}


def _place(records: Records, asked: str) -> Start:
    """Return the start for a path or URI of raw data, or a local file."""
    local = records.context.here / asked.removeprefix("file://").removeprefix("file:")
    project = records.context.project
    for address in dict.fromkeys((asked, str(local), str(local.resolve()))):
        if store.is_source(records.rows, project, address):
            versions = [v.address for v in records.versions().values() if v.source == address]
            raw = dict.fromkeys((*sorted(versions), address), "")
            return Start(source(address), raw=raw)
    if local.is_file():
        return _file(records, asked, _hash(local), f"{show_bytes(local.stat().st_size)} as it is now")
    raise NotFoundError(
        "TW4113",
        f"nothing is known of {asked}",
        why="no dataset came from there and no run read it",
        remedy="name a model, a dataset version, a run, a step, an output or a file; see: tw lineage --help",
    )


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


# runs


def _run(records: Records, asked: str) -> Start:
    parts = _RUN.sub("", asked, count=1).split("/")
    found = find_run(records.rows, records.context.project, parts[0])
    view = records.view(found.id)
    if view is None:
        raise LookupError(found.id)
    if len(parts) == 4 and parts[2].isdigit():  # noqa: PLR2004 - RUN/STEP/N/OUTPUT
        step = find_step(view, parts[1])
        output = records.published_by(view, step, int(parts[2]), parts[3])
        return _outputs(records, view, [output] if output else [], (step, parts[3]))
    if len(parts) == 3 and not parts[2].isdigit():  # noqa: PLR2004 - RUN/STEP/OUTPUT
        return _named_output(records, view, find_step(view, parts[1]), parts[2])
    _, name, number = split_address(asked)
    if name is None:
        return _several(records, view, f"runs:/{view.run.id}", "")
    step = find_step(view, name)
    attempt = find_attempt(view, step, number)
    if attempt is not None:
        return Start(records.attempt(view, attempt), attempts=((view, attempt),))
    if view.step(step).tally is not None:
        return _several(records, view, f"runs:/{view.run.id}/{step}", f"{step}.")
    planned = records.plan(view).step(step)
    if planned.registration is not None and view.step(step).metadata.get("model_version"):
        model, _, digits = str(view.step(step).metadata["model_version"]).removeprefix("models/").rpartition("/")
        version = registry.version(records.rows, records.context.project, model, int(digits))
        if version is not None:
            return _model(records, version, "")
    raise NotFoundError("TW4106", f"step {name} of that run never started", remedy=f"tw why {asked}")


def _several(records: Records, view: RunView, address: str, prefix: str) -> Start:
    """Return the start for all steps in a group, or in the run, that published something."""
    published = {o.attempt for o in view.outputs if o.step.startswith(prefix)}
    attempts = tuple((view, a) for a in view.attempts if a.id in published)
    return Start(records.run(view.run, address), attempts=attempts)


def _named_output(records: Records, view: RunView, step: StepName, name: str) -> Start:
    planned = records.plan(view).step(step)
    group = planned.group
    wanted = [step]
    if group is not None and group.kind is GroupKind.EACH:
        tally = view.step(step).tally
        wanted = [StepName(f"{step}.{number}") for number in range(tally.total if tally else 0)]
    now = turn(records.plan(view), view)
    found = [o for each in wanted if name in planned.outputs and (o := made(now, each, name)) is not None]
    if not found and group is None:
        found = [o for o in view.outputs if o.step == step and o.name == name][-1:]
    if wanted == [step] or not found:
        return _outputs(records, view, found, (step, name))
    note = f"{len(found)} of {len(wanted)} members"
    root = records.run(view.run, f"runs:/{view.run.id}/{step}/{name}", note)
    return Start(root, outputs=tuple(found))


def _outputs(records: Records, view: RunView, found: list[Output], wanted: tuple[StepName, str]) -> Start:
    if not found:
        step, name = wanted
        raise NotFoundError("TW4105", f"step {step} of that run published no {name}", remedy=f"tw show {view.run.id}")
    return Start(records.artifact(found[0]), outputs=(found[0],))
