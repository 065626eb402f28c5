"""Patterns, the web, and commits as data, as a person types them."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from shell import Shell

READ = """\
pipeline: read
data:
  raw: git+file:data-repo@main#d
  one: datasets/one
steps:
  read:
    run: |
      cat ${{ data.raw }}/a.csv ${{ data.one }}
      echo "version $TW_DATA_RAW_VERSION"
      cat ${{ data.raw }}/* > ${{ out.all }}
    out: {all: file}
"""


@pytest.fixture
def tw(tmp_path: Path) -> Iterator[Shell]:
    with Shell(tmp_path / "project") as shell:
        shell.write("data-repo/d/a.csv", "1\n")
        shell.write("data-repo/d/b.csv", "2\n")
        shell.write(".twignore", "/data-repo\n")  # data, not code
        git(shell, "init", "--quiet", "--initial-branch=main")
        commit(shell)
        yield shell


def git(tw: Shell, *words: str) -> str:
    person = ("-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ("git", *person, *words), cwd=tw.folder / "data-repo", check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(tw: Shell) -> str:
    git(tw, "add", "-A")
    git(tw, "commit", "--quiet", "--allow-empty", "-m", "data")
    return git(tw, "rev-parse", "HEAD")


def test_a_commit_is_pinned_read_cached_and_led_back_to(tw: Shell) -> None:
    first = git(tw, "rev-parse", "HEAD")
    added = tw.run("dataset", "add", "one", "git+file:data-repo#d/b.csv", code=0)
    assert f"by reference: git+file://{tw.folder}/data-repo@{first}#d/b.csv" in added.out
    assert "nothing is copied" in added.err
    tw.write("p.yaml", READ)
    tw.run("run", "p.yaml", code=0)
    assert tw.run("logs", "-1/read", code=0).out.split() == ["1", "2", "version", first]
    pinned = f"git+file://{tw.folder}/data-repo@{first}#d"
    assert pinned in tw.run("lineage", "runs/-1/read", code=0).out
    tw.run("run", "p.yaml", code=0)
    assert tw.show()["steps"][0]["state"] == "cached"
    tw.write("data-repo/d/a.csv", "3\n")
    tw.run("run", "p.yaml", code=0)
    assert tw.show()["steps"][0]["state"] == "cached", "what is not committed is not part of a commit"
    second = commit(tw)
    tw.run("run", "p.yaml", code=0)
    assert tw.run("logs", "-1/read", code=0).out.split() == ["3", "2", "version", second]


def test_what_is_kept_elsewhere_is_said_to_be_and_not_taken_for_empty(tw: Shell) -> None:
    first = git(tw, "rev-parse", "HEAD")
    tw.run("dataset", "add", "x", "git+file:data-repo", code=0)
    tw.write("data-repo/d/c.csv", "3\n")
    second = commit(tw)
    tw.run("dataset", "add", "x", "git+file:data-repo", code=0)
    assert f"kept    elsewhere (git), version {second}; nothing is copied" in tw.run("dataset", "show", "x", code=0).out
    assert f"version {first} → {second}: kept elsewhere" in tw.run("dataset", "diff", "x", code=0).out
    tw.write("p.yaml", "pipeline: p\ndata: {raw: 'datasets/x#path=d/*'}\nsteps: {a: {run: 'true'}}\n")
    said = tw.run("run", "p.yaml", code=4)
    assert "error[TW4203]: datasets/x@2 is kept elsewhere, and its files are not known here" in said.err


def test_a_commit_that_is_gone_fails_the_step_with_its_name(tw: Shell) -> None:
    tw.run("dataset", "add", "one", "git+file:data-repo#d/b.csv", code=0)
    tw.write(
        "p.yaml", READ.replace("git+file:data-repo@main#d", "datasets/one").replace("/a.csv", "").replace("/*", "")
    )
    tw.shell("mv data-repo gone")
    said = tw.run("run", "p.yaml", code=1)
    assert "the snapshot git+file://" in said.out
    assert "is gone or out of reach: git says" in said.out
    assert "a snapshot is not copied here" in tw.run("why", "-1/read", code=0).out


def test_a_pattern_is_a_dataset_of_what_matches(tw: Shell) -> None:
    tw.write("data-repo/d/notes.txt", "x")
    whole = tw.run("dataset", "add", "x", "data-repo/d/*.csv", "--json", code=0).json
    assert whole["version"]["content"]["files"] == 2
    assert whole["version"]["source"] == f"{tw.folder}/data-repo/d/*.csv"
    git(tw, "rm", "-q", "--cached", "d/a.csv")
    (tw.folder / "data-repo/d/notes.txt").unlink()
    folder = tw.run("dataset", "add", "x", "data-repo/d", "--json", code=0).json
    assert not folder["new"], "the folder holds the same files under the same names"
    said = tw.run("dataset", "add", "x", "data-repo/d/*.cvs", code=4)
    assert "error[TW4305]: no file matches" in said.err
    tw.write("p.yaml", "pipeline: p\ndata: {raw: 'data-repo/**/*.csv'}\nsteps:\n  a: {run: 'ls ${{ data.raw }}/d'}\n")
    tw.run("run", "p.yaml", code=0)
    assert tw.run("logs", "-1/a", code=0).out.split() == ["a.csv", "b.csv"]


def test_a_secret_in_a_uri_goes_nowhere(tw: Shell) -> None:
    said = tw.run("dataset", "add", "x", "https://ada:hunter2@example.org/x.csv", code=2)
    assert "error[TW2111]" in said.err
    assert "hunter2" not in said.err + said.out
    tw.write("p.yaml", "pipeline: p\ndata: {raw: 's3://b/k?X-Amz-Signature=hunter2'}\nsteps: {a: {run: 'true'}}\n")
    refused = tw.run("run", "p.yaml", code=2)
    assert "p.yaml:2:" in refused.err
    assert "hunter2" not in refused.err + refused.out


def test_only_what_has_versions_can_be_referred_to(tw: Shell) -> None:
    said = tw.run("dataset", "add", "x", "data-repo/d/*", "--reference", code=2)
    assert "error[TW2112]" in said.err
    said = tw.run("dataset", "add", "x", "foo+s3://bucket/x", code=2)
    assert "error[TW2102]: no data source knows foo+s3:" in said.err
    said = tw.run("dataset", "add", "x", "delta:data-repo", code=4)
    assert "fix: pip install deltalake" in said.err
