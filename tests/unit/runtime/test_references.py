"""Data by reference: the same digest as stored data, no byte copied, and never other bytes than were added."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from trainwright.core.errors import NotFoundError
from trainwright.plugins.stores.local import LocalContent
from trainwright.runtime import content, index, inspection, origins, staging, sweep
from trainwright.runtime.checkout import checkout
from trainwright.runtime.errors import ContentError
from trainwright.runtime.intake import Wish
from trainwright.runtime.verify import verify
from trainwright.runtime.walk import Found

WISH = Wish(remembered=True)
FILES = {"a.txt": b"a", "sub/b.bin": b"\0b", "sub/é 日": b"text"}


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "store")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    return tmp_path / "data"


def blobs_in(store: str) -> list[Path]:
    return [path for path in Path(store).glob("blobs/*/*") if path.is_file()]


def test_the_digest_is_that_of_stored_content_and_nothing_is_copied(store: str, data: Path) -> None:
    noted = origins.put(store, str(data), WISH)
    assert blobs_in(store) == []
    assert noted.digest == content.put(store + "2", str(data)).digest
    assert content.has(store, noted.digest)
    assert verify(store, noted.digest)
    assert checkout(store, noted.digest) == str(data)
    assert content.read(store, noted.digest, "a.txt") == b"a"
    out = Path(content.export(store, noted.digest, str(data.parent / "out")))
    assert {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()} == FILES
    assert inspection.inspect(store, 0.0, deep=True) == []


def test_one_file_is_found_under_its_own_name(store: str, data: Path) -> None:
    noted = origins.put(store, str(data / "a.txt"), WISH)
    assert noted.digest == content.put(store + "2", str(data / "a.txt")).digest
    assert checkout(store, noted.digest) == str(data / "a.txt")


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "edited": (lambda p: (p / "sub" / "b.bin").write_bytes(b"\0c"), "sub/b.bin changed"),
    "longer": (lambda p: (p / "a.txt").write_bytes(b"aa"), "a.txt changed"),
    "executable": (lambda p: (p / "a.txt").chmod(0o755), "a.txt changed"),
    "removed": (lambda p: (p / "a.txt").unlink(), "a.txt is gone"),
    "added": (lambda p: (p / "new").touch(), "new came in"),
    "renamed": (lambda p: (p / "a.txt").rename(p / "b.txt"), "a.txt is gone"),
    "moved": (lambda p: p.rename(p.parent / "elsewhere"), "data is gone"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_not_as_it_was_is_one_clear_refusal(store: str, data: Path, name: str) -> None:
    change, words = CHANGES[name]
    noted = origins.put(store, str(data), WISH)
    change(data)
    with pytest.raises(ContentError, match=words) as caught:
        checkout(store, noted.digest)
    assert f"tw dataset add NAME {data} --reference" in caught.value.remedy
    assert not verify(store, noted.digest)
    flaws = inspection.inspect(store, 0.0)
    assert [(flaw.kind, flaw.digests) for flaw in flaws] == [("reference", (noted.digest,))]
    inspection.mend(store, flaws)
    assert index.note_of(store, noted.digest) is not None


def test_touched_data_is_hashed_once_and_accepted(store: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = origins.put(store, str(data), WISH)
    for path in data.rglob("*"):
        os.utime(path, (1, 1))
    assert checkout(store, noted.digest) == str(data)
    seen: list[str] = []
    honest = staging.hash_only

    def noted_down(one: Found) -> tuple[str, tuple[int, int, int, int, int]]:
        seen.append(one.name)
        return honest(one)

    monkeypatch.setattr(staging, "hash_only", noted_down)
    checkout(store, noted.digest, strict=True)
    assert sorted(seen) == sorted(FILES)


def test_storing_the_same_content_makes_the_note_needless(store: str, data: Path) -> None:
    noted = origins.put(store, str(data), WISH)
    assert content.put(store, str(data), WISH).digest == noted.digest
    assert not Path(index.of_origin(store, noted.digest)).exists()
    assert len(blobs_in(store)) == 3
    (data / "a.txt").write_bytes(b"b")
    assert Path(checkout(store, noted.digest), "a.txt").read_bytes() == b"a"
    kept = origins.put(store, str(data / "sub"), WISH)
    assert not Path(index.of_origin(store, kept.digest)).exists()


def test_a_sweep_takes_the_note_with_its_manifest_and_never_the_data(store: str, data: Path) -> None:
    kept = origins.put(store, str(data), WISH)
    gone = origins.put(store, str(data / "sub"), WISH)
    sweep.sweep(store, [kept.digest], older_than_s=-10.0)
    assert content.has(store, kept.digest)
    assert not content.has(store, gone.digest)
    assert not Path(index.of_origin(store, gone.digest)).exists()
    assert len(list(Path(store, "index").iterdir())) == 1
    assert (data / "sub" / "b.bin").read_bytes() == b"\0b"


def test_a_damaged_note_is_missing_content_not_another(store: str, data: Path) -> None:
    noted = origins.put(store, str(data), WISH)
    Path(index.of_origin(store, noted.digest)).write_bytes(b"{}\n{}")
    assert not content.has(store, noted.digest)
    with pytest.raises(ContentError, match="missing"):
        checkout(store, noted.digest)
    assert origins.put(store, str(data), WISH).digest == noted.digest
    assert checkout(store, noted.digest) == str(data)


def test_a_part_needs_the_bytes_in_the_store(store: str, data: Path) -> None:
    noted = origins.put(store, str(data), WISH)
    with pytest.raises(ContentError, match="by reference"):
        content.put_part(store, noted.digest, ["a.txt"])
    content.put(store, str(data), WISH)
    assert content.put_part(store, noted.digest, ["a.txt"]).files == 1


@pytest.mark.parametrize("at_s", [1, 2**33])
def test_one_file_is_found_by_its_hash_as_long_as_it_is_the_same(
    store: str, data: Path, monkeypatch: pytest.MonkeyPatch, at_s: int
) -> None:
    monkeypatch.setattr("trainwright.runtime.origins.time.time_ns", lambda: at_s * 10**9)
    noted = origins.put(store, str(data), WISH)
    entry = content.read_manifest(store, noted.digest).entries[0]
    assert LocalContent(Path(store)).place(entry.sha256) == data / "a.txt"
    assert LocalContent(Path(store)).blob(entry.sha256) == b"a"
    (data / "a.txt").write_bytes(b"b")
    with pytest.raises(NotFoundError):
        LocalContent(Path(store)).place(entry.sha256)
