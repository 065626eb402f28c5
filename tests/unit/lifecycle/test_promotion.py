"""What the policies of an alias say of a version."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import ended, plan, register, step, tell, told, view, well
from trainwright.core.artifact import Evidence, GateResult, Signature
from trainwright.core.changes import RegisterModel
from trainwright.core.governance import AliasPolicy, Namespace, owners
from trainwright.core.reasons import ReasonCode
from trainwright.core.run import RunView
from trainwright.core.states import RunState
from trainwright.lifecycle.promotion import Candidate, weigh

PASSED = GateResult("auc >= 0.8", "passed", {"auc": 0.9})
FAILED = GateResult("f1 >= 0.8", "failed", {"f1": 0.1})
GIVEN = GateResult("loss < 9", "passed", {"loss": 0.1}, default=True)


def policy(**what: object) -> AliasPolicy:
    return AliasPolicy("p", ("*",), "production", **what)  # type: ignore[arg-type]


def candidate(metrics: Mapping[str, float] = {"auc": 0.9}, **what: object) -> Candidate:
    return Candidate("m", metrics, (PASSED, FAILED, GIVEN), **what)  # type: ignore[arg-type]


def verdicts(rule: AliasPolicy, of: Candidate) -> dict[str, str]:
    return {said.rule: said.verdict for said in weigh([rule], of, "production")}


def test_a_policy_with_nothing_to_say_of_an_alias_or_a_model_says_nothing() -> None:
    other = AliasPolicy("p", ("digits-*",), "production", ("auc > 2",))
    assert weigh([other], candidate(), "production") == ()
    assert weigh([policy(require=("auc > 2",))], candidate(), "staging") == ()


@pytest.mark.parametrize(
    ("require", "production", "verdict"),
    [
        ("auc >= 0.9", None, "passed"),
        ("auc >= 0.91", None, "failed"),
        ("f1 >= 0.5", None, "missing"),
        ("auc >= production.auc", None, "no-baseline"),
        ("auc >= production.auc", ("models/m/1", {"auc": 0.8}), "passed"),
        ("auc >= production.auc", ("models/m/1", {"auc": 0.95}), "failed"),
        ("auc >= production.auc", ("models/m/1", {"loss": 0.95}), "missing"),
        ("auc >= production.auc", ("models/m/1", {"auc": math.nan}), "not-a-number"),
        ("params.lr < 1", None, "passed"),
        ("not has('f1')", None, "passed"),
    ],
)
def test_a_condition_is_judged_as_a_check_is(require: str, production: object, verdict: str) -> None:
    of = candidate(production=production, params={"lr": 0.1})
    said = weigh([policy(require=(require,))], of, "production")[-1]
    assert (said.rule, said.verdict) == (require, verdict)
    assert said.baseline == ("models/m/1" if production else "")


def test_a_required_baseline_that_is_not_there_refuses() -> None:
    rule = policy(require=("auc >= production.auc",), baseline_required=True)
    assert verdicts(rule, candidate())["auc >= production.auc"] == "missing"


def test_a_version_must_have_come_from_an_alias_at_any_time_before() -> None:
    rule = policy(came_from="candidate")
    assert verdicts(rule, candidate(held={"candidate", "old"}))["from: candidate"] == "passed"
    assert verdicts(rule, candidate(held={"staging"}))["from: candidate"] == "failed"


def test_only_passed_checks_of_the_author_are_counted() -> None:
    assert verdicts(policy(passed_checks=1), candidate())["checks: 1"] == "passed"
    assert verdicts(policy(passed_checks=2), candidate())["checks: 2"] == "failed"
    named = policy(checks=("auc >= 0.8", "f1 >= 0.8"))
    assert verdicts(named, candidate())["check passed: auc >= 0.8"] == "passed"
    assert verdicts(named, candidate())["check passed: f1 >= 0.8"] == "failed"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_several_policies_refuse_together_what_any_of_them_refuses(floors: list[float]) -> None:
    rules = [AliasPolicy(f"p{n}", ("*",), "a", (f"auc >= {floor!r}",)) for n, floor in enumerate(floors)]
    said = weigh(rules, candidate({"auc": 0.5}), "a")
    assert all(s.passed for s in said) == (max(floors) <= 0.5)
    assert len(said) == 2 * len(floors)


# a run that would move the alias

GRAPH = plan(
    step("train", out={"model": "model", "card": "file"}),
    step("judge", reads=["train.model"], checks=["auc >= 0.8"]),
    register("register", alias="candidate"),
)


def ran(policies: tuple[AliasPolicy, ...], auc: float = 0.9, **more: object) -> RunView:
    begun = replace(view(GRAPH), policies=policies)
    return tell(
        GRAPH,
        begun,
        *well("r/train/1", outputs=["model", "card"], **more),
        *well("r/judge/1", metrics={"auc": auc}),
    )


def registered(policies: tuple[AliasPolicy, ...] = (), params: Mapping[str, Any] | None = None) -> RegisterModel:
    begun = replace(view(GRAPH), policies=policies)
    before = tell(
        GRAPH, begun, *well("r/train/1", outputs=["model", "card"], params=params or {}), *well("r/judge/1")[:2]
    )
    return told(GRAPH, before, ended("r/judge/1", metrics={"auc": 0.9}))[1].models[0]


def test_a_run_moves_an_alias_that_its_policy_gives_and_keeps_the_evidence() -> None:
    good = AliasPolicy("c", ("m",), "candidate", ("auc >= 0.9",))
    assert ran((good,)).run.state is RunState.SUCCEEDED
    model = registered((good,))
    assert [said.verdict for said in model.evidence] == ["passed", "passed"]
    assert model.evidence[1] == Evidence("c", "auc >= 0.9", "passed", {"auc": 0.9})


def test_a_run_registers_nothing_under_an_alias_that_its_policy_refuses() -> None:
    strict = AliasPolicy("c", ("m",), "candidate", ("auc >= 0.95",))
    after = ran((strict,))
    assert after.run.state is RunState.FAILED
    failed = after.steps["register"]  # type: ignore[index]
    assert failed.reason is not None
    assert failed.reason.code is ReasonCode.ALIAS_REFUSED
    assert "auc >= 0.95 failed" in failed.reason.sentence()
    assert failed.reason.evidence["policy"] == "c"


def test_a_new_version_never_came_from_an_alias() -> None:
    assert ran((AliasPolicy("c", ("m",), "candidate", came_from="staging"),)).run.state is RunState.FAILED


def test_the_signature_that_a_step_states_goes_with_its_model() -> None:
    def signature(params: Mapping[str, Any]) -> Signature:
        found = registered(params=params).signature
        assert found is not None
        return found

    stated = {"inputs": {"x": "float64"}, "outputs": {"y": ""}, "source": "step"}
    assert signature({"tw.signature": stated}) == Signature({"x": "float64"}, {"y": ""}, "step")
    inferred = {"inputs": {"features": "array of 4"}, "outputs": {}, "source": "model"}
    assert signature({"tw.inferred.model": inferred}).source == "model"
    assert signature({"tw.inferred.model": inferred, "tw.signature": stated}).source == "step"
    other = {"inputs": {"of": "it"}, "outputs": {}}
    assert signature({"tw.signature.model": other, "tw.signature": stated}).inputs == {"of": "it"}
    assert registered().signature is None


@pytest.mark.parametrize("nonsense", [1, "text", [], {"inputs": 1, "outputs": {}}, {"inputs": {"x": 1}, "outputs": {}}])
def test_what_is_no_signature_is_none(nonsense: object) -> None:
    assert registered(params={"tw.signature": nonsense}).signature is None


def test_the_file_that_is_called_card_is_the_card() -> None:
    assert registered().card is not None
    without = plan(
        step("train", out={"model": "model"}),
        step("judge", reads=["train.model"], checks=["auc >= 0.8"]),
        register("register"),
    )
    before = tell(without, view(without), *well("r/train/1", outputs=["model"]), *well("r/judge/1")[:2])
    assert told(without, before, ended("r/judge/1", metrics={"auc": 0.9}))[1].models[0].card is None


def test_an_address_has_the_teams_of_all_namespaces_that_hold_it() -> None:
    spaces = [
        Namespace("b", ("datasets/ads/*",), "ads"),
        Namespace("a", ("datasets/*",), "platform"),
        Namespace("c", ("models/*",), ""),
    ]
    assert owners(spaces, "datasets/ads/clicks") == ("platform", "ads")
    assert owners(spaces, "datasets/other") == ("platform",)
    assert owners(spaces, "models/x") == ()
