"""The code that counts for a command."""

import hashlib
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import content
from trainwright.core.cache import Closure, Imports
from trainwright.core.job import Call, CodeTree, Command, Part
from trainwright.plan.closure import SourceTree, TreeFile
from trainwright.plan.imports import imports_of
from trainwright.plan.invocation import Invocation, invocation_of

TREE = content("tree").digest


def source_tree(files: Mapping[str, str], folder: str = ".") -> SourceTree:
    held = {hashlib.sha256(text.encode()).hexdigest(): text for text in files.values()}
    listed = [TreeFile(path, hashlib.sha256(text.encode()).hexdigest()) for path, text in sorted(files.items())]

    def read(file: TreeFile) -> Imports:
        return imports_of(held[file.sha256].encode())

    return SourceTree(CodeTree(TREE, folder), listed, read)


def closure(files: Mapping[str, str], script: str = "python train.py", folder: str = ".") -> Closure:
    return source_tree(files, folder).closure(Command(shell=script))


def modules(files: Mapping[str, str], script: str = "python train.py", folder: str = ".") -> list[str]:
    found = closure(files, script, folder)
    assert not found.tree, found.name
    return list(found.modules)


def test_a_script_brings_what_it_imports_and_what_that_imports() -> None:
    files = {"train.py": "import a", "a.py": "from b import x", "b.py": "", "other.py": ""}
    assert modules(files) == ["a.py", "b.py", "train.py"]
    assert closure(files).name == "closure of train.py: 3 modules"


def test_a_package_brings_its_init_and_those_above() -> None:
    files = {"train.py": "import p.q.r", "p/__init__.py": "", "p/q/__init__.py": "", "p/q/r.py": "", "p/s.py": ""}
    assert modules(files) == ["p/__init__.py", "p/q/__init__.py", "p/q/r.py", "train.py"]


def test_a_name_taken_from_a_package_may_be_a_module() -> None:
    files = {"train.py": "from p import q, f", "p/__init__.py": "f = 1", "p/q.py": "", "p/r.py": ""}
    assert modules(files) == ["p/__init__.py", "p/q.py", "train.py"]


def test_a_star_takes_the_whole_package() -> None:
    files = {"train.py": "from p import *", "p/__init__.py": "", "p/q.py": "", "p/r/s.py": ""}
    assert modules(files) == ["p/__init__.py", "p/q.py", "p/r/s.py", "train.py"]


def test_relative_imports_start_at_the_file() -> None:
    files = {
        "train.py": "import p.a", "p/__init__.py": "", "p/a.py": "from . import b\nfrom ..p.c import x",
        "p/b.py": "from .d.e import y", "p/c.py": "", "p/d/__init__.py": "", "p/d/e.py": "", "b.py": "",
    }  # fmt: skip
    assert modules(files) == ["p/__init__.py", "p/a.py", "p/b.py", "p/c.py", "p/d/__init__.py", "p/d/e.py", "train.py"]


def test_a_module_is_found_wherever_it_lies() -> None:
    files = {"jobs/train.py": "import mine", "src/mine/__init__.py": "", "lib/mine.py": "", "lib/yours.py": ""}
    assert modules(files, folder="jobs") == ["jobs/train.py", "lib/mine.py", "src/mine/__init__.py"]


def test_a_circle_of_imports_ends() -> None:
    assert modules({"train.py": "import a", "a.py": "import train"}) == ["a.py", "train.py"]


def test_an_import_inside_a_function_counts() -> None:
    assert modules({"train.py": "def f():\n    try:\n        import a\n    except ImportError: pass", "a.py": ""}) == [
        "a.py",
        "train.py",
    ]


def test_a_module_runs_with_its_package() -> None:
    files = {"p/__init__.py": "", "p/__main__.py": "import p.a", "p/a.py": "", "p/b.py": ""}
    assert modules(files, "python -m p") == ["p/__init__.py", "p/__main__.py", "p/a.py"]
    assert modules(files, "python -m p.b") == ["p/__init__.py", "p/b.py"]


def test_a_file_named_in_the_source_counts() -> None:
    files = {"train.py": "open('conf/base.py').read()", "conf/base.py": "", "conf/other.py": ""}
    assert modules(files) == ["conf/base.py", "train.py"]


def test_files_that_are_not_python_count_all() -> None:
    before = closure({"train.py": "", "conf.yaml": "a: 1"})
    after = closure({"train.py": "", "conf.yaml": "a: 2"})
    assert before.modules == after.modules
    assert before.rest != after.rest


def test_a_script_is_found_from_the_folder_of_the_pipeline() -> None:
    files = {"a/b/pipeline.yaml": "", "a/train.py": ""}
    assert modules(files, "python ../train.py", folder="a/b") == ["a/train.py"]
    assert closure(files, "python ../../../train.py", folder="a/b").tree == TREE


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import importlib", "uses importlib"),
        ("from importlib import import_module", "uses importlib"),
        ("import importlib.util as u", "uses importlib"),
        ("x = __import__('a')", "uses __import__"),
        ("exec('import a')", "uses exec"),
        ("eval(x)", "uses eval"),
        ("import runpy", "uses runpy"),
        ("import subprocess", "uses subprocess"),
        ("import os\nos.system('python a.py')", "uses system"),
        ("import os\nos.execv('python', [])", "uses execv"),
        ("from os import popen", "uses popen"),
        ("import builtins\nbuiltins.__import__('a')", "uses __import__"),
        ("import pickle\npickle.load(f)", "unpickles with pickle"),
        ("import joblib as j\nj.load(f)", "unpickles with joblib"),
        ("from joblib import load", "unpickles with joblib"),
        ("import torch\ntorch.load(f)", "unpickles with torch"),
        ("import pandas as pd\npd.read_pickle(f)", "unpickles with pandas"),
        ("import numpy as np\nnp.load(f, allow_pickle=True)", "unpickles with numpy"),
        ("import hydra", "uses hydra"),
        ("open(f'plugins/{x}.py')", "makes up names of files (.py)"),
        ("import glob\nglob.glob('*.py')", "makes up names of files (*.py)"),
        ("def f(:", "does not parse"),
        ("\x00", "does not parse"),
    ],
)
def test_what_reading_cannot_tell_brings_the_whole_tree(source: str, why: str) -> None:
    found = closure({"train.py": "import a", "a.py": source})
    assert found.tree == TREE
    assert found.name == f"whole code tree: a.py {why}"


@pytest.mark.parametrize(
    "source",
    [
        "import re\nre.compile('a')",
        "model.eval()\nmodel.compile()",
        "import pickle\npickle.dump(x, f)",
        "import json\njson.load(f)",
        "import torch\nmodel.load_state_dict(x)",
        "import yaml\nyaml.safe_load(f)",
        "import numpy as np\nnp.load(f)",
        "import numpy as np\nnp.load(f, allow_pickle=False)",
        "'usage: train.py'",
    ],
)
def test_everyday_code_is_not_dynamic(source: str) -> None:
    assert modules({"train.py": source}) == ["train.py"]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("bash train.sh", "not a call of python"),
        ("./train.py", "not a call of python"),
        ("python train.py | tee log", "not one plain command"),
        ("python train.py > log", "not one plain command"),
        ("python train.py && python train.py", "not one plain command"),
        ("python train.py; ls", "not one plain command"),
        ("python train.py &", "not one plain command"),
        ("python train.py\npython train.py", "not one plain command"),
        ("(python train.py)", "not one plain command"),
        ("python $(ls)", "the shell fills something in"),
        ("python `ls`", "the shell fills something in"),
        ("python train.py $HOME", "the shell fills something in"),
        ("python train.py *.csv", "the shell fills something in"),
        ('python "$TW_REF_1"', "python is not given a script"),
        ("python -c 'print(1)'", "python is not given a script"),
        ("python -", "python is not given a script"),
        ("python", "python is not given a script"),
        ("python -m pytest", "pytest is not in it"),
        ("python gone.py", "gone.py is not in it"),
        ("python train.py 'unclosed", "not one plain command"),
        ("python train.py a.py", "an argument names Python code"),
        ("python train.py --config=conf/base.py", "an argument names Python code"),
        ("python train.py --model models.resnet.Net", "an argument names Python code"),
        ("python train.py train:main", "an argument names Python code"),
        ("X=1 python train.py", "not a call of python"),
    ],
)
def test_a_command_that_is_not_one_call_of_python_brings_the_whole_tree(script: str, why: str) -> None:
    files = {"train.py": "", "a.py": "", "models/__init__.py": "", "models/resnet.py": ""}
    found = closure(files, script)
    assert found.tree == TREE
    assert found.name == f"whole code tree: {why}"


def test_a_plain_call_may_have_flags_values_and_lines() -> None:
    words = 'python3 -u -X dev -W error train.py \\\n  --C "$TW_REF_1" "--lr=${TW_REF_2}" --file model.pt --x 0.5\n'
    call = invocation_of(Command(shell=words))
    assert isinstance(call, Invocation)
    assert call.script == "train.py"
    assert len(call.arguments) == 7
    assert modules({"train.py": "", "model.py": ""}, words) == ["train.py"]


def test_a_command_without_a_shell_is_read_word_by_word() -> None:
    argv = ((Part("python"),), (Part("train.py"),), (Part("--in="), Part(ref="input:a.b")))
    assert invocation_of(Command(argv=argv)) == Invocation("train.py", arguments=("--in=\x00",))
    assert invocation_of(Command()) == "not a call of python"


def test_a_function_of_a_module_has_a_closure_too() -> None:
    tree = source_tree({"steps/__init__.py": "", "steps/prep.py": "import steps.io", "steps/io.py": ""})
    assert list(tree.closure_of_module("steps.prep").modules) == ["steps/__init__.py", "steps/io.py", "steps/prep.py"]
    assert tree.closure_of_module("gone").tree == TREE
    assert tree.closure(Command(call=Call("steps.prep:fit"))).name == "closure of steps.prep: 3 modules"


@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_error(source: bytes) -> None:
    imports_of(source)


@given(st.text(max_size=80))
def test_any_command_is_judged_without_an_error(script: str) -> None:
    source_tree({"train.py": ""}).closure(Command(shell=script))


NAMES = st.sampled_from(["a", "b", "c", "p.a", "p.b", "p"])


@given(st.dictionaries(NAMES, st.lists(NAMES, max_size=3), min_size=1), st.lists(NAMES, max_size=3))
def test_a_closure_has_the_closure_of_everything_in_it(graph: dict[str, list[str]], first: list[str]) -> None:
    files = {
        ("p/__init__" if name == "p" else name.replace(".", "/")) + ".py": "".join(f"import {n}\n" for n in needed)
        for name, needed in graph.items()
    }
    files["train.py"] = "".join(f"import {name}\n" for name in first)
    mine = set(modules(files))
    for path in mine - {"train.py"}:
        assert set(modules(files, f"python {path}")) <= mine
