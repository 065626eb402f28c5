"""A step that runs out of memory and is tried again with more."""

import pytest
from shell import Shell

HUNGRY = """\
pipeline: hungry
steps:
  a:
    run: python -c "x = b'x' * (150 * 2**20); import time; time.sleep(1.5); print(len(x))"
    resources: {memory: 64Mi}
    retry: {on: {oom: 2}, memory: x2..1Gi, backoff: 10ms..20ms}
"""


@pytest.mark.slow
def test_a_step_out_of_memory_gets_more_until_it_suffices(tmp_path):
    with Shell(tmp_path / "project") as tw:
        tw.write("p.yaml", HUNGRY)
        tw.run("run", "p.yaml", code=0)
        attempts = tw.attempts(tw.show(), "a")
        assert [(a["exit_class"], a["ooms"]) for a in attempts] == [("oom", 0), ("oom", 1), ("ok", 2)]
        why = tw.run("why", "-1/a", code=0).out
        assert "attempt 2: failed, the command took more memory than its 128Mi" in why
        assert "attempt 3: 256Mi after out of memory at 128Mi" in why
        assert "memory a: attempt 2: 128Mi after out of memory at 64Mi" in tw.run("show", "-1", code=0).out


@pytest.mark.slow
def test_a_step_at_its_most_is_not_tried_again(tmp_path):
    with Shell(tmp_path / "project") as tw:
        tw.write("p.yaml", HUNGRY.replace("x2..1Gi", "x2..100Mi"))
        said = tw.run("run", "p.yaml", code=1)
        assert "cause: step a: the command took more memory than its 100Mi" in said.out
        assert len(tw.attempts(tw.show(), "a")) == 2
