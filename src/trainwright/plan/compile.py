"""A checked document, parameters and pinned data to one ``Plan``: same input, same bytes."""

from collections.abc import Mapping

from trainwright.core.artifact import PinnedData
from trainwright.core.errors import BugError, SpecError
from trainwright.core.scalar import Plain
from trainwright.core.stage import RULES, Stage
from trainwright.plan.order import needs_of, topological
from trainwright.plan.plan import Check, Plan, PlannedStep
from trainwright.plan.registration import baseline_model, registrations
from trainwright.plan.texts import command_of, env_of, inputs_of
from trainwright.spec.document import Document, StepSpec


def data_requests(document: Document) -> dict[str, str]:
    """Return what ``data:`` asks for, by name in sorted order: ``{"raw": "datasets/digits@latest"}``."""
    return dict(sorted(document.spec.data.items()))


def compile_plan(document: Document, params: Mapping[str, Plain], data: tuple[PinnedData, ...]) -> Plan:
    """Return the plan of one run.

    Args:
        document: checked by ``spec.load``.
        params: every declared parameter with its value, as ``spec.params.resolve`` returns them.
        data: every entry of ``data_requests``, pinned; the order means nothing.

    Raises:
        SpecError: steps wait for one another in a circle, a check asks for production without one model to mean, or
            a standard pipeline lacks stages.
        DeniedError: a model would be registered that nobody checks, or under an alias that only a promotion moves.
        BugError: data was not pinned.
    """
    spec = document.spec
    pinned = {entry.name: entry for entry in data}
    unpinned = sorted(set(spec.data) - set(pinned))
    if unpinned:
        raise BugError("TW9001", f"data not pinned before compiling: {', '.join(unpinned)}")
    _require_stages(document)
    inputs = {name: inputs_of(step, spec) for name, step in sorted(spec.steps.items())}
    needs = needs_of(spec, inputs)
    topological(document, needs)  # a circle is reported before anything that takes the graph to have none
    registers = registrations(document, inputs, needs)
    for name, registration in registers.items():
        needs[name] = tuple(sorted({*needs[name], *registration.metrics_from}))
    steps = []
    for name in topological(document, needs):
        step = spec.steps[name]
        planned = PlannedStep(
            name=name,
            stage=step.stage,
            command=None if name in registers else command_of(step, params),
            registration=registers.get(name),
            inputs=inputs[name],
            outputs=dict(sorted(step.out.items())),
            needs=needs[name],
            resources=step.resources,
            checks=_checks(step),
            retry=step.retry,
            timeout_s=step.timeout_s,
            env=env_of(step, params),
            baseline_model=baseline_model(document, name, inputs),
            baseline_required=step.baseline_required,
        )
        steps.append(planned)
    used = tuple(pinned[name] for name in sorted(spec.data))
    return Plan(spec.api_version, spec.pipeline, spec.standard, dict(sorted(params.items())), used, tuple(steps))


def _checks(step: StepSpec) -> tuple[Check, ...]:
    """Return the author's checks, then those of the stage that the author did not write too."""
    gates = RULES[step.stage].gates if step.stage else ()
    own = tuple(Check(text) for text in step.checks)
    return own + tuple(Check(gate, default=True) for gate in gates if gate not in step.checks)


def _require_stages(document: Document) -> None:
    if not document.spec.standard:
        return
    present = {step.stage for step in document.spec.steps.values()}
    missing = [stage.value for stage in Stage if stage not in present]
    if missing:
        raise SpecError(
            "TW1061",
            f"the pipeline is standard and has no step of the stage {', '.join(missing)}",
            where=document.where("standard"),
            why="a standard pipeline has all six stages",
            remedy="give steps these stages, or leave standard: out",
        )
