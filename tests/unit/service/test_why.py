"""What ``tw why`` says: every reason in words, and what stands beside it."""

import math
from dataclasses import replace

import pytest

from build import GI, asks, ended, placed, plan, running, step, tell, view, well
from trainwright.core.artifact import GateResult
from trainwright.core.decision import Refusal
from trainwright.core.ids import AttemptId, StepName
from trainwright.core.job import MemoryGrowth, Retry
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.resources import Resources
from trainwright.core.run import RunView
from trainwright.core.scalar import Plain
from trainwright.core.stage import Stage
from trainwright.core.states import ExitClass as X
from trainwright.core.states import StepState
from trainwright.service.why import explain_run, explain_step, gate_line, memory_of_run

TRAINING = plan(step("a", stage=Stage.TRAINING, out={"model": "model"}, timeout_s=90.0, retry=1))
SMALL = plan(step("a", out={"x": "file"}, asked=Resources(1000, 2**30)))
ONE = plan(step("a", out={"x": "file"}, checks=["auc >= 0.8"], timeout_s=90.0))
NEVER = Reason(ReasonCode.NEVER_FITS, {"shortfall": "cpu: asked 5, has 4"})
WAITS = Reason(ReasonCode.WAITING_FOR_CAPACITY, {"shortfall": "cpu: asked 1, free 0", "holders": "p#1/x"})
LOST_ALWAYS = tuple(word for n in (1, 2, 3, 4) for word in (placed(f"r/a/{n}"), ended(f"r/a/{n}", cause="lost")))
FACTS = {"seed": 1, "device": "cpu"}


SCHEDULED = {
    "waiting-for-quota", "above-ceiling", "never-within-quota", "on-hold", "behind", "behind-reservation",
    "waiting-for-victims", "scattered", "cooling-down", "outside-window", "over-budget", "too-expensive",
    "adding-nodes", "waiting-for-time-slice", "preempted", "reclaimed", "time-sliced", "resized", "node-lost",
}  # fmt: skip
"""Read in ``tests/unit/sched``."""


def after_words(of: object, *words: object) -> RunView:
    return tell(of, view(of), *words)  # type: ignore[arg-type]


SAID = [
    (after_words(ONE, Refusal(AttemptId("r/a/1"), WAITS)), "waiting-for-capacity",
     "waits for room (cpu: asked 1, free 0); held by p#1/x",
     "it starts when one of them ends; to free room: tw stop RUN"),
    (after_words(ONE, Refusal(AttemptId("r/a/1"), NEVER)), "never-fits",
     "asks for more than this machine has (cpu: asked 5, has 4)", "lower resources: of the step"),
    (after_words(TRAINING, *well("r/a/1", exit_code=3)), "backing-off",
     "attempt 2 follows at 2026-01-01T00:00:05+00:00, after the command ended with exit code 3", ""),
    (after_words(ONE, placed("r/a/1"), running("r/a/1")), "running", "is running", ""),
    (after_words(ONE, *well("r/a/1", outputs=["x"], metrics={"auc": 0.9})), "succeeded", "succeeded", ""),
    (after_words(ONE, *well("r/a/1", exit_code=3)), "user-error",
     "the command ended with exit code 3", "see the last lines of its log"),
    (after_words(ONE, *well("r/a/1", exit_code=139)), "crashed",
     "the command crashed with SIGSEGV", "see the last lines of its log"),
    (after_words(ONE, *well("r/a/1", exit_code=None, signal=9)), "killed", "the command was killed with SIGKILL",
     "the system's memory killer is the usual cause: ask for less or add memory"),
    (after_words(SMALL, *well("r/a/1", cause="out-of-memory", signal=9, message="1073741824 bytes allowed")),
     "out-of-memory", "the command took more memory than its 1Gi (1073741824 bytes allowed)",
     "raise memory: of the step, or let it grow: retry: {max: 2, on: [oom], memory: x2}"),
    (after_words(ONE, *well("r/a/1", exit_code=143)), "interrupted",
     "the command was ended from outside with SIGTERM", "run it again"),
    (after_words(ONE, *well("r/a/1", cause="timeout", signal=15)), "timed-out",
     "the command took longer than its timeout of 1m30s", "raise timeout: of the step"),
    (after_words(ONE, *LOST_ALWAYS), "lost", "its runner died without a result",
     "run it again; a lost attempt is repeated up to three times by itself"),
    (after_words(ONE, *well("r/a/1", cause="not-started", message="no such program: {x}")), "not-started",
     "the command could not be started: no such program: {x}", "mend the command or its inputs"),
    (after_words(ONE, *well("r/a/1", cause="environment-failed", message="uv said no")), "environment-failed",
     "its environment could not be built: uv said no",
     "see all of it: tw logs RUN/STEP; a newer lock: tw env lock FILE --upgrade; a network that fails: retry:"),
    (after_words(ONE, *well("r/a/1")), "output-missing", "ended well but did not write the output x",
     "write it to the path that ${{ out.NAME }} gives (in a script: tw.outputs), or take it out of out:"),
    (after_words(ONE, *well("r/a/1", cause="output-invalid", message="x is no JSON")), "output-invalid",
     "ended well but the output x is no JSON", "write what the kind under out: asks for, or declare another kind"),
    (after_words(ONE, *(w for n in (1, 2, 3, 4) for w in well(f"r/a/{n}", cause="not-published", message="full"))),
     "not-published", "its outputs could not be stored: full", "free space and run it again"),
    (after_words(ONE, *well("r/a/1", outputs=["x"], metrics={"auc": 0.7})), "gate-failed",
     "the check auc >= 0.8 failed (auc = 0.7)", "mend what the check measures, or change check: of the step"),
    (after_words(TRAINING, *well("r/a/1", outputs=["model"], metrics={"l": 1}, params={"seed": 1})), "metadata-missing",
     "the stage training owes device and the step did not give it", 'note it in the step: tw.params(device="cpu")'),
    (after_words(TRAINING, *well("r/a/1", outputs=["model"], metrics={"l": math.inf}, params=FACTS)), "not-a-number",
     "what it logged last is not a finite number: l = Infinity", "look for divergence: learning rate, bad rows"),
    (after_words(ONE, placed("r/a/1"), ended("r/a/1", cause="stopped")), "stopped", "was stopped by somebody", ""),
]  # fmt: skip


@pytest.mark.parametrize(("now_is", "code", "sentence", "remedy"), SAID, ids=[line[1] for line in SAID])
def test_a_reason_reads(now_is: RunView, code: str, sentence: str, remedy: str) -> None:
    said = explain_step(now_is, ONE, "a")
    assert (said.code, said.sentence, said.remedy) == (code, sentence, remedy)
    assert said.subject == "runs/r/a"


GIVEN: dict[str, tuple[dict[str, Plain], str, str]] = {
    "waiting-for-step": ({"steps": ["a", "b"]}, "waits for a, b", ""),
    "not-registered": (
        {"model": "train.model"},
        "train.model was not registered: no check on it has passed",
        "give a step that reads the model a check:",
    ),
    "judge-failed": (
        {"model": "train.model", "steps": ["judge"]},
        "train.model was not registered: judge did not pass",
        "see it: tw why RUN/STEP; when: cannot let a model through",
    ),
    "upstream-failed": ({"steps": ["a"]}, "was skipped because a did not succeed", ""),
    "upstream-skipped": (
        {"steps": ["a"]}, "was skipped because a was skipped", "when: none_failed lets it run all the same",
    ),
    "condition-false": (
        {"expression": "a.auc > 1", "values": {"a.auc": 0.5}},
        "was skipped because a.auc > 1 does not hold (a.auc = 0.5)", "",
    ),
    "condition-undecided": (
        {"expression": "a.auc > 1", "values": {"a.auc": "missing"}},
        "whether a.auc > 1 holds cannot be told (a.auc = missing)",
        "log what the condition names in the step before, or ask with has()",
    ),
    "not-needed": ({"steps": ["a"]}, "was not needed: a did not fail", ""),
    "only-again": (
        {"original": "r1"},
        "was skipped because the run makes runs/r1 again, and that registers nothing new", "",
    ),
    "skipped-itself": ({"exit_code": 99}, "had nothing to do: the command ended with its skip_code 99", ""),
    "reading-list": ({"output": "list.shards"}, "reads the list of its members from list.shards", ""),
    "bad-list": (
        {"output": "list.shards", "message": "it holds dict, not a list", "advice": "write a list"},
        "list.shards cannot be the list of its members: it holds dict, not a list", "write a list",
    ),
    "waiting-for-turn": ({"limit": 2}, "waits for its turn: at most 2 steps of the run at one time", ""),
    "members-failed": (
        {"failed": 2, "total": 9, "tolerate": 1, "first": "e.3", "cause": "it broke"},
        "2 of 9 members failed, 1 may; the first was e.3: it broke", "see it: tw why RUN/e.3",
    ),
    "members-skipped": ({"total": 3}, "was skipped because all of its 3 members were", ""),
    "loop-exhausted": (
        {"until": "auc > 1", "rounds": 3, "values": {"auc": 0.5}},
        "auc > 1 did not hold after 3 rounds (auc = 0.5)", "allow more rounds in loop: max_rounds",
    ),
    "not-triggered": (
        {"message": "no dataset is called d", "remedy": "add it"},
        "no run was started: no dataset is called d", "add it",
    ),
    "chain-too-long": (
        {"depth": 9, "most": 8},
        "no run was started: it would be number 9 in a chain of runs that start one another; 8 are the most",
        "take a run: trigger out of the circle, or pause one: tw trigger pause TRIGGER",
    ),
    "cache-hit": (
        {"origin": "r/a/1", "key": "0123456789ab"}, "hit: equal to runs/r/a/1 (key 0123456789ab)", "",
    ),
    "cache-miss": ({"cause": "param C 1 → 2"}, "miss: param C 1 → 2", ""),
    "waiting-for-equal": ({"attempt": "r/a/1"}, "waits for runs/r/a/1, which makes the same", ""),
    "verifying": (
        {"origin": "r/a/1", "size": "2Gi"}, "looks whether what runs/r/a/1 made is unaltered (2Gi)", "",
    ),
    "taken-over": (
        {"origin": "r1/a/1", "key": "0123", "resumed": "r2"},
        "taken over from runs/r2: equal to runs/r1/a/1 (key 0123)", "",
    ),
    "alias-refused": (
        {"model": "train.model", "alias": "m@candidate", "rules": "auc >= 0.9 failed", "policy": "strict"},
        "train.model was not registered: it may not become m@candidate (auc >= 0.9 failed)",
        "register it without alias:, or change the policy: tw config show AliasPolicy/strict",
    ),
    "step-failed": (
        {"step": "a", "cause": "the command crashed with SIGSEGV"},
        "the step a failed: the command crashed with SIGSEGV", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("code", GIVEN)
def test_reasons_of_steps_without_an_attempt_read(code: str) -> None:
    evidence, sentence, remedy = GIVEN[code]
    reason = Reason(ReasonCode(code), evidence)
    assert (reason.sentence(), reason.remedy()) == (sentence, remedy)


def test_every_reason_is_read_here() -> None:
    assert {line[1] for line in SAID} | set(GIVEN) | set(SCHEDULED) == set(ReasonCode)


CHAIN = plan(step("a"), step("b", needs=["a"]), step("c"))


def test_a_run_that_nobody_has_taken_up_says_so() -> None:
    said = explain_run(view(CHAIN), CHAIN)
    assert (said.state, said.sentence) == ("pending", "waits for an engine to take it up")
    assert "tw wait" in said.remedy
    assert explain_step(view(CHAIN), CHAIN, "b").sentence == "waits for a"
    assert explain_step(view(CHAIN), CHAIN, "a").sentence == "waits for an engine to take it up"


def test_a_run_in_the_middle_says_where_it_is() -> None:
    now_is = tell(CHAIN, view(CHAIN), placed("r/a/1"))
    said = explain_run(now_is, CHAIN)
    assert said.sentence == "is at a, c"
    assert [about.subject for about in said.about] == ["runs/r/a", "runs/r/c", "runs/r/b"]
    assert said.about[2].sentence == "waits for a"


def test_a_failed_run_names_the_step_that_broke_it_first() -> None:
    now_is = tell(CHAIN, view(CHAIN), *well("r/c/1", exit_code=1), *well("r/a/1"), *well("r/b/1"))
    said = explain_run(now_is, CHAIN)
    assert (said.code, said.sentence) == ("step-failed", "the step c failed: the command ended with exit code 1")
    assert [about.subject for about in said.about] == ["runs/r/c"]


def test_a_run_that_succeeded_has_nothing_to_explain() -> None:
    one = plan(step("a"))
    said = explain_run(tell(one, view(one), *well("r/a/1")), one)
    assert (said.code, said.sentence, said.remedy, said.about) == ("succeeded", "succeeded", "", ())


def test_earlier_attempts_and_checks_are_the_evidence() -> None:
    twice = plan(step("a", retry=1, checks=["auc >= 0.8", "loss < 1"]))
    now_is = tell(twice, view(twice), *well("r/a/1", exit_code=1), *well("r/a/2", metrics={"auc": 0.7, "loss": 0.5}))
    assert explain_step(now_is, twice, "a").evidence == (
        "failed: auc >= 0.8  [auc = 0.7]",
        "passed: loss < 1  [loss = 0.5]",
        "attempt 1: failed, the command ended with exit code 1",
        "attempt 2: succeeded, succeeded",
    )


@pytest.mark.parametrize(
    ("gate", "line"),
    [
        (GateResult("a > 1", "passed", {"a": 1.23456789}), "passed: a > 1  [a = 1.23457]"),
        (GateResult("a > 1", "not-a-number", {"a": math.nan}), "not-a-number: a > 1  [a = nan]"),
        (GateResult("a > 1", "failed", {"a": -math.inf}), "failed: a > 1  [a = -inf]"),
        (GateResult("a > 1", "missing", {"a": None}), "missing: a > 1  [a is missing]"),
        (GateResult("rows > 0", "passed", {"rows": 3}, default=True), "passed: rows > 0 (of the stage)  [rows = 3]"),
        (GateResult("1 < 2", "passed"), "passed: 1 < 2"),
        (
            GateResult("a > production.a", "failed", {"a": 1, "production.a": 2}, baseline="models/m/1"),
            "failed: a > production.a  [a = 1, production.a = 2, against models/m/1]",
        ),
    ],
)
def test_a_check_is_one_line(gate: GateResult, line: str) -> None:
    assert gate_line(gate) == line


def test_more_memory_after_running_out_of_it_is_told() -> None:
    grows = Retry(max=3, on=(X.OOM, X.CRASH), memory=MemoryGrowth(2000, 10 * GI))
    of = plan(step("a", retry=grows, asked=asks(memory_gi=4)), step("b"))
    attempts = [
        (placed("r/a/1"), ended("r/a/1", cause="out-of-memory")),
        (placed("r/a/2"), ended("r/a/2", cause="exited", exit_code=None, signal=11)),
        (placed("r/a/3"), ended("r/a/3", cause="out-of-memory")),
    ]
    now_is = tell(of, view(of), *(happening for attempt in attempts for happening in attempt))
    lines = [
        "attempt 2: 8Gi after out of memory at 4Gi",
        "attempt 4: 10Gi after out of memory at 8Gi",
    ]
    assert [line for line in explain_step(now_is, of, "a").evidence if "after out of" in line] == lines
    assert memory_of_run(now_is, of) == [f"memory a: {line}" for line in lines]


def test_a_step_without_a_reason_is_explained_by_its_state() -> None:
    now_is = view(CHAIN)
    steps = now_is.steps.plus({StepName("a"): replace(now_is.step(StepName("a")), state=StepState.QUEUED)})
    said = explain_step(replace(now_is, steps=steps), CHAIN, "a")
    assert (said.state, said.code, said.sentence) == ("queued", "", "")
