"""Whether a model may enter the registry, and as what."""

import math
from collections.abc import Mapping

from trainwright.core.changes import RegisterModel
from trainwright.core.ids import StepName
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import RunView
from trainwright.plan.plan import PlannedStep


def register(step: PlannedStep, view: RunView, taken: Mapping[str, int]) -> RegisterModel | Reason:
    """Return the new version, or the reason why there is none.

    A model needs at least one passed check, written by an author, of a step that read it and came before.

    Args:
        step: with a registration; every step that it needs has succeeded.
        view: of its run.
        taken: model name → next number, when this very turn registered versions of it already.
    """
    registration = step.registration
    if registration is None:
        raise ValueError(f"step {step.name} registers nothing")
    gates = tuple(gate for name in registration.judges for gate in view.step(name).gates)
    if not any(gate.passed and not gate.default for gate in gates):
        return Reason(ReasonCode.NOT_REGISTERED, {"model": registration.source.name})
    output = next(
        o for o in reversed(view.outputs) if o.step == registration.source.step and o.name == registration.source.output
    )
    model = registration.model
    return RegisterModel(
        model=model,
        version=taken.get(model) or view.next_versions.get(model, 1),
        alias=registration.alias,
        content=output.content,
        run=view.run.id,
        step=output.step,
        output=output.name,
        metrics=_metrics(registration.metrics_from, view),
        gates=gates,
    )


def _metrics(steps: tuple[StepName, ...], view: RunView) -> dict[str, float]:
    """Return the final metrics that are numbers; a later step's stand over an earlier one's."""
    found: dict[str, float] = {}
    for name in steps:
        attempt = view.latest(name)
        for key, metric in (attempt.metrics if attempt else {}).items():
            if math.isfinite(metric.last):
                found[key] = metric.last
    return found
