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
        output = made(turn, StepName(f"{group}.{int(number) - 1}"), wanted.output) if int(number) else None
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
    """Return what a step has made under that name: its own, or that of the part of it which stands for it."""
    step = turn.step(name)
    if not step.state.is_success:
        return None
    group = turn.plan.step(name).group
    if group is None:
        return turn.output(name, output)
    if group.kind is GroupKind.LOOP and step.tally is not None:
        return made(turn, StepName(f"{name}.{step.tally.begun - 1}"), output)
    body, inner = group.outputs[output]
    return made(turn, within(body, StepName(f"{name}.")), inner)
