"""Traces: our columns, published ones, and what is wrong with a line."""

import gzip
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import GI, node
from trainwright.core.errors import SpecError
from trainwright.core.workload import Preemption
from trainwright.sim.trace import read_trace

NODES = (node("n1", cpu=32, cards_gi=[40] * 8), node("n2", cpu=32, cards_gi=[40] * 8))
OURS = """submit,duration,gpus,name,queue,user,priority,memory,cpus,max_duration,preemption
10,1h,1,a,ads,ann,high,4Gi,2,2h,never
4,90,16,,,,,,,,
5.5,90,0.5,b,,bob,-3,,,,
"""


def load(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return read_trace(path, name, NODES)


def refused(tmp_path, text, name="t.csv"):
    with pytest.raises(SpecError) as error:
        load(tmp_path, text, name)
    return error.value.problem


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_line_is_a_job_and_the_load_begins_with_the_first_submission(tmp_path, name):
    found = load(tmp_path, OURS, name)
    a, big, part = found.jobs
    assert [job.submit_s for job in found.jobs] == [6, 0, 1.5]
    assert (a.name, a.queue, a.user, a.priority, a.duration_s) == ("a", "ads", "ann", 100, 3600)
    assert (a.contract.most_s, a.contract.preemption) == (7200, Preemption.NEVER)
    assert str(a.shape.pod_sets[0].asked) == "cpu 2, memory 4Gi, gpu 1"
    assert (big.name, big.shape.pod_sets[0].count, big.shape.pod_sets[0].asked.gpu_milli) == ("job-2", 2, 8000)
    assert (part.shape.pod_sets[0].asked.gpu_milli, part.priority) == (500, -3)


def test_json_lines_hold_the_same(tmp_path):
    text = '{"submit": 10, "duration": "1h", "gpus": 1, "queue": null}\n\n{"submit": "11", "duration": 5}\n'
    found = load(tmp_path, text, "t.jsonl")
    assert [(job.submit_s, job.duration_s, job.queue) for job in found.jobs] == [
        (0, 3600, "default"),
        (1, 5, "default"),
    ]


def test_instants_name_the_day(tmp_path):
    text = "submit,duration\n2026-03-01T12:00:00Z,60\n2026-03-01 11:59:00,60\n"
    found = load(tmp_path, text)
    assert found.begin == datetime(2026, 3, 1, 11, 59, tzinfo=UTC)
    assert [job.submit_s for job in found.jobs] == [60, 0]


def test_an_elastic_job_says_how_few_replicas_do(tmp_path):
    text = "submit,duration,gpus,workers,least_workers\n0,60,4,4,2\n"
    pod_set = load(tmp_path, text).jobs[0].shape.pod_sets[0]
    assert (pod_set.count, pod_set.least, pod_set.asked.gpu_milli) == (4, 2, 1000)


PUBLISHED = {
    "muri": "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,priority\n"
    "0,1,0,5,dqn,128,2868294000,46122000,490,1\n1,8,201694000,8,dqn,128,4472936000,201694000,509,0\n",
    "chronus": "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,best_effort,"
    "job_type\n"
    "0,vc_1,4,12198,6910,resnet101,211,8,282,10,strict\n",
    "philly": "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\n",
    "openb": "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
    "scheduled_time\n"
    "p0,6000,12288,1,460,V100M16|V100M32,LS,Running,427061,12902960,427071\n",
}  # fmt: skip


@pytest.mark.parametrize("dialect", PUBLISHED)
def test_published_traces_are_known_by_their_columns(tmp_path, dialect):
    found = load(tmp_path, PUBLISHED[dialect], "t.csv.gz")
    assert found.dialect == dialect
    assert found.unused == ()
    job = found.jobs[-1]
    said = {
        "muri": (job.submit_s, job.duration_s, job.gpu_milli) == (201694, 4472936, 8000),
        "chronus": (job.duration_s, job.gpu_milli, job.queue) == (211 * 60, 4000, "vc_1"),
        "philly": (found.begin, job.queue) == (datetime(2017, 10, 9, 7, 1, 55, tzinfo=UTC), "11cb48"),
        "openb": (job.duration_s, job.gpu_milli, job.shape.pod_sets[0].models, job.shape.pod_sets[0].asked.memory_bytes)
        == (12902960 - 427071, 460, ("V100M16", "V100M32"), 12 * GI),
    }
    assert said[dialect]


MISTAKES = {
    "submit,duration,gpus\n0,60,1\n5,-3,1\n": ("t.csv:3", "duration '-3': a duration is not negative"),
    "submit,duration,gpu\n0,60,1\n": ("t.csv:1", "there is no column 'gpu'"),
    "submt,duration\n0,60\n": ("t.csv:1", "the column submit is missing"),
    "submit,gpus\n0,1\n": ("t.csv:1", "the column duration is missing"),
    "submit,duration\n0\n": ("t.csv:2", "has 1 values, and the first line has 2 columns"),
    "submit,duration\n0,\n": ("t.csv:2", "duration is empty"),
    "submit,duration\nsoon,60\n": ("t.csv:2", "submit 'soon': neither seconds nor an instant"),
    "submit,duration\n0,60\n2026-01-01,60\n": ("t.csv:3", "submit is an instant on some lines"),
    "submit,duration,gpus\n0,60,1.5\n": ("t.csv:2", "gpu 1.5 is neither a share"),
    "submit,duration,priority\n0,60,urgnt\n": ("t.csv:2", "priority 'urgnt': neither a number nor one of"),
    "submit,duration,workers,least_workers\n0,60,2,3\n": ("t.csv:2", "least_workers 3 is more than workers 2"),
    "submit,duration\n0,nan\n": ("t.csv:2", "duration 'nan'"),
    "submit,duration\n": ("t.csv", "has no line of data"),
    "submit,submit\n1,2\n": ("t.csv:1", "the column 'submit' stands there twice"),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_names_its_line(tmp_path, text):
    problem = refused(tmp_path, text)
    where, message = MISTAKES[text]
    assert problem.where == where
    assert message in problem.message


def test_json_lines_that_are_none_name_their_line(tmp_path):
    assert refused(tmp_path, '{"submit": 0, "duration": 1}\n{"submit": 1,\n', "t.jsonl").where == "t.jsonl:2"
    assert refused(tmp_path, "[1]\n", "t.jsonl").message == "is no JSON object"


def test_a_file_that_is_no_trace_is_refused(tmp_path):
    assert refused(tmp_path, "submit,duration\n", "t.txt").remedy.startswith("one of .csv")
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="UTF-8"):
        read_trace(tmp_path / "b.csv", "b.csv", NODES)
    (tmp_path / "b.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(SpecError, match="cannot be read"):
        read_trace(tmp_path / "b.csv.gz", "b.csv.gz", NODES)


def test_columns_that_mean_nothing_are_told(tmp_path):
    assert load(tmp_path, "submit,duration,zone\n0,1,x\n").unused == ("zone",)


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=80))
def test_any_text_is_a_load_or_one_clear_refusal(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("trace")
    for name, head in (("t.csv", "submit,duration,gpus\n"), ("t.jsonl", "")):
        with suppress(SpecError):
            assert load(folder, head + text, name).jobs
