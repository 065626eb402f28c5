"""The verdict on a run: what was made, which gates held, where it is; or the cause, the place and the fix first."""

from collections.abc import Iterator

from trainwright.cli import output
from trainwright.cli.errors import FAILED, GATE, OK
from trainwright.core.artifact import GateResult, Output
from trainwright.core.ids import StepName
from trainwright.core.quantity import show_bytes, show_duration
from trainwright.core.reasons import ReasonCode
from trainwright.core.run import Attempt, RunView, StepRun
from trainwright.core.states import RunState, StepState
from trainwright.plan.plan import Plan
from trainwright.service import metrics
from trainwright.service.context import Context
from trainwright.service.outline import Outline
from trainwright.service.why import gate_line

_GATES = frozenset(
    {
        *(ReasonCode.GATE_FAILED, ReasonCode.NOT_A_NUMBER, ReasonCode.NOT_REGISTERED, ReasonCode.JUDGE_FAILED),
        ReasonCode.ALIAS_REFUSED,
    }
)

MOST_CAUSES = 3
"""Failed steps that are shown with their logs."""

TAIL = 15
"""Lines of the log that a failure shows."""


_NAMED = 5  # steps in one line


def exit_code_of(view: RunView) -> int:
    """Return 0 for success, 7 for a gate, 1 for any other end."""
    if view.run.state is RunState.SUCCEEDED:
        return OK
    if view.run.reason is not None and "code" in view.run.reason.evidence:
        return GATE if view.run.reason.root in _GATES else FAILED
    failed = (
        s.reason.root for s in view.steps if s.state is StepState.FAILED and s.reason
    )  # records of older versions
    return GATE if next(failed, None) in _GATES else FAILED


def show_verdict(context: Context, view: RunView, plan: Plan) -> None:
    """Print the verdict on stdout."""
    run = view.run
    seconds = (run.finished_at - run.submitted_at).total_seconds() if run.finished_at else 0.0
    if run.state is RunState.SUCCEEDED:
        output.put(f"✓ {run.pipeline} #{run.number} ({run.id}) succeeded in {show_duration(seconds)}")
        _show_made(view, plan)
    elif run.state is RunState.FAILED:
        output.put(f"✗ {run.pipeline} #{run.number} ({run.id}) failed after {show_duration(seconds)}")
        _show_failures(context, view, plan)
    else:
        output.put(f"■ {run.pipeline} #{run.number} ({run.id}) is {run.state}")
        if run.reason:
            output.put(f"  why:   {run.reason.sentence()}")
    output.put(f"  more:  tw show {run.id}")


def _show_made(view: RunView, plan: Plan) -> None:
    for step in view.steps:
        if step.metadata.get("model_version"):
            alias = f" (alias {step.metadata['alias']})" if step.metadata.get("alias") else ""
            output.put(f"  made:  {step.metadata['model_version']}{alias}")
    reused = [str(s.name) for s in view.steps if s.state is StepState.CACHED]
    if reused:
        shown = ", ".join(reused[:_NAMED]) + (" …" if len(reused) > _NAMED else "")
        output.put(f"  reused: {shown} ({len(reused)} of {len(view.steps)} steps); --cache refresh runs them again")
    registered = {s.registration.source.step for s in plan.by_path.values() if s.registration}
    made_by: dict[tuple[StepName, str], list[Output]] = {}
    for made in view.made():
        if made.step not in registered:
            made_by.setdefault((plan.path(made.step), made.name), []).append(made)
    for several in made_by.values():
        output.put(f"  made:  {_made(view, several)}")
    for line in _gate_lines(view, plan):
        output.put(f"  gate:  {line}")
    models = [s.metadata for s in view.steps if s.metadata.get("alias")]
    for model in models:
        output.put(f"  next:  tw lineage {str(model['model_version']).rpartition('/')[0]}@{model['alias']}")


def _made(view: RunView, outputs: list[Output]) -> str:
    """Return a line about an output, or about the same output of all members of a group."""
    first, size = outputs[0], show_bytes(sum(made.content.size_bytes for made in outputs))
    files = sum(made.content.files for made in outputs)
    if len(outputs) == 1:
        return f"{first.address}  {first.kind}, {files} file(s), {size}"
    group = first.step.partition(".")[0]
    pattern = ".".join("N" if part.isdecimal() else part for part in first.step.split("."))
    what = f"{len(outputs):,} times {pattern}/{first.name}"
    return f"{what}  {first.kind}, {files} file(s), {size}: tw show {view.run.id}/{group}"


def _gate_lines(view: RunView, plan: Plan) -> Iterator[str]:
    """Yield the author's checks of a run, those of members of a group together."""
    found: dict[tuple[StepName, str], list[tuple[StepRun, GateResult]]] = {}
    for step in view.steps:
        for gate in step.gates:
            if not gate.default:
                found.setdefault((plan.path(step.name), gate.expression), []).append((step, gate))
    for (path, expression), judged in found.items():
        if len(judged) == 1:
            yield f"{judged[0][0].name}: {gate_line(judged[0][1])}"
        else:
            passed = sum(gate.passed for _, gate in judged)
            yield f"{path.replace('*', 'N')}: passed {passed} of {len(judged)} times: {expression}"


def _show_failures(context: Context, view: RunView, plan: Plan) -> None:
    outline = Outline(view, plan)
    for group in (s for s in outline.inside(None) if s.state is StepState.FAILED and outline.kind(s.name)):
        if group.reason is not None and list(outline.behind(group)) != [group]:
            output.put(f"  cause: step {group.name}: {group.reason.sentence()}")
    causes = list(outline.causes())
    for step in causes[:MOST_CAUSES]:
        _show_failure(context, view, step)
    if len(causes) > MOST_CAUSES:
        output.put(f"  and {len(causes) - MOST_CAUSES:,} more that failed: tw why {view.run.id}")
    skipped = [s.name for s in view.steps if s.reason and s.reason.code is ReasonCode.UPSTREAM_FAILED]
    if skipped:
        output.put(f"  not run because of it: {output.some(skipped)}")


def _show_failure(context: Context, view: RunView, step: StepRun) -> None:
    if step.reason is None:
        return
    attempt = view.latest(step.name)
    tries = f" (attempt {step.attempts} of {step.attempts})" if step.attempts > 1 else ""
    output.put(f"  cause: step {step.name}: {step.reason.sentence()}{tries}")
    baseline = step.reason.evidence.get("baseline")
    if baseline:
        output.put(f"         compared with {baseline} in production")
    if attempt is not None:
        output.put(f"  where: {attempt.id}  log: {metrics.log_file(context, attempt)}")
    if step.reason.remedy():
        output.put(f"  fix:   {step.reason.remedy()}")
    for gate in step.gates:
        output.put(f"  gate:  {gate_line(gate)}")
    if attempt is not None:
        _show_log(context, attempt)


def _show_log(context: Context, attempt: Attempt) -> None:
    lines = metrics.tail(context, attempt, TAIL)
    if lines:
        output.put(f"  last lines of {attempt.step}:")
        for line in lines:
            output.put(f"    {line}".rstrip())
    elif attempt.started_at is not None:
        output.put(f"  {attempt.step} wrote nothing to its log")
