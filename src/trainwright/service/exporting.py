"""Telling exporters what happened: from the journal, in order, at least once, each from a cursor of its own."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib.metadata import entry_points

from trainwright.core.artifact import Content, Input
from trainwright.core.ids import RunId, StepName
from trainwright.core.run import Run, StepRun
from trainwright.core.states import RunState, StepState
from trainwright.core.trigger import TriggerKind
from trainwright.lifecycle.phases import Progress
from trainwright.ports.exporter import Change, Destination, Exporter, Phase, Sink
from trainwright.service.context import Context
from trainwright.service.finding import Finding
from trainwright.service.tables import known_table
from trainwright.store import datasets, exports, registry, runs
from trainwright.store.database import Rows
from trainwright.store.exports import Cursor, JournalEvent

LOG = logging.getLogger(__name__)

AT_ONCE = 200
"""Events between two moves of a cursor: so many are sent again when the process is killed before it moves."""

LONGEST_PAUSE_S = 60
"""After failures: 1, 2, 4 … seconds, at most this."""

_KEPT = 64
"""Runs whose progress is remembered."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What a turn of sending did.

    Attributes:
        events: dealt with; 0 when there was nothing to do, or nothing could be done.
        documents: handed over.
    """

    events: int
    documents: int


class Changes:
    """Reads the journal as changes with all that belongs to them; remembers how far each run is."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._progress: dict[RunId, tuple[int, Progress]] = {}

    def after(self, rows: Rows, seq: int, limit: int) -> Iterator[tuple[int, Change | None]]:
        """Yield the number of each next event with the change that it is; None for what says nothing by itself."""
        for event in exports.events(rows, self._context.project, seq, limit):
            yield event.seq, self._change(rows, event)

    def _change(self, rows: Rows, event: JournalEvent) -> Change | None:
        progress = self._progress_before(rows, event)
        self._progress[event.run] = (event.seq, progress)
        step, phases = _note(progress, event)
        run = runs.run(rows, event.run) if phases else None
        if run is None:
            return None
        record = runs.step(rows, event.run, step) if step is not None else None
        if step is not None and record is None:
            return None
        change = Change(
            seq=event.seq,
            at=event.at,
            state=event.state,
            reason=event.reason,
            phases=phases,
            run=run,
            subject=progress.subject(step),
            parent=None if record is None else progress.subject(record.parent),
            root=progress.subject(None),
            fingerprint=runs.fingerprint(rows, run.project, run.fingerprint),
            record=record,
            nominal_at=exports.nominal_time(rows, run.id, [TriggerKind.CRON]),
        )
        change = change if record is None else self._with_data(rows, change, progress, record)
        progress.end(step, phases)
        return change

    def _progress_before(self, rows: Rows, event: JournalEvent) -> Progress:
        """Return how far a run was just before an event; what this process has not seen of it is read."""
        upto, progress = self._progress.pop(event.run, (0, Progress()))
        if upto >= event.seq:  # read before, and not taken: from the beginning
            upto, progress = 0, Progress()
        for earlier in exports.events_of_run(rows, event.run, upto, event.seq - 1):
            step, phases = _note(progress, earlier)
            progress.end(step, phases)
        while len(self._progress) >= _KEPT:
            self._progress.pop(next(iter(self._progress)))
        return progress

    def _with_data(self, rows: Rows, change: Change, progress: Progress, record: StepRun) -> Change:
        run, over = change.run, Phase.END in change.phases
        attempt = progress.attempt(run.id, record.name)
        inputs = exports.inputs_of(rows, attempt) if attempt else ()
        outputs = exports.outputs_of(rows, attempt) if attempt and over else ()
        model = None
        if over and record.metadata.get("model_version"):
            name, _, number = str(record.metadata["model_version"]).removeprefix("models/").rpartition("/")
            model = registry.version(rows, run.project, name, int(number))
        if model is not None:
            given = Input("model", "model", model.content, f"runs:/{model.run}/{model.step}/{model.output}")  # type: ignore[arg-type]
            inputs = (*inputs, given)
        sources = _sources(rows, run, inputs)
        known = ((address, known_table(self._context, rows, given)) for address, given in _data(inputs).items())
        tables = {address: table for address, table in known if table is not None}
        return replace(change, inputs=inputs, outputs=outputs, model=model, sources=sources, tables=tables)


def _note(progress: Progress, event: JournalEvent) -> tuple[StepName | None, tuple[Phase, ...]]:
    """Tell progress an event; return the step that it is about and what it means."""
    _, _, *rest = event.subject.split("/")
    if not rest:
        return None, progress.note_run(RunState(event.state))
    step = StepName(rest[0])
    if len(rest) > 1:
        progress.note_attempt(step, int(rest[1]))
        return step, ()
    return step, progress.note_step(step, StepState(event.state))


def _data(inputs: tuple[Input, ...]) -> Mapping[str, Content]:
    return {given.address: given.content for given in inputs if not given.address.startswith("runs:/")}


def _sources(rows: Rows, run: Run, inputs: tuple[Input, ...]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for given in inputs:
        base = given.address.partition("#")[0]
        if base.startswith("datasets/"):
            name, _, version = base.removeprefix("datasets/").rpartition("@")
            for known in datasets.versions(rows, run.project, name):
                if str(known.version) == version:
                    found[given.address] = known.source
    return found


class Outgoing:
    """One exporter on its way to one destination."""

    def __init__(self, context: Context, exporter: Exporter, destination: Destination) -> None:
        """Look at the destination.

        Raises:
            SpecError: it is no target.
        """
        self.destination = destination
        self._context, self._exporter = context, exporter
        self._sink: Sink = exporter.open(destination)
        self._changes = Changes(context)

    def begin(self, *, from_first: bool = False) -> Cursor:
        """Return the cursor; a new one begins with what happens from now on, or with the first event there is."""
        context, to = self._context, self.destination
        with context.database.reading() as rows:
            known = exports.cursor(rows, context.project, to.exporter, to.target)
        if known is not None:
            return known
        with context.database.writing() as rows:
            seq = 0 if from_first else exports.newest(rows, context.project)
            exports.begin(rows, context.project, Cursor(to.exporter, to.target, seq))
            return exports.cursor(rows, context.project, to.exporter, to.target) or Cursor(to.exporter, to.target, seq)

    def backlog(self) -> int:
        """Return how many events are still to be dealt with."""
        seq = self.begin().seq
        with self._context.database.reading() as rows:
            return exports.waiting(rows, self._context.project, seq)

    def pause_s(self) -> float:
        """Return how many seconds to wait before the next try; 0 when the last one went well."""
        cursor = self.begin()
        if cursor.tried_at is None:
            return 0.0
        pause = timedelta(seconds=min(LONGEST_PAUSE_S, 2 ** min(cursor.failures - 1, 10)))
        return max(0.0, (cursor.tried_at + pause - self._context.clock.now()).total_seconds())

    def send(self) -> Sent:
        """Hand over the next events, then move the cursor: whoever is killed in between sends them again."""
        context, cursor = self._context, self.begin()
        with context.database.reading() as rows:
            found = list(self._changes.after(rows, cursor.seq, AT_ONCE))
        items = [(seq, self._exporter.render(c, self.destination.namespace) if c else ()) for seq, c in found]
        telling = [(seq, documents) for seq, documents in items if documents]
        if not found:
            return Sent(0, 0)
        delivered = self._sink.deliver([documents for _, documents in telling])
        count = sum(len(documents) for _, documents in telling[: delivered.done])
        after = replace(cursor, seq=found[-1][0], sent=cursor.sent + count, failures=0, tried_at=None, problem="")
        if delivered.failure is not None:
            stuck = telling[delivered.done][0]
            words = str(delivered.failure.problem.message)
            LOG.warning("%s: event %s: %s", self.destination.exporter, stuck, words)
            if delivered.failure.transient:
                tried, failures = context.clock.now(), cursor.failures + 1
                after = replace(after, seq=stuck - 1, failures=failures, tried_at=tried, problem=words)
            else:
                after = replace(after, seq=stuck, refused=cursor.refused + 1, problem=words)
        with context.database.writing() as rows:
            exports.move(rows, context.project, after)
        return Sent(after.seq - cursor.seq, count)

    def documents(self, since: int) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yield number and documents of every event after ``since``; no cursor moves."""
        while True:
            with self._context.database.reading() as rows:
                found = list(self._changes.after(rows, since, AT_ONCE))
            if not found:
                return
            for seq, change in found:
                if change is not None:
                    yield seq, self._exporter.render(change, self.destination.namespace)
            since = found[-1][0]

    def deliver(self, documents: tuple[str, ...]) -> None:
        """Hand over the documents of one event by hand.

        Raises:
            BackendError: they were not taken.
        """
        failure = self._sink.deliver([documents]).failure
        if failure is not None:
            raise failure

    def finding(self) -> Finding:
        """Return what ``tw doctor`` says of it."""
        cursor, backlog = self.begin(), self.backlog()
        words = f"{cursor.sent} sent to {cursor.target}, {backlog} changes of state still to be told"
        words += f", {cursor.refused} refused" if cursor.refused else ""
        words += f": {cursor.problem}" if cursor.problem else ""
        remedy = "tw lineage export sends what waits, or says why not; nothing is lost meanwhile"
        ok = not cursor.problem
        return Finding(self.destination.exporter, ok=ok, words=words, remedy=remedy, needed=False)


def open_way(context: Context, destination: Destination) -> Outgoing:
    """Return what sends events to a destination by its plugin.

    Raises:
        SpecError: it is no target.
    """
    (found,) = entry_points(group="trainwright.exporters", name=destination.exporter)
    return Outgoing(context, found.load()(), destination)
