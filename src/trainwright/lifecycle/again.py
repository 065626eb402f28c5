"""What a finished run does when somebody asks for it to be tried again: the same run, the same code.

Steps that failed or were cancelled begin anew, and so does everything after them, whatever came of it: a step that
collected a part of the results has to collect all. What succeeded before them stands.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

from trainwright.core.ids import StepName
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
    whole = {name for name in anew if view.step(name).tally and _whole(plan, view, name, anew)}
    for name in anew:
        if view.step(name).tally is not None and name not in whole:
            steps[name] = _group(plan, view, name, steps)
    lost = {s.name for s in view.steps if any(above in whole for above in _around(view, s.name))}
    shown = [s for s in view.steps if s.name not in lost and (s.tally is None or s.name in whole)]
    why = {s.name: anew[s.name] for s in shown if s.name in anew}
    stands = tuple(s.name for s in shown if s.name not in anew and s.state.is_success)
    return Again(tuple(steps.values()), why, stands)


def _whole(plan: Plan, view: RunView, name: StepName, anew: Container[StepName]) -> bool:
    """Tell whether a group begins from nothing: something that it or a group around it needs is made again."""
    inner = (name, *_around(view, name))
    return any(within(path, group) in anew for group in inner for path in plan.step(group).needs)


def _around(view: RunView, name: StepName) -> Iterator[StepName]:
    """Yield the groups around a step, from the inside."""
    parent = view.step(name).parent
    while parent is not None:
        yield parent
        parent = view.step(parent).parent


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
    """Return a group that is to go on, its members counted as they will stand: its tally says that it does."""
    group, tally = plan.step(name).group, view.step(name).tally
    if group is None or tally is None:
        raise ValueError(f"{name} is no group")
    fresh = Tally(tally.total)
    if group.kind is GroupKind.LOOP:
        done = tally.begun - (StepName(f"{name}.{tally.begun - 1}") in steps)
        fresh = Tally(tally.total, begun=tally.begun, started=done, succeeded=done)
    elif group.kind is GroupKind.ONCE:
        fresh = Tally(tally.total, begun=tally.total)
        inner = [within(s.name, StepName(f"{name}.")) for s in group.body]
        for member in (view.step(n) for n in inner if n not in steps):
            fresh = counted(fresh, member.state)
    return replace(steps[name], started_at=view.step(name).started_at, tally=fresh)
