"""What the records say about single things of the lineage: each as a node, and what it directly came of."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from trainwright.core.artifact import Content, DatasetVersion, Input, ModelVersion, Output
from trainwright.core.codec import digest_of
from trainwright.core.ids import AttemptId, Digest, RunId, StepName, attempt_id
from trainwright.core.lineage import REUSED, Code, Facets, LineageNode, NodeKind, Weaver
from trainwright.core.quantity import show_bytes
from trainwright.core.release import ReleaseState
from trainwright.core.run import Attempt, Run, RunView
from trainwright.lifecycle.inputs import made
from trainwright.lifecycle.turn import Chance, Turn
from trainwright.plan.plan import Plan, within
from trainwright.service.context import Context
from trainwright.store import datasets, registry, releases, runs
from trainwright.store import lineage as store
from trainwright.store.database import Rows

_OUTPUT_PARTS = 3
"""Of ``RUN/STEP/OUTPUT``."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that an attempt came of.

    Attributes:
        address: of its node.
        name: the input's.
        digest: of the content that was read.
        output: what it is, when a step made it.
        attempt: what it is, when this attempt was answered from memory.
    """

    address: str
    name: str
    digest: str = ""
    output: Output | None = None
    attempt: AttemptId | None = None


class Records:
    """Reads each run, plan and dataset version once."""

    def __init__(self, context: Context, rows: Rows) -> None:
        self.context, self.rows = context, rows
        self._views: dict[RunId, RunView | None] = {}
        self._plans: dict[RunId, Plan] = {}
        self._outputs: dict[RunId, dict[tuple[StepName, str], list[Output]]] = {}
        self._facets: dict[RunId, Facets] = {}
        self._datasets: dict[str, DatasetVersion] | None = None

    def view(self, run: RunId) -> RunView | None:
        """Return the records of a run, or None when it was removed."""
        if run not in self._views:
            known = runs.run(self.rows, run)
            if known is None or known.project != self.context.project:
                self._views[run] = None
                return None
            view = self._views[run] = runs.view(self.rows, run)
            found: dict[tuple[StepName, str], list[Output]] = defaultdict(list)
            for output in sorted(view.outputs, key=lambda o: view.attempts[o.attempt].number):
                found[output.step, output.name].append(output)
            self._outputs[run] = dict(found)
        return self._views[run]

    def plan(self, view: RunView) -> Plan:
        """Return the plan of a run."""
        run = view.run
        if run.id not in self._plans:
            self._plans[run.id] = runs.plan(self.rows, run.project, run.plan_digest)
        return self._plans[run.id]

    def attempt_of(self, attempt: AttemptId) -> tuple[RunView, Attempt] | None:
        """Return an attempt with the records of its run, or None when that was removed."""
        view = self.view(RunId(attempt.partition("/")[0]))
        record = None if view is None else view.attempts.get(attempt)
        return None if view is None or record is None else (view, record)

    # nodes

    def attempt(self, view: RunView, record: Attempt) -> LineageNode:
        """Return the node of an attempt."""
        step = view.step(record.step)
        facets = self._facets_of(view.run)
        origin = f"runs:/{record.origin}" if record.origin else ""
        gates = step.gates if record.number == step.attempts else ()
        return LineageNode(
            f"runs:/{record.id}",
            NodeKind.ATTEMPT,
            note=f"{f'reused from {origin}, ' if origin else ''}{_code_words(facets.code)}",
            facets=replace(
                facets,
                at=record.started_at or record.queued_at,
                state=record.state,
                gates=gates,
                reused_from=origin,
            ),
        )

    def artifact(self, output: Output) -> LineageNode:
        """Return the node of what an attempt published."""
        return LineageNode(
            self.address_of(output), NodeKind.ARTIFACT, output.content.digest, content_words(output.content)
        )

    def address_of(self, output: Output) -> str:
        """Return the address of an output; one that a later attempt at the step replaced has the attempt's in it."""
        if self.view(output.run) is None:
            return output.address
        of_step = self._outputs[output.run][output.step, output.name]
        return output.address if of_step[-1] == output else f"runs:/{output.attempt}/{output.name}"

    def run(self, run: Run, address: str, note: str = "") -> LineageNode:
        """Return the node of a run, or of a group in it, that is asked for as a whole."""
        return LineageNode(address, NodeKind.RUN, note=note or run.pipeline, facets=self._facets_of(run))

    def model(self, version: ModelVersion) -> LineageNode:
        """Return the node of a model version."""
        passed = sum(gate.passed for gate in version.gates)
        note = f"registered {version.registered_at:%Y-%m-%d %H:%M} by {version.registered_by}, {passed} checks passed"
        facets = Facets(at=version.registered_at, by=version.registered_by, run=version.run, gates=version.gates)
        return LineageNode(version.address, NodeKind.MODEL, version.content.digest, note, facets)

    def alias(self, version: ModelVersion, alias: str) -> LineageNode:
        """Return the node of an alias that points at a version now, with who moved it there and why."""
        moves = registry.history(self.rows, self.context.project, version.name, alias)
        last = moves[-1] if moves else None
        facets = Facets(at=last.moved_at, by=last.moved_by, reason=last.reason) if last else Facets()
        address = f"models/{version.name}@{alias}"
        return LineageNode(address, NodeKind.ALIAS, note=f"version {version.version}", facets=facets)

    def releases(self, version: ModelVersion) -> list[LineageNode]:
        """Return the nodes of the releases that serve a version now, oldest first."""
        found = releases.of_model(self.rows, self.context.project, version.name, version.version)
        return [
            LineageNode(
                f"releases/{each.target}/{each.number}",
                NodeKind.RELEASE,
                each.digest,
                f"version {each.version} at {each.place}",
                Facets(at=each.ended_at, by=each.asked_by, reason=each.reason),
            )
            for each in found
            if each.state is ReleaseState.RELEASED
        ]

    # datasets

    def versions(self) -> dict[str, DatasetVersion]:
        """Return every dataset version of the project by its address."""
        if self._datasets is None:
            found = datasets.versions(self.rows, self.context.project)
            self._datasets = {v.address: v for v in found}
        return self._datasets

    def dataset(self, version: DatasetVersion) -> LineageNode:
        """Return the node of a dataset version."""
        digest = version.content.digest
        same = sorted(v.address for v in self.versions().values() if v.content.digest == digest and v != version)
        words = content_words(version.content) + (f", same content as {', '.join(same)}" if same else "")
        facets = Facets(at=version.added_at, by=version.added_by, same_content=tuple(same))
        return LineageNode(version.address, NodeKind.DATASET, digest, words, facets)

    def weave_raw(self, weaver: Weaver, address: str, content: Content | None) -> None:
        """Add data that no step made, and what lies behind it: a slice, its dataset version, the raw source."""
        base, is_slice, part = address.partition("#") if address.startswith("datasets/") else (address, "", "")
        digest = content.digest if content else ""
        words = content_words(content) if content else ""
        if not address.startswith("datasets/"):
            weaver.add(LineageNode(address, NodeKind.SOURCE, digest, words))
            return
        if is_slice:
            weaver.add(LineageNode(address, NodeKind.SLICE, digest, words))
        version = self.versions().get(base)
        if version is None:
            weaver.add(LineageNode(base, NodeKind.DATASET, "" if is_slice else digest, "removed"))
        else:
            weaver.add(self.dataset(version))
            weaver.add(source(version.source))
            weaver.link(version.source, base, digest=version.content.digest)
        if is_slice:
            weaver.link(base, address, part, digest)

    # what an attempt came of

    def causes(self, view: RunView, record: Attempt) -> Iterator[Cause]:
        """Yield what an attempt directly came of: its inputs, the list that its item is from, who really made it."""
        for given in sorted(view.inputs.get(record.id, ()), key=lambda i: _natural(i.name)):
            output = self._output_behind(given)
            address = self.address_of(output) if output else given.address
            yield Cause(address, given.name, given.content.digest, output)
        for each in self.lists(view, record.step):
            yield Cause(self.address_of(each), "item", each.content.digest, each)
        if record.origin is not None:
            yield Cause(f"runs:/{record.origin}", REUSED, attempt=record.origin)

    def lists(self, view: RunView, name: StepName) -> list[Output]:
        """Return the lists that a step, or a group around it, has its item from."""
        found = []
        parent = view.step(name).parent
        while parent is not None:
            group = self.plan(view).step(parent).group
            over = group.over if group is not None else None
            if over is not None and over.step is not None:
                found.append(made(turn(self.plan(view), view), within(over.step, parent), over.output))
            parent = view.step(parent).parent
        return [o for o in found if o is not None]

    def _output_behind(self, given: Input) -> Output | None:
        """Return the output that an input was: of several attempts the newest whose content it is."""
        parts = given.address.removeprefix("runs:/").split("/")
        if not given.address.startswith("runs:/") or len(parts) != _OUTPUT_PARTS:
            return None
        run, step, name = parts
        if self.view(RunId(run)) is None:
            return None
        of_step = self._outputs[RunId(run)].get((StepName(step), name), [])
        same = [o for o in of_step if o.content.digest == given.content.digest]
        found = same or of_step
        return found[-1] if found else None

    def published(self, run: RunId, step: StepName, name: str, digest: Digest) -> Output | None:
        """Return what a step published under a name, with that content when there is a choice."""
        content = Content(digest, 0, 0)
        return self._output_behind(Input(name, "file", content, f"runs:/{run}/{step}/{name}"))  # type: ignore[arg-type]

    def published_by(self, view: RunView, step: StepName, number: int, name: str) -> Output | None:
        """Return what one attempt published under a name."""
        return view.outputs.get((attempt_id(view.run.id, step, number), name))

    def _facets_of(self, run: Run) -> Facets:
        if run.id not in self._facets:
            code = runs.fingerprint(self.rows, run.project, run.fingerprint).code
            self._facets[run.id] = Facets(
                at=run.submitted_at,
                by=run.submitted_by,
                run=run.id,
                number=run.number,
                pipeline=run.pipeline,
                state=run.state,
                fingerprint=run.fingerprint,
                params=digest_of(run.params),
                code=Code(code.commit, code.tree, bool(code.dirty or code.untracked)),
            )
        return self._facets[run.id]


def with_equal_outputs(records: Records, weaver: Weaver) -> None:
    """Note on every artifact how many other outputs have its content."""
    wanted = {node.digest for node in weaver.nodes.values() if node.kind is NodeKind.ARTIFACT and node.digest}
    counts = store.equal_outputs(records.rows, records.context.project, {Digest(d) for d in wanted})
    for address, node in weaver.nodes.items():
        others = counts.get(Digest(node.digest), 1) - 1
        if node.kind is NodeKind.ARTIFACT and others > 0:
            weaver.nodes[address] = replace(node, facets=replace(node.facets, equal_outputs=others))


def source(address: str) -> LineageNode:
    """Return the node of a place where raw data lay."""
    return LineageNode(address, NodeKind.SOURCE, note="raw source")


def turn(plan: Plan, view: RunView) -> Turn:
    """Return the records as decisions read them; none is taken."""
    return Turn(plan, view, view.run.submitted_at, Chance(0.0, str), view.run)


def content_words(content: Content) -> str:
    """Return how much it is."""
    files = content.files
    return f"{files} file{'s' if files != 1 else ''}, {show_bytes(content.size_bytes)}"


def _code_words(code: Code | None) -> str:
    if code is None:
        return ""
    return (
        f"commit {code.commit[:10]}{' + changes' if code.dirty else ''}" if code.commit else f"code {code.tree[7:17]}"
    )


def _natural(name: str) -> tuple[str, int]:
    """Return a key that sorts ``count.rows.9`` before ``count.rows.10``."""
    head, _, last = name.rpartition(".")
    return (head, int(last)) if last.isdigit() else (name, 0)
