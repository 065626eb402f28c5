"""The Python calls of a notebook against a real project."""

import subprocess
import sys

import pytest
from shell import Shell

CELL = """\
import trainwright as tw
latest = tw.show()
print(latest.state, latest.metrics["a"]["loss"], [r.number for r in tw.ps()])
print(tw.show("p#1"))
difference = tw.compare("1", "2")
print([(d.part, d.name, d.left, d.right) for d in difference.differences if d.part in ("param", "metric")])
plan = tw.plan_of("p.yaml", C=3)
print(plan.plan.params["C"])
for value in (latest, tw.ps(), difference, plan):
    assert value._repr_html_().startswith("<div")
assert "<svg" in plan._repr_html_()
try:
    tw.show("nothing-of-this-name")
except Exception as error:
    print(error)
"""


@pytest.mark.slow
def test_a_notebook_reads_runs_as_the_command_line_does(tmp_path_factory):
    with Shell(tmp_path_factory.mktemp("notebook")) as tw:
        tw.write(
            "p.yaml",
            """\
            pipeline: p
            params: {C: 1}
            steps:
              a: {run: 'python -c "import trainwright as tw; tw.log(loss=${{ params.C }} / 4)"'}
            """,
        )
        tw.run("run", "p.yaml", code=0)
        tw.run("run", "p.yaml", "-p", "C=2", code=0)
        done = subprocess.run(
            [sys.executable, "-c", CELL], cwd=tw.folder, env=tw.environ, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "succeeded 0.5 [2, 1]"
    assert lines[1].startswith("✓ succeeded  p #1  ")
    assert lines[2] == "  ✓ succeeded  a  loss 0.25"
    assert lines[3] == "[('param', 'C', 1, 2), ('metric', 'a.loss', 0.25, 0.5)]"
    assert lines[4] == "3"
    assert lines[5] == "error[TW4001]: no run is called nothing-of-this-name"
