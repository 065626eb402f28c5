"""How far something reaches: all of it as identifiers first, then as much of it as is wanted as a graph."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from trainwright.core.artifact import ModelVersion, Output
from trainwright.core.ids import AttemptId, RunId
from trainwright.core.lineage import REUSED, Impact, NodeKind, Weaver
from trainwright.core.run import Attempt, RunView
from trainwright.service.provenance import Records
from trainwright.service.starting import Start
from trainwright.store import lineage as store
from trainwright.store import registry

_Registered = tuple[AttemptId, str, str, int]
"""Attempt and output behind a model version, its name and its number."""


@dataclass(slots=True)
class Reach:
    """Everything that came of something.

    Attributes:
        raw: addresses at which attempts read the data asked for: its own, those of its slices.
        attempts: that came of it, without those asked for.
        models: versions that came of it, by name and number.
    """

    raw: set[str] = field(default_factory=set)
    attempts: set[AttemptId] = field(default_factory=set)
    models: list[_Registered] = field(default_factory=list)

    @property
    def runs(self) -> set[RunId]:
        """Return the runs of those attempts."""
        return {_run_of(attempt) for attempt in self.attempts}


def reach_of(records: Records, start: Start) -> Reach:
    """Follow everything, by a few statements for each level of the graph, however many runs there are."""
    rows, project = records.rows, records.context.project
    reach = Reach()
    if start.model is not None:
        if start.root.kind is NodeKind.MODEL:
            reach.models = [(AttemptId(""), "", start.model.name, start.model.version)]
        return reach
    lists, copies = _Lists(records), defaultdict[AttemptId, list[AttemptId]](list)
    for origin, copy in store.copies(rows, project):
        copies[origin].append(copy)
    reach.attempts = set(_readers_of_data(records, start, reach))
    reach.attempts |= set(_readers_of_outputs(records, start.outputs, lists))
    reach.attempts |= {copy for output in start.outputs for copy in copies[output.attempt]}
    asked = {attempt.id for _, attempt in start.attempts}
    seen = reach.attempts | asked
    frontier = set(seen)
    while frontier:
        found = {*store.followers(rows, frontier), *lists.members(frontier)}
        frontier = found.union(*(copies[attempt] for attempt in frontier)) - seen
        seen |= frontier
    outputs = {(output.attempt, output.name) for output in start.outputs}
    registered = store.published_models(rows, project)
    reach.models = [m for m in registered if m[0] in seen or (m[0], m[1]) in outputs]
    reach.attempts = seen - asked
    return reach


def _readers_of_data(records: Records, start: Start, reach: Reach) -> Iterator[AttemptId]:
    if start.raw:
        for attempt, address, _ in store.readers(records.rows, records.context.project, start.raw):
            reach.raw.add(address)
            yield attempt


def _readers_of_outputs(records: Records, outputs: Collection[Output], lists: "_Lists") -> Iterator[AttemptId]:
    if not outputs:
        return
    wanted = {(o.address, o.content.digest) for o in outputs}
    for attempt, address, digest in store.readers(records.rows, records.context.project, {o.address for o in outputs}):
        if (address, digest) in wanted:
            yield attempt
    for output in outputs:
        yield from lists.members({output.attempt}, output.name)


class _Lists:
    """Which attempts are at members that a list decided; no record of what they read says so."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._looked: set[RunId] = set()
        self._members: dict[AttemptId, dict[str, set[AttemptId]]] = {}

    def members(self, attempts: Collection[AttemptId], output: str = "") -> Iterator[AttemptId]:
        """Yield the attempts at members of lists that these attempts published, or of the one output."""
        new = {_run_of(attempt) for attempt in attempts} - self._looked
        self._looked |= new
        for run in store.with_lists(self._records.rows, new) if new else ():
            self._look(self._records.view(run))
        for attempt in attempts:
            for name, members in self._members.get(attempt, {}).items():
                if output in {"", name}:
                    yield from members

    def _look(self, view: RunView | None) -> None:
        for record in view.attempts if view else ():
            for output in self._records.lists(view, record.step) if view else ():
                self._members.setdefault(output.attempt, {}).setdefault(output.name, set()).add(record.id)


def impact(records: Records, reach: Reach) -> Impact:
    """Return the count of all that came of something."""
    versions: dict[str, set[int]] = defaultdict(set)
    for _, _, name, number in reach.models:
        versions[name].add(number)
    aliases = sorted(
        f"models/{name}@{alias}"
        for name, numbers in versions.items()
        for alias, number in registry.aliases(records.rows, records.context.project, name).items()
        if number in numbers
    )
    count = sum(map(len, versions.values()))
    return Impact(len(reach.runs), len(reach.attempts), tuple(sorted(versions)), count, tuple(aliases))


def woven(records: Records, start: Start, reach: Reach, shown: Iterable[RunId]) -> Weaver:
    """Return the graph of what came of something, for the runs that are to be shown."""
    weaver = Weaver()
    weaver.add(start.root)
    _weave_data(records, weaver, start, reach)
    members = list(start.attempts)
    for run in shown:
        view = records.view(run)
        members += [(view, a) for a in view.attempts if a.id in reach.attempts] if view else []
    outputs = _weave_nodes(records, weaver, start, members)
    for view, record in members:
        _link_causes(records, weaver, view, record, start)
    for attempt, output, name, number in reach.models:
        here = outputs.get((attempt, output))
        version = registry.version(records.rows, records.context.project, name, number) if here else None
        if here and version is not None:
            weaver.link(here, _weave_model(records, weaver, version), digest=version.content.digest)
    if start.model is not None and start.root.kind is NodeKind.MODEL:
        _weave_model(records, weaver, start.model)
    return weaver


def _weave_data(records: Records, weaver: Weaver, start: Start, reach: Reach) -> None:
    """Add the data that the root is or is a part of, and the slices that were read of it."""
    root = start.root.address
    for address, path in start.raw.items():
        if address == root or start.root.kind is NodeKind.SLICE:
            continue
        version = records.versions().get(address)
        digest = version.content.digest if version else ""
        records.weave_raw(weaver, address, None)
        weaver.link(root, address, path, digest)
    for address in sorted(reach.raw):
        base, mark, part = address.partition("#")
        if mark and base in weaver.nodes and address not in weaver.nodes:
            records.weave_raw(weaver, address, None)
            weaver.link(base, address, part)


def _weave_nodes(
    records: Records, weaver: Weaver, start: Start, members: Iterable[tuple[RunView, Attempt]]
) -> dict[tuple[AttemptId, str], str]:
    """Add attempts and what they published; return the address of each output."""
    found: dict[tuple[AttemptId, str], str] = {}
    for output in () if start.model else start.outputs:
        found[output.attempt, output.name] = here = weaver.add(records.artifact(output))
        if here != start.root.address:
            weaver.link(start.root.address, here, output.name, output.content.digest)
    for view, record in members:
        address = weaver.add(records.attempt(view, record))
        for output in (o for o in view.outputs if o.attempt == record.id):
            found[record.id, output.name] = here = weaver.add(records.artifact(output))
            weaver.link(address, here, output.name, output.content.digest)
    return found


def _link_causes(records: Records, weaver: Weaver, view: RunView, record: Attempt, start: Start) -> None:
    here, known = f"runs:/{record.id}", False
    for cause in records.causes(view, record):
        if cause.address in weaver.nodes:
            known = True
            weaver.link(cause.address, here, cause.name, cause.digest)
    for output in start.outputs:
        if record.origin == output.attempt:
            weaver.link(records.address_of(output), here, REUSED, output.content.digest)
    if not known and start.root.kind is NodeKind.RUN and any(a.id == record.id for _, a in start.attempts):
        weaver.link(start.root.address, here)


def _weave_model(records: Records, weaver: Weaver, version: ModelVersion) -> str:
    """Add a model version and the aliases that point at it now, and the releases that serve it."""
    address = weaver.add(records.model(version))
    for alias in version.aliases:
        weaver.link(address, weaver.add(records.alias(version, alias)))
    for release in records.releases(version):
        weaver.link(address, weaver.add(release), digest=release.digest)
    return address


def _run_of(attempt: AttemptId) -> RunId:
    return RunId(attempt.partition("/")[0])
