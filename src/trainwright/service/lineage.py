"""From any address back to the raw data."""

from trainwright.core.artifact import Content, Input, Output
from trainwright.core.errors import NotFoundError
from trainwright.core.ids import AttemptId, RunId, StepName
from trainwright.core.lineage import LineageNode, NodeKind
from trainwright.core.quantity import show_bytes
from trainwright.core.run import Attempt, RunView
from trainwright.lifecycle.inputs import made
from trainwright.lifecycle.turn import Chance, Turn
from trainwright.plan.plan import GroupKind, Plan, within
from trainwright.service import models, slices
from trainwright.service.context import Context
from trainwright.service.datasets import resolve
from trainwright.service.lookup import find_run, find_step, split_address
from trainwright.store import datasets, runs
from trainwright.store.database import Rows


def upstream(context: Context, address: str) -> LineageNode:
    """Return the graph behind a model, dataset, run step or output as a tree; shared ancestors appear once a branch.

    Raises:
        NotFoundError: nothing has that address.
    """
    if address.startswith("datasets/"):
        whole, part = slices.split(address)
        version = resolve(context, whole)
        address, content = slices.cut(context, version, part)
        return LineageNode(address, NodeKind.DATASET, _size(content), content.digest, (_source(version.source),))
    if address.startswith(("runs/", "runs:/")):
        with context.database.reading() as rows:
            return _Walk(context, rows).of_run_address(address)
    version_, alias = models.find(context, address)
    with context.database.reading() as rows:
        walk = _Walk(context, rows)
        view = walk.view(version_.run)
        made = next(o for o in view.outputs if o.step == version_.step and o.name == version_.output)
        gates = sum(gate.passed for gate in version_.gates)
        note = f"registered {version_.registered_at:%Y-%m-%d %H:%M} by {version_.registered_by}, {gates} checks passed"
        inner = walk.of_output(made)
    model = LineageNode(version_.address, NodeKind.MODEL, note, version_.content.digest, (inner,))
    if not alias:
        return model
    return LineageNode(f"models/{version_.name}@{alias}", NodeKind.ALIAS, f"version {version_.version}", "", (model,))


class _Walk:
    """Goes back from outputs to what they were made of; reads each run, and looks at each attempt, once."""

    def __init__(self, context: Context, rows: Rows) -> None:
        self._context, self._rows = context, rows
        self._views: dict[RunId, RunView] = {}
        self._plans: dict[RunId, Plan] = {}
        self._made: dict[RunId, dict[str, Output]] = {}
        self._known: dict[AttemptId, LineageNode] = {}

    def view(self, run: RunId) -> RunView:
        if run not in self._views:
            view = runs.view(self._rows, run)
            self._views[run] = view
            self._plans[run] = runs.plan(self._rows, self._context.project, view.run.plan_digest)
            self._made[run] = {o.address: o for o in view.outputs}
        return self._views[run]

    def of_run_address(self, address: str) -> LineageNode:
        text = address.removeprefix("runs:/").removeprefix("runs/")
        parts = text.split("/")
        view = self.view(find_run(self._rows, self._context.project, parts[0]).id)
        if len(parts) == 3 and not parts[2].isdigit():  # noqa: PLR2004 - RUN/STEP/OUTPUT
            return self._of_output_name(view, find_step(view, parts[1]), parts[2])
        _, name, _ = split_address(address)
        if name is None:
            return self._of_several(view, f"runs:/{view.run.id}", "")
        step = find_step(view, name)
        attempt = view.latest(step)
        if attempt is not None:
            return self.of_attempt(view, attempt.id)
        if view.step(step).tally is not None:
            return self._of_several(view, f"runs:/{view.run.id}/{step}", f"{step}.")
        raise NotFoundError("TW4106", f"step {name} of that run never started", remedy=f"tw why {address}")

    def _of_several(self, view: RunView, address: str, prefix: str) -> LineageNode:
        """Return what all steps in a group, or in the run, were made of that published something."""
        published = {o.attempt for o in view.outputs if o.step.startswith(prefix)}
        steps = tuple(self.of_attempt(view, a.id) for a in view.attempts if a.id in published)
        return LineageNode(address, NodeKind.STEP, view.run.pipeline, "", steps)

    def _of_output_name(self, view: RunView, step: StepName, name: str) -> LineageNode:
        plan = self._plans[view.run.id]
        group = plan.step(step).group
        wanted = [step]
        if group is not None and group.kind is GroupKind.EACH:
            tally = view.step(step).tally
            wanted = [StepName(f"{step}.{number}") for number in range(tally.total if tally else 0)]
        known = plan.step(step).outputs
        found = [o for each in wanted if name in known and (o := made(_turn(plan, view), each, name)) is not None]
        if not found and group is None:
            found = [o for o in view.outputs if o.step == step and o.name == name]
        if not found:
            raise NotFoundError("TW4105", f"step {step} of that run published no {name}", remedy="tw show RUN")
        if wanted == [step]:
            return self.of_output(found[0])
        note = f"{len(found)} of {len(wanted)} members"
        address = f"runs:/{view.run.id}/{step}/{name}"
        return LineageNode(address, NodeKind.ARTIFACT, note, "", tuple(map(self.of_output, found)))

    def of_output(self, output: Output) -> LineageNode:
        step = self.of_attempt(self.view(output.run), output.attempt)
        return LineageNode(output.address, NodeKind.ARTIFACT, _size(output.content), output.content.digest, (step,))

    def of_attempt(self, view: RunView, attempt: AttemptId) -> LineageNode:
        if attempt not in self._known:
            self._known[attempt] = self._of_attempt(view, view.attempts[attempt])
        return self._known[attempt]

    def _of_attempt(self, view: RunView, record: Attempt) -> LineageNode:
        code = runs.fingerprint(self._rows, self._context.project, view.run.fingerprint).code
        changed = " + changes" if code.dirty or code.untracked else ""
        commit = f"commit {code.commit[:10]}{changed}" if code.commit else f"code {code.tree[7:17]}"
        given = sorted(view.inputs.get(record.id, ()), key=lambda i: _natural(i.name))
        inputs = [self._of_input(view, each) for each in given]
        inputs += [self.of_output(o) for o in self._lists(view, record.step)]
        address = f"runs:/{view.run.id}/{record.step}"
        reused = f"reused from runs:/{record.origin}, " if record.origin else ""
        return LineageNode(address, NodeKind.STEP, f"attempt {record.number}, {reused}{commit}", "", tuple(inputs))

    def _lists(self, view: RunView, name: StepName) -> list[Output]:
        """Return the lists that a step, or a group around it, has its item from."""
        plan, found = self._plans[view.run.id], []
        parent = view.step(name).parent
        while parent is not None:
            group = plan.step(parent).group
            over = group.over if group is not None else None
            if over is not None and over.step is not None:
                found.append(made(_turn(plan, view), within(over.step, parent), over.output))
            parent = view.step(parent).parent
        return [o for o in found if o is not None]

    def _of_input(self, view: RunView, given: Input) -> LineageNode:
        known = self._made[view.run.id].get(given.address)
        if known is not None:
            return self.of_output(known)
        if given.address.startswith("datasets/"):
            version = datasets.at(self._rows, self._context.project, given.address.partition("#")[0])
            sources = () if version is None else (_source(version.source),)
            return LineageNode(given.address, NodeKind.DATASET, _size(given.content), given.content.digest, sources)
        return LineageNode(given.address, NodeKind.SOURCE, _size(given.content), given.content.digest)


def _turn(plan: Plan, view: RunView) -> Turn:
    """Return the records as decisions read them; none is taken."""
    return Turn(plan, view, view.run.submitted_at, Chance(0.0, str), view.run)


def _natural(name: str) -> tuple[str, int]:
    """Return a key that sorts ``count.rows.9`` before ``count.rows.10``."""
    head, _, last = name.rpartition(".")
    return (head, int(last)) if last.isdigit() else (name, 0)


def _source(address: str) -> LineageNode:
    return LineageNode(address, NodeKind.SOURCE, "raw source")


def _size(content: Content) -> str:
    files = content.files
    size = show_bytes(content.size_bytes)
    return f"{files} file{'s' if files != 1 else ''}, {size}"
