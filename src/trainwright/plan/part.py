"""A part of a plan: one step and everything that has to come before it."""

from collections.abc import Iterable
from dataclasses import replace

from trainwright.core.errors import NotFoundError
from trainwright.core.ids import StepName
from trainwright.core.join import Join
from trainwright.plan.plan import Plan
from trainwright.spec.findings import suggest


def part_of(plan: Plan, names: Iterable[str]) -> Plan:
    """Return the plan of these steps, of all that they need, and of what follows the failure of one of them.

    Raises:
        NotFoundError: the plan has no such step at its top.
    """
    known = {step.name: step for step in plan.steps}
    wanted: set[StepName] = set()
    todo = [StepName(name) for name in names]
    for name in todo:
        if name not in known:
            raise NotFoundError(
                "TW4002", f"the pipeline {plan.pipeline} has no step {name}", remedy=suggest(name, known, "it has")
            )
    while todo:
        name = todo.pop()
        if name not in wanted:
            wanted.add(name)
            todo.extend(known[name].needs)
    kept = tuple(s for s in plan.steps if s.name in wanted or (s.join is Join.ONE_FAILED and s.needs[0] in wanted))
    return replace(plan, steps=kept)
