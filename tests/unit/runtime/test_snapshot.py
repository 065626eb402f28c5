"""Foreign snapshots: content of a kind of its own, brought in when a job needs it."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from trainwright.runtime import checkout, content, fetch, manifest, snapshot, sweep, tree, verify
from trainwright.runtime.environment import version_variable
from trainwright.runtime.errors import ContentError

FACTS = {"kind": "git", "uri": "git+file:///r@abc", "version": "abc", "table": "", "file": ""}


def git(folder: Path, *words: str) -> str:
    person = ("-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(("git", *person, *words), cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "r"
    (folder / "d").mkdir(parents=True)
    (folder / "d" / "a.csv").write_text("1\n")
    (folder / "d" / "run.sh").write_text("echo\n")
    (folder / "d" / "run.sh").chmod(0o755)
    git(folder, "init", "--quiet")
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "1")
    return folder


def facts(repository: Path, path: str = "", file: str = "") -> dict[str, str]:
    commit = git(repository, "rev-parse", "HEAD")
    uri = f"git+file://{repository}@{commit}" + (f"#{path}" if path else "")
    return {"kind": "git", "uri": uri, "version": commit, "table": "", "file": file}


def test_a_snapshot_is_content_without_a_byte(tmp_path: Path) -> None:
    root = str(tmp_path)
    stored = snapshot.put(root, FACTS)
    assert (stored.files, stored.size_bytes) == (0, 0)
    assert snapshot.put(root, dict(reversed(FACTS.items()))).digest == stored.digest
    assert content.has(root, stored.digest)
    assert verify.verify(root, stored.digest)
    assert content.read_manifest(root, stored.digest).facts == FACTS
    for field in FACTS:
        assert snapshot.put(root, {**FACTS, field: "other"}).digest != stored.digest
    assert sweep.sweep(root, {stored.digest}, older_than_s=-1).manifests.count == len(FACTS)
    assert content.has(root, stored.digest)


@pytest.mark.parametrize(
    "line", ["[]", '{"a":1}', '{"b":"","a":""}', "", '{"a": ""}', '{"a":""}\n["x",1,"' + "0" * 64 + '","-"]']
)
def test_a_manifest_that_is_not_in_its_one_form_is_refused(line: str) -> None:
    with pytest.raises(ContentError):
        manifest.parse(f"trainwright-manifest 1 snapshot\n{line}\n".encode())


def test_it_cannot_be_exported_or_checked_out_without_its_keeper(tmp_path: Path) -> None:
    stored = snapshot.put(str(tmp_path), FACTS)
    with pytest.raises(ContentError, match="kept elsewhere"):
        checkout.checkout(str(tmp_path), stored.digest)
    with pytest.raises(ContentError, match="kept elsewhere"):
        content.export(str(tmp_path), stored.digest, str(tmp_path / "out"))


def test_a_commit_is_laid_out_once_for_all_and_nobody_may_write(tmp_path: Path, repository: Path) -> None:
    root = str(tmp_path / "store")
    known = facts(repository, "d")
    digest = snapshot.put(root, known).digest
    brought: list[Mapping[str, str]] = []

    def bring(wanted: Mapping[str, str], folder: str) -> None:
        brought.append(wanted)
        fetch.git(wanted, folder)

    place, found = snapshot.bring(root, digest, bring)
    assert found == known
    assert {p.name: p.stat().st_mode & 0o777 for p in Path(place).iterdir()} == {"a.csv": 0o444, "run.sh": 0o555}
    assert snapshot.bring(root, digest, bring) == (place, known)
    assert len(brought) == 1
    assert not [p for p in Path(place).parent.iterdir() if p.name not in {"files", "stamp"}]
    one = snapshot.put(root, facts(repository, "d/a.csv", "a.csv")).digest
    assert Path(snapshot.bring(root, one, bring)[0]).read_text() == "1\n"


def test_a_commit_that_is_gone_is_one_clear_refusal(tmp_path: Path, repository: Path) -> None:
    known = facts(repository)
    git(repository, "commit", "--quiet", "--amend", "-m", "2", "--allow-empty")
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "gc", "--quiet", "--prune=now")
    (tmp_path / "out").mkdir()
    with pytest.raises(fetch.Refused, match="is gone or out of reach") as caught:
        fetch.git(known, str(tmp_path / "out"))
    assert caught.value.remedy


def test_a_link_that_leads_out_is_refused(tmp_path: Path, repository: Path) -> None:
    (repository / "d" / "out").symlink_to("/etc/passwd")
    git(repository, "add", "-A")
    git(repository, "commit", "--quiet", "-m", "2")
    root = str(tmp_path / "store")
    with pytest.raises(ContentError, match="leads out"):
        snapshot.bring(root, snapshot.put(root, facts(repository)).digest, fetch.git)
    assert not list((tmp_path / "store" / "trees").glob("*/files"))


def test_a_pointer_of_lfs_is_not_taken_for_data(tmp_path: Path, repository: Path) -> None:
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 5\n"
    (repository / "d" / "big.bin").write_text(text)
    git(repository, "add", "-A")
    git(repository, "commit", "--quiet", "-m", "2")
    (tmp_path / "out").mkdir()
    with pytest.raises(fetch.Refused, match=r"d/big\.bin is kept by git-lfs"):
        fetch.git(facts(repository), str(tmp_path / "out"))


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("delta:/t?version=3", "/t"),
        ("delta+s3://b/t?version=3", "s3://b/t"),
        ("iceberg:/t?snapshot=3", "/t"),
        ("iceberg+gs://b/t?snapshot=3", "gs://b/t"),
        ("iceberg://lake/ns.t?snapshot=3", "iceberg://lake/ns.t"),
    ],
)
def test_a_table_is_handed_over_as_the_place_where_it_is(uri: str, place: str) -> None:
    assert snapshot.location({**FACTS, "uri": uri}) == place


def test_a_table_that_is_gone_is_one_clear_refusal(tmp_path: Path) -> None:
    digest = snapshot.put(str(tmp_path), {**FACTS, "kind": "delta", "uri": f"delta:{tmp_path}/no?version=3"}).digest
    with pytest.raises(ContentError, match="there is no table at"):
        snapshot.bring(str(tmp_path), digest, fetch.git)


def test_a_fetch_ends_when_the_attempt_is_stopped(tmp_path: Path) -> None:
    argv, env = [b"/bin/sh", b"-c", b"sleep 600"], {b"PATH": b"/usr/bin:/bin"}
    fetching = snapshot.Fetching(argv, env, str(tmp_path / "log"), tree.spawn, lambda: True)
    with pytest.raises(ContentError, match="cannot be brought in"):
        fetching(FACTS, str(tmp_path))


def test_what_a_fetch_says_last_is_the_reason_and_the_remedy(tmp_path: Path) -> None:
    script = b"echo talk; printf 'the reason\\tthe remedy\\n'; exit 1"
    fetching = snapshot.Fetching([b"/bin/sh", b"-c", script], {}, str(tmp_path / "log"), tree.spawn, lambda: False)
    with pytest.raises(ContentError) as caught:
        fetching(FACTS, str(tmp_path))
    assert (caught.value.message, caught.value.remedy) == ("the reason", "the remedy")


def test_the_variable_with_a_version_is_named_after_the_input() -> None:
    assert version_variable("data.raw-clicks") == "TW_DATA_RAW_CLICKS_VERSION"
