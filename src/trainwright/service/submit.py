"""From a checked document to a run in the store: refuse before anything is queued, then one transaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trainwright.core.errors import DeniedError
from trainwright.core.fingerprint import Fingerprint
from trainwright.core.ids import RunId
from trainwright.core.run import Run, RunView, StepRun, attempts_of, steps_of
from trainwright.core.scalar import Plain
from trainwright.core.states import RunState, StepState
from trainwright.plan.compile import compile_plan, data_requests
from trainwright.plan.part import part_of
from trainwright.plan.plan import Plan
from trainwright.sched.round import never_fits
from trainwright.service.capture.code import capture_code
from trainwright.service.capture.environment import capture_environment
from trainwright.service.capture.hardware import capture_hardware
from trainwright.service.context import Context
from trainwright.service.datasets import pin
from trainwright.spec.document import Document
from trainwright.spec.params import resolve
from trainwright.store import journal, runs
from trainwright.store.database import Rows, Stale


@dataclass(frozen=True, slots=True)
class Prepared:
    """A pipeline that could be submitted as it is.

    Attributes:
        source: the file, as typed.
        folder: it lies in; commands start there.
    """

    plan: Plan
    source: str
    folder: Path


def prepare(
    context: Context,
    document: Document,
    overrides: Mapping[str, Plain],
    folder: Path,
    source: str,
    only: Sequence[str] = (),
) -> Prepared:
    """Compile a document with its parameters and pinned data, and refuse what can never run.

    Args:
        context: of the project.
        document: checked.
        overrides: parameters given for this run.
        folder: of the pipeline file.
        source: the file, as typed.
        only: steps to run, with what they need; empty = all.

    Raises:
        SpecError: the document or a parameter is wrong.
        DeniedError: a rule refuses a parameter, the registration, or resources that no machine here has.
        NotFoundError: a dataset, or a step of ``only``, is unknown.
    """
    params = resolve(document, overrides)
    asked = data_requests(document)
    where = {name: str(document.positions.get(f"data.{name}", "")) for name in asked}
    plan = compile_plan(document, params, pin(context, asked, folder, where))
    plan = part_of(plan, only) if only else plan
    nodes = context.backend.nodes()
    for step in plan.by_path.values():
        reason = never_fits(step.resources, nodes) if step.command is not None else None
        if reason is not None:
            raise DeniedError(
                "TW3301",
                f"step {step.name} can never start here: it {reason.sentence()}",
                where=document.positions.get(f"steps.{step.name}.resources", f"steps.{step.name}"),
                remedy=reason.remedy(),
            )
    return Prepared(plan, source, folder)


def submit(context: Context, prepared: Prepared, within: Callable[[Rows, Run], None] | None = None) -> Run:
    """Write the run; from here on an engine carries it to its end, whatever happens to this process.

    Args:
        context: of the project; its actor is who submits.
        prepared: what to run.
        within: called in the transaction that writes the run; when it raises, there is no run.

    Raises:
        SpecError: the code tree is too large or not readable as a whole.
        BackendError: the code cannot be stored.
    """
    plan = prepared.plan
    fingerprint = take_fingerprint(context, prepared)
    while True:
        now = context.clock.now()
        run_id = RunId("r" + context.ids.new()[1:])
        try:
            with context.database.writing() as rows:
                run = Run(
                    id=run_id,
                    project=context.project,
                    number=runs.next_number(rows, context.project),
                    pipeline=plan.pipeline,
                    source=prepared.source,
                    plan_digest=plan.digest,
                    fingerprint=fingerprint.digest,
                    params=plan.params,
                    state=RunState.PENDING,
                    submitted_at=now,
                    submitted_by=context.actor,
                )
                steps = tuple(StepRun(run_id, s.name, i, StepState.PENDING) for i, s in enumerate(plan.steps))
                runs.insert_run(rows, RunView(run, steps_of(steps), attempts_of(())), plan, fingerprint)
                journal.add_audit(
                    rows, context.project, now, context.actor, "run.submitted", f"runs/{run_id}",
                    details={"pipeline": plan.pipeline, "fingerprint": fingerprint.address},
                )  # fmt: skip
                if within is not None:
                    within(rows, run)
                return run
        except Stale:
            continue  # the number or the identifier was taken in between


def take_fingerprint(context: Context, prepared: Prepared) -> Fingerprint:
    """Return everything that identifies the experiment, and store the code it would run."""
    plan = prepared.plan
    seed = plan.params.get("seed")
    return Fingerprint(
        plan=plan.digest,
        code=capture_code(prepared.folder, context.content, context.environ),
        environment=capture_environment(),
        data={d.name: d.content.digest for d in plan.data},
        params=plan.params,
        seed=seed if isinstance(seed, int) and not isinstance(seed, bool) else None,
        hardware=capture_hardware(context.backend.nodes()),
    )
