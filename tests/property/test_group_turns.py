"""Random graphs with groups, in whatever order things happen: what a turn may leave out, and what a stop leaves."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build import CHANCE, after, ended, placed, running, view
from compiled import compiled
from graphs import Model, Node, end_of, members_of, nodes, texts
from trainwright.core.changes import Act, Changes, applied
from trainwright.core.run import Attempt, RunView
from trainwright.core.states import AttemptState, StepState
from trainwright.lifecycle.advance import Happening, advance
from trainwright.lifecycle.groups import ListRead
from trainwright.plan.plan import Plan

MUCH = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def compared(changes: Changes) -> Mapping[str, Any]:
    """What a turn decided, without the order in which it came upon it."""
    return {
        "run": changes.run,
        "steps": {s.name: s for s in changes.steps},
        "attempts": {a.id: a for a in changes.attempts},
        "inputs": changes.inputs,
        "outputs": {(o.attempt, o.name): o for o in changes.outputs},
        "instructions": set(changes.instructions),
    }


def happening(graph: tuple[Node, ...], of: Plan, attempt: Attempt) -> Happening:
    """What comes next for an attempt that has begun."""
    if attempt.state is AttemptState.STARTING:
        return running(attempt.id)
    if attempt.state is AttemptState.STOPPING:
        return ended(attempt.id, cause="stopped")
    end = end_of(graph, attempt.step, attempt.number)
    metrics = {} if end["good"] is None else {"good": end["good"]}
    outputs = list(of.step(attempt.step).outputs) if end["exit_code"] == 0 else []
    return ended(attempt.id, end["exit_code"], metrics=metrics, outputs=outputs)


def words(graph: tuple[Node, ...], of: Plan, now_is: RunView) -> list[Happening]:
    """Everything that may happen next."""
    stopping = now_is.run.stop_asked_by is not None  # the engine places nothing then
    found: list[Happening] = [
        placed(a.id) if a.state is AttemptState.QUEUED else happening(graph, of, a)
        for a in now_is.attempts
        if not a.state.is_final and not (stopping and a.state is AttemptState.QUEUED)
    ]
    for step in now_is.steps:
        group = of.step(step.name).group
        if step.state is StepState.QUEUED and group is not None:
            found.append(ListRead(step.name, list(range(members_of(graph, f"{step.name}_list")))))
    return found


def drive(graph: tuple[Node, ...], chooser: st.DataObject, stop_at: int | None = None) -> RunView:
    """Let a run go to its end; hold every turn that looks at what was touched against one that looks at everything."""
    files = texts(graph)
    of = compiled(files["./top.yaml"], files)
    now_is = view(of)
    now_is = applied(now_is, advance(of, now_is, (), after(0), CHANCE))
    for turn in range(1, 2000):
        if now_is.run.state.is_final:
            return now_is
        if turn == stop_at:
            now_is = replace(now_is, run=replace(now_is.run, stop_asked_by="bob"))
        left = words(graph, of, now_is)
        chosen = chooser.draw(st.lists(st.sampled_from(left), min_size=1, max_size=4)) if left else []
        full = advance(of, now_is, chosen, after(turn), CHANCE)
        part = advance(of, now_is, chosen, after(turn), CHANCE, everything=False)
        assert compared(part) == compared(full)
        if now_is.run.stop_asked_by:
            assert not [i for i in full.instructions if i.act is Act.START]
            assert not [a for a in full.attempts if a.id not in now_is.attempts]
        now_is = applied(now_is, full)
        assert not advance(of, now_is, (), after(turn), CHANCE), "a turn left something to do"
        for step in now_is.steps:
            if step.tally is not None:
                assert step.tally.ended <= step.tally.begun or step.tally.cancelled
                assert step.tally.begun <= step.tally.total
    raise AssertionError("the run does not end")


@given(nodes(), st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=MUCH)
def test_a_turn_that_looks_at_what_was_touched_decides_what_one_decides_that_looks_at_everything(
    graph: tuple[Node, ...], chooser: st.DataObject
) -> None:
    now_is = drive(graph, chooser)
    found = {str(s.name): str(s.state) for s in now_is.steps}
    assert {**found, "run": str(now_is.run.state)} == Model().run(graph)


@given(nodes(), st.data(), st.integers(1, 12))
@settings(max_examples=40, deadline=None, suppress_health_check=MUCH)
def test_a_stop_at_any_turn_ends_every_step_of_every_group(
    graph: tuple[Node, ...], chooser: st.DataObject, stop_at: int
) -> None:
    now_is = drive(graph, chooser, stop_at)
    assert all(s.state.is_final for s in now_is.steps)
    for step in now_is.steps:
        inner = [s for s in now_is.steps if s.parent == step.name]
        if step.state is StepState.CANCELLED and inner:
            assert any(s.state is StepState.CANCELLED for s in inner) or step.tally is not None
