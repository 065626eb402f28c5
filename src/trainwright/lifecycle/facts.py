"""What conditions may name: the numbers and facts of steps beside the asking one, parameters, and its own item."""

from collections.abc import Callable, Mapping
from dataclasses import asdict

from trainwright.core.artifact import GateResult
from trainwright.core.condition import judge, mentioned, parse
from trainwright.core.ids import StepName
from trainwright.core.run import StepRun
from trainwright.core.scalar import Plain
from trainwright.lifecycle.turn import Turn
from trainwright.plan.items import SCOPES, fields_of, place_of
from trainwright.plan.plan import GroupKind, PlannedStep


def hold(turn: Turn, expression: str, name: StepName, beside: StepName) -> GateResult:
    """Judge a condition.

    Args:
        turn: the decision under way.
        expression: as written.
        name: the step whose own numbers go without a prefix.
        beside: a step next to which the steps that are named stand.
    """
    condition = parse(expression)
    scope = beside.rpartition(".")[0]
    names: dict[str, object] = {}
    for dotted in mentioned(condition):
        head = dotted.partition(".")[0]
        sibling = StepName(f"{scope}.{head}" if scope else head)
        if head == "params":
            names[head] = params_of(turn.plan.step(name), name, turn.run.params, turn.step)
        elif head in SCOPES:
            names[head] = fields_of(item_of(turn, name), name)
        elif sibling == turn.step(name).parent:
            names[head] = facts(turn, name)
        elif turn.has_step(sibling):
            names[head] = facts(turn, sibling)
        else:
            names.update({k: v for k, v in facts(turn, name).items() if k == head})
    return judge(condition, names)  # type: ignore[arg-type]


def facts(turn: Turn, name: StepName) -> dict[str, Plain]:
    """Return what is known of a step that has ended: its metrics, facts that it noted, counts of its members."""
    step = turn.step(name)
    attempt = turn.latest(name)
    found: dict[str, Plain] = {}
    if attempt is not None:
        found |= attempt.params
        found |= {key: metric.last for key, metric in attempt.metrics.items()}
    if step.tally is not None:
        group = turn.plan.step(name).group
        if group is not None and group.kind is GroupKind.LOOP and step.tally.begun:
            found |= facts(turn, StepName(f"{name}.{step.tally.begun - 1}"))
        found |= asdict(step.tally)
    if step.state.is_final:
        found["passed"] = step.state.is_success
    return found


def item_of(turn: Turn, name: StepName) -> Plain:
    """Return the item of the member that a step is, or lies in: the nearest one's."""
    step = turn.step(name)
    while step.parent is not None:
        group = turn.plan.step(step.parent).group
        if group is not None and group.kind is not GroupKind.ONCE:
            break
        step = turn.step(step.parent)
    return step.item


def params_of(
    planned: PlannedStep, name: StepName, of_run: Mapping[str, Plain], step: Callable[[StepName], StepRun]
) -> dict[str, Plain]:
    """Return the parameters that a step knows: the run's, or those of its sub-pipeline with what its member gives.

    Args:
        planned: the step.
        name: of the step itself, when it is one of many.
        of_run: parameters of the run.
        step: returns a record.
    """
    if planned.params is None:
        return dict(of_run)
    found = dict(planned.params)
    for key, part in planned.bound.items():
        member, field = place_of(part.ref, name)
        found[key] = fields_of(step(member).item, member).get(field)
    return found
