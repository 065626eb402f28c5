"""Pipelines in Python as people type them: run, plan, run() and what goes wrong."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from shell import Shell

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

HEAD = "import trainwright as tw\n\n@tw.pipeline\n"

DIGITS = """
import trainwright as tw


@tw.step(out={"numbers": "value"}, check=["rows >= 1"])
def prep(raw: tw.Dataset, n: int):
    assert raw.path.exists()
    print("hello from prep")
    tw.log(rows=n)
    return list(range(n))


@tw.step(out={"model": "model", "note": "file"})
def train(numbers, C: float = 1.0):
    if C > 9:
        raise ValueError(f"C is too large: {C}")
    return {"model": {"mean": sum(numbers) / len(numbers)}, "note": [C]}


@tw.step(check=["auc >= 0.8"])
def evaluate(model):
    tw.log(auc=0.9 if model["mean"] else 0.1)


@tw.pipeline(data={"raw": "pkg://trainwright/py.typed"})
def digits(raw, n: int = 3, C: float = tw.param(1.0, range=(0, 100))):
    made = train(prep(raw, n), C)
    evaluate(made.model)
    again = prep.options(name="again")(raw, n)
    tw.command("cat ${{ numbers }}", numbers=again, name="show")
    tw.register(made["model"], name="digits", alias="candidate")
"""


@pytest.fixture
def tw(tmp_path: Path):
    with Shell(tmp_path / "p") as shell:
        (shell.folder / ".trainwright").mkdir()
        shell.write("digits.py", DIGITS)
        yield shell


def python(shell: Shell, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", text],
        check=False,
        cwd=shell.folder,
        env=shell.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_python_file_runs_like_a_pipeline_file(tw):
    said = tw.run("run", "digits.py", "-p", "n=4", code=0)
    assert "models/digits/1 (alias candidate)" in said.out
    assert tw.run("logs", "-1/prep").out == "hello from prep\n"
    assert tw.run("logs", "-1/show").out == "[0, 1, 2, 3]\n"
    assert (tw.folder / "__pycache__").exists() is False


def test_a_function_that_fails_shows_its_own_traceback(tw):
    said = tw.run("run", "digits.py", "-p", "C=10", code=1)
    assert "ValueError: C is too large: 10.0" in said.out
    assert "runtime" not in said.out.partition("last lines of train")[2].partition("not run")[0]


def test_run_in_python_returns_what_was_made(tw):
    done = python(
        tw,
        "from digits import digits\n"
        "r = digits.run(n=5)\n"
        "made = r.output('train.model'), r.output('prep.numbers'), r.path('train.note').name\n"
        "print('RESULT', r.state, r.metrics, made)\n"
        "try:\n    r.output('train.modle')\nexcept KeyError as e:\n    print('KNOWN', e)\n",
    )
    assert done.returncode == 0, done
    assert "succeeded in" in done.stdout
    result = next(line for line in done.stdout.splitlines() if line.startswith("RESULT"))
    assert result.startswith("RESULT succeeded {")
    assert "'evaluate.auc': 0.9" in result
    assert "({'mean': 2.0}, [0, 1, 2, 3, 4], " in result
    assert "it has: again.numbers, prep.numbers, train.model, train.note" in done.stdout


def test_a_run_that_fails_raises_its_verdict(tw):
    done = python(
        tw,
        "import trainwright as tw\nfrom digits import digits\n"
        "try:\n    digits.run(C=10.0)\nexcept tw.RunFailed as e:\n    print('RAISED', e, e.result.state)\n",
    )
    raised = next(line for line in done.stdout.splitlines() if line.startswith("RAISED"))
    assert "step train: the command ended with exit code 1" in raised
    assert raised.endswith(" failed")


def test_what_is_refused_raises_before_anything_is_queued(tw):
    done = python(
        tw,
        "import trainwright as tw\nfrom digits import digits\n"
        "for given in ({'C': 101.0}, {'D': 1}, {'n': 'many'}):\n"
        "    try:\n        digits.run(**given)\n    except tw.PipelineError as e:\n        print('RAISED', e.code)\n",
    )
    assert [line for line in done.stdout.splitlines() if line.startswith("RAISED")] == [
        "RAISED TW3101",
        "RAISED TW1031",
        "RAISED TW1032",
    ], done
    assert tw.run("ps", "--json", code=0).json == []


def test_plan_in_python_is_the_plan_of_the_command_line(tw):
    done = python(tw, "from digits import digits\np = digits.plan(n=4)\nprint('PLAN', p.digest, p.steps)\n")
    line = next(line for line in done.stdout.splitlines() if line.startswith("PLAN"))
    digest = tw.run("plan", "digits.py", "-p", "n=4", "--json", code=0).json["digest"]
    assert line == f"PLAN {digest} ['again', 'prep', 'show', 'train', 'evaluate', 'register']"


def test_values_reach_a_run_with_the_same_types_through_every_face(tw):
    """G01."""
    params = "lr=1e-4, country='no', aug=True, start='22:00', tag='1.10', layers=[64, 32], opt={'name': 'adam'}"
    tw.write(
        "kinds.py",
        f"import trainwright as tw\n\n@tw.pipeline\ndef p({params}):\n    tw.command('true')\n",
    )
    yaml = tw.run("plan", "--as", "yaml", "kinds.py", code=0).out
    tw.write("kinds.yaml", yaml)
    words = ("-p", "lr=0.30000000000000004", "-p", "country=on", "-p", "opt.name=sgd", "-p", "tag=2.0")
    plans = [tw.run("plan", f"kinds.{face}", *words, "--json", code=0).json["plan"] for face in ("py", "yaml")]
    given = "lr=0.1 + 0.2, country='on', tag='2.0', **{'opt.name': 'sgd'}"
    code = f"from kinds import p\nprint(p.plan({given}).plan['params'])"
    assert plans[0] == plans[1]
    assert plans[0]["params"]["lr"] == 0.1 + 0.2
    assert plans[0]["params"] == eval(python(tw, code).stdout.splitlines()[-1])


def test_a_file_with_several_pipelines_wants_a_name(tw):
    tw.write("two.py", HEAD + "def one():\n    tw.command('true')\n" + HEAD + "def two():\n    tw.command('true')\n")
    said = tw.run("validate", "two.py", code=2)
    assert "two.py has several pipelines: one, two" in said.err
    assert "fix: name one, as in two.py:one" in said.err
    assert "pipeline two, 1 step" in tw.run("validate", "two.py:two", code=0).out
    assert "there is no file thre.py" in tw.run("validate", "thre.py:two", code=4).err


def test_what_the_file_prints_is_no_part_of_the_document(tw):
    tw.write("loud.py", "print('I am loud')\n" + HEAD + "def p():\n    print('very')\n    tw.command('true')\n")
    said = tw.run("plan", "loud.py", "--json", code=0)
    assert said.json["plan"]["pipeline"] == "p"
    assert "I am loud\nvery" in said.err


@pytest.mark.parametrize("ending", ["import os; os._exit(7)", "raise SystemExit(3)", "raise KeyboardInterrupt"])
def test_a_file_that_ends_python_is_refused_in_words(ending, tw):
    tw.write("ends.py", f"{ending}\n")
    done = tw.shell("tw validate ends.py")
    assert done.returncode == 2, done
    assert "error[TW1102]: ends.py" in done.stderr


def test_the_command_line_never_imports_the_authors_code(tw):
    tw.write(
        "pid.py",
        "import os\nopen('pid', 'w').write(str(os.getppid()))\n" + HEAD + "def p():\n    tw.command('true')\n",
    )
    process = tw.start("validate", "pid.py")
    assert process.wait(30) == 0
    process.communicate()
    assert (tw.folder / "pid").read_text() == str(process.pid)


def test_six_stages_take_at_most_thirty_lines_beside_the_training_code():
    lines = (EXAMPLES / "digits_py" / "pipeline.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 30
    assert "standard=True" in "".join(lines)


def test_the_functions_of_the_example_run_by_hand():
    code = (
        "import importlib.resources as r, trainwright as tw, training as t\n"
        "raw = tw.Dataset(r.files('sklearn') / 'datasets' / 'data' / 'digits.csv.gz')\n"
        "a = t.features(t.prep(raw), 0.25, 7)\n"
        "m = t.train(a, t.init(a, 7), 1.0, 1, 0.1, 7)\n"
        "print(t.probabilities(a['x_test'], **m).shape[1])"
    )
    folder = EXAMPLES / "digits_py"
    done = subprocess.run([sys.executable, "-B", "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout == "10\n", done


def test_as_takes_yaml_only_and_no_parameters(tw):
    assert "write --as yaml" in tw.run("plan", "--as", "json", "digits.py", code=2).err
    assert "-p says nothing to --as yaml" in tw.run("plan", "--as", "yaml", "digits.py", "-p", "n=1", code=2).err
    assert json.loads(tw.run("validate", "digits.py", "--json", code=0).out)["pipeline"] == "digits"


def test_a_file_that_runs_itself_when_it_is_loaded_is_refused(tw):
    tw.write("eager.py", HEAD + "def p():\n    tw.command('true')\n\np.run()\n")
    said = tw.run("validate", "eager.py", code=2)
    assert "error[TW1116]" in said.err
    assert "where: eager.py:7:1" in said.err
    assert 'if __name__ == "__main__":' in said.err
