"""``tw lineage`` as people type it: back, forward, from a file, as JSON and as a picture."""

import xml.etree.ElementTree as ET

import pytest
from shell import Shell

pytestmark = pytest.mark.heavy

PIPELINE = """\
pipeline: tiny
params: {slope: 2.0}
data: {raw: datasets/points@latest}
steps:
  prep: {run: "cat ${{ data.raw }}/*.csv > ${{ out.table }}", out: {table: file}}
  train: {run: "cp ${{ prep.table }} ${{ out.model }}; echo ${{ params.slope }} >> ${{ out.model }}",
          out: {model: model}}
  judge: {run: "test -s ${{ train.model }} && python -c 'import trainwright as tw; tw.log(auc=0.9)'",
          check: ["auc >= 0.5"]}
  register: {uses: register, with: {model: train.model, name: tiny, alias: candidate}}
"""


@pytest.fixture(scope="module")
def tw(tmp_path_factory):
    """Return a project in which the model in production came of the first of two versions of its data."""
    with Shell(tmp_path_factory.mktemp("lineage") / "p") as shell:
        shell.write("raw/part-1.csv", "x,y\n1,2\n")
        shell.write("raw/part-2.csv", "x,y\n3,4\n")
        shell.write("tiny.yaml", PIPELINE)
        shell.run("dataset", "add", "points", "raw", code=0)
        shell.run("run", "tiny.yaml", code=0)
        shell.run("model", "promote", "tiny@candidate", "--reason", "first", code=0)
        shell.write("raw/part-2.csv", "x,y\n5,6\n")
        shell.run("dataset", "add", "points", "raw", code=0)
        shell.run("run", "tiny.yaml", "-p", "slope=3.0", code=0)
        yield shell


BOTH = "impact: 2 runs, 1 model (2 versions), in use: models/tiny@candidate, models/tiny@production"
FIRST = "impact: 1 run, 1 model (1 version), in use: models/tiny@production"
SECOND = "impact: 1 run, 1 model (1 version), in use: models/tiny@candidate"


@pytest.mark.parametrize(
    ("asked", "last"),
    [
        ("datasets/points@1/part-2.csv", FIRST),
        ("datasets/points@1/part-1.csv", BOTH),
        ("raw/part-1.csv", BOTH),
        ("file:raw/part-2.csv", SECOND),
        ("raw", BOTH),
        ("runs/1/prep/table", FIRST),
        ("runs/1", FIRST),
        ("models/tiny/1", FIRST.replace("1 run", "0 runs")),
        ("tiny@production", "impact: nothing came of it"),
    ],
)
def test_which_models_used_this(tw, asked, last):
    said = tw.run("lineage", asked, "--down", code=0)
    assert said.out.splitlines()[-1] == last


def test_a_registration_leads_to_the_version_that_it_made(tw):
    assert tw.run("lineage", "runs/1/register", code=0).out.startswith("models/tiny/1  ")


def test_both_ways_give_the_same_edges(tw):
    up = tw.run("lineage", "tiny@production", "--json", code=0).json
    down = tw.run("lineage", str(tw.folder / "raw"), "--down", "--json", code=0).json
    assert (up["direction"], down["direction"]) == ("up", "down")
    pairs = [{(e["before"], e["after"]) for e in each["edges"]} for each in (up, down)]
    assert pairs[0] < pairs[1]
    assert up["nodes"][0]["address"] == up["root"] == "models/tiny@production"
    moved = up["nodes"][0]["facets"]
    assert (moved["by"], moved["reason"]) == ("ada", "first")
    model = next(node for node in up["nodes"] if node["kind"] == "model")
    assert model["facets"]["gates"][0]["expression"] == "auc >= 0.5"
    assert down["impact"]["runs"] == 2
    assert down["omitted_runs"] == 0


def test_the_json_has_the_fields_that_the_page_names(tw):
    found = tw.run("lineage", "datasets/points@1", "--down", "--json", code=0).json
    assert list(found) == ["asked", "direction", "root", "nodes", "edges", "impact", "omitted_runs"]
    assert list(found["edges"][0]) == ["before", "after", "name", "digest"]
    assert list(found["nodes"][0]) == ["address", "kind", "digest", "note", "facets"]
    assert list(found["impact"]) == ["runs", "attempts", "models", "versions", "aliases"]


def test_much_is_cut_and_counted(tw):
    out = tw.run("lineage", "raw/part-1.csv", "--down", "--most", "1", code=0).out
    assert "… 1 more, and those of 1 older run" in out
    assert out.splitlines()[-1] == BOTH
    assert tw.run("lineage", "tiny@production", "--depth", "1", code=0).out.count("\n") == 2


def test_the_picture_is_one_of_boxes(tw):
    assert len(tw.run("lineage", "models/tiny/1", "--down", "--json", code=0).json["nodes"]) == 2
    said = tw.run("lineage", "tiny@production", "--svg", "tiny.svg", code=0)
    assert said.err == "wrote tiny.svg\n"
    picture = ET.parse(tw.folder / "tiny.svg").getroot()
    texts = {node.text for node in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {"models/tiny@production", "models/tiny/1", "train/model", "tiny #1 train", "datasets/points@1"} <= texts


@pytest.mark.parametrize("words", [("--up", "--down"), ("--depth", "-1"), ("--most", "x")])
def test_words_that_make_no_sense_are_refused(tw, words):
    assert tw.run("lineage", "tiny@production", *words, code=2).err.startswith("error[TW2001]")
