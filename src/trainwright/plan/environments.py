"""The environments of a plan: which it asks for, and the plan with them locked. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from trainwright.core.environment import AskedEnvironment, StepEnvironment
from trainwright.core.ids import StepName
from trainwright.plan.plan import Plan, PlannedStep


def asked_environments(plan: Plan) -> dict[AskedEnvironment, StepName]:
    """Return every environment that steps ask for, but for inherited ones, with the first step that does, in order."""
    found: dict[AskedEnvironment, StepName] = {}
    for step in _steps(plan.steps):
        if step.environment is not None:
            found.setdefault(step.environment.asked, step.name)
    return found


def locked_environments(plan: Plan) -> dict[str, StepEnvironment]:
    """Return every environment of a plan by its name, sorted."""
    found = {s.environment.name: s.environment for s in _steps(plan.steps) if s.environment is not None}
    return dict(sorted(found.items()))


def inherits(plan: Plan) -> bool:
    """Tell whether a command of the plan runs in the environment of whoever starts it."""
    return any(step.command is not None and step.environment is None for step in _steps(plan.steps))


def with_environments(plan: Plan, locked: Mapping[AskedEnvironment, StepEnvironment]) -> Plan:
    """Return the plan with the environments of its steps locked."""
    return replace(plan, steps=tuple(_with(step, locked) for step in plan.steps)) if locked else plan


def _with(step: PlannedStep, locked: Mapping[AskedEnvironment, StepEnvironment]) -> PlannedStep:
    if step.group is not None:
        body = tuple(_with(inner, locked) for inner in step.group.body)
        step = replace(step, group=replace(step.group, body=body))
    return step if step.environment is None else replace(step, environment=locked[step.environment.asked])


def _steps(steps: tuple[PlannedStep, ...]) -> Iterator[PlannedStep]:
    for step in steps:
        yield step
        yield from _steps(step.group.body if step.group else ())
