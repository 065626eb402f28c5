"""A pretended inventory as people type it: chosen once, seen by all commands, followed while it changes."""

import pytest
from shell import Shell, until

CLUSTER = """
    nodes:
      - {name: big, cpu: 8, memory: 64Gi, gpus: {count: COUNT, model: A100, memory: 40Gi}, pool: train}
      - {name: small, cpu: 4, memory: 16Gi}
"""

GPUS = """
    pipeline: gpus
    steps:
      one: {run: 'while ! test -e PLACE/go; do sleep 0.02; done; echo "has $CUDA_VISIBLE_DEVICES"', resources: {gpu: 1}}
      two: {run: 'echo "has $CUDA_VISIBLE_DEVICES"; touch PLACE/two', resources: {gpu: 1}}
"""


@pytest.fixture
def tw(tmp_path):
    with Shell(tmp_path / "project") as shell:
        shell.write("cluster.yaml", CLUSTER.replace("COUNT", "1"))
        shell.write("gpus.yaml", GPUS.replace("PLACE", str(shell.folder)))
        yield shell


def device(tw):
    """Return the first device of the map, or None on the real machine."""
    found = tw.run("gpu", "--json", code=0).json
    return found["nodes"][0]["devices"][0] if found["inventory"] else None


def test_work_that_began_on_pretended_nodes_goes_on_there_for_every_command(tw):
    said = tw.run("run", "--inventory", "cluster.yaml", "-d", "gpus.yaml", code=0)
    assert said.err.count("pretending 2 nodes, 1 A100") == 1
    assert "cpu and memory are not limited" in said.err
    held = until(lambda: device(tw)["shares"], "a step holds the device")  # no flag and no variable in this command
    assert held[0]["label"] == "gpus#1/one"
    assert held[0]["milli"] == 1000
    shown = tw.run("gpu", code=0)
    assert "██████████" in shown.out
    assert "gpus#1/one" in shown.out
    assert "A100: 0 of 1 free" in shown.out
    assert "pretended: 2 nodes, 1 A100" in tw.run("doctor").out
    why = tw.run("why", "-1/two", code=0).out
    assert "gpu" in why
    (tw.folder / "go").touch()
    tw.run("wait", "-1", code=0)
    assert "has 0" in tw.run("logs", "-1").out
    until(lambda: device(tw) is None, "nothing is pretended once nothing is unfinished")


def test_a_changed_file_gives_room_at_the_next_turn(tw):
    tw.run("run", "--inventory", "cluster.yaml", "-d", "gpus.yaml", code=0)
    until(lambda: device(tw)["shares"], "a step holds the device")
    assert not (tw.folder / "two").exists()
    tw.write("cluster.yaml", CLUSTER.replace("COUNT", "2"))
    until((tw.folder / "two").exists, "the second step got the second device")
    (tw.folder / "go").touch()
    tw.run("wait", "-1", code=0)


def test_other_nodes_are_refused_while_work_is_unfinished(tw):
    tw.write("other.yaml", "nodes: [{name: x, cpu: 4, gpus: {model: T4, memory: 16Gi}}]")
    tw.run("run", "--inventory", "cluster.yaml", "-d", "gpus.yaml", code=0)
    said = tw.run("run", "--inventory", "other.yaml", "gpus.yaml", code=1)
    assert "TW5801" in said.err
    assert "cluster.yaml" in said.err
    assert tw.run("gpu", "--json", TW_INVENTORY="other.yaml", code=0).json["nodes"][0]["name"] == "big"
    (tw.folder / "go").touch()
    tw.run("wait", "-1", code=0)
    until(lambda: device(tw) is None, "it is given up")
    tw.run("run", "--inventory", "other.yaml", "gpus.yaml", code=0)


def test_a_mistake_in_the_file_is_told_with_its_place_before_anything_is_recorded(tw):
    tw.write("wrong.yaml", "nodes:\n  - {name: a, cpus: 4}\n")
    said = tw.run("run", "--inventory", "wrong.yaml", "gpus.yaml", code=2)
    assert "wrong.yaml:2:15" in said.err
    assert "did you mean cpu?" in said.err
    assert tw.run("ps", "--json").json == []
    assert "TW6303" in tw.run("run", "--inventory", "none.yaml", "gpus.yaml", code=4).err
    assert tw.run("ps", code=0)  # what only reads does not need it


def test_the_map_can_be_narrowed_and_knows_its_names(tw):
    seen = tw.run("gpu", "small", "--inventory", "cluster.yaml", code=0)
    assert "small" in seen.out
    assert "big" not in seen.out
    assert "did you mean train?" in tw.run("gpu", "trian", "--inventory", "cluster.yaml", code=4).err


def test_shares_of_one_device_are_drawn_apart(tw):
    tw.write(
        "share.yaml",
        f"""
        pipeline: share
        steps:
          one: {{run: 'while ! test -e {tw.folder}/go; do sleep 0.02; done', resources: {{gpu: 0.5, gpu_memory: 8Gi}}}}
          two: {{run: 'while ! test -e {tw.folder}/go; do sleep 0.02; done', resources: {{gpu: 0.3, gpu_memory: 8Gi}}}}
        """,
    )
    tw.run("run", "--inventory", "cluster.yaml", "-d", "share.yaml", code=0)
    until(lambda: len(device(tw)["shares"]) == 2, "both hold their share")
    drawn = tw.run("gpu", code=0).out
    assert "█████▓▓▓░░" in drawn or "███▓▓▓▓▓░░" in drawn
    assert "share#1/one (0.5)" in drawn
    assert "24Gi/40Gi" in drawn
    (tw.folder / "go").touch()
    tw.run("wait", "-1", code=0)
