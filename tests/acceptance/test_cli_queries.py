"""Finding runs with conditions, ranking them, and looking at several side by side."""

import sqlite3
from contextlib import closing

import pytest
from shell import Shell

PIPELINE = """\
pipeline: diverge
params: {value: "0.5", lr: 0.1, tag: plain}
steps:
  train:
    run: ["python", "log.py", "${{ params.value }}"]
    check: loss <= 0.3
  evaluate:
    depends_on: [train]
    when: all_done
    run: ["python", "log.py", "0.25", "0.9"]
"""
LOG = """\
import sys
import trainwright as tw
tw.log(loss=float(sys.argv[1]))
for value in sys.argv[2:]:
    tw.log(auc=float(value))
"""
LOSSES = {"0.5": 7, "0.1": 0, "nan": 7, "inf": 7}


@pytest.fixture(scope="module")
def tw(tmp_path_factory):
    """Return a project with four runs, two of which have diverged."""
    with Shell(tmp_path_factory.mktemp("queries") / "p") as shell:
        shell.write("diverge.yaml", PIPELINE)
        shell.write("log.py", LOG)
        for value, code in LOSSES.items():
            shell.run("run", "diverge.yaml", "-p", f"value={value}", "-p", f"tag=t{value}", code=code)
        yield shell


def values(said) -> list[str]:
    return [run["params"]["value"] for run in said.json]


def test_a_run_that_diverged_is_neither_best_nor_chosen_and_its_json_is_json(tw) -> None:
    """G09."""
    assert values(tw.run("ps", "--sort", "train.loss", "--json", code=0)) == ["0.1", "0.5", "inf", "nan"]
    assert values(tw.run("ps", "--sort", "-train.loss", "--json", code=0)) == ["inf", "0.5", "0.1", "nan"]
    assert values(tw.run("ps", "--where", "train.loss < 0.2", "--json", code=0)) == ["0.1"]
    assert values(tw.run("ps", "--where", "not (train.loss < 0.2)", "--json", code=0)) == ["inf", "0.5"]
    assert values(tw.run("ps", "--where", "train.loss != train.loss", "--json", code=0)) == []
    found = tw.run("ps", "--where", "train.loss > 1e308", "--jsonl", code=0)
    assert '"train.loss": "Infinity"' in found.out
    gates = {run["params"]["value"]: tw.show(run["id"]) for run in tw.run("ps", "--json", code=0).json}
    said = {value: tw.step(shown, "train")["gates"][0]["verdict"] for value, shown in gates.items()}
    assert said == {"0.5": "failed", "0.1": "passed", "nan": "not-a-number", "inf": "failed"}
    assert "inf" in tw.run("why", "-1").out
    table = tw.run("ps", "--sort", "train.loss", code=0).out.splitlines()
    assert table[0].split()[6] == "train.loss"
    assert [line.rsplit("value=")[-1] for line in table[2:]] == ["0.1", "0.5", "inf", "nan"]


def test_a_metric_without_its_step_is_that_of_the_last_step_that_has_it(tw) -> None:
    assert len(values(tw.run("ps", "--where", "loss == 0.25 and auc > 0.8", "--json", code=0))) == 4
    assert values(tw.run("ps", "--where", 'metrics["loss"] == 0.25 and train["loss"] < 1', "--json")) == ["0.1", "0.5"]


def test_conditions_speak_of_parameters_states_times_and_people(tw) -> None:
    good = 'params.lr < 1 and state == "succeeded" and params.tag in ["t0.1", "t0.5"] and age < "1h"'
    assert values(tw.run("ps", "--where", good, "--since", "2d", "--by", "me", "--pipeline", "diverge", "--json")) == [
        "0.1"
    ]
    assert values(tw.run("ps", "--where", 'submitted_at > "2999-01-01"', "--json")) == []
    assert values(tw.run("ps", "--until", "1d", "--json")) == []
    assert tw.run("ps", "--until", "1d", code=0).err == "no run fits; all of them: tw ps\n"
    assert values(tw.run("ps", "--where", "number % 2 == 0 and number // 2 >= 1", "-n", "1", "--json")) == ["inf"]
    assert values(tw.run("ps", "--where", '"iv" in pipeline', "-n", "2", "--json")) == ["inf", "nan"]
    shown = tw.run("ps", "-n", "1", "--json").json[0]["fingerprint"][7:19]
    assert values(tw.run("ps", "--where", f'fingerprint == "fp:{shown}"', "--json")) == ["inf"]


@pytest.mark.parametrize(
    ("where", "code", "says"),
    [
        ("params.tag > 1", "TW2401", "params.tag is text and 1 is a number"),
        ("train.loss == 'low'", "TW2401", "'low' is text and train.loss is a number"),
        ("params.lr", None, ""),
        ("params.tag", "TW2401", "a text is neither true nor false"),
        ("train.los < 1", "TW2402", "did you mean train.loss?"),
        ("lr < 1", "TW2402", "did you mean params.lr?"),
        ("stat == 'failed'", "TW2402", "did you mean state?"),
        ("state == 'succeded'", "TW2401", "is no state of a run"),
        ("train.loss == None", "TW2401", "has("),
        ("train.loss <", "TW2401", "not an expression"),
        ("1; DROP TABLE run", "TW2401", "not an expression"),
        ("state == 'x' OR 1=1 --", "TW2401", "not an expression"),
        ("(lambda: 1)()", "TW2401", "the only functions"),
        ("__import__('os')", "TW2401", "the only functions"),
        ("params['x\"] OR 1=1'] == 1", "TW2402", "no run of this project"),
        ("submitted_at > 'yesterday'", "TW2401", "no instant"),
        ("age < 'soon'", "TW2401", "soon"),
        ('params.tag == "t\'; DROP TABLE run; --"', None, ""),
    ],
)
def test_what_a_condition_may_not_say_is_one_clear_error(tw, where, code, says) -> None:
    said = tw.run("ps", "--where", where, "--json")
    assert said.code == (0 if code is None else 2), said
    if code:
        assert code in said.err
        assert says in said.err
        assert said.out == ""


def test_times_that_are_none_are_refused(tw) -> None:
    assert "TW2403" in tw.run("ps", "--since", "last week", code=2).err


def test_several_runs_stand_side_by_side_with_the_best_marked(tw) -> None:
    said = tw.run("compare", "1", "2", "3", "4", code=0)
    lines = {line.split()[1]: line.split()[2:] for line in said.out.splitlines()[2:]}
    assert lines["train.loss"] == ["0.5", "0.1", "*", "NaN", "Infinity"]
    assert "evaluate.auc" not in lines
    assert "equal lines: " in said.err
    every = tw.run("compare", "1", "2", "3", "--all", "--metrics", "auc", "--json", code=0).json
    assert [line["name"] for line in every["lines"] if line["part"] == "metric"] == ["evaluate.auc"]
    assert [run["number"] for run in every["runs"]] == [1, 2, 3]
    some = tw.run("compare", "1", "2", "4", "--metrics", "train.*", "--json", code=0).json["lines"]
    assert some[-1] == {"part": "metric", "name": "train.loss", "values": [0.5, 0.1, "Infinity"], "best": [1]}
    assert "TW4001" in tw.run("compare", "1", "2", "99", code=4).err


def test_metrics_of_many_runs_are_one_table(tw) -> None:
    asked = ("metrics", "--name", "train.loss", "--name", "auc", "--where", "train.loss < 1", "--sort", "train.loss")
    table = tw.run(*asked, code=0).out.splitlines()
    assert table[0].split() == ["run", "#", "pipeline", "state", "train.loss", "auc"]
    assert [line.split()[-2:] for line in table[2:]] == [["0.1", "0.9"], ["0.5", "0.9"]]
    found = tw.run(*asked, "--json", "-n", "1", code=0).json
    assert [each["values"] for each in found] == [{"train.loss": 0.1, "auc": 0.9}]
    every = tw.run("metrics", "--name", "train.loss", "--jsonl", code=0).out
    assert '"train.loss": "NaN"' in every
    assert "TW2001" in tw.run("metrics", code=2).err
    assert "TW2001" in tw.run("metrics", "-1", "--name", "auc", code=2).err


def test_the_database_keeps_infinity_and_no_number_for_nan(tw) -> None:
    with closing(sqlite3.connect(next(tw.folder.rglob("*.db")))) as connection:
        rows = connection.execute("SELECT last FROM metric WHERE step = 'train' ORDER BY last IS NULL, last").fetchall()
    assert [row[0] for row in rows] == [0.1, 0.5, float("inf"), None]


def test_a_notebook_asks_in_the_same_words(tw) -> None:
    script = """\
import trainwright as tw
found = tw.ps(where="train.loss < 1", sort="-train.loss")
assert [run.params["value"] for run in found] == ["0.5", "0.1"], found
assert "train.loss" in found._repr_html_()
assert len(tw.ps(1)) == 1
"""
    tw.write("ask.py", script)
    done = tw.shell("python ask.py")
    assert done.returncode == 0, done.stderr
