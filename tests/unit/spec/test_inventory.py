"""What a pretended inventory says, and where it is wrong."""

import pytest

from trainwright.core.errors import SpecError
from trainwright.core.node import Device, Node
from trainwright.core.resources import Resources
from trainwright.spec.inventory import load

GIB = 2**30
REAL = Node("local", Resources(4000, 16 * GIB, 1000), Resources(4000, 16 * GIB, 1000), (Device(0, "T4", 16 * GIB),))

CLUSTER = """\
nodes:
  - name: a100-{n}
    count: 2
    cpu: 32
    memory: 256Gi
    gpus: {count: 2, model: A100, memory: 80Gi}
    isolation: [mps, soft]
    pool: train
    has: [sha256:b, sha256:a]
  - {name: cpu, count: 2, cpu: 500m, memory: 1Gi}
  - name: mixed
    gpus:
      - {model: H100, memory: 80Gi}
      - {count: 2, model: T4, memory: 16Gi}
    ready: false
"""


def test_an_entry_may_stand_for_several_equal_nodes() -> None:
    nodes = load(CLUSTER, "c.yaml", REAL)
    assert [n.name for n in nodes] == ["a100-1", "a100-2", "cpu-1", "cpu-2", "mixed"]
    first = nodes[0]
    assert first.total == first.free == Resources(32000, 256 * GIB, 2000)
    assert first.devices == (
        Device(0, "A100", 80 * GIB, 1000, 80 * GIB),
        Device(1, "A100", 80 * GIB, 1000, 80 * GIB),
    )
    assert (first.pool, first.isolation, first.has) == ("train", ("mps", "soft"), ("sha256:a", "sha256:b"))
    assert nodes[2].total == Resources(500, GIB, 0)


def test_cpu_and_memory_that_are_left_out_are_those_of_the_machine() -> None:
    mixed = load(CLUSTER, "c.yaml", REAL)[-1]
    assert (mixed.total.cpu_milli, mixed.total.memory_bytes, mixed.ready) == (4000, 16 * GIB, False)
    assert [(d.index, d.model) for d in mixed.devices] == [(0, "H100"), (1, "T4"), (2, "T4")]


def test_a_single_node_needs_neither_list_nor_name_and_json_is_yaml_too() -> None:
    (node,) = load('{"cpu": 8, "memory": "64Gi", "gpus": [{"model": "A100", "memory": "40Gi"}]}', "m.json", REAL)
    assert (node.name, node.total) == ("local", Resources(8000, 64 * GIB, 1000))
    (node,) = load("cpu: 2", "m.yaml", REAL)
    assert node.devices == REAL.devices  # left out: real
    (node,) = load("{cpu: 2, gpus: []}", "m.yaml", REAL)
    assert (node.devices, node.total.gpu_milli) == ((), 0)


@pytest.mark.parametrize(
    ("text", "code", "where", "said", "remedy"),
    [
        ("nodes: [{name: a, cpus: 2}]", "TW1010", "c.yaml:1:19", "'cpus'", "did you mean cpu?"),
        ("node: []", "TW1010", "c.yaml:1:1", "'node'", ""),
        ("nodes:\n- name: a\n  gpus: {model: A100, memory: 1Gi, cont: 2}", "TW1010", "c.yaml:3:36", "'cont'", "count?"),
        ("nodes:\n- name: a\n  gpus: [{model: A100}]", "TW1012", "c.yaml:3:10", "memory: is missing", "add memory:"),
        ("nodes:\n- {name: a}\n- {cpu: 2}", "TW1012", "c.yaml:3:3", "name: is missing", "add name:"),
        ("nodes:\n- {name: a}\n- {name: a}", "TW1003", "c.yaml:3:10", "two nodes", "rename"),
        ("nodes: [{name: a, cpu: many}]", "TW1016", "c.yaml:1:24", "many", ""),
        ("nodes: [{name: a, memory: 4Qi}]", "TW1016", "c.yaml:1:27", "4Qi", ""),
        ("nodes: [{name: a, isolation: [mips]}]", "TW1014", "c.yaml:1:31", "mips", "did you mean mps?"),
        ("nodes: [{name: a/b}]", "TW1015", "c.yaml:1:16", "a/b", ""),
        ("nodes: []", "TW1013", "c.yaml:1:8", "", ""),
        ("nodes: [{name: a, count: 0}]", "TW1013", "c.yaml:1:26", "0", ""),
        ("[1]", "TW1002", "c.yaml:1:1", "a list", "nodes:"),
        ("nodes: {", "TW1001", "c.yaml:1:9", "", ""),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place_and_the_nearest_word(
    text: str, code: str, where: str, said: str, remedy: str
) -> None:
    with pytest.raises(SpecError) as refused:
        load(text, "c.yaml", REAL)
    problem = refused.value.problem
    assert (problem.code, problem.where) == (code, where), problem
    assert said in problem.message
    assert remedy in problem.remedy
