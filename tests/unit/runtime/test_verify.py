"""Whether stored content is what its digest says, and what is read to tell."""

import os
import time
from pathlib import Path

import pytest

from trainwright.runtime import blobs, content, inspection, stamps, sweep, verify

NAMES = ("a", "b", "sub/c")


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "store")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the blobs that were hashed."""
    found: list[str] = []
    original = inspection.hash_of

    def noting(path: str) -> str:
        found.append(Path(path).name)
        return original(path)

    monkeypatch.setattr(inspection, "hash_of", noting)
    return found


def stored(root: str, tmp_path: Path) -> str:
    """A folder of three files."""
    folder = tmp_path / "made"
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name * 100)
    return content.put(root, str(folder)).digest


def a_blob(root: str, digest: str) -> Path:
    return Path(blobs.blob(root, content.read_manifest(root, digest).entries[0].sha256))


def settled(root: str, digest: str) -> None:
    """Verified at an instant at which every later edit shows."""
    time.sleep(stamps.TICK_NS / 1e9)
    assert verify.verify(root, digest)


def test_whole_content_is_read_once(root: str, tmp_path: Path, read: list[str]) -> None:
    digest = stored(root, tmp_path)
    settled(root, digest)
    assert len(read) == len(NAMES)
    assert verify.verify(root, digest)
    assert len(read) == len(NAMES)


def test_a_stamp_taken_too_soon_after_the_last_change_does_not_count(
    root: str, tmp_path: Path, read: list[str]
) -> None:
    digest = stored(root, tmp_path)
    now_ns = time.time_ns()
    for entry in content.read_manifest(root, digest).entries:
        facts = Path(blobs.blob(root, entry.sha256)).stat()
        young = (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino, facts.st_ctime_ns)
        assert not stamps.same(young, stamps.take(blobs.blob(root, entry.sha256)))
        old = (*young[:4], facts.st_ctime_ns + stamps.TICK_NS)
        assert stamps.same(old, (*young[:4], now_ns))


def overwritten(path: Path, data: bytes) -> None:
    """Other bytes of the same length in the same file, with the old times."""
    facts = path.stat()
    path.chmod(0o644)
    with path.open("r+b") as file:
        file.write(data[: facts.st_size].ljust(facts.st_size, b"x"))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    path.chmod(0o444)


@pytest.mark.parametrize("before", [False, True], ids=["never read", "read before"])
@pytest.mark.parametrize("how", ["gone", "shorter", "same size", "no manifest", "other manifest"])
def test_damage_is_noticed_and_set_aside(root: str, tmp_path: Path, how: str, *, before: bool) -> None:
    digest = stored(root, tmp_path)
    if before:
        settled(root, digest)
    blob, manifest = a_blob(root, digest), Path(content.manifest_file(root, digest))
    hurt = manifest if "manifest" in how else blob
    match how:
        case "gone" | "no manifest":
            hurt.unlink()
        case "shorter":
            hurt.chmod(0o644)
            os.truncate(hurt, hurt.stat().st_size - 1)
        case _:
            overwritten(hurt, b"other bytes")
    assert not verify.verify(root, digest)
    assert not hurt.exists()
    assert stored(root, tmp_path) == digest, "stored anew, it is whole again"
    assert verify.verify(root, digest)


def test_what_was_touched_alone_is_read_again(root: str, tmp_path: Path, read: list[str]) -> None:
    digest = stored(root, tmp_path)
    settled(root, digest)
    read.clear()
    blob = a_blob(root, digest)
    os.utime(blob)
    assert verify.verify(root, digest)
    assert read == [blob.name]


def test_a_large_blob_that_was_just_written_is_not_read(
    root: str, tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "LARGE_BYTES", blobs.CHUNK)
    (tmp_path / "big").write_bytes(b"x" * (blobs.CHUNK + 1))
    digest = content.put(root, str(tmp_path / "big")).digest
    assert verify.verify(root, digest)
    assert read == []
    overwritten(a_blob(root, digest), b"y" * (blobs.CHUNK + 1))
    assert not verify.verify(root, digest)


def test_stamps_that_cannot_be_read_are_made_again(root: str, tmp_path: Path, read: list[str]) -> None:
    digest = stored(root, tmp_path)
    settled(root, digest)
    file = Path(root, "verified", digest[7:9], digest[7:])
    for text in ("", "{", "[1]\n", "null\n"):
        file.write_text(text)
        read.clear()
        assert verify.verify(root, digest)
        assert len(read) == len(NAMES)


def test_a_store_that_takes_no_stamps_is_read_each_time(root: str, tmp_path: Path, read: list[str]) -> None:
    digest = stored(root, tmp_path)
    Path(root, "verified").write_text("in the way")
    settled(root, digest)
    assert verify.verify(root, digest)
    assert len(read) == 2 * len(NAMES)


def test_stamps_go_with_their_manifest(root: str, tmp_path: Path) -> None:
    digest = stored(root, tmp_path)
    settled(root, digest)
    file = Path(root, "verified", digest[7:9], digest[7:])
    sweep.sweep(root, [digest], 0.0)
    assert file.exists()
    sweep.sweep(root, [], 0.0)
    assert not file.exists()
