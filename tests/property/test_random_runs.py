"""Random graphs with random ends, driven to their end, against a model that knows no attempts and no turns."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from build import after, ended, placed, plan, running, step, told, view
from trainwright.core.changes import Act
from trainwright.core.run import Attempt, RunView
from trainwright.core.states import AttemptState, RunState
from trainwright.lifecycle.advance import Happening
from trainwright.lifecycle.retry import OURS_BUDGET
from trainwright.plan.plan import Plan

NAMES = "abcdefg"
GOOD, BAD, GATE, LOST, STOPPED = "good", "bad", "gate", "lost", "stopped"


@dataclass(frozen=True)
class Fate:
    """What is to come: step → the end of each of its attempts (the last one's repeats), retries, and needs."""

    needs: Mapping[str, tuple[str, ...]]
    retries: Mapping[str, int]
    ends: Mapping[str, tuple[str, ...]]

    def end(self, name: str, number: int) -> str:
        """How the ``number``-th attempt ends."""
        return self.ends[name][min(number, len(self.ends[name])) - 1]

    def plan(self) -> Plan:
        return plan(
            *(
                step(n, needs=self.needs[n], retry=self.retries[n], checks=["good > 0"], out={"x": "file"})
                for n in self.needs
            )
        )


@st.composite
def fates(draw: st.DrawFn) -> Fate:
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    kinds = st.sampled_from([GOOD, GOOD, GOOD, BAD, BAD, GATE, LOST, STOPPED])
    return Fate(
        needs={n: tuple(sorted(draw(_some(names[:i])))) for i, n in enumerate(names)},
        retries={n: draw(st.integers(0, 2)) for n in names},
        ends={n: tuple(draw(st.lists(kinds, min_size=1, max_size=6))) for n in names},
    )  # fmt: skip


def _some(names: str) -> st.SearchStrategy[set[str]]:
    return st.sets(st.sampled_from(names), max_size=3) if names else st.just(set())


def model(fate: Fate) -> dict[str, str]:
    """Final states by recursion over the graph: no turns, no clock, no records."""
    final: dict[str, str] = {}
    for name, needs in fate.needs.items():
        final[name] = _alone(fate, name) if all(final[n] == "succeeded" for n in needs) else "skipped"
    states = set(final.values())
    final["run"] = "failed" if "failed" in states else "cancelled" if "cancelled" in states else "succeeded"
    return final


def _alone(fate: Fate, name: str) -> str:
    bad = lost = 0
    for number in range(1, 20):
        match fate.end(name, number):
            case "good":
                return "succeeded"
            case "gate":
                return "failed"
            case "stopped":
                return "cancelled"
            case "bad":
                bad += 1
                if bad > fate.retries[name]:
                    return "failed"
            case _:
                lost += 1
                if lost > OURS_BUDGET:
                    return "failed"
    raise AssertionError("no end")


def _happening(fate: Fate, attempt: Attempt) -> Happening:
    """What a backend says next about an attempt."""
    if attempt.state is AttemptState.STARTING:
        return running(attempt.id)
    kind = fate.end(attempt.step, attempt.number)
    if kind in {LOST, STOPPED}:
        return ended(attempt.id, cause=kind)
    if kind == BAD:
        return ended(attempt.id, 1)
    return ended(attempt.id, metrics={"good": float(kind == GOOD)}, outputs=["x"])


def drive(fate: Fate, chooser: st.DataObject, stop_at: int | None = None) -> RunView:
    """Let everything happen in a random order, some of it twice, until the run has ended."""
    of = fate.plan()
    now_is, _ = told(of, view(of))
    started: list[str] = []
    for turn in range(400):
        if now_is.run.state.is_final:
            return now_is
        if turn == stop_at:
            now_is = replace(now_is, run=replace(now_is.run, stop_asked_by="bob"))
        now = after(1000 * (turn + 1))
        live = [a for a in now_is.attempts if not a.state.is_final]
        words: list[Happening] = [
            placed(a.id) if a.state is AttemptState.QUEUED else _happening(fate, a) for a in live
        ]  # fmt: skip
        chosen = chooser.draw(st.lists(st.sampled_from(words), min_size=1, max_size=6)) if words else []
        now_is, changes = told(of, now_is, *chosen, at=now)
        started += [str(i.attempt) for i in changes.instructions if i.act is Act.START]
        assert len(started) == len(set(started)), "an attempt was started twice"
    raise AssertionError("the run does not end")


def final(now_is: RunView) -> dict[str, str]:
    return {**{str(s.name): str(s.state) for s in now_is.steps}, "run": str(now_is.run.state)}


@given(fates(), st.data())
@settings(max_examples=100, deadline=None)
def test_every_run_ends_as_the_model_says_in_whatever_order_things_happen(fate: Fate, chooser: st.DataObject) -> None:
    now_is = drive(fate, chooser)
    assert final(now_is) == model(fate)
    for done in now_is.steps:
        tries = [a for a in now_is.attempts if a.step == done.name]
        assert [a.number for a in tries] == list(range(1, done.attempts + 1))
        assert all(a.state.is_final for a in tries)
        assert done.finished_at is not None
        assert done.reason is not None
    made = [o.step for o in now_is.outputs]
    assert sorted(made) == sorted(a.step for a in now_is.attempts if a.state is AttemptState.SUCCEEDED)


@given(fates(), st.data(), st.integers(0, 12))
@settings(max_examples=60, deadline=None)
def test_a_stop_ends_every_run_and_starts_nothing_more(fate: Fate, chooser: st.DataObject, stop_at: int) -> None:
    now_is = drive(fate, chooser, stop_at)
    expected = model(fate)
    assert now_is.run.state in {RunState.CANCELLED, RunState(expected["run"])} | {RunState.FAILED}
    for name, state in final(now_is).items():
        if name != "run" and state in {"succeeded", "skipped"}:
            assert state == expected[name]
