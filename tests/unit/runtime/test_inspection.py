"""What a broken disk and a power cut leave is found, set aside, and made good by storing the same again."""

import os
import time
from pathlib import Path

import pytest

from trainwright.runtime import atomic, blobs, bundle, content, inspection, leavings, supervisor
from trainwright.runtime.checkout import checkout, is_intact


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "store")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "a").write_text("aaaa")
    (folder / "b").write_text("bb")
    return folder


def blob_of(store: str, digest: str, name: str) -> Path:
    entry = next(e for e in content.read_manifest(store, digest).entries if e.path == name)
    return Path(blobs.blob(store, entry.sha256))


def spoil(path: Path, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)


def kinds(store: str, *, deep: bool = False) -> list[str]:
    return [flaw.kind for flaw in inspection.inspect(store, time.time() - 3600, deep=deep)]


def mend(store: str, *, deep: bool = False, spare: tuple[str, ...] = ()) -> None:
    inspection.mend(store, inspection.inspect(store, time.time() - 3600, deep=deep), spare)


def test_a_sound_store_and_none_have_no_flaw(store: str, source: Path) -> None:
    assert kinds(store) == []
    checkout(store, content.put(store, str(source)).digest)
    assert kinds(store, deep=True) == []


def test_a_truncated_blob_is_set_aside_and_storing_the_same_again_heals(store: str, source: Path) -> None:
    digest = content.put(store, str(source)).digest
    spoil(blob_of(store, digest, "a"), b"aa")
    (flaw,) = inspection.inspect(store, 0)
    assert (flaw.kind, flaw.digests) == ("blob", (digest,))
    mend(store)
    assert kinds(store) == ["missing"]
    assert [p.read_bytes() for p in Path(store, "quarantine").iterdir()] == [b"aa"]
    assert content.put(store, str(source)).digest == digest
    assert kinds(store, deep=True) == []


def test_altered_bytes_of_the_right_size_are_found_by_hashing_only(store: str, source: Path) -> None:
    digest = content.put(store, str(source)).digest
    spoil(blob_of(store, digest, "a"), b"aXaa")
    assert (kinds(store), kinds(store, deep=True)) == ([], ["blob"])
    mend(store, deep=True)
    content.put(store, str(source))
    assert Path(content.export(store, digest, str(source.parent / "out")), "a").read_text() == "aaaa"


def test_a_damaged_manifest_is_set_aside_and_storing_the_same_again_heals(store: str, source: Path) -> None:
    digest = content.put(store, str(source)).digest
    Path(content.manifest_file(store, digest)).write_bytes(b"")
    (flaw,) = inspection.inspect(store, 0)
    assert (flaw.kind, flaw.digests) == ("manifest", (digest,))
    mend(store)
    assert kinds(store) == []
    content.put(store, str(source))
    assert content.has(store, digest)


def test_what_is_sound_again_by_now_is_left_alone(store: str, source: Path) -> None:
    digest = content.put(store, str(source)).digest
    blob = blob_of(store, digest, "a")
    flaws = [inspection.Flaw("blob", str(blob), (digest,)), inspection.Flaw("manifest", f"{store}/manifests/ab/gone")]
    inspection.mend(store, flaws)
    assert kinds(store, deep=True) == []
    assert not Path(store, "quarantine").exists()


def test_a_changed_working_copy_goes_unless_a_job_may_be_reading_it(store: str, source: Path) -> None:
    digest = content.put(store, str(source)).digest
    copy = Path(checkout(store, digest))
    spoil(copy / "a", b"mine")
    assert kinds(store) == ["tree"]
    mend(store, spare=(digest,))
    assert copy.exists()
    mend(store)
    assert not copy.exists()
    assert (Path(checkout(store, digest)) / "a").read_text() == "aaaa"
    assert is_intact(str(copy.parent))


def attempt(root: Path, **records: bytes) -> Path:
    folder = root / "r1" / "train" / "1"
    folder.mkdir(parents=True)
    for name, data in records.items():
        (folder / f"{name}.json").write_bytes(data)
    return folder


def test_broken_records_are_renamed_and_an_attempt_that_had_a_runner_keeps_one(tmp_path: Path) -> None:
    folder = attempt(tmp_path, job=b"\0\0\0", runner=b"", result=b'{"format": 1}')
    (tmp_path / "r1" / "train" / "checkpoints").mkdir()
    found = leavings.find(str(tmp_path), 0)
    assert [(one.kind, Path(one.path).name) for one in found] == [("broken", "job.json"), ("broken", "runner.json")]
    leavings.mend(found)
    there = sorted(path.name for path in folder.iterdir())
    assert there == ["job.json.broken", "result.json", "runner.json", "runner.json.broken"]
    assert (folder / "runner.json").read_bytes() == atomic.encode({"pid": None})
    assert leavings.find(str(tmp_path), 0) == []


def test_a_broken_result_is_renamed_and_the_attempt_is_not_carried_out_again(tmp_path: Path) -> None:
    folder = attempt(tmp_path, job=b"{}", result=b"[1]")
    (folder / "result.json.broken").write_bytes(b"an earlier one")
    leavings.mend(leavings.find(str(tmp_path), 0))
    assert not (folder / "result.json").exists()
    assert (folder / "runner.json").read_bytes() == atomic.encode({"pid": None})
    assert len(list(folder.glob("result.json.broken.*"))) == 1


def test_old_drafts_of_ours_and_bundles_that_are_no_archive_go(tmp_path: Path) -> None:
    folder = attempt(tmp_path, job=b"{}")
    library = Path(bundle.build(str(tmp_path / ".runtime"), "0"))
    garbage = library.with_name("runtime-garbage.pyz")
    garbage.write_bytes(b"")
    old, young, theirs = (
        folder / name
        for name in ("result.json.0123456789abcdef.tmp", "job.json.0123456789abcdef.tmp", "scores.of.mine.tmp")
    )
    for path in (old, young, theirs):
        path.write_bytes(b"{")
    for path in (old, theirs):
        os.utime(path, (0, 0))
    found = leavings.find(str(tmp_path), time.time() - 3600)
    assert [one.kind for one in found] == ["bundle", "draft"]
    leavings.mend(found)
    assert [p.exists() for p in (library, garbage, old, young, theirs)] == [True, False, False, True, True]


def test_a_supervisor_that_listens_is_seen_without_disturbing_it(tmp_path: Path) -> None:
    path = str(tmp_path / "runtime.sock")
    assert not supervisor.is_listening(path)
    listener = supervisor._listen(path)
    assert supervisor.is_listening(path)
    listener.setblocking(False)
    with pytest.raises(BlockingIOError):
        listener._accept()  # type: ignore[attr-defined]
    listener.close()
    assert not supervisor.is_listening(path)
