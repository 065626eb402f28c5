"""The scripts of the examples, run by hand: the commands their pipelines state, outside a job and without an engine."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from ruamel.yaml import YAML

EXAMPLES = Path(__file__).parents[2] / "examples"
REFERENCE = re.compile(r"\$\{\{ (\S+) \}\}")

pytestmark = pytest.mark.slow


def load(example):
    return YAML(typ="safe").load(EXAMPLES / example / "pipeline.yaml")


def floor(example, metric):
    checks = load(example)["steps"]["evaluate"]["check"]
    return next(float(found[1]) for check in checks if (found := re.fullmatch(rf"{metric} >= ([\d.]+)", check)))


def packaged(uri):
    """Return the path behind ``pkg://package/file`` without importing the package."""
    package, _, file = uri.removeprefix("pkg://").partition("/")
    spec = find_spec(package)
    if spec is None:
        pytest.skip(f"{package} is not installed: pip install 'trainwright[examples]'")
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / file


def run_by_hand(example, work, **changed):
    """Run every command of the pipeline in the order of the file; return the figures that ``evaluate`` prints."""
    pipeline = load(example)
    values = {f"data.{name}": packaged(uri) for name, uri in pipeline["data"].items()}
    for name, param in pipeline["params"].items():
        values[f"params.{name}"] = changed.get(name, param["default"] if isinstance(param, dict) else param)

    said = {}
    for name, step in pipeline["steps"].items():
        outs = {out: work / name / out for out in step.get("out", {})}
        values |= {f"{name}.{out}": path for out, path in outs.items()}
        here = values | {f"out.{out}": path for out, path in outs.items()}
        if "run" in step:
            said[name] = execute(step, EXAMPLES / example, here)
        assert all(path.exists() for path in outs.values()), f"{name} did not write all of {list(outs)}"
    return {name: float(value) for name, value in re.findall(r"(\w+) ([\d.]+)", said["evaluate"])}


def execute(step, folder, values):
    def fill(text):
        return REFERENCE.sub(lambda found: str(values[found[1]]), text)

    run = [fill(word) for word in step["run"]] if isinstance(step["run"], list) else fill(step["run"])
    outside_a_job = {name: value for name, value in os.environ.items() if not name.startswith("TW_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    env = outside_a_job | {"PATH": path} | {name: fill(text) for name, text in step.get("env", {}).items()}
    done = subprocess.run(
        run, shell=isinstance(run, str), check=False, cwd=folder, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Return the folder and the figures of one run as the file stands."""
    work = tmp_path_factory.mktemp("digits")
    return work, run_by_hand("digits", work)


def test_digits_by_hand_pass_the_gate(digits):
    work, figures = digits
    assert figures["auc"] >= floor("digits", "auc") + 0.04
    assert (work / "evaluate" / "confusion").read_text().count("\n") == 11


def test_digits_trained_too_little_are_good_enough_alone_but_worse_than_production(digits, tmp_path):
    production = digits[1]["auc"]
    figures = run_by_hand("digits", tmp_path, epochs=1)
    assert floor("digits", "auc") + 0.02 < figures["auc"] < production - 0.005 - 0.005


def test_equal_seeds_give_equal_files(digits, tmp_path):
    run_by_hand("digits", tmp_path)
    once, again = (sorted(p for p in work.rglob("*") if p.is_file()) for work in (digits[0], tmp_path))
    assert [p.relative_to(digits[0]) for p in once] == [p.relative_to(tmp_path) for p in again]
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(once, again, strict=True))


def test_penguins_by_hand_pass_the_gates(tmp_path):
    figures = run_by_hand("penguins", tmp_path)
    assert figures["auc"] >= floor("penguins", "auc") + 0.02
    assert figures["worst_recall"] >= floor("penguins", "worst_recall") + 0.05


def test_penguins_of_too_simple_models_fail_on_the_rarest_species(tmp_path):
    figures = run_by_hand("penguins", tmp_path, C=0.01, depth=1)
    assert figures["worst_recall"] < floor("penguins", "worst_recall") - 0.2
