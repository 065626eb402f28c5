"""From a checked document to a run in the store: refuse before anything is queued, then one transaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from trainwright.core.cache import CacheMode
from trainwright.core.errors import DeniedError, Position
from trainwright.core.fingerprint import CodeState, Environment, Fingerprint
from trainwright.core.ids import RunId
from trainwright.core.job import CodeTree
from trainwright.core.reproduction import Reproduced
from trainwright.core.run import Resumed, Run, RunView, StepRun, attempts_of, steps_of
from trainwright.core.scalar import Plain
from trainwright.core.states import RunState, StepState
from trainwright.core.workload import single
from trainwright.lifecycle.job import code_of
from trainwright.plan.cachekey import is_reusable
from trainwright.plan.compile import compile_plan, data_requests
from trainwright.plan.environments import asked_environments, inherits, locked_environments
from trainwright.plan.part import part_of
from trainwright.plan.plan import Plan, PlannedStep
from trainwright.sched.gang import never_fits
from trainwright.service.capture.code import capture_code
from trainwright.service.capture.environment import RECORDS, capture_environment
from trainwright.service.capture.hardware import capture_hardware
from trainwright.service.context import Context
from trainwright.service.datasets import pin
from trainwright.service.namespaces import refuse_unclean
from trainwright.service.versions import refuse_removed
from trainwright.spec.document import Document
from trainwright.spec.params import resolve
from trainwright.store import journal, runs
from trainwright.store.database import Rows, Stale

_IMAGES = "runs_images"  # see ports.backend.SupportsImages


@dataclass(frozen=True, slots=True)
class Prepared:
    """A pipeline that could be submitted as it is.

    Attributes:
        source: the file, as typed.
        folder: it lies in; commands start there.
        code: what runs, when it is stored already; None = to be captured from ``folder``.
        resumes: what the run takes over from.
        reproduces: what the run makes again.
        taken_over: steps whose results are there already, as foreseen → the attempts that made them.
    """

    plan: Plan
    source: str
    folder: Path
    code: CodeState | None = None
    resumes: Resumed | None = None
    reproduces: Reproduced | None = None
    taken_over: Mapping[str, str] = field(default_factory=dict)


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
        DeniedError: a rule refuses a parameter, the registration, a package to import ahead, or resources that no
            machine here has.
        NotFoundError: a dataset, or a step of ``only``, is unknown.
    """
    params = resolve(document, overrides)
    asked = data_requests(document)
    where = {name: str(document.positions.get(f"data.{name}", "")) for name in asked}
    plan = compile_plan(document, params, pin(context, asked, folder, where))
    plan = part_of(plan, only) if only else plan
    refuse_too_much(context, document, plan)
    return Prepared(with_locks(context, document, plan, folder), source, folder)


def with_locks(context: Context, document: Document, plan: Plan, folder: Path) -> Plan:
    """Return the plan with the environments of its steps locked, and their locks stored.

    Raises:
        SpecError, BackendError: see ``locking.lock_plan``.
    """
    if not asked_environments(plan):
        return plan
    from trainwright.service.locking import lock_plan  # noqa: PLC0415 - most pipelines have none, and it is not light

    return lock_plan(context, document, plan, folder)


def refuse_too_much(context: Context, document: Document | None, plan: Plan) -> None:
    """Let a plan pass whose every step fits on an empty machine, and asks for nothing else that is not to be had.

    Args:
        context: of the project.
        document: says where a step asks for it; None for a recorded plan.
        plan: to be run.

    Raises:
        DeniedError: one asks for more than there is, for a package that is not allowed, or for an image.
    """
    nodes = context.backend.nodes()
    for step in plan.by_path.values():
        reason = never_fits(single(step.resources), nodes) if step.command is not None else None
        if reason is not None:
            raise DeniedError(
                "TW3301",
                f"step {step.name} can never start here: it {reason.sentence()}",
                where=_place(document, step, "resources"),
                remedy=reason.remedy(),
            )
        _refuse_unknown_warm(context, document, step)
        if step.environment is not None and step.environment.is_image and not getattr(context.backend, _IMAGES, False):
            raise DeniedError(
                "TW3303",
                f"step {step.name} runs in the image {step.environment.asked.words}, and this pool runs no containers",
                where=_place(document, step, "environment"),
                why="processes of this machine run in environments that are built on it",
                remedy="write requirements:, lockfile: or project: here; an image is for a pool that has containers",
            )


def _place(document: Document | None, step: PlannedStep, key: str) -> Position | str:
    path = f"steps.{step.name}"
    return path if document is None else document.positions.get(f"{path}.{key}", path)


def _refuse_unknown_warm(context: Context, document: Document | None, step: PlannedStep) -> None:
    wrong = [name for name in step.warm if name.partition(".")[0] not in context.warm]
    if wrong and context.warm:
        allowed = ",".join(sorted(context.warm))
        raise DeniedError(
            "TW3302",
            f"step {step.name} asks for {wrong[0]} to be imported ahead, which is not allowed here",
            where=_place(document, step, "warm"),
            why=f"allowed are {allowed}; not every package can be forked after its import",
            remedy=f"leave it out of warm:, or set TW_WARM={allowed},{wrong[0].partition('.')[0]}",
        )


def with_code(context: Context, prepared: Prepared) -> Prepared:
    """Return what was prepared with its code captured: what it lacks can be said before anything is queued.

    Raises:
        SpecError: the code tree is too large or not readable as a whole.
        BackendError: the code cannot be stored.
    """
    if prepared.code is not None:
        return prepared
    return replace(prepared, code=capture_code(prepared.folder, context.content, context.environ))


def submit(
    context: Context,
    prepared: Prepared,
    within: Callable[[Rows, Run], None] | None = None,
    *,
    cache: CacheMode = CacheMode.AUTO,
) -> Run:
    """Write the run; from here on an engine carries it to its end, whatever happens to this process.

    Args:
        context: of the project; its actor is who submits.
        prepared: what to run.
        within: called in the transaction that writes the run; when it raises, there is no run.
        cache: for the whole run; a step may be stricter.

    Raises:
        SpecError: the code tree is too large or not readable as a whole.
        DeniedError: a namespace that the run touches forbids code that is not committed.
        BackendError: the code cannot be stored.
        NotFoundError: a dataset version was removed since it was pinned.
    """
    fingerprint = take_fingerprint(context, prepared)
    refuse_unclean(context, prepared.plan, fingerprint.code)
    if cache is not CacheMode.OFF:
        _read_sources(context, prepared.plan, fingerprint)
    while True:
        try:
            with context.database.writing() as rows:
                if prepared.reproduces is None:  # whose data may come from a project that has other datasets
                    refuse_removed(rows, context, prepared.plan.data)
                view = draft_run(context, prepared, fingerprint, cache)
                run = replace(view.run, number=runs.next_number(rows, context.project))
                runs.insert_run(rows, replace(view, run=run), prepared.plan, fingerprint)
                journal.add_audit(
                    rows, context.project, run.submitted_at, context.actor, "run.submitted", f"runs/{run.id}",
                    details={"pipeline": run.pipeline, "fingerprint": fingerprint.address},
                )  # fmt: skip
                if within is not None:
                    within(rows, run)
                return run
        except Stale:
            continue  # the number or the identifier was taken in between


def draft_run(context: Context, prepared: Prepared, fingerprint: Fingerprint, cache: CacheMode) -> RunView:
    """Return the records of a new run; its number is for whoever writes it."""
    plan = prepared.plan
    run_id = RunId("r" + context.ids.new()[1:])
    run = Run(
        id=run_id,
        project=context.project,
        number=0,
        pipeline=plan.pipeline,
        source=prepared.source,
        plan_digest=plan.digest,
        fingerprint=fingerprint.digest,
        params=plan.params,
        state=RunState.PENDING,
        submitted_at=context.clock.now(),
        submitted_by=context.actor,
        cache=cache,
        resumes=prepared.resumes,
        reproduces=prepared.reproduces,
    )
    steps = (StepRun(run_id, s.name, i, StepState.PENDING) for i, s in enumerate(plan.steps))
    return RunView(run, steps_of(steps), attempts_of(()))


def _read_sources(context: Context, plan: Plan, fingerprint: Fingerprint) -> None:
    """Read what the code imports now, while somebody looks on, and not when the first step is queued."""
    code = CodeTree(fingerprint.code.tree, fingerprint.code.folder)
    for step in plan.by_path.values():
        if step.command is not None and is_reusable(step):
            context.sources_of_code.closures(code_of(code, step), [step.command])


def take_fingerprint(context: Context, prepared: Prepared) -> Fingerprint:
    """Return everything that identifies the experiment, and store the code it would run."""
    plan = prepared.plan
    code = prepared.code or capture_code(prepared.folder, context.content, context.environ)
    seed = plan.params.get("seed")
    return Fingerprint(
        plan=plan.experiment,
        code=code,
        environment=environment_of(context, plan),
        data={d.name: d.content.digest for d in plan.data},
        params=plan.params,
        seed=seed if isinstance(seed, int) and not isinstance(seed, bool) else None,
        hardware=capture_hardware(context.backend.nodes()),
        taken_over=prepared.taken_over,
    )


def environment_of(context: Context, plan: Plan) -> Environment:
    """Return the environments of a plan's steps; what is installed here only when one inherits it."""
    locks = locked_environments(plan)
    if locks and not inherits(plan):
        python = ", ".join(sorted({one.python for one in locks.values()} - {""}))
        return Environment(python=python, packages={}, locked=True, locks=locks)
    return replace(capture_environment(kept=context.home / RECORDS), locks=locks)
