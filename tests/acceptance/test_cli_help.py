"""The first minutes: help, versions, mistypings, a project to begin with, completion, the schema."""

import re
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from shell import Shell, golden, steady

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def tw(tmp_path_factory):
    with Shell(tmp_path_factory.mktemp("help")) as shell:
        yield shell


def test_tw_alone_shows_what_there_is(tw):
    said = tw.run(code=2)
    assert said.out == ""
    assert said.err.startswith("Usage: tw ")
    assert "error[" not in said.err
    assert tw.run("--help", code=0).out.rstrip() == said.err.rstrip()
    assert tw.run("model", code=2).err.startswith("Usage: tw model ")


def test_every_command_explains_itself(tw):
    commands = re.findall(r"^  (\w+) +\w", tw.run("-h").out.split("Commands:")[1], re.MULTILINE)
    assert {"run", "ps", "why", "dataset", "model"} <= set(commands)
    for command in ("run", "logs", "model promote"):
        said = tw.run(*command.split(), "--help", code=0).out
        assert said.startswith(f"Usage: tw {command} ")
        assert len(said.splitlines()) > 5


def test_version(tw):
    assert re.fullmatch(r"trainwright \d+\.\d+\.\d+\S*\n", tw.run("--version", code=0).out)


MISTYPED = {
    "command": ("pss",),
    "strange_command": ("frobnicate",),
    "nested_command": ("model", "promte"),
    "option": ("ps", "--jsonn"),
    "missing_argument": ("run",),
    "missing_value": ("logs", "-n"),
    "not_a_number": ("ps", "-n", "many"),
    "too_small": ("ps", "-n", "0"),
    "one_too_many": ("ps", "extra"),
    "no_shell": ("completion", "tcsh"),
    "no_duration": ("wait", "-1", "--timeout", "soon"),
}


@pytest.mark.parametrize("name", MISTYPED)
def test_a_mistyped_command_line_gets_one_message_and_exit_code_2(tw, name):
    said = tw.run(*MISTYPED[name], code=2)
    assert said.out == ""
    assert said.err.startswith("error[TW200")
    golden(f"mistyped_{name}", steady(said.err, tw.folder))


def test_an_empty_project_says_what_to_do_next(tw, tmp_path):
    assert "tw run FILE" in tw.run("ps", cwd=tmp_path, code=0).err
    assert "tw dataset add" in tw.run("dataset", "ls", cwd=tmp_path, code=0).err
    assert "register" in tw.run("model", "ls", cwd=tmp_path, code=0).err
    assert tw.run("ps", "--json", cwd=tmp_path, code=0).json == []
    assert "tw run FILE" in tw.run("show", "-1", cwd=tmp_path, code=4).err


def test_init_writes_a_project_that_runs_and_never_overwrites(tmp_path):
    with Shell(tmp_path / "fresh") as tw:
        said = tw.run("init", code=0)
        assert said.out == "next: tw run pipeline.yaml\n"
        before = {p.name: p.read_bytes() for p in tw.folder.iterdir() if p.is_file()}
        assert tw.run("validate", "pipeline.yaml", code=0).out.startswith("✓ pipeline.yaml: pipeline first, 3 steps")
        assert not (tw.folder / ".trainwright").exists()
        assert "models/first/1" in tw.run("run", "pipeline.yaml", code=0).out
        again = tw.run("init", code=1)
        assert "exists already" in again.err
        assert {p.name: p.read_bytes() for p in tw.folder.iterdir() if p.is_file()} == before
        assert tw.run("init", "deep/er", code=0).out == "next: tw run deep/er/pipeline.yaml\n"


def test_plan_and_dry_run_show_and_store_nothing(tw):
    tw.write("p.yaml", "pipeline: p\nparams: {n: 1}\nsteps:\n  a: {run: 'true'}\n  b: {run: 'true', depends_on: [a]}\n")
    said = tw.run("plan", "p.yaml", "-p", "n=2", code=0)
    assert "n=2" in said.out
    assert re.search(r"^b +a +cpu 1$", said.out, re.MULTILINE)
    assert tw.run("run", "p.yaml", "-p", "n=2", "--dry-run", code=0).out == said.out
    assert tw.run("ps", "--json").json == []


def test_doctor_finds_this_machine_fit(tw):
    said = tw.run("doctor", code=0)
    assert "✓ python" in said.out
    assert "✗" not in said.out
    assert sys.executable in said.out


def test_bash_completes(tw):
    script = tw.run("completion", "bash", code=0).out
    tw.write("tw.bash", script)
    assert tw.shell("bash -n tw.bash").returncode == 0
    tail = "_tw_completion tw; printf '%s\\n' \"${COMPREPLY[@]}\""

    def offered(words, at):
        done = tw.shell(f"source ./tw.bash; COMP_WORDS=({words}); COMP_CWORD={at}; {tail}")
        assert done.stderr == ""
        return done.stdout.split()

    assert offered("tw mo", 1) == ["model"]
    assert {"run", "ps", "why"} <= set(offered("tw ''", 1))
    assert offered("tw model pro", 2) == ["promote"]
    assert "--detach" in offered("tw run --de", 2)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script(tw, shell):
    assert "_TW_COMPLETE" in tw.run("completion", shell, code=0).out


def test_the_schema_takes_the_examples(tw):
    schema = tw.run("schema", code=0).json
    assert schema["$schema"].startswith("https://json-schema.org/")
    files = sorted(EXAMPLES.rglob("pipeline.yaml"))
    assert files
    try:
        import jsonschema
    except ImportError:
        jsonschema = None
    for path in files:
        document = YAML(typ="safe").load(path)
        assert set(document) <= set(schema["properties"])
        assert set(schema["required"]) <= set(document)
        if jsonschema is not None:
            jsonschema.Draft202012Validator(schema).validate(document)
