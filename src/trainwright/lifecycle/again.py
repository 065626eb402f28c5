"""What a finished run does when somebody asks for it to be tried again: the same run, the same code.

Steps that failed or were cancelled begin anew, and so does everything after them, whatever came of it: a step that
collected a part of the results has to collect all. What succeeded before them stands.
"""

from dataclasses import dataclass, replace

from trainwright.core.ids import StepName
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import RunView, StepRun, Tally
from trainwright.core.states import StepState
from trainwright.lifecycle.turn import counted
from trainwright.plan.plan import GroupKind, Plan, within

_BROKEN = frozenset({StepState.FAILED, StepState.CANCELLED})


@dataclass(frozen=True, slots=True)
class Again:
    """What is tried again, and what stands.

    Attributes:
        steps: their new records, groups around them too; empty when nothing failed.
        why: step that makes an attempt again → why, in the order of the records.
        stands: steps whose results are kept.
    """

    steps: tuple[StepRun, ...]
    why: dict[StepName, str]
    stands: tuple[StepName, ...]


def again(plan: Plan, view: RunView) -> Again:
    """Return what trying a finished run again changes."""
    anew: dict[StepName, str] = {}
    todo = [step.name for step in view.steps if step.state in _BROKEN]
    for name in todo:
        anew[name] = _fault(view.step(name))
    while todo:
        name = todo.pop(0)
        for other in _follows(plan, view, name):
            if other not in anew:
                anew[other] = f"comes after {name}"
                todo.append(other)
    steps = {name: _anew(view.step(name)) for name in anew}
    for name in anew:
        whole = any(within(path, name) in anew for path in plan.step(name).needs)
        if view.step(name).tally is not None and not whole:
            steps[name] = _group(plan, view, name, steps)
    leaves = [s for s in view.steps if s.tally is None]
    why = {s.name: anew[s.name] for s in leaves if s.name in anew}
    stands = tuple(s.name for s in leaves if s.name not in anew and s.state.is_success)
    return Again(tuple(steps.values()), why, stands)


def _fault(step: StepRun) -> str:
    return "was cancelled" if step.state is StepState.CANCELLED else "failed"


def _follows(plan: Plan, view: RunView, name: StepName) -> list[StepName]:
    """Return what must be made again when a step is: those that need it, the group around it, its last round."""
    found = [within(path, name) for path in plan.dependents.get(plan.path(name), ())]
    parent = view.step(name).parent
    found += [parent] if parent is not None else []
    planned, tally = plan.step(name), view.step(name).tally
    if planned.group is not None and tally is not None:
        found += _inside(view, name, planned.group.kind, tally)
    return [other for other in found if other in view.steps]


def _inside(view: RunView, name: StepName, kind: GroupKind, tally: Tally) -> list[StepName]:
    """Return the members that begin anew with a group: none that succeeded, but for the last round of a loop."""
    if kind is GroupKind.LOOP:
        return [StepName(f"{name}.{tally.begun - 1}")] if view.step(name).state is StepState.FAILED else []
    return []


def _anew(step: StepRun) -> StepRun:
    return replace(
        step,
        state=StepState.PENDING,
        reason=None,
        started_at=None,
        finished_at=None,
        metadata={},
        gates=(),
        tally=None,
        forgiven=step.attempts,
    )


def _group(plan: Plan, view: RunView, name: StepName, steps: dict[StepName, StepRun]) -> StepRun:
    """Return a group that is under way again, its members counted as they will stand."""
    group, tally = plan.step(name).group, view.step(name).tally
    if group is None or tally is None:
        raise ValueError(f"{name} is no group")
    fresh = Tally(tally.total)
    if group.kind is GroupKind.LOOP:
        done = tally.begun - 1
        fresh = Tally(tally.total, begun=tally.begun, started=done, succeeded=done)
    elif group.kind is GroupKind.ONCE:
        fresh = Tally(tally.total, begun=tally.total)
        inner = [within(s.name, StepName(f"{name}.")) for s in group.body]
        for member in (view.step(n) for n in inner if n not in steps):
            fresh = counted(fresh, member.state)
    reason = Reason(ReasonCode.RUNNING)
    return replace(
        steps[name], state=StepState.RUNNING, reason=reason, started_at=view.step(name).started_at, tally=fresh
    )
