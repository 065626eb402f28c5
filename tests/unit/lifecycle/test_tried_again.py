"""Runs that are tried again: what was said to stand is not made again, and groups within groups come to their end."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import ended
from compiled import Played, played, well_ended
from trainwright.core.run import Attempt
from trainwright.core.states import AttemptState, RunState
from trainwright.lifecycle.again import Again, again
from trainwright.ports.backend import Ended

SUB = """\
pipeline: sub
params: {k: 0}
outputs: {o: train.o}
steps:
  train: {run: 'echo ${{ params.k }} > ${{ out.o }}', out: {o: file}}
  then: {run: 'cat ${{ train.o }}'}
  rounds: {run: 'cat ${{ train.o }}', loop: {max_rounds: 2, until: loop.round >= 1}}
  many: {run: 'cat ${{ train.o }}', for_each: [1, 2], parallel: 1, when: all_done}
"""

OUTER = """\
pipeline: outer
steps:
  list: {run: 'echo > ${{ out.list }}', out: {list: value}}
  dyn: {uses: ./sub.yaml, for_each: list.list, with: {k: each.value}, parallel: 1}
  fix: {uses: ./sub.yaml, for_each: [1, 2, 3], with: {k: each.value}}
  one: {uses: ./sub.yaml}
  again: {uses: ./sub.yaml, loop: {max_rounds: 2, until: loop.round >= 1}}
  late: {for_each: [1, 2], run: 'true', when: all_done, depends_on: one}
  end: {run: 'cat ${{ dyn.o }}', depends_on: [fix, one, again, late]}
"""

LEAVES = [
    "list", "late.0", "late.1", "end",
    *(f"{member}.{leaf}" for member in ("dyn.0", "dyn.1", "fix.0", "fix.2", "one", "again.0", "again.1")
      for leaf in ("train", "then", "rounds.0", "rounds.1", "many.0", "many.1")),
]  # fmt: skip


def begun(bad: frozenset[str], *, heeds: bool = True) -> Played:
    """A run whose named steps fail in their first attempt; steps may heed that they are to stop, or end well."""

    def goes(attempt: Attempt) -> Ended:
        return ended(attempt.id, exit_code=1) if attempt.step in bad and attempt.number == 1 else well_ended(attempt)

    run = played(OUTER, goes, files={"./sub.yaml": SUB}, lists={"dyn": [1, 2]})
    if not heeds:
        run.end_of = goes  # type: ignore[method-assign]
    return run


def tried_again(run: Played) -> tuple[Again, list[str]]:
    """What was said, and the steps that were tried, in order; each ends well."""
    found = again(run.plan, run.now_is)
    reopened = replace(run.now_is.run, state=RunState.RUNNING, reason=None, finished_at=None, stop_asked_by=None)
    steps = run.now_is.steps.plus({step.name: step for step in found.steps})
    run.now_is = replace(run.now_is, run=reopened, steps=steps)
    run.goes, run.begun = well_ended, []
    run.end_of = well_ended  # type: ignore[method-assign]
    run.tell().to_the_end()
    return found, [name.removeprefix("r/").rpartition("/")[0] for name in run.begun]


def check_the_end(run: Played, found: Again, tried: list[str]) -> None:
    assert run.states["run"] == "succeeded"
    assert not set(found.stands) & set(tried)
    leaves = {name for name in found.why if run.now_is.step(name).tally is None}
    assert leaves <= set(tried)
    assert len(tried) == len(set(tried))
    for step in run.now_is.steps:
        if step.tally is not None and ".rounds" not in step.name and step.name != "again":
            assert (step.tally.started, step.tally.succeeded) == (step.tally.total, step.tally.total), step.name
    assert all(a.state is not AttemptState.QUEUED for a in run.now_is.attempts)


@given(bad=st.frozensets(st.sampled_from(LEAVES), min_size=1, max_size=5))
def test_what_stands_is_not_made_again_however_deep_it_is(bad: frozenset[str]) -> None:
    run = begun(bad).to_the_end()
    if run.states["run"] == "failed":
        check_the_end(run, *tried_again(run))


@given(rounds=st.integers(0, 5), heeds=st.booleans(), bad=st.frozensets(st.sampled_from(LEAVES), max_size=2))
def test_a_run_that_was_stopped_anywhere_comes_to_its_end(rounds: int, heeds: bool, bad: frozenset[str]) -> None:
    run = begun(bad, heeds=heeds)
    for _ in range(rounds):
        run.place_all().end_all()
    run.place_all().stop().to_the_end()
    if run.states["run"] in {"failed", "cancelled"}:
        check_the_end(run, *tried_again(run))


@pytest.mark.parametrize("member", ["dyn.0", "fix.1", "one", "again.0"])
def test_a_sub_pipeline_goes_on_after_the_step_that_succeeded(member: str) -> None:
    run = begun(frozenset({f"{member}.then"})).to_the_end()
    found, tried = tried_again(run)
    assert f"{member}.then" in tried
    assert f"{member}.train" in found.stands
    assert f"{member}.train" not in tried
