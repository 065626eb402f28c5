"""Nodes, quotas, weights, made-up loads and policies as people write them."""

from dataclasses import replace

import pytest
from pretended import ADS, SEARCH, cluster

from build import GI, node
from trainwright.core.errors import SpecError
from trainwright.core.queue import Cohort, Queue, Quota
from trainwright.sched.policy import DEFAULT_POLICY, Policy
from trainwright.sim.nodes import asked_nodes
from trainwright.sim.policy_file import policy_of, rules_of
from trainwright.sim.quotas import COHORT, with_quotas, with_weights
from trainwright.sim.summary import quantile
from trainwright.sim.synthetic import Asked, asked_of, synthetic

THERE = (node("n1", cards_gi=[24] * 2), node("n2"))


def problem(call, *given):
    with pytest.raises(SpecError) as error:
        call(*given)
    return error.value.problem


def test_a_sign_is_a_change_and_none_is_the_cluster():
    before, after = asked_nodes(["+2"], THERE)
    assert [n.name for n in before] == ["n1", "n2"]
    assert [(n.name, len(n.devices)) for n in after] == [("n1", 2), ("n2", 0), ("n1+00002", 2), ("n1+00003", 2)]
    before, after = asked_nodes(["3xA100:8", "-1", "+1xH100:4,cpu=96,memory=1Ti"], THERE)
    assert [(n.name, len(n.devices)) for n in before] == [("a100-00000", 8), ("a100-00001", 8), ("a100-00002", 8)]
    assert [n.name for n in after] == ["a100-00000", "a100-00001", "h100-00002"]
    assert (after[2].total.cpu_milli, after[2].total.memory_bytes) == (96_000, 1024 * GI)
    assert (before[0].devices[0].model, before[0].devices[0].vram_bytes) == ("A100", 80 * GI)
    assert asked_nodes(["2xcpu,cpu=8"], ())[0][0].total.cpu_milli == 8000
    assert asked_nodes([], THERE) == (THERE, THERE)


@pytest.mark.parametrize("word", ["8", "x8", "lots", "-2xA100:8", "2xA100:8,gpus=3", "-9", "1xA100:8,cpu=lots"])
def test_nodes_that_are_none_are_refused(word):
    assert problem(asked_nodes, [word], THERE).where == "--nodes"


def test_a_guarantee_puts_the_queues_of_the_load_into_one_cohort():
    world = with_quotas(cluster(8), ["ads=4", "ads.cpu=2..6"], {ADS, SEARCH})
    assert world.queues[ADS].quotas == {"cpu": Quota(2000, 6000), "gpu": Quota(4000)}
    assert world.queues[SEARCH].quotas == {"cpu": Quota(), "gpu": Quota()}
    assert {queue.cohort for queue in world.queues.values()} == {COHORT}
    assert world.cohorts[COHORT].extra == {"cpu": 14_000, "gpu": 4000}


def test_queues_of_a_declared_cohort_stay_in_it():
    own = replace(cluster(8), queues={ADS: Queue(ADS, cohort="team")}, cohorts={"team": Cohort("team")})
    world = with_quotas(own, ["ads=..4"], {SEARCH})
    assert (world.queues[ADS].cohort, world.queues[ADS].quotas) == ("team", {"gpu": Quota(0, 4000)})
    assert with_weights(world, ["ads=2"], {SEARCH}).queues[ADS].weight == 2


@pytest.mark.parametrize("word", ["ads", "ads=", "adds=3", "ads=some", "ads=5..2", "ads.gpus=3"])
def test_quotas_that_are_none_are_refused(word):
    assert problem(with_quotas, cluster(8), [word], {ADS}).where == "--quota"


def test_an_unknown_queue_names_the_nearest():
    assert problem(with_quotas, cluster(8), ["adds=3"], {ADS, SEARCH}).remedy == "did you mean ads?"
    assert problem(with_weights, cluster(8), ["serch=3"], {ADS, SEARCH}).remedy == "did you mean search?"
    assert problem(with_weights, cluster(8), ["ads=0"], {ADS}).message == "'ads=0' is not QUEUE=WEIGHT"


def test_a_made_up_load_is_the_same_for_a_seed():
    asked = asked_of("jobs=200,load=0.5,duration=10m,gpus=1:3/4,queues=ads:2/search,priorities=0:9/100")
    assert asked == Asked(200, None, 0.5, 600.0, {1: 3.0, 4: 1.0}, {"ads": 2.0, "search": 1.0}, {"0": 9.0, "100": 1.0})
    nodes = cluster(8, 8).nodes
    load = synthetic(asked, nodes, 1)
    assert load == synthetic(asked, nodes, 1) != synthetic(asked, nodes, 2)
    assert {job.gpu_milli for job in load} == {1000, 4000}
    assert {job.queue for job in load} == {"ads", "search"}
    assert {job.priority for job in load} == {0, 100}
    assert sorted(job.submit_s for job in load) == [job.submit_s for job in load]


def test_a_made_up_load_asks_for_cores_where_there_is_no_gpu():
    load = synthetic(Asked(50), [node("n1", cpu=8)], 0)
    assert {job.gpu_milli for job in load} == {0}
    assert max(job.shape.pod_sets[0].asked.cpu_milli for job in load) <= 8000


@pytest.mark.parametrize(
    "text", ["job=3", "jobs=0", "jobs=x", "rate=-1", "duration=long", "gpus=:2", "jobs", "load=inf"]
)
def test_a_made_up_load_that_is_none_is_refused(text):
    assert problem(asked_of, text).where == "--synthetic"


def test_a_policy_file_changes_what_it_names():
    policy = policy_of("ordering: {half_life: 1d}\npreempting:\n  most: 2\n  restarts_a_run: 5\n", "p.yaml")
    assert policy.ordering.half_life_s == 86_400
    assert (policy.preempting.most, policy.preempting.restarts_a_run) == (2, 5.0)
    assert policy.reserving == DEFAULT_POLICY.reserving


def test_every_rule_of_every_section_can_be_written():
    for name in Policy.__dataclass_fields__:
        section = getattr(DEFAULT_POLICY, name)
        for rule, field in rules_of(section).items():
            value = getattr(section, field)
            if isinstance(value, bool | int | float | str):
                written = f"{value:.0f}s" if field.endswith("_s") else str(value).lower()
                assert policy_of(f"{name}: {{{rule}: {written}}}", "p.yaml") == DEFAULT_POLICY, field


MISTAKES = {
    "orderin: {}": ("p.yaml:1:1", "did you mean ordering?"),
    "ordering:\n  half_lif: 3d": ("p.yaml:2:3", "did you mean half_life?"),
    "ordering:\n  half_life: long": ("p.yaml:2:14", "by itself it is 604800s"),
    "ordering: {half_life: -3}": ("p.yaml:1:23", "by itself it is 604800s"),
    "preempting: {most: 1.5}": ("p.yaml:1:20", "by itself it is 4"),
    "preempting: {most: -1}": ("p.yaml:1:20", "by itself it is 4"),
    "preempting: {most: true}": ("p.yaml:1:20", "by itself it is 4"),
    "ordering: 3": ("p.yaml:1:11", "rules: "),
    "[1]": ("p.yaml:1:1", "sections: "),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_in_a_policy_names_its_place(text):
    found = problem(policy_of, text, "p.yaml")
    where, remedy = MISTAKES[text]
    assert found.where == where
    assert found.remedy.startswith(remedy)


def test_a_quantile_is_a_value_that_so_many_do_not_exceed():
    assert [quantile(range(1, 101), part) for part in (0.5, 0.9, 0.99)] == [50, 90, 99]
    assert (quantile([7], 0.5), quantile([], 0.5)) == (7, None)
