"""From any address back to the raw data, and forward to the models and aliases that came of it."""

from dataclasses import replace

from trainwright.core.artifact import Output
from trainwright.core.ids import AttemptId
from trainwright.core.lineage import Direction, Lineage, LineageNode, NodeKind, Weaver
from trainwright.core.run import Attempt, RunView
from trainwright.service import starting
from trainwright.service.context import Context
from trainwright.service.impact import impact, reach_of, woven
from trainwright.service.provenance import Records, source, with_equal_outputs
from trainwright.service.starting import Start
from trainwright.store import lineage as store


def upstream(context: Context, address: str) -> Lineage:
    """Return all that lies behind something: what it was made of, by which code, and who asked for it.

    Raises:
        NotFoundError, SpecError: as ``starting.named`` and ``starting.find``.
    """
    name = starting.named(context, address)
    with context.database.reading() as rows:
        records = Records(context, rows)
        start = starting.find(records, name)
        walk = _Up(records)
        walk.begin(start)
        walk.go()
        with_equal_outputs(records, walk.weaver)
        return walk.weaver.told(address, start.root.address, Direction.UP)


def downstream(context: Context, address: str, most_runs: int = 0) -> Lineage:
    """Return what came of something, as far as the aliases in use, with the count of all of it.

    Args:
        context: of the project.
        address: of a model, alias, dataset version, file, run, step, attempt or output, or a path or URI.
        most_runs: that are in the graph, newest first; 0 = all. The others are counted.

    Raises:
        NotFoundError, SpecError: as ``starting.named`` and ``starting.find``.
    """
    name = starting.named(context, address)
    with context.database.reading() as rows:
        records = Records(context, rows)
        start = starting.find(records, name)
        reach = reach_of(records, start)
        shown = store.newest(rows, reach.runs, most_runs)
        weaver = woven(records, start, reach, shown)
        with_equal_outputs(records, weaver)
        found = weaver.told(address, start.root.address, Direction.DOWN)
        return replace(found, impact=impact(records, reach), omitted_runs=len(reach.runs) - len(shown))


class _Up:
    """Adds what lies behind attempts, one after the other; a shared ancestor is met once."""

    def __init__(self, records: Records) -> None:
        self.records, self.weaver = records, Weaver()
        self._left: dict[AttemptId, tuple[RunView, Attempt]] = {}

    def begin(self, start: Start) -> None:
        """Add the root and what it directly stands for."""
        root = self.weaver.add(start.root)
        if start.model is not None and start.root.kind is NodeKind.ALIAS:
            root = self.weaver.add(self.records.model(start.model))
            self.weaver.link(root, start.root.address)
        for output in start.outputs:
            address = self.output(output)
            if address != root:
                self.weaver.link(address, root, "" if start.model else output.name, output.content.digest)
        for view, attempt in start.attempts:
            address = self.attempt(view, attempt)
            if address != root:
                self.weaver.link(address, root)
        for address, path in start.raw.items():
            self._data(start.root, address, path)

    def go(self) -> None:
        """Follow everything back to where it began."""
        done: set[AttemptId] = set()
        while left := [both for attempt, both in self._left.items() if attempt not in done]:
            for view, record in left:
                self._follow(view, record)
                done.add(record.id)

    def _follow(self, view: RunView, record: Attempt) -> None:
        for cause in self.records.causes(view, record):
            if cause.output is not None:
                self.output(cause.output)
            elif cause.attempt is not None:
                self._origin(cause.attempt)
            else:
                given = next(i for i in view.inputs[record.id] if i.address == cause.address)
                self.records.weave_raw(self.weaver, cause.address, given.content)
            self.weaver.link(cause.address, f"runs:/{record.id}", cause.name, cause.digest)

    def output(self, output: Output) -> str:
        """Add an output and the attempt that published it."""
        address = self.weaver.add(self.records.artifact(output))
        maker = self.records.attempt_of(output.attempt)
        if maker is not None:
            self.weaver.link(self.attempt(*maker), address, output.name, output.content.digest)
        return address

    def attempt(self, view: RunView, record: Attempt) -> str:
        """Add an attempt, to be followed later."""
        self._left.setdefault(record.id, (view, record))
        return self.weaver.add(self.records.attempt(view, record))

    def _origin(self, attempt: AttemptId) -> None:
        maker = self.records.attempt_of(attempt)
        if maker is not None:
            self.attempt(*maker)
        else:
            self.weaver.add(LineageNode(f"runs:/{attempt}", NodeKind.ATTEMPT, note="its run was removed"))

    def _data(self, root: LineageNode, address: str, path: str) -> None:
        if root.kind is NodeKind.FILE:  # what a file came from is where its dataset came from
            version = self.records.versions().get(address)
            place = version.source if version else address
            self.weaver.add(source(place))
            self.weaver.link(place, root.address, path)
        elif root.kind is not NodeKind.SOURCE:
            self.records.weave_raw(self.weaver, address, None)
