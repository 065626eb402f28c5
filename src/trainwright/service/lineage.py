"""From any address back to the raw data."""

from trainwright.core.artifact import Content, Input, Output
from trainwright.core.errors import NotFoundError
from trainwright.core.ids import AttemptId
from trainwright.core.lineage import LineageNode, NodeKind
from trainwright.core.quantity import show_bytes
from trainwright.core.run import RunView
from trainwright.service import models
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
        version = resolve(context, address)
        return LineageNode(
            version.address,
            NodeKind.DATASET,
            _size(version.content),
            version.content.digest,
            (_source(version.source),),
        )
    if address.startswith(("runs/", "runs:/")):
        return _of_run_address(context, address)
    version_, alias = models.find(context, address)
    with context.database.reading() as rows:
        view = runs.view(rows, version_.run)
        made = next(o for o in view.outputs if o.step == version_.step and o.name == version_.output)
        gates = sum(gate.passed for gate in version_.gates)
        note = f"registered {version_.registered_at:%Y-%m-%d %H:%M} by {version_.registered_by}, {gates} checks passed"
        model = LineageNode(
            version_.address, NodeKind.MODEL, note, version_.content.digest, (_of_output(rows, context, made),)
        )
    if not alias:
        return model
    return LineageNode(f"models/{version_.name}@{alias}", NodeKind.ALIAS, f"version {version_.version}", "", (model,))


def _of_run_address(context: Context, address: str) -> LineageNode:
    text = address.removeprefix("runs:/").removeprefix("runs/")
    parts = text.split("/")
    with context.database.reading() as rows:
        view = runs.view(rows, find_run(rows, context.project, parts[0]).id)
        if len(parts) == 3 and not parts[2].isdigit():  # noqa: PLR2004 - RUN/STEP/OUTPUT
            step = find_step(view, parts[1])
            made = next((o for o in view.outputs if o.step == step and o.name == parts[2]), None)
            if made is None:
                raise NotFoundError("TW4105", f"step {step} of that run published no {parts[2]}", remedy="tw show RUN")
            return _of_output(rows, context, made)
        _, name, _ = split_address(address)
        if name is None:
            last = [a for a in view.attempts if a.id in {o.attempt for o in view.outputs}]
            steps = tuple(_of_attempt(rows, context, view, a.id) for a in last)
            return LineageNode(f"runs:/{view.run.id}", NodeKind.STEP, view.run.pipeline, "", steps)
        attempt = view.latest(find_step(view, name))
        if attempt is None:
            raise NotFoundError("TW4106", f"step {name} of that run never started", remedy=f"tw why {address}")
        return _of_attempt(rows, context, view, attempt.id)


def _of_output(rows: Rows, context: Context, output: Output) -> LineageNode:
    view = runs.view(rows, output.run)
    step = _of_attempt(rows, context, view, output.attempt)
    return LineageNode(output.address, NodeKind.ARTIFACT, _size(output.content), output.content.digest, (step,))


def _of_attempt(rows: Rows, context: Context, view: RunView, attempt: AttemptId) -> LineageNode:
    record = next(a for a in view.attempts if a.id == attempt)
    code = runs.fingerprint(rows, context.project, view.run.fingerprint).code
    commit = f"commit {code.commit[:10]}{' + changes' if code.dirty or code.untracked else ''}" if code.commit else ""
    note = ", ".join(filter(None, (f"attempt {record.number}", commit or f"code {code.tree[7:17]}")))
    inputs = tuple(_of_input(rows, context, view, given) for given in view.inputs.get(attempt, ()))
    return LineageNode(f"runs:/{view.run.id}/{record.step}", NodeKind.STEP, note, "", inputs)


def _of_input(rows: Rows, context: Context, view: RunView, given: Input) -> LineageNode:
    made = next((o for o in view.outputs if o.address == given.address), None)
    if made is not None:
        return _of_output(rows, context, made)
    if given.address.startswith("datasets/"):
        known = datasets.with_content(rows, context.project, given.content.digest)
        sources = tuple(_source(v.source) for v in known if v.address == given.address)
        return LineageNode(given.address, NodeKind.DATASET, _size(given.content), given.content.digest, sources)
    return LineageNode(given.address, NodeKind.SOURCE, _size(given.content), given.content.digest)


def _source(address: str) -> LineageNode:
    return LineageNode(address, NodeKind.SOURCE, "raw source")


def _size(content: Content) -> str:
    files = content.files
    size = show_bytes(content.size_bytes)
    return f"{files} file{'s' if files != 1 else ''}, {size}"
