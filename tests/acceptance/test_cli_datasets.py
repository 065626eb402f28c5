"""What people type about dataset versions: slices, tables, differences, tags, removal."""

from pathlib import Path

import pytest
from shell import Shell, golden, steady

TRAIN = """\
pipeline: reads
data: {raw: "datasets/d@latest#split=train"}
steps:
  train:
    run: find ${{ data.raw }} -name '*.csv' -exec cat {} + > ${{ out.model }}
    out: {model: model}
"""


@pytest.fixture
def shell(tmp_path: Path):
    with Shell(tmp_path / "here") as opened:
        opened.write("d/split=train/a.csv", "n,t,x\n1,a,0.5\n2,NA,nan\n3,c,2.5\n")
        opened.write("d/split=test/a.csv", "n,t,x\n1,a,0.5\n")
        opened.write(".twignore", "d/\n")  # data is no code
        opened.run("dataset", "add", "d", "d", code=0)
        yield opened


def again(shell: Shell) -> None:
    shell.write("d/split=test/b.csv", "n,t,x\n7,z,\n")
    shell.run("dataset", "add", "d", "d", code=0)


def test_a_version_and_a_difference_are_shown_on_eighty_columns(shell: Shell) -> None:
    said = shell.run("dataset", "show", "d@1#split=train", code=0)
    golden("dataset_show", steady(said.out, shell.folder))
    again(shell)
    shell.run("dataset", "tag", "datasets/d@1", "gold", code=0)
    said = shell.run("dataset", "diff", "d@gold", "d@2", code=0)
    golden("dataset_diff", steady(said.out, shell.folder))
    assert shell.run("dataset", "diff", "d", code=0).out == said.out
    assert max(map(len, said.out.splitlines())) <= 80


def test_programs_read_the_same(shell: Shell) -> None:
    again(shell)
    shown = shell.run("dataset", "show", "datasets/d@1#split=train", "--json", code=0).json
    assert shown["address"] == "datasets/d@1#split=train"
    (table,) = shown["tables"]
    assert [(c["name"], c["type"], c["nulls"], c["NaN"]) for c in table["columns"]] == [
        ("n", "int64", 0, 0), ("t", "string", 1, 0), ("x", "double", 0, 1)
    ]  # fmt: skip
    difference = shell.run("dataset", "diff", "d", "--json", code=0).json
    assert [(f["kind"], f["path"]) for f in difference["files"]] == [("added", "split=test/b.csv")]
    assert difference["equal_files"] == 2


def test_a_change_elsewhere_in_the_dataset_is_a_cache_hit_for_who_reads_a_slice(shell: Shell) -> None:
    shell.write("p.yaml", TRAIN)
    first = shell.run("run", "p.yaml", "--json", code=0)
    assert shell.show()["steps"][0]["state"] == "succeeded", first
    again(shell)
    shell.run("run", "p.yaml", code=0)
    run = shell.show()
    assert run["steps"][0]["state"] == "cached"
    assert "datasets/d@2#split=train" in shell.run("lineage", f"runs/{run['run']['id']}/train", code=0).out
    shell.write("d/split=train/a.csv", "n,t,x\n1,a,0.5\n")
    shell.run("dataset", "add", "d", "d", code=0)
    shell.run("run", "p.yaml", code=0)
    assert shell.show()["steps"][0]["state"] == "succeeded"


def test_a_version_that_is_read_stays_until_its_run_is_gone(shell: Shell) -> None:
    shell.write("p.yaml", TRAIN)
    shell.run("run", "p.yaml", code=0)
    again(shell)
    said = shell.run("dataset", "rm", "d@1", code=3)
    assert "error[TW3501]: datasets/d@1 cannot be removed: 2 thing(s) refer to it" in said.err
    assert "runs/" in said.err
    assert "the cache of reads/train" in said.err
    assert "would remove datasets/d@2" in shell.run("dataset", "rm", "d@2", "--dry-run", code=0).out
    shell.run("dataset", "rm", "d@2", code=0)
    assert "was removed on" in shell.run("dataset", "show", "d@2", code=4).err
    assert [v["version"] for v in shell.run("dataset", "ls", "--json", code=0).json] == [1]


def test_tags_are_listed_moved_by_force_and_taken_away(shell: Shell) -> None:
    again(shell)
    shell.run("dataset", "tag", "d@1", "gold", code=0)
    assert "error[TW5601]" in shell.run("dataset", "tag", "d@2", "gold", code=1).err
    assert "(it was version 1)" in shell.run("dataset", "tag", "d@2", "gold", "--force", code=0).out
    assert [v["tags"] for v in shell.run("dataset", "ls", "d", "--json", code=0).json] == [["gold"], []]
    assert "error[TW2122]" in shell.run("dataset", "tag", "d@2", "v2", code=2).err
    shell.run("dataset", "untag", "d@gold", code=0)
    assert "no version gold" in shell.run("dataset", "show", "d@gold", code=4).err


def test_an_empty_slice_is_refused_where_it_is_written(shell: Shell) -> None:
    shell.write("p.yaml", TRAIN.replace("split=train", "split=trian"))
    said = shell.run("plan", "p.yaml", code=4)
    assert "error[TW4203]" in said.err
    assert "where: p.yaml:2:" in said.err
    assert "fix: did you mean split=train?" in said.err


def test_old_versions_go_by_a_rule_with_gc(shell: Shell) -> None:
    again(shell)
    assert "keeps the newest 1" in shell.run("dataset", "keep", "d", "--last", "1", code=0).out
    said = shell.run("gc", "--dry-run", code=0)
    assert "would be removed, as tw dataset keep says: datasets/d@1" in said.out
    assert len(shell.run("dataset", "ls", "--json", code=0).json) == 2
    shell.run("gc", code=0)
    assert len(shell.run("dataset", "ls", "--json", code=0).json) == 1
