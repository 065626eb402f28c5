"""Loops, and pipeline files within others: rounds, what one hands to the next, registration, parts within parts."""

import pytest

from build import CHANCE, after, ended, view
from compiled import BAD, Played, compiled, played
from trainwright.core.changes import applied
from trainwright.core.ids import AttemptId, StepName
from trainwright.core.job import CodeTree, Part
from trainwright.core.run import Attempt
from trainwright.lifecycle.advance import advance
from trainwright.lifecycle.job import build_job
from trainwright.plan.plan import Plan
from trainwright.ports.backend import Ended

LOOP = """\
pipeline: p
steps:
  g:
    loop: {max_rounds: 3, until: 'UNTIL'}
    run: 'echo ${{ loop.round }} ${{ prev.o }} > ${{ out.o }}'
    out: {o: file}
    check: 'x >= 1'
    retry: 1
    skip_code: 9
  after: {run: 'cat ${{ g.o }}'}
"""


def loop(until: str, *values: float, **ends: dict[str, object]) -> Played:
    """A loop whose rounds log these values."""

    def goes(attempt: Attempt) -> Ended:
        if attempt.step == "after":
            return ended(attempt.id)
        number = int(attempt.step.partition(".")[2])
        given = ends.get(f"g{number}", {"metrics": {"x": values[number]} if number < len(values) else {}})
        return ended(attempt.id, **{"outputs": ["o"], **given})  # type: ignore[arg-type]

    return played(LOOP.replace("UNTIL", until), goes).to_the_end()


@pytest.mark.parametrize(
    ("until", "values", "rounds", "state", "code"),
    [
        ("x > 2", [3], 1, "succeeded", "succeeded"),
        ("x > 2", [1, 2, 3], 3, "succeeded", "succeeded"),
        ("g.x > 2", [1, 3], 2, "succeeded", "succeeded"),
        ("x > 2", [1, 1, 1], 3, "failed", "loop-exhausted"),
        ("loop.round >= 1", [1, 1, 1], 2, "succeeded", "succeeded"),
        ("y > 2", [1], 1, "failed", "condition-undecided"),
        ("x > 2", [0], 1, "failed", "gate-failed"),
        ("passed", [0, 0, 2], 3, "succeeded", "succeeded"),
        ("passed", [0, 0, 0], 3, "failed", "loop-exhausted"),
        ("passed or loop.round >= 1", [0, 0, 0], 2, "failed", "gate-failed"),
        ('has("y")', [1, 1, 1], 3, "failed", "loop-exhausted"),
    ],
)
def test_how_a_loop_ends(until: str, values: list[float], rounds: int, state: str, code: str) -> None:
    run = loop(until, *values)
    assert len([s for s in run.now_is.steps if s.parent == "g"]) == rounds
    assert (run.states["g"], run.code("g")) == (state, code)
    assert run.states["after"] == ("succeeded" if state == "succeeded" else "skipped")


def test_rounds_are_one_after_another_and_each_begins_with_what_the_one_before_made() -> None:
    run = loop("x > 2", 1, 2, 3)
    assert run.live == 1
    assert run.inputs("g.1/1") == {"prev.o": "runs:/r/g.0/o"}
    assert run.inputs("g.2/1") == {"prev.o": "runs:/r/g.1/o"}
    assert run.inputs("after/1") == {"g.o": "runs:/r/g.2/o"}
    assert not [key for key in run.now_is.inputs if key == "r/g.0/1" and run.now_is.inputs[key]]


def test_in_the_first_round_what_the_one_before_made_is_an_empty_text() -> None:
    run = played(LOOP.replace("UNTIL", "x > 2"))
    told = build_job(
        run.plan,
        run.now_is,
        run.now_is.attempts[AttemptId("r/g.0/1")],
        CodeTree("sha256:0", "."),  # type: ignore[arg-type]
    )
    assert told.command.refs["TW_REF_1"] == (Part("0"),)
    assert told.command.refs["TW_REF_2"] == (Part(),)


def test_after_a_round_that_failed_by_a_check_the_next_begins_with_what_it_made() -> None:
    assert loop("passed", 0, 2).inputs("g.1/1") == {"prev.o": "runs:/r/g.0/o"}


def test_a_round_that_broke_ends_the_loop_after_its_retries() -> None:
    run = loop("passed", 0, g1={"exit_code": 1, "outputs": []})
    assert (run.states["g"], run.code("g"), run.states["g.1"]) == ("failed", "user-error", "failed")
    assert [a for a in run.begun if a.startswith("r/g.1")] == ["r/g.1/1", "r/g.1/2"]


def test_a_round_with_nothing_to_do_skips_the_loop() -> None:
    run = loop("x > 2", 1, g1={"exit_code": 9, "outputs": []})
    assert (run.states["g"], run.states["after"], run.states["run"]) == ("skipped", "skipped", "succeeded")


def test_a_stop_between_two_rounds_begins_no_other() -> None:
    run = played(LOOP.replace("UNTIL", "x > 2")).place_all()
    run.now_is = run.stop_asked()
    run.tell(ended("r/g.0/1", outputs=["o"], metrics={"x": 1.0}))
    assert run.states == {"g": "cancelled", "g.0": "succeeded", "after": "cancelled", "run": "cancelled"}


def test_a_condition_may_name_what_the_last_round_said() -> None:
    text = LOOP.replace("UNTIL", "x > 2") + "  b: {run: 'true', when: ['g.x > 2', 'g.begun == 2']}\n"
    values = iter([1.0, 3.0])
    run = played(text, lambda a: ended(a.id, outputs=["o"], metrics={"x": next(values, 9.0)})).to_the_end()
    assert run.states["b"] == "succeeded"


# files

TUNE = """\
pipeline: tune
params: {lr: 0.1}
data: {start: file:none, table: file:none}
steps:
  train: {run: 'echo ${{ data.start }} ${{ params.lr }} ${{ data.table }}', out: {model: model}}
  judge: {run: 'echo ${{ train.model }}', check: 'x >= 1', on_fail: {run: 'echo $TW_FAILED_REASON'}}
  note: {run: 'echo', when: all_done, depends_on: judge}
outputs: {model: train.model}
"""
ROUNDS = """\
pipeline: rounds
data: {table: file:none}
steps:
  tune:
    uses: ./tune.yaml
    loop: {max_rounds: 3, until: judge.passed}
    with: {start: prev.model, table: data.table, lr: loop.round}
outputs: {model: tune.model}
"""
TOP = """\
pipeline: top
steps:
  prep: {run: 'echo > ${{ out.o }}', out: {o: dataset}}
  many:
    uses: ./rounds.yaml
    for_each: [a, b]
    with: {table: prep.o}
  all: {run: 'ls ${{ many.model }}'}
"""
FILES = {"./tune.yaml": TUNE, "./rounds.yaml": ROUNDS}


def test_a_file_in_a_loop_in_a_file_for_each_item() -> None:
    def goes(attempt: Attempt) -> Ended:
        good = not attempt.step.startswith(("many.0.tune.0.judge", "many.1.tune.0.judge", "many.1.tune.1.judge"))
        return ended(attempt.id, outputs=["o", "model"], metrics={"x": float(good)})

    run = played(TOP, goes, files=FILES).to_the_end()
    assert {name: state for name, state in run.states.items() if "tune." not in name} == {
        "prep": "succeeded", "many": "succeeded", "many.0": "succeeded", "many.1": "succeeded",
        "many.0.tune": "succeeded", "many.1.tune": "succeeded", "all": "succeeded", "run": "succeeded",
    }  # fmt: skip
    rounds = {name: state for name, state in run.states.items() if name.count(".") == 3}
    assert rounds == {
        "many.0.tune.0": "failed", "many.0.tune.1": "succeeded",
        "many.1.tune.0": "failed", "many.1.tune.1": "failed", "many.1.tune.2": "succeeded",
    }  # fmt: skip
    assert run.inputs("all/1") == {
        "many.model.0": "runs:/r/many.0.tune.1.train/model", "many.model.1": "runs:/r/many.1.tune.2.train/model",
    }  # fmt: skip
    assert run.inputs("many.1.tune.2.train/1") == {
        "data.start": "runs:/r/many.1.tune.1.train/model", "data.table": "runs:/r/prep/o",
    }  # fmt: skip
    assert run.inputs("many.1.tune.0.train/1") == {"data.table": "runs:/r/prep/o"}
    followed = {name for name, state in run.states.items() if name.endswith("on_fail") and state == "succeeded"}
    assert followed == {f"many.{n}.judge.on_fail" for n in ("0.tune.0", "1.tune.0", "1.tune.1")}
    job = build_job(
        run.plan,
        run.now_is,
        run.now_is.attempts[AttemptId("r/many.1.tune.2.train/1")],
        CodeTree("sha256:0", "in"),  # type: ignore[arg-type]
    )
    assert job.params == {"lr": 2}
    assert job.command.refs["TW_REF_2"] == (Part("2"),)
    handler = AttemptId("r/many.0.tune.0.judge.on_fail/1")
    told = build_job(run.plan, run.now_is, run.now_is.attempts[handler], CodeTree("sha256:0", "in"))  # type: ignore[arg-type]
    assert told.env["TW_FAILED_STEP"] == (Part("many.0.tune.0.judge"),)
    assert told.env["TW_FAILED_REASON"] == (Part("the check x >= 1 failed (x = 0)"),)


def test_a_round_in_which_more_than_a_check_failed_ends_the_loop() -> None:
    def goes(attempt: Attempt) -> Ended:
        if attempt.step.endswith("note"):
            return ended(attempt.id, 1)
        return ended(attempt.id, outputs=["o", "model"], metrics={"x": 0.0})

    run = played(TOP, goes, files=FILES).to_the_end()
    assert "many.0.tune.1" not in run.states
    assert run.states["many.0.tune"] == "failed"
    assert run.sentence("many.0.tune") == "the step many.0.tune.0.judge failed: the check x >= 1 failed (x = 0)"


def test_the_cause_of_a_failure_deep_within_is_the_cause_of_the_run() -> None:
    run = played(TOP, lambda a: ended(a.id, outputs=["o", "model"], metrics={"x": 0.0}), files=FILES).to_the_end()
    assert run.now_is.run.reason is not None
    assert run.now_is.run.reason.root == "loop-exhausted"
    one = "pipeline: p\nsteps: {m: {uses: ./tune.yaml, for_each: [1], with: {start: d.o, table: d.o}}, D}\n"
    text = one.replace("D", "d: {run: 'echo ${{ out.o }}', out: {o: file}}")
    by_check = played(text, lambda a: ended(a.id, outputs=["o", "model"], metrics={"x": 0.0}), files=FILES)
    reason = by_check.to_the_end().now_is.run.reason
    assert reason is not None
    assert reason.root == "gate-failed"


def test_a_file_whose_steps_are_all_skipped_is_skipped_and_one_whose_output_was_not_made_too() -> None:
    sub = """\
    pipeline: s
    steps:
      a: {run: 'echo ${{ out.o }}', out: {o: file}, skip_code: 9}
      b: {run: 'true', skip_code: 9}
    outputs: {o: a.o}
    """
    text = "pipeline: p\nsteps: {s: {uses: ./s.yaml}, z: {run: 'cat ${{ s.o }}'}}\n"
    nothing = {"exit_code": 9}
    all_skipped = played(text, {"s.a": nothing, "s.b": nothing}, files={"./s.yaml": sub}).to_the_end()
    assert (all_skipped.states["s"], all_skipped.code("s")) == ("skipped", "members-skipped")
    no_output = played(text, {"s.a": nothing}, files={"./s.yaml": sub}).to_the_end()
    assert (no_output.states["s"], no_output.code("s"), no_output.states["z"]) == (
        "skipped", "upstream-skipped", "skipped",
    )  # fmt: skip
    assert played(text, {"s.b": nothing}, files={"./s.yaml": sub}).to_the_end().states["z"] == "succeeded"


# registration

MAKE = """\
pipeline: make
steps:
  train: {run: 'echo ${{ out.model }}', out: {model: model}}
outputs: {model: train.model}
"""
JUDGE = """\
pipeline: judge
data: {model: file:none}
steps:
  score: {run: 'echo ${{ data.model }}', check: ['x >= 1', 'x >= production.x - 1']}
"""
REGISTER = """\
pipeline: p
steps:
  make: {uses: ./make.yaml, LOOP}
  judge: {uses: ./judge.yaml, with: {model: make.model}, EACH}
  register: {uses: register, with: {model: make.model, name: m}, WHEN}
"""
PARTS = {"./make.yaml": MAKE, "./judge.yaml": JUDGE}


def registering(loop: str = "", each: str = "", when: str = "") -> Plan:
    return compiled(REGISTER.replace("LOOP", loop).replace("EACH", each).replace("WHEN", when), PARTS)


def ends_of(of: Plan, **values: float) -> tuple[dict[str, str], list[tuple[str, str, list[str]]]]:
    """Final states, and what was registered: step, output, checks."""
    run = Played(of, lambda a: ended(a.id, outputs=["model"], metrics={"x": values.get(a.step.split(".")[0], 1.0)}))
    run.now_is = applied(run.now_is, advance(of, run.now_is, (), after(0), CHANCE))
    models = []
    for _ in range(50):
        if run.now_is.run.state.is_final:
            break
        run.place_all()
        ends = [run.goes(a) for a in run.live_attempts()]
        changes = advance(of, run.now_is, ends, after(0), CHANCE)
        models += [(str(m.step), m.output, [g.expression for g in m.gates if g.passed]) for m in changes.models]
        run.now_is = applied(run.now_is, changes)
    return run.states, models


@pytest.mark.parametrize(
    ("loop", "each", "maker"),
    [
        ("", "", "make.train"),
        ("loop: {max_rounds: 2, until: 'loop.round >= 1'}", "", "make.1.train"),
        ("", "for_each: [1, 2]", "make.train"),
    ],
)
def test_a_model_made_in_a_file_and_judged_in_another_is_registered(loop: str, each: str, maker: str) -> None:
    of = registering(loop, each)
    states, models = ends_of(of)
    assert states["register"] == "succeeded"
    times = 2 if each else 1
    assert models == [(maker, "model", ["x >= 1", "x >= production.x - 1"] * times)]
    score = of.step(StepName("judge.*.score" if each else "judge.score"))
    assert score.baseline_model == "m"


def test_a_model_that_no_step_of_the_judging_file_passed_is_not_registered() -> None:
    states, models = ends_of(registering(), judge=0.0)
    assert (states["judge"], states["register"], models) == ("failed", "skipped", [])


def test_a_condition_lets_no_model_past_a_judge_that_failed() -> None:
    text = """\
    pipeline: p
    steps:
      train: {run: 'echo ${{ out.model }}', out: {model: model}}
      judge: {run: 'echo ${{ train.model }}', check: 'x >= 1'}
      other: {run: 'echo ${{ train.model }}', check: 'x >= 0'}
      register: {uses: register, with: {model: train.model, name: m}, when: all_done}
    """
    run = played(text, lambda a: ended(a.id, outputs=["model"], metrics={"x": 0.0})).to_the_end()
    assert (run.states["register"], run.code("register")) == ("failed", "judge-failed")
    assert run.sentence("register") == "train.model was not registered: judge did not pass"


def test_production_within_the_file_that_makes_the_model_means_the_model_that_is_registered() -> None:
    make = MAKE + "  judge: {run: 'echo ${{ train.model }}', check: 'x >= production.x'}\n"
    make = make.replace("outputs: {model: train.model}\n", "") + "outputs: {model: train.model}\n"
    text = """\
    pipeline: p
    steps:
      make: {uses: ./make.yaml}
      judge: {run: 'echo ${{ make.model }}', check: 'x >= 0'}
      register: {uses: register, with: {model: make.model, name: m}}
    """
    of = compiled(text, {"./make.yaml": make})
    assert of.step(StepName("make.judge")).baseline_model == "m"
    worse = Played(of, lambda a: ended(a.id, outputs=["model"], metrics={"x": 0.5}))
    worse.now_is = view(of, baselines={"x": 0.9})
    assert worse.tell().to_the_end().states["make"] == "failed"


def test_a_file_that_breaks_stops_what_needs_it() -> None:
    run = played(
        REGISTER.replace(", LOOP", "").replace(", EACH", "").replace(", WHEN", ""), {"make.train": BAD}, files=PARTS
    )
    assert run.to_the_end().states == {
        "make": "failed", "make.train": "failed", "judge": "skipped", "register": "skipped", "run": "failed",
    }  # fmt: skip
