"""Queue, Cohort, Pool and PriorityClass documents."""

from typing import Any

import pytest

from trainwright.core.codec import from_json
from trainwright.core.errors import TrainwrightError
from trainwright.core.pool import Pool
from trainwright.core.priority import PriorityClass, priorities
from trainwright.core.queue import Budget, Cohort, Queue, QueueName, Quota
from trainwright.spec.envelope import load

TYPES: dict[str, type] = {"Queue": Queue, "Cohort": Cohort, "Pool": Pool, "PriorityClass": PriorityClass}
N = QueueName("n")
HEAD = "apiVersion: trainwright/v1\nkind: {}\nmetadata: {{name: n}}\nspec:\n"


def value(kind: str, spec: str) -> Any:
    document = load(HEAD.format(kind) + "  " + spec, "d.yaml")
    return from_json(TYPES[kind], {**document.value, "name": document.name})


def test_a_queue_in_our_words_and_in_those_of_kueue_is_the_same() -> None:
    ours = value("Queue", "{cohort: c, quota: {gpu: {guaranteed: 8, ceiling: 12}, 'gpu:H100': 2, memory: 64Gi}}")
    theirs = value(
        "Queue", "{cohort: c, quota: {gpu: {nominalQuota: 8, borrowingLimit: 4}, 'gpu:H100': 2, memory: 64Gi}}"
    )
    quotas = {"gpu": Quota(8000, 12000), "gpu:H100": Quota(2000), "memory": Quota(64 * 2**30)}
    assert ours == theirs == Queue(N, "c", quotas=quotas)


def test_a_queue_may_have_a_weight_a_budget_and_an_order() -> None:
    full = value("Queue", "{weight: 2, order: strict, team: ads, budget: {most: 100, period: 7d, above: degrade}}")
    assert full == Queue(N, weight=2.0, strict=True, team="ads", budget=Budget(100.0, 7 * 86_400, degrade=True))
    assert value("Queue", "{budget: {most: 1}}") == Queue(N, budget=Budget(1.0))
    assert value("Queue", "{}") == Queue(N)


def test_cohorts_and_priority_classes_are_values() -> None:
    assert value("Cohort", "{extra: {gpu: 4}}") == Cohort("n", {"gpu": 4000})
    named = value("PriorityClass", "{value: 500, description: d}")
    assert named == PriorityClass("n", 500, "d")
    assert priorities([PriorityClass("n", 500), PriorityClass("high", 7)])["high"] == 7
    assert priorities([])["urgent"] > priorities([])["high"] > priorities([])["normal"] == 0 > priorities([])["batch"]


def test_a_pool_says_what_a_new_node_has() -> None:
    pool = value(
        "Pool",
        "{max: 4, price: 2.5, provision: 3m, spot: true, "
        "node: {cpu: 8, memory: 32Gi, gpus: {count: 2, model: T4, memory: 16Gi}}}",
    )
    assert (pool.least, pool.most, pool.price, pool.provision_s, pool.spot) == (0, 4, 2.5, 180.0, True)
    assert [d.model for d in pool.node.devices] == ["T4", "T4"]
    assert pool.node.total == pool.node.free
    assert pool.node.total.gpu_milli == 2000


@pytest.mark.parametrize(
    ("kind", "spec", "words"),
    [
        ("Queue", "{quota: {gpus: 4}}", "is no resource"),
        ("Queue", "{quota: {gpu: {guaranted: 4}}}", "did you mean guaranteed?"),
        ("Queue", "{quota: {gpu: {guaranteed: 4, ceiling: 2}}}", "the ceiling is below the guarantee"),
        ("Queue", "{quota: {gpu: lots}}", "gpu 'lots' is not an amount"),
        ("Queue", "{quota: 4}", "not a mapping"),
        ("Queue", "{weight: 0}", "weight"),
        ("Queue", "{budget: {most: 1, period: month}}", "is not a duration"),
        ("Cohort", "{extra: [gpu]}", "not a mapping"),
        ("Cohort", "{extra: {gpu: true}}", "not an amount"),
        ("Pool", "{min: 3, max: 1}", "is less than min"),
        ("Pool", "{max: 1}", "max: without node:"),
        ("Pool", "{max: 1, node: {cpu: x, memory: 1Gi}}", "cpu 'x'"),
        ("PriorityClass", "{}", "value: is missing"),
    ],
)
def test_a_wrong_document_is_refused_in_words(kind: str, spec: str, words: str) -> None:
    with pytest.raises(TrainwrightError) as caught:
        value(kind, spec)
    assert words in str(caught.value)
