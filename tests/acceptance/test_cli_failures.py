"""What a failure looks like: the cause, the place and the fix first, then gates, then the last words of the log."""

import re

import pytest
from shell import Shell, golden, steady

TRAIN = """\
    stage: training
    run: |
      echo weights > ${{ out.model }}
      python -c "import trainwright as tw; CALLS"
    out: {model: model}
"""

GATES = """\
    run: python -c "import trainwright as tw; tw.log(auc=0.75, loss=float('nan'), rate=float('inf'), rows=5)"
    check: ["auc >= 0.8", "loss < 1", "rate < 10", "recall > 0.5", "rows > 1"]
"""


def training(calls):
    return TRAIN.replace("CALLS", calls)


STEPS = {
    "command_not_found": ("    run: no-such-command --now\n", 1),
    "listed_command_not_found": ("    run: [no-such-command, --now]\n", 1),
    "traceback_of_the_script": ("    run: python broken.py\n", 1),
    "long_log": ("    run: seq 1 1000; exit 4\n", 1),
    "silent": ("    run: exit 3\n", 1),
    "stage_metadata_missing": (training("tw.log(loss=0.1)"), 1),
    "stage_metadata_all_missing": (training(""), 1),
    "not_a_number": (training("tw.params(seed=7, device='cpu'); tw.log(loss=float('nan'), lr=0.1)"), 7),
    "timeout": ("    run: echo begun; sleep 60\n    timeout: 300ms\n", 1),
    "retries_exhausted": ("    run: echo again; exit 5\n    retry: {max: 2, backoff: 20ms..20ms}\n", 1),
    "killed_for_memory": ("    run: kill -9 $$\n", 1),
    "killed_inside": ("    run: bash -c 'kill -9 $$'; exit $?\n", 1),
    "segmentation_fault": ("    run: python -c 'import ctypes; ctypes.string_at(0)'\n", 1),
    "terminated": ("    run: kill -TERM $$; sleep 5\n", 1),
    "gates": (GATES, 7),
    "not_a_metric": ("    run: python -c \"import trainwright as tw; tw.log(loss='small')\"\n", 1),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    with Shell(tmp_path_factory.mktemp("failures")) as tw:
        tw.write("broken.py", "def load():\n    raise ValueError('row 3 has no label')\n\n\nload()\n")
        yield tw


@pytest.mark.parametrize("name", STEPS)
def test_a_failure_says_cause_place_and_fix_first(project, name):
    step, code = STEPS[name]
    project.write("p.yaml", f"pipeline: p\nsteps:\n  a:\n{step}  b: {{run: 'true', depends_on: [a]}}\n")
    said = project.run("run", "p.yaml", code=code)
    lines = said.out.splitlines()
    assert lines[0].startswith("✗ p #")
    assert lines[1].startswith("  cause: step a: ")
    assert lines[2].startswith("  where: ")
    assert lines[3].startswith("  fix:   ")
    order = [line[:8] for line in lines]
    gates = [i for i, start in enumerate(order) if start == "  gate: "]
    logged = [i for i, start in enumerate(order) if start == "  last l"]
    assert not (gates and logged and max(gates) > min(logged))
    assert "not run because of it: b" in said.out
    assert not re.search("trainwright/(cli|engine|lifecycle|service|store|spec)/", said.out)
    text = steady(said.out, project.folder)
    golden(f"failed_{name}", re.sub(r"(^    .*\n)+", "    (its log)\n", text, flags=re.MULTILINE))


def test_the_traceback_in_the_log_is_the_scripts_own(project):
    project.write("p.yaml", "pipeline: p\nsteps: {a: {run: python broken.py}}\n")
    said = project.run("run", "p.yaml", code=1)
    assert said.out.count("Traceback") == 1
    assert "ValueError: row 3 has no label" in said.out
    assert "site-packages" not in said.out


def test_missing_metadata_is_named_exactly(project):
    project.write("p.yaml", f"pipeline: p\nsteps:\n  a:\n{training('tw.log(loss=0.1)')}")
    said = project.run("run", "p.yaml", code=1)
    assert "owes seed, device and" in said.out
    assert "tw.params(seed=7)" in said.out
    project.write("p.yaml", f"pipeline: p\nsteps:\n  a:\n{training('tw.params(seed=1)')}")
    assert "owes device, final_metrics and" in project.run("run", "p.yaml", code=1).out


def test_outputs_that_were_not_written_are_named(project):
    project.write("p.yaml", "pipeline: p\nsteps: {a: {run: 'true', out: {model: model, table: dataset}}}\n")
    said = project.run("run", "p.yaml", code=1)
    cause = said.out.splitlines()[1]
    assert "did not write" in cause
    assert "model" in cause
    assert "table" in cause
    assert "a wrote nothing to its log" in said.out


def test_the_last_lines_of_a_long_log_are_shown_and_no_more(project):
    project.write("p.yaml", "pipeline: p\nsteps: {a: {run: 'seq 1 1000; exit 4'}}\n")
    said = project.run("run", "p.yaml", code=1)
    assert re.findall(r"^    (\d+)$", said.out, flags=re.MULTILINE) == [str(n) for n in range(986, 1001)]


def test_a_retry_that_succeeds_leaves_no_trace_in_the_verdict_and_all_of_it_in_why(project):
    project.write(
        "p.yaml",
        """\
        pipeline: again
        steps:
          a:
            run: 'test "$TW_ATTEMPT" = 2 || { echo not yet; exit 5; }'
            retry: {max: 3, backoff: 20ms..20ms}
        """,
    )
    said = project.run("run", "p.yaml", code=0)
    assert "attempt 2 follows" in said.err
    assert [a["state"] for a in project.show()["attempts"]] == ["failed", "succeeded"]
    assert project.run("logs", "-1/a/1").out == "not yet\n"
    assert project.run("logs", "-1/a").out == ""
    assert project.run("logs", "-1/a/3").code == 4
    why = project.run("why", "-1/a", code=0).out
    assert "attempt 1: failed, the command ended with exit code 5" in why


def test_a_worse_second_attempt_may_note_its_parameters_again(project):
    """G24: facts of an attempt are its own; a declared parameter cannot be changed."""
    project.write("note.py", NOTE)
    project.write(
        "p.yaml",
        "pipeline: noted\nparams: {lr: 0.1}\nsteps:\n  a: {run: python note.py, retry: {max: 1, backoff: 20ms}}\n",
    )
    project.run("run", "p.yaml", code=0)
    first, second = project.attempts(project.show(), "a")
    assert first["params"] == {"lr": 0.1, "host": "a"}
    assert second["params"] == {"lr": 0.1, "host": "b", "warm": 3, "last": 1}
    log = project.run("logs", "-1/a").out
    assert "lr" in log
    assert "0.1" in log
    assert "0.2" in log


NOTE = """\
import os, sys
import trainwright as tw

if os.environ["TW_ATTEMPT"] == "1":
    tw.params(lr=0.1, host="a")
    sys.exit(1)
tw.params(lr=0.1, host="b", warm=3)
tw.params(lr=0.1)
try:
    tw.params(lr=0.2, last=1)
except Exception as error:
    print(error)
else:
    sys.exit("a changed parameter was accepted")
"""


def test_two_failures_side_by_side_are_both_told(project):
    project.write("p.yaml", "pipeline: both\nsteps: {a: {run: exit 2}, b: {run: exit 3}}\n")
    said = project.run("run", "p.yaml", code=1)
    assert "cause: step a: the command ended with exit code 2" in said.out
    assert "cause: step b: the command ended with exit code 3" in said.out


@pytest.mark.parametrize(("value", "verdict"), [("nan", "not-a-number"), ("inf", "failed"), ("-inf", "passed")])
def test_a_gate_refuses_what_is_not_a_number(project, value, verdict):
    """G09: NaN satisfies nothing, infinity is kept, and JSON stays JSON."""
    project.write(
        "p.yaml",
        f"""\
        pipeline: gate
        steps:
          a:
            run: python -c "import trainwright as tw; tw.log(loss=float('{value}'))"
            check: loss <= 0.3
        """,
    )
    said = project.run("run", "p.yaml", code=0 if verdict == "passed" else 7)
    assert f"gate:  {'a: ' if verdict == 'passed' else ''}{verdict}: loss <= 0.3" in said.out
    gate = project.step(project.show(), "a")["gates"][0]
    assert gate["verdict"] == verdict
    words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    assert gate["values"] == {"loss": words[value]}
    assert project.run("metrics", "-1", "--json", code=0).json[0]["last"] == words[value]
    assert project.run("metrics", "-1", "--series", "--json", code=0).json[0]["value"] == words[value]
    project.run("compare", "-1", "-1", "--all", "--json", code=0)
