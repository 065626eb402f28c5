"""What is refused before anything is queued: the whole text of each refusal, kept in ``golden``."""

import os
import stat

import pytest
from shell import Shell, golden, steady

ONE = "pipeline: p\nsteps: {a: {run: 'true'}}\n"
RANGED = """\
pipeline: p
params:
  C: {type: float, default: 1.0, range: [0.001, 100]}
  kind: {type: str, default: a, choices: [a, b]}
  n: 3
steps: {a: {run: 'true'}}
"""
CIRCLE = """\
pipeline: p
steps:
  a: {run: 'true', depends_on: [c]}
  b: {run: 'true', depends_on: [a]}
  c: {run: 'true', depends_on: [b]}
"""
UNJUDGED = """\
pipeline: p
steps:
  a: {run: 'true', out: {model: model}}
  r: {uses: register, with: {model: a.model, name: m}}
"""

FILES: dict[str, tuple[str | bytes, tuple[str, ...], int]] = {
    "out_of_range": (RANGED, ("-p", "C=5000"), 3),
    "not_a_choice": (RANGED, ("-p", "kind=c"), 3),
    "wrong_type": (RANGED, ("-p", "n=1e-4"), 2),
    "unknown_parameter": (RANGED, ("-p", "c=1"), 2),
    "parameter_twice": (RANGED, ("-p", "C=1", "-p", "C=2"), 2),
    "no_equals_sign": (RANGED, ("-p", "C"), 2),
    "not_finite": (RANGED, ("-p", "C=nan"), 2),
    "missing_value": ("pipeline: p\nparams: {n: {type: int}}\nsteps: {a: {run: 'true'}}\n", (), 2),
    "duplicate_key": (
        "pipeline: p\nsteps:\n  a:\n    run: 'true'\n    resources: {cpu: 1}\n    resources: {cpu: 2}\n",
        (),
        2,
    ),
    "duplicate_step": ("pipeline: p\nsteps:\n  a: {run: 'true'}\n  a: {run: 'false'}\n", (), 2),
    "unknown_key": ("pipeline: p\nsteps:\n  a:\n    run: 'true'\n    resorces: {cpu: 1}\n", (), 2),
    "cycle": (CIRCLE, (), 2),
    "cycle_of_one": ("pipeline: p\nsteps:\n  a: {run: 'true', depends_on: [a]}\n", (), 2),
    "unknown_reference": ("pipeline: p\nsteps:\n  prep: {run: 'echo ${{ perp.table }}'}\n", (), 2),
    "braces_in_one_line": ("pipeline: p\nsteps:\n  a: {run: echo ${{ params.n }}, retry: 1}\n", (), 2),
    "single_quotes": ("pipeline: p\nparams: {n: 1}\nsteps:\n  a:\n    run: echo '${{ params.n }}'\n", (), 2),
    "no_judge": (UNJUDGED, (), 3),
    "never_fits": ("pipeline: p\nsteps:\n  a:\n    run: 'true'\n    resources: {gpu: 64}\n", (), 3),
    "step_name_with_dots": ("pipeline: p\nsteps:\n  ../x: {run: 'true'}\n", (), 2),
    "unknown_dataset": ("pipeline: p\ndata: {raw: datasets/nothing@3}\nsteps: {a: {run: 'true'}}\n", (), 4),
    "missing_data": ("pipeline: p\ndata: {raw: nothing.csv}\nsteps: {a: {run: 'true'}}\n", (), 4),
    "unclosed": ("pipeline: p\nsteps: {a: {run: 'true'}\n", (), 2),
    "tab": ("pipeline: p\nsteps:\n\ta: {run: 'true'}\n", (), 2),
    "empty": ("", (), 2),
    "list": ("- a\n- b\n", (), 2),
    "binary": (b"\x7fELF\x02\x01\x01\x00\x00\x00", (), 2),
    "bad_utf8": (b"pipeline: caf\xe9\n", (), 2),
    "too_deep": ("pipeline: p\nparams:\n  l: " + "[" * 3000 + "]" * 3000 + "\nsteps: {a: {run: 'true'}}\n", (), 2),
    "unending_flow": ("{" * 20_000, (), 2),
    "too_large": ("#" * 2_000_000, (), 2),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    with Shell(tmp_path_factory.mktemp("refusals")) as tw:
        yield tw


def refused(tw, name, *args, code):
    said = tw.run(*args, code=code)
    assert said.out == ""
    assert said.err.count("error[") == 1
    assert "trainwright itself failed" not in said.err
    assert max(map(len, said.err.splitlines())) < 240, "one line is too long to read"
    golden(f"refused_{name}", steady(said.err, tw.folder))
    return said


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_run_is_refused_with_one_message(project, name):
    content, options, code = FILES[name]
    data = content if isinstance(content, bytes) else content.encode()
    (project.folder / "p.yaml").write_bytes(data)
    refused(project, name, "run", "p.yaml", *options, code=code)


def test_nothing_was_queued_by_all_of_that(project):
    assert project.run("ps", "--json", code=0).json == []


def test_places_are_given_as_file_line_and_column(project):
    project.write("p.yaml", RANGED)
    assert "where: p.yaml:3:" in project.run("run", "p.yaml", "-p", "C=5000", code=3).err
    project.write("p.yaml", FILES["duplicate_key"][0])
    message = project.run("run", "p.yaml", code=2).err
    assert "p.yaml:6:5" in message
    assert "5" in message.split("where:")[0], "the first of the two lines is named too"


def test_a_cycle_reads_the_same_under_every_hash_seed(project):
    project.write("p.yaml", FILES["cycle"][0])
    texts = {project.run("run", "p.yaml", code=2, PYTHONHASHSEED=seed).err for seed in ("0", "1", "2")}
    assert len(texts) == 1
    assert "a → c → b → a" in texts.pop()


def test_a_merge_override_is_no_duplicate(project):
    project.write(
        "merge.yaml",
        """\
        pipeline: merge
        params: {base: &b {gpu: 1, env: {A: 1, B: 2}}, over: {<<: *b, gpu: 4, env: {B: 9}}}
        steps: {a: {run: 'true'}}
        """,
    )
    said = project.run("validate", "merge.yaml", "--json", code=0)
    assert said.err == ""
    assert said.json["params"]["over"] == {"gpu": 4, "env": {"B": 9}}


def test_a_file_that_is_not_there(project):
    (project.folder / "here").mkdir(exist_ok=True)
    (project.folder / "here" / "pipeline.yaml").write_text(ONE)
    refused(project, "missing_file", "run", "here/pipelin.yaml", code=4)
    refused(project, "missing_everything", "run", "nowhere/pipeline.yaml", code=4)
    refused(project, "folder", "run", "here", code=2)
    refused(project, "device", "run", "/dev/zero", code=2)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(project):
    path = project.write("closed.yaml", ONE)
    path.chmod(0)
    refused(project, "unreadable", "run", "closed.yaml", code=2)
    path.chmod(stat.S_IRUSR | stat.S_IWUSR)


def test_a_name_that_is_no_utf8_is_said_somehow(project):
    said = project.run("run", os.fsdecode(b"caf\xe9.yaml"), code=4)
    assert "caf" in said.err


def test_a_terminal_that_cannot_show_our_signs_is_no_reason_to_fail(project):
    project.write("p.yaml", ONE)
    said = project.run("validate", "p.yaml", code=0, PYTHONIOENCODING="ascii")
    assert "pipeline p, 1 step" in said.out


def test_a_state_folder_that_cannot_be_made(project):
    (project.folder / "file").write_text("")
    said = project.run("ps", code=1, TW_HOME=str(project.folder / "file" / "state"))
    assert "TW_HOME" in said.err
