"""A reference to a repository becomes a commit."""

import subprocess
from pathlib import Path

import pytest

from trainwright.core.errors import NotFoundError, SpecError
from trainwright.plugins.sources import git as plugin
from trainwright.plugins.sources.git import GitSource


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "a@b"
    (folder / "d").mkdir(parents=True)
    (folder / "d" / "x.csv").write_text("1")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "1")
    git(folder, "tag", "-a", "v1", "-m", "v1")
    git(folder, "branch", "feature/x")
    return folder


def git(folder: Path, *words: str) -> str:
    person = ("-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(("git", *person, *words), cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize("ref", ["main", "v1", "feature/x", "HEAD", "main~0"])
def test_every_kind_of_reference_leads_to_the_commit(repository: Path, ref: str) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    for written in (ref, commit, commit[:8]):
        found = GitSource().locate(f"git+file:a@b@{written}#d/x.csv", repository.parent)
        assert (found.version, found.file) == (commit, "x.csv")
        assert found.uri == f"git+file://{repository}@{commit}#d/x.csv"


@pytest.mark.parametrize("ref", ["main", "v1", "feature/x", "HEAD"])
def test_a_repository_elsewhere_is_asked_without_its_files(tmp_path: Path, repository: Path, ref: str) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    uri = f"file://{repository}"
    store = tmp_path / "draft"
    store.mkdir()
    assert plugin._fetched(store, uri, ref, uri) == commit
    assert plugin._kind(store, commit, "d", uri) == "tree"
    assert plugin._kind(store, commit, "d/x.csv", uri) == "blob"
    with pytest.raises(NotFoundError) as caught:
        plugin._fetched(store, uri, "nothing", uri)
    assert caught.value.problem.code == "TW4307"
    with pytest.raises(NotFoundError) as caught:
        plugin._fetched(store, uri + "-gone", "main", uri)
    assert caught.value.problem.code == "TW4306"


@pytest.mark.parametrize(
    "uri", ["git+file:", "git+https://host", "git+file:a@-x", "git+file:a@main#../x", "git+file:a@"]
)
def test_what_names_no_repository_is_refused(tmp_path: Path, uri: str) -> None:
    with pytest.raises(SpecError) as caught:
        GitSource().locate(uri, tmp_path)
    assert caught.value.problem.code == "TW4304"


def test_a_login_for_ssh_is_no_reference() -> None:
    parts = plugin._parts("git+ssh://git@example.org/ada/data@v1#x", Path("/"))
    assert parts == ("ssh://git@example.org/ada/data", "v1", "x")
    assert plugin._parts("git+ssh://git@example.org/ada/data", Path("/"))[:2] == (
        "ssh://git@example.org/ada/data",
        "HEAD",
    )
