"""The examples as their README tells it: from the raw file to production, and what is kept out."""

import re
from pathlib import Path

import pytest
from shell import Shell

EXAMPLES = Path(__file__).parents[2] / "examples"
DIGITS, PENGUINS = str(EXAMPLES / "digits" / "pipeline.yaml"), str(EXAMPLES / "penguins" / "pipeline.yaml")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("examples")]


@pytest.fixture(scope="module")
def tw(tmp_path_factory):
    """Return a project with digits in production and the answer to a worse one."""
    pytest.importorskip("sklearn")
    pytest.importorskip("palmerpenguins")
    with Shell(tmp_path_factory.mktemp("examples") / "p") as shell:
        yield shell


@pytest.fixture(scope="module")
def good(tw):
    return tw.run("run", DIGITS, code=0)


@pytest.fixture(scope="module")
def promoted(tw, good):
    return tw.run("model", "promote", "digits@candidate", "--reason", "good", code=0)


def test_digits_go_through_the_six_stages_to_a_candidate(tw, good):
    assert "made:  models/digits/1 (alias candidate)" in good.out
    assert "gate:  evaluate: passed: auc >= 0.95" in good.out
    assert "no-baseline" in good.out
    view = tw.show()
    assert [s["state"] for s in view["steps"]] == 6 * ["succeeded"]
    stages = [s["stage"] for s in tw.run("plan", DIGITS, "--json").json["plan"]["steps"]]
    assert stages == ["data_preparation", "feature_load", "model_init", "training", "evaluation", "registration"]
    assert all(s["metadata"] for s in view["steps"])
    assert {"seed", "device", "final_metrics", "model"} <= tw.step(view, "train")["metadata"].keys()


def test_a_worse_run_is_refused_by_the_model_in_production(tw, promoted):
    said = tw.run("run", DIGITS, "-p", "epochs=1", code=7)
    lines = said.out.splitlines()
    assert lines[1].startswith("  cause: step evaluate: the check auc >= production.auc - 0.005 failed")
    assert "models/digits/1" in lines[2]
    assert re.search(r"gate:  failed: .*against models/digits/1", said.out)
    assert [v["version"] for v in tw.run("model", "ls", "--json").json] == [1]
    assert tw.run("wait", "-1").code == 7


def test_a_parameter_out_of_range_is_refused_before_anything_is_queued(tw, good):
    before = tw.run("ps", "--json").json
    said = tw.run("run", DIGITS, "-p", "C=5000", code=3)
    assert re.search(r"where: \S+pipeline.yaml:\d+:\d+", said.err)
    assert tw.run("ps", "--json").json == before


def test_the_model_in_production_leads_back_to_the_raw_file(tw, promoted):
    out = tw.run("lineage", "models/digits@production", code=0).out
    for name in ("train", "init", "features", "prep"):
        assert re.search(rf"runs:/r\w+/{name}/1 ", out), name
    assert "pkg://sklearn/datasets/data/digits.csv.gz" in out


def test_penguins_train_two_models_side_by_side(tw):
    said = tw.run("run", PENGUINS, code=0)
    assert "models/penguins/1 (alias candidate)" in said.out
    view = tw.show()
    one, other = (tw.attempts(view, name)[0] for name in ("logistic", "tree"))
    assert one["started_at"] < other["finished_at"]
    assert other["started_at"] < one["finished_at"]


def test_too_simple_penguins_are_stopped_at_the_test(tw):
    said = tw.run("run", PENGUINS, "-p", "C=0.01", "-p", "depth=1", code=7)
    assert "cause: step evaluate: the check" in said.out.splitlines()[1]
