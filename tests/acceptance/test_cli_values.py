"""Values on their way from the file or the command line into a command: G01, G08, and nothing a shell could take up."""

import json

import pytest
from shell import Shell

HOSTILE = {
    "command": '"; rm -rf canary; "',
    "substitution": "$(rm canary)",
    "backticks": "`rm canary`",
    "newlines": "a\nrm canary\nb",
    "quotes": """it's "quoted" \\ and \\\\ done""",
    "variables": "$HOME ${PATH} $1 $$ !!",
    "globs": "* ? [a-z] ~ {a,b}",
    "option": "--help",
    "blanks": "  two  blanks\t",
    "nothing": "",
    "reference": "${{ params.other }}",
    "script": "漢字 é 🙂 #x & | > canary",
}

SHOW = """\
import json, os, sys
print(json.dumps({"argv": sys.argv[1:], "env": os.environ.get("GIVEN")}))
"""

ALL = tuple(f"p{number}" for number in range(len(HOSTILE)))
BARE = " ".join(f"${{{{ params.{name} }}}}" for name in ALL)
QUOTED = " ".join(f'"${{{{ params.{name} }}}}" "<${{{{ params.{name} }}}}>"' for name in ALL)
LISTED = ", ".join(f'"${{{{ params.{name} }}}}", "<${{{{ params.{name} }}}}>"' for name in ALL)
SHOW = """\
import json, os, sys
print(json.dumps({"argv": sys.argv[1:], "env": [v for k, v in sorted(os.environ.items()) if k.startswith("GIVEN")]}))
"""


def pipeline():
    env = "".join(f"      GIVEN{place:02}: ${{{{ params.{name} }}}}\n" for place, name in enumerate(ALL))
    return (
        f"pipeline: hostile\nparams: {{{', '.join(f'{name}: {{type: str}}' for name in ALL)}}}\nsteps:\n"
        f"  训练:\n    run: python show.py {BARE} {QUOTED}\n    env:\n{env}"
        f"  written:\n    run: [python, show.py, {LISTED}]\n    env:\n{env}"
        f"    depends_on: [训练]\n"
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    with Shell(tmp_path_factory.mktemp("values")) as tw:
        tw.write("show.py", SHOW)
        yield tw


def test_hostile_parameters_arrive_as_data_everywhere(project):
    project.write("canary", "alive\n")
    project.write("hostile.yaml", pipeline())
    given = list(HOSTILE.values())
    options = [word for name, value in zip(ALL, given, strict=True) for word in ("-p", f"{name}={value}")]
    project.run("run", "hostile.yaml", *options, code=0)
    shell, listed = map(json.loads, project.run("logs", "-1", code=0).out.splitlines())
    twice = [text for value in given for text in (value, f"<{value}>")]
    assert shell == {"argv": [*given, *twice], "env": given}
    assert listed == {"argv": twice, "env": given}
    assert (project.folder / "canary").read_text() == "alive\n"


WRITTEN = {
    "lr": "1e-4",
    "big": "1E3",
    "country": "no",
    "switch": "on",
    "start": "22:30",
    "day": "2024-02-30",
    "octal": "010",
    "tag": "1.10",
    "yes_": "true",
    "exact": "0.30000000000000004",
    "huge": "9007199254740993",
    "words": "tilde ~",
}
AS_READ = {
    "lr": 0.0001,
    "big": 1000.0,
    "country": "no",
    "switch": "on",
    "start": "22:30",
    "day": "2024-02-30",
    "octal": 10,
    "tag": 1.1,
    "yes_": True,
    "exact": 0.1 + 0.2,
    "huge": 9007199254740993,
    "words": "tilde ~",
}
DECLARED = {
    "lr": "float",
    "big": "float",
    "country": "str",
    "switch": "str",
    "start": "str",
    "day": "str",
    "octal": "int",
    "tag": "float",
    "yes_": "bool",
    "exact": "float",
    "huge": "int",
    "words": "str",
}


def typed(values):
    return {name: (type(value).__name__, value) for name, value in values.items()}


def resolved(project, file, *options):
    return typed(project.run("validate", file, *options, "--json", code=0).json["params"])


def test_one_typing_rule_for_default_declared_type_option_list_and_map(project):
    defaults = "".join(f"  {name}: {text}\n" for name, text in WRITTEN.items())
    declared = "".join(f"  {name}: {{type: {DECLARED[name]}, default: {text}}}\n" for name, text in WRITTEN.items())
    needed = "".join(f"  {name}: {{type: {kind}}}\n" for name, kind in DECLARED.items())
    block = "".join(f"    {name}: {text}\n" for name, text in WRITTEN.items())
    items = ", ".join(WRITTEN.values())
    steps = "steps: {a: {run: 'true'}}\n"
    project.write("defaults.yaml", f"pipeline: p\nparams:\n{defaults}{steps}")
    project.write("declared.yaml", f"pipeline: p\nparams:\n{declared}{steps}")
    project.write("needed.yaml", f"pipeline: p\nparams:\n{needed}{steps}")
    project.write("inside.yaml", f"pipeline: p\nparams:\n  m:\n{block}  l: [{items}]\n{steps}")
    options = [word for name, text in WRITTEN.items() for word in ("-p", f"{name}={text}")]
    expected = typed(AS_READ)

    assert resolved(project, "defaults.yaml") == expected
    assert resolved(project, "declared.yaml") == expected
    assert resolved(project, "needed.yaml", *options) == expected
    assert resolved(project, "defaults.yaml", *options) == expected
    flow = ", ".join(f"{name}: {text}" for name, text in WRITTEN.items() if ":" not in text)
    for given in ((), ("-p", f"l=[{items}]"), ("-p", f"m={{{flow}, start: 22:30}}")):
        inside = project.run("validate", "inside.yaml", *given, "--json", code=0).json["params"]
        assert [typed({"": v}) for v in inside["l"]] == [typed({"": v}) for v in AS_READ.values()]
        assert typed(inside["m"]) == expected


def test_a_text_parameter_keeps_what_looks_like_a_number(project):
    texts = dict(zip("abcdefgh", ("1.10", "010", "1e-4", "true", "null", "~", "[1]", "22:30"), strict=True))
    declared = ", ".join(f"{name}: {{type: str, default: 1.10}}" for name in texts)
    project.write("text.yaml", f"pipeline: p\nparams: {{{declared}}}\nsteps: {{a: {{run: 'true'}}}}\n")
    assert resolved(project, "text.yaml") == dict.fromkeys(texts, ("str", "1.10"))
    options = [word for name, text in texts.items() for word in ("-p", f"{name}={text}")]
    assert resolved(project, "text.yaml", *options) == {name: ("str", text) for name, text in texts.items()}


def test_values_read_in_another_way_by_old_yaml_are_warned_of_with_their_line(project):
    project.write("old.yaml", "pipeline: p\nparams:\n  octal: 010\n  country: no\nsteps: {a: {run: 'true'}}\n")
    said = project.run("validate", "old.yaml", code=0)
    assert "warning: old.yaml:3: " in said.err
    assert "warning: old.yaml:4: " in said.err
    assert "warning" not in said.out


def test_values_reach_the_command_in_their_documented_text(project):
    project.write(
        "texts.yaml",
        """\
        pipeline: texts
        params: {lr: 1e-4, aug: true, day: 2024-02-30, no_: no, l: [1e-4, true, no], m: {b: 2, a: 1.0}}
        steps:
          a:
            run: >-
              python show.py ${{ params.lr }} ${{ params.aug }} ${{ params.day }} ${{ params.no_ }}
              ${{ params.l }} ${{ params.m }}
        """,
    )
    project.run("run", "texts.yaml", code=0)
    argv = json.loads(project.run("logs", "-1", code=0).out)["argv"]
    assert argv[:4] == ["0.0001", "true", "2024-02-30", "no"]
    assert [json.loads(text) for text in argv[4:]] == [[0.0001, True, "no"], {"a": 1.0, "b": 2}]


def test_overrides_keep_types_siblings_and_the_file(project):
    path = project.write(
        "nested.yaml",
        """\
        pipeline: nested
        params:
          epochs: 3
          lr: 1.0e-8
          layers: [64, 32]
          opt: {name: adam, betas: [0.9, 0.999]}
        steps: {a: {run: 'true'}}
        """,
    )
    before = path.read_bytes()
    options = ("-p", "epochs=5", "-p", "lr=0.30000000000000004", "-p", "layers=[128, 64]", "-p", "opt.betas=[0.8,0.99]")
    params = project.run("validate", "nested.yaml", *options, "--json", code=0).json["params"]
    assert params == {
        "epochs": 5,
        "lr": 0.1 + 0.2,
        "layers": [128, 64],
        "opt": {"name": "adam", "betas": [0.8, 0.99]},
    }
    refused = project.run("validate", "nested.yaml", "-p", "opt.nmae=sgd", code=2)
    assert "opt.name?" in refused.err
    assert path.read_bytes() == before


def test_a_parameter_that_is_no_utf8_is_refused_in_words(tmp_path):
    with Shell(tmp_path / "p") as tw:
        tw.write("p.yaml", "pipeline: p\nparams: {a: x}\nsteps: {s: {run: 'true'}}\n")
        done = tw.shell(r"tw run p.yaml -p $'a=\xff'")
        assert (done.returncode, done.stderr.splitlines()[0]) == (2, r"error[TW2002]: -p 'a=\udcff' is not UTF-8 text")
