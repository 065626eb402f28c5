"""Platform documents: the envelope, each kind, and what is wrong with them by line and column."""

import json
import textwrap

import pytest

from trainwright.core.codec import from_json
from trainwright.core.errors import SpecError
from trainwright.core.governance import AliasPolicy, Namespace, ReleaseTarget
from trainwright.spec.envelope import json_schema, load
from trainwright.spec.kinds.known import KINDS
from trainwright.spec.reader import read

POLICY = textwrap.dedent("""\
    apiVersion: trainwright/v1
    kind: AliasPolicy
    metadata: {name: production}
    spec:
      models: digits-*
      alias: production
      require: ["auc >= 0.9", "auc >= production.auc"]
      from: candidate
      checks: 2
    """)
NAMESPACE = textwrap.dedent("""\
    apiVersion: trainwright/v1
    kind: Namespace
    metadata: {name: ads, description: clicks and views}
    spec: {match: [datasets/ads/*, models/ads-*], team: ads, code: clean}
    """)
TARGET = textwrap.dedent("""\
    apiVersion: trainwright/v1
    kind: ReleaseTarget
    metadata: {name: serving}
    spec:
      type: folder
      require_alias: production
      with: {root: /srv/models}
    """)


def test_a_policy_means_what_it_says() -> None:
    found = load(POLICY, "p.yaml")
    assert (found.kind, found.name) == ("AliasPolicy", "production")
    assert from_json(AliasPolicy, {**found.value, "name": found.name}) == AliasPolicy(
        "production", ("digits-*",), "production", ("auc >= 0.9", "auc >= production.auc"), "candidate", (), 2
    )
    assert found.written["from"] == "candidate"


def test_a_namespace_and_a_target_mean_what_they_say() -> None:
    space, target = load(NAMESPACE, "n.yaml"), load(TARGET, "t.yaml")
    assert from_json(Namespace, {**space.value, "name": "ads"}) == Namespace(
        "ads", ("datasets/ads/*", "models/ads-*"), "ads", clean_code=True
    )
    assert from_json(ReleaseTarget, {**target.value, "name": "serving"}) == ReleaseTarget(
        "serving", "folder", {"root": "/srv/models"}, "production"
    )


def test_checks_may_be_named() -> None:
    named = load(POLICY.replace("checks: 2", 'checks: ["auc >= 0.8"]'), "p.yaml")
    assert (named.value["checks"], named.value["passed_checks"]) == (["auc >= 0.8"], 1)


@pytest.mark.parametrize(
    ("before", "after", "code", "place", "words"),
    [
        ("kind: AliasPolicy", "kind: AliasPolcy", "TW1014", "2:7", "did you mean AliasPolicy?"),
        ("trainwright/v1", "trainwright/v9", "TW1006", "1:13", "not supported"),
        ("metadata: {name: production}\n", "", "TW1012", "1:1", "metadata: is missing"),
        ("{name: production}", "{name: production, nam: x}", "TW1010", "3:30", "did you mean name?"),
        ("name: production", "name: a/b", "TW1015", "3:18", "a slash"),
        ("  alias: production\n", "", "TW1012", "4:1", "alias: is missing"),
        ("  checks:", "  cheks:", "TW1010", "9:3", "did you mean checks?"),
        ("checks: 2", "checks: 0", "TW1013", "9:11", "below 1"),
        ("from: candidate", "from: production", "TW1017", "4:1", "the alias itself"),
        ('"auc >= 0.9"', '"auc >="', "TW1040", "7:13", "not an expression"),
        ('"auc >= 0.9"', '"1 > 0"', "TW1040", "7:13", "names no metric"),
        ("models: digits-*", "models: ../x", "TW1015", "5:11", "no pattern of names"),
        ("models: digits-*", "models: 3", "TW1013", "5:11", "not a list"),
        (POLICY, "- a\n", "TW1002", "1:1", "not a mapping"),
        (POLICY, "pipeline: x\nsteps: {}\n", "TW1010", "1:11", "a pipeline file"),
    ],
)
def test_a_mistake_is_told_with_its_place(before: str, after: str, code: str, place: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        load(POLICY.replace(before, after, 1), "p.yaml")
    problem = caught.value.problem
    assert (problem.code, problem.where) == (code, f"p.yaml:{place}"), problem
    assert words in str(problem)


def test_a_policy_that_requires_nothing_is_refused() -> None:
    text = POLICY.partition("  require:")[0]
    with pytest.raises(SpecError, match="requires nothing"):
        load(text, "p.yaml")


def test_a_namespace_is_of_addresses() -> None:
    with pytest.raises(SpecError) as caught:
        load(NAMESPACE.replace("datasets/ads/*", "ads/*"), "n.yaml")
    assert caught.value.problem.code == "TW1014"


@pytest.mark.parametrize("text", [POLICY, NAMESPACE, TARGET])
def test_the_schema_names_every_key_that_the_reader_takes(text: str) -> None:
    value = read(text, "f").value
    assert isinstance(value, dict)
    schema = json_schema(str(value["kind"]))
    assert set(value) == set(schema["properties"])
    assert isinstance(value["spec"], dict)
    assert set(value["spec"]) <= set(schema["properties"]["spec"]["properties"])
    assert schema["properties"]["kind"] == {"const": value["kind"]}
    assert schema["properties"]["spec"]["additionalProperties"] is False


def test_every_kind_has_a_schema_and_says_what_it_is_for() -> None:
    for kind in KINDS.values():
        assert kind.says
        assert json.dumps(json_schema(kind.name)) == json.dumps(json_schema(kind.name))
