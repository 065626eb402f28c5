"""What a file says about who starts its runs."""

from pathlib import Path

import pytest

from trainwright.core.errors import SpecError
from trainwright.core.trigger import RunEnd, TriggerKind, TriggerSpec
from trainwright.plan.compile import compile_plan
from trainwright.spec.load import load
from trainwright.spec.params import resolve
from trainwright.spec.schema import json_schema

GOLDEN = Path(__file__).parents[2] / "golden" / "spec"
HEAD = "pipeline: p\nparams: {epochs: {default: 3, range: [1, 100]}, opt: {lr: 0.1}}\nsteps: {a: {run: echo}}\n"


def triggers(text: str) -> tuple[TriggerSpec, ...]:
    return load(HEAD + text, "f.yaml").spec.triggers


def refused(text: str) -> tuple[str, str, str]:
    with pytest.raises(SpecError) as caught:
        triggers(text)
    problem = caught.value.problem
    return problem.code, problem.message, problem.where.removeprefix("f.yaml:")


def test_every_kind_arrives_with_its_defaults() -> None:
    found = load((GOLDEN / "triggers.yaml").read_text(), "f.yaml").spec.triggers
    assert [t.name for t in found] == ["cron-1", "dataset-1", "run-1", "labels", "cron-2"]
    assert found[0] == TriggerSpec(
        "cron-1", TriggerKind.CRON, "30 2 * * *", "Europe/Berlin", {"epochs": 50, "must": "007"}, catch_up=3
    )
    assert found[1] == TriggerSpec("dataset-1", TriggerKind.DATASET, "datasets/ads/clicks", "", {"must": "a"}, 1, 600.0)
    assert (found[2].on, found[2].debounce_s) == (RunEnd.ANY, 0.0)
    assert (found[4].timezone, found[4].catch_up) == ("UTC", 0)


def test_one_trigger_alone_needs_no_list() -> None:
    assert triggers('triggers: {cron: "0 0 * * *"}') == triggers('triggers: [{cron: "0 0 * * *"}]')
    assert triggers("triggers:") == triggers("triggers: []") == ()


def test_a_trigger_changes_no_plan() -> None:
    documents = [load(HEAD + text, "f.yaml") for text in ("", "triggers: {run: other, params: {epochs: 9}}")]
    digests = {compile_plan(document, resolve(document, {}), ()).digest for document in documents}
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("text", "code", "message", "where"),
    [
        ("triggers:\n  cron: 1 2 3 4 5\n  must: 3", "TW1010", "unknown key 'must' in a trigger", "6:3"),
        ("triggers:\n  - {}", "TW1012", "the trigger does not say what it waits for", "5:5"),
        ("triggers:\n  - run: a\n    cron: 1 1 1 1 1", "TW1017", "the trigger has cron and run", "5:10"),
        ("triggers:\n  - run: a\n    timezone: UTC", "TW1017", "timezone: has no meaning for a run trigger", "6:15"),
        ("triggers:\n  - cron: 1 1 1 1 1\n    on: any", "TW1017", "on: has no meaning for a cron trigger", "6:9"),
        ("triggers:\n  - run: a\n    debounce: soon", "TW1016", None, "6:15"),
        ("triggers:\n  - run: a\n    debounce: 60d", "TW1016", 'debounce: "60d" is longer than 30 days', "6:15"),
        ("triggers:\n  - run: a\n    on: done", "TW1014", 'on: "done" is not possible here', "6:9"),
        ("triggers:\n  - cron: 1 1 1 1 1\n    catch_up: all(0)", "TW1014", None, "6:15"),
        ("triggers:\n  - cron: 1 1 1 1 1\n    catch_up: 3", "TW1014", "catch_up: 3 is not possible here", "6:15"),
        ("triggers:\n  - dataset: digits", "TW1015", '"digits" is not the address of a dataset', "5:14"),
        ("triggers:\n  - run: a\n    name: x\n  - run: b\n    name: x", "TW1003", "two triggers are called x", "8:11"),
        ("triggers:\n  - run: a\n    params: {epoch: 3}", "TW1031", "unknown parameter 'epoch'", "6:21"),
        ("triggers:\n  - run: a\n    params: {epochs: x}", "TW1032", 'parameter epochs: "x" is text, not int', "6:22"),
        ("triggers:\n  run: a\n  params: {epochs: 500}", "TW1093", "epochs = 500 is outside 1 … 100", "6:20"),
        ("triggers: daily", "TW1013", 'triggers: "daily" is text, not a list', "4:11"),
        ("triggers: [5]", "TW1013", None, "4:12"),
        ("triggers: {cron: 5}", "TW1013", "cron: 5 is an integer, not text", "4:18"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(text: str, code: str, message: str | None, where: str) -> None:
    found = refused(text)
    assert (found[0], found[2]) == (code, where)
    assert message is None or found[1] == message


def test_a_part_of_a_mapping_parameter_may_be_given() -> None:
    (found,) = triggers("triggers: {run: a, params: {opt.lr: 0.5}}")
    assert found.params == {"opt.lr": 0.5}


def test_the_schema_for_editors_knows_triggers() -> None:
    listed, alone = json_schema()["properties"]["triggers"]["anyOf"]
    assert listed["items"] == alone == {"$ref": "#/$defs/TriggerModel"}
    assert "webhook" in json_schema()["$defs"]["TriggerModel"]["properties"]
