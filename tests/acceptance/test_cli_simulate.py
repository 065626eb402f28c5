"""What a change of nodes, quotas or rules would do, as a person asks for it."""

import re

import pytest
from shell import Shell

TRACE = """submit,duration,gpus,queue,user,priority
0,1h,8,ads,ann,0
60,30m,4,search,bob,0
120,30m,4,search,bob,high
180,10m,1,ads,ann,0
7200,20m,16,ads,ann,0
"""
CLUSTER = ("--nodes", "1xA100:8")


@pytest.fixture(scope="module")
def tw(tmp_path_factory):
    with Shell(tmp_path_factory.mktemp("simulate") / "p") as shell:
        shell.write("trace.csv", TRACE)
        yield shell


def test_a_trace_is_simulated_before_and_after_a_change(tw) -> None:
    said = tw.run("simulate", "--trace", "trace.csv", *CLUSTER, "--nodes", "+1", code=0)
    figures = {line[:24].strip(): line[24:].split("  ") for line in said.out.split("\n\n")[0].splitlines()[2:]}
    assert said.err.splitlines()[0] == "5 jobs on 1 node with 8 GPUs"
    assert [cell.strip() for cell in figures["jobs that ended"] if cell.strip()] == ["4 of 5", "5 of 5"]
    assert "before: 1 job never ended: " in said.err
    lines = [re.split(r"  +", line) for line in said.out.split("\n\n")[1].splitlines()]
    assert lines[0][:4] == ["waiting of", "jobs", "p50 before", "p50 after"]
    assert [line[0] for line in lines[2:]] == [
        "all", "size: 1 gpu", "size: 3-4 gpus", "size: 5-8 gpus", "size: 9 gpus or more", "queue: ads",
        "queue: search", "priority: 100", "priority: 0",
    ]  # fmt: skip
    assert lines[4][:2] == ["size: 3-4 gpus", "2"]
    assert lines[4][3::2] == ["0"] * 4


def test_without_a_change_there_is_one_column(tw) -> None:
    said = tw.run("simulate", "--trace", "trace.csv", "--nodes", "2xA100:8", code=0)
    assert said.out.splitlines()[0].split() == ["now"]
    assert re.split(r"  +", said.out.split("\n\n")[1].splitlines()[0])[2:] == ["p50", "p90", "p99", "longest"]


def test_the_same_is_there_for_programs(tw) -> None:
    asked = ("simulate", "--trace", "trace.csv", *CLUSTER, "--nodes", "+1", "--json")
    found = tw.run(*asked, code=0).json
    assert (found["before"]["finished"], found["after"]["finished"]) == (4, 5)
    assert found["after"]["waits"][0]["label"] == "all"
    assert found == tw.run(*asked, "--check", code=0).json


def test_a_made_up_load_repeats_for_its_seed(tw) -> None:
    asked = ("simulate", "--synthetic", "jobs=60,queues=ads/search", "--nodes", "2xA100:8", "--json")
    assert tw.run(*asked, code=0).out == tw.run(*asked, code=0).out
    assert tw.run(*asked, code=0).out != tw.run(*asked, "--seed", "2", code=0).out


def test_quotas_weights_and_rules_are_changes_too(tw) -> None:
    tw.write("rules.yaml", "ordering: {half_life: 1d}\n")
    for change in (("--quota", "ads=4"), ("--queue-weight", "ads=2"), ("--policy", "rules.yaml")):
        found = tw.run("simulate", "--trace", "trace.csv", "--nodes", "2xA100:8", *change, "--json", code=0).json
        assert sorted(found) == ["after", "before", "load"]


def test_the_cluster_is_this_machine_or_a_pretended_one(tw) -> None:
    tw.write("machine.json", '{"cpu": 8, "memory": "64Gi", "gpus": [{"model": "H100", "memory": "80Gi"}]}')
    found = tw.run("simulate", "--synthetic", "jobs=20", "--inventory", "machine.json", "--json", code=0).json
    assert found["load"] == "20 jobs on 1 node with 1 GPU"
    pretended = tw.run("simulate", "--synthetic", "jobs=20", "--json", code=0, TW_INVENTORY="machine.json").json
    assert pretended == found


def test_what_this_project_ran_is_a_load(tw) -> None:
    assert "no attempt of this project ran" in tw.run("simulate", code=2).err
    tw.write("p.yaml", "pipeline: p\nsteps: {a: {run: sleep 0.2}, b: {run: 'true', depends_on: [a]}}")
    tw.run("run", "p.yaml", code=0)
    found = tw.run("simulate", "--history", "1d", "--nodes", "1xcpu", "--json", code=0).json
    assert (found["now"]["jobs"], found["now"]["finished"]) == (2, 2)
    assert found["now"]["makespan_s"] >= 0.2


def test_nodes_that_go_are_a_change(tw) -> None:
    found = tw.run("simulate", "--trace", "trace.csv", "--nodes", "2xA100:8", "--nodes", "-1", "--json", code=0).json
    assert (found["before"]["finished"], found["after"]["finished"]) == (5, 4)


def test_charts_are_one_file_that_fetches_nothing(tw) -> None:
    asked = ("simulate", "--trace", "trace.csv", *CLUSTER, "--nodes", "+1")
    tw.run(*asked, "--plot", "out.html", code=0)
    tw.run(*asked, "--plot", "out.svg", code=0)
    page = (tw.folder / "out.html").read_text()
    assert page.count("<svg") == 6
    assert "prefers-color-scheme:dark" in page
    assert not re.search(r"<script|<link|(src|href)=|url\(|@import", page)
    assert (tw.folder / "out.svg").read_text().startswith("<svg")


MISTAKES = {
    ("--trace", "gone.csv"): (4, "there is no file gone.csv"),
    ("--trace", "bad.csv"): (2, "where: bad.csv:2"),
    ("--trace", "column.csv"): (2, "did you mean gpus?"),
    ("--trace", "trace.csv", "--quota", "adds=4"): (2, "did you mean ads?"),
    ("--trace", "trace.csv", "--queue-weight", "ads=-1"): (2, "'ads=-1' is not QUEUE=WEIGHT"),
    ("--trace", "trace.csv", "--nodes", "many"): (2, "'many' are no nodes"),
    ("--trace", "trace.csv", "--synthetic", "jobs=3"): (2, "there is one load at a time"),
    ("--trace", "trace.csv", "--policy", "wrong.yaml"): (2, "where: wrong.yaml:1:1"),
    ("--trace", "trace.csv", "--policy", "gone.yaml"): (4, "there is no file gone.yaml"),
    ("--trace", "trace.csv", "--plot", "out.pdf"): (2, "out.pdf is none of .html, .svg, .png"),
    ("--trace", "trace.csv", "--plot", "out.png"): (2, "write --plot out.svg"),
    ("--synthetic", "job=3"): (2, "did you mean jobs?"),
    ("--history", "month"): (2, "--history"),
    ("--trace", "trace.csv", "--plot", "no/such/folder.svg"): (2, "no/such/folder.svg cannot be written"),
}


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_a_mistake_is_one_clear_message(tw, words) -> None:
    tw.write("bad.csv", "submit,duration\n0,-5\n")
    tw.write("column.csv", "submit,duration,gpu\n0,5,1\n")
    tw.write("wrong.yaml", "orderin: {}\n")
    code, text = MISTAKES[words]
    said = tw.run("simulate", *words, code=code)
    assert text in said.err
    assert said.err.count("error[") == 1
