"""What an attempt reads, resolved to content: outputs of steps, of groups and their members, pinned data."""

from collections.abc import Iterator

from trainwright.core.artifact import Input, Output
from trainwright.core.ids import StepName
from trainwright.lifecycle.turn import Turn
from trainwright.plan.plan import GroupKind, PlannedInput, PlannedStep, Source, within


def inputs_of(turn: Turn, planned: PlannedStep, name: StepName) -> tuple[Input, ...]:
    """Return what the step of that name reads, each after the other as in the plan.

    A step before it that did not succeed, which its join allows, contributes nothing. Of a collection every member
    that succeeded is an input of its own, named with its number.
    """
    if not planned.inputs:
        return ()
    pinned = {d.name: d for d in turn.plan.data}
    found: list[Input] = []
    for wanted in planned.inputs:
        if wanted.step is None:
            data = pinned[wanted.output]
            found.append(Input(wanted.name, wanted.kind, data.content, data.address))
        else:
            found += (Input(as_, wanted.kind, o.content, o.address) for as_, o in _made(turn, wanted, name))
    return tuple(found)


def _made(turn: Turn, wanted: PlannedInput, name: StepName) -> Iterator[tuple[str, Output]]:
    step = within(wanted.step or StepName(""), name)
    if wanted.source is Source.PREVIOUS:
        group, _, number = step.rpartition(".")
        output = _published(turn, StepName(f"{group}.{int(number) - 1}"), wanted.output) if int(number) else None
        if output is not None:
            yield wanted.name, output
    elif wanted.source is Source.ALL:
        tally = turn.step(step).tally
        for place in range(tally.total if tally else 0):
            output = made(turn, StepName(f"{step}.{place}"), wanted.output)
            if output is not None:
                yield f"{wanted.name}.{place}", output
    else:
        output = made(turn, step, wanted.output)
        if output is not None:
            yield wanted.name, output


def made(turn: Turn, name: StepName, output: str) -> Output | None:
    """Return what a step that succeeded has made under that name: its own, or that of the part which stands for it."""
    return _published(turn, name, output) if turn.step(name).state.is_success else None


def _published(turn: Turn, name: StepName, output: str) -> Output | None:
    """Return what a step has made, also when it failed by a check: that is what the next round begins with."""
    step = turn.step(name)
    group = turn.plan.step(name).group
    if group is None:
        return turn.output(name, output)
    if step.tally is None:
        return None
    if group.kind is GroupKind.LOOP:
        return _published(turn, StepName(f"{name}.{step.tally.begun - 1}"), output)
    body, inner = group.outputs[output]
    return _published(turn, within(body, StepName(f"{name}.")), inner)
