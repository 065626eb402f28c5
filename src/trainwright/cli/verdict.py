"""The verdict on a run: what was made, which gates held, where it is; or the cause, the place and the fix first."""

from trainwright.cli import output
from trainwright.cli.errors import FAILED, GATE, OK
from trainwright.core.quantity import show_bytes, show_duration
from trainwright.core.reasons import ReasonCode
from trainwright.core.run import Attempt, RunView
from trainwright.core.states import RunState, StepState
from trainwright.plan.plan import Plan
from trainwright.service import metrics
from trainwright.service.context import Context
from trainwright.service.why import gate_line

_GATES = frozenset(
    {ReasonCode.GATE_FAILED, ReasonCode.NOT_A_NUMBER, ReasonCode.NOT_REGISTERED, ReasonCode.JUDGE_FAILED}
)

TAIL = 15
"""Lines of the log that a failure shows."""


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
        _show_failures(context, view)
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
    registered = {s.registration.source.step for s in plan.steps if s.registration}
    for made in view.outputs:
        if made.step not in registered:
            output.put(
                f"  made:  {made.address}  {made.kind}, {made.content.files} file(s),"
                f" {show_bytes(made.content.size_bytes)}"
            )
    for step in view.steps:
        for gate in step.gates:
            if not gate.default:
                output.put(f"  gate:  {step.name}: {gate_line(gate)}")
    models = [s.metadata for s in view.steps if s.metadata.get("alias")]
    for model in models:
        output.put(f"  next:  tw lineage {str(model['model_version']).rpartition('/')[0]}@{model['alias']}")


def _show_failures(context: Context, view: RunView) -> None:
    for step in view.steps:
        if step.state is not StepState.FAILED or step.reason is None:
            continue
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
    skipped = [s.name for s in view.steps if s.state is StepState.SKIPPED]
    if skipped:
        output.put(f"  not run because of it: {', '.join(skipped)}")


def _show_log(context: Context, attempt: Attempt) -> None:
    lines = metrics.tail(context, attempt, TAIL)
    if lines:
        output.put(f"  last lines of {attempt.step}:")
        for line in lines:
            output.put(f"    {line}".rstrip())
    elif attempt.started_at is not None:
        output.put(f"  {attempt.step} wrote nothing to its log")
