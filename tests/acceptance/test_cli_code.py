"""G25: the code that is recorded is the code that ran."""

import re

import pytest
from shell import Shell, ended, until

GIT = "git -c user.name=ada -c user.email=ada@example.org -c init.defaultBranch=main"
PIPELINE = "pipeline: code\nsteps:\n  a: {run: python a.py}\n  b: {run: python b.py, depends_on: [a]}\n"


@pytest.fixture
def tw(tmp_path):
    with Shell(tmp_path / "p", HERE=str(tmp_path / "p"), HOME=str(tmp_path)) as shell:
        shell.write("code.yaml", PIPELINE)
        shell.write(
            "a.py", "try:\n    import extra\nexcept ImportError:\n    print('alone')\nelse:\n    print(extra.WORD)\n"
        )
        shell.write("b.py", "print('b one')\n")
        yield shell


def fingerprint(tw):
    tw.run("run", "code.yaml", code=0)
    found = tw.show()
    return found["run"]["fingerprint"], found["fingerprint"]["code"], tw.run("logs", "-1").out


@pytest.mark.slow
def test_each_state_of_the_code_has_a_fingerprint_of_its_own(tw):
    outside = fingerprint(tw)
    assert tw.shell(f"{GIT} init -q && {GIT} add code.yaml a.py b.py && {GIT} commit -qm first").returncode == 0
    clean = fingerprint(tw)
    tw.write("b.py", "print('b two')\n")
    edited = fingerprint(tw)
    tw.write("extra.py", "WORD = 'extra'\n")
    added = fingerprint(tw)
    tw.write("extra.py", "WORD = 'other'\n")
    changed = fingerprint(tw)
    states = [outside, clean, edited, added, changed]

    assert len({state[0] for state in states}) == 5
    assert [state[1]["dirty"] for state in states] == [False, False, True, True, True]
    assert [bool(state[1]["commit"]) for state in states] == [False, True, True, True, True]
    assert [state[1]["modified"] for state in states] == [[], [], ["b.py"], ["b.py"], ["b.py"]]
    assert [state[1]["untracked"] for state in states] == [[], [], [], ["extra.py"], ["extra.py"]]
    assert [state[2] for state in states] == [
        "alone\nb one\n",
        "alone\nb one\n",
        "alone\nb two\n",
        "extra\nb two\n",
        "other\nb two\n",
    ]
    assert fingerprint(tw)[0] == changed[0]
    assert re.search(r"^code +tree +\w{12} +\w{12}$", tw.run("compare", "-1", "1").out, re.MULTILINE)
    assert "untracked  extra.py" in tw.run("show", "-1", "--fingerprint").out


def test_an_edit_during_the_run_does_not_reach_its_later_steps(tw):
    tw.write("a.py", "import os, time\nopen(os.environ['HERE'] + '/begun', 'w')\n"
                     "while not os.path.exists(os.environ['HERE'] + '/gate'):\n    time.sleep(0.02)\n")  # fmt: skip
    watched = tw.start("run", "code.yaml")
    until((tw.folder / "begun").exists, "the first step has begun")
    tw.write("b.py", "print('b two')\n")
    (tw.folder / "code.yaml").unlink()
    (tw.folder / "gate").touch()
    assert ended(watched).code == 0
    assert tw.run("logs", "-1/b").out == "b one\n"


def test_a_script_cannot_change_the_code_of_another_step(tw):
    tw.write("a.py", "open('b.py', 'w').write(\"print('b changed')\")\n")
    tw.run("run", "code.yaml", code=0)
    assert tw.run("logs", "-1/b").out == "b one\n"
    assert (tw.folder / "b.py").read_text() == "print('b one')\n"
