"""Collection takes what nothing names, whatever happens meanwhile, and nothing else."""

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from trainwright.runtime import atomic, content, disk, lock, sweep
from trainwright.runtime.checkout import checkout
from trainwright.runtime.errors import ContentError

NOTHING: frozenset[str] = frozenset()


class Killed(BaseException):
    """The sweep's process dies here."""


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "store")


def put(store: str, folder: Path, files: dict[str, str]) -> str:
    """Store a folder with these files."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return content.put(store, str(folder)).digest


def age(store: str, seconds: float = 2 * sweep.YOUNG_S) -> None:
    """Make everything in the store look older."""
    then = time.time() - seconds
    for path in [Path(store), *Path(store).rglob("*")]:
        if "files" not in path.parts:  # a working copy has a stamp
            os.utime(path, (then, then), follow_symlinks=False)


def everything(store: str) -> list[tuple[str, int, int, bytes]]:
    return [
        (str(p), p.lstat().st_mode, p.lstat().st_mtime_ns, p.read_bytes() if p.is_file() else b"")
        for p in sorted(Path(store).rglob("*"))
    ]


def whole(store: str) -> bool:
    """Tell whether every manifest that is there has all its blobs."""
    names = [Path(path).name for path in sweep.files(store, "manifests")]
    return all(content.has(store, "sha256:" + name) for name in names)


def counts(swept: sweep.Swept) -> tuple[int, int, int, int]:
    return swept.manifests.count, swept.blobs.count, swept.trees.count, swept.drafts.count


def test_what_nothing_names_goes_and_what_it_shares_with_the_rest_stays(store: str, tmp_path: Path) -> None:
    kept = put(store, tmp_path / "a", {"shared": "s", "mine": "kept"})
    gone = put(store, tmp_path / "b", {"shared": "s", "theirs": "gone!"})
    for digest in (kept, gone):
        checkout(store, digest)
    age(store)
    swept = sweep.sweep(store, {kept})
    assert counts(swept) == (1, 1, 1, 0)
    assert swept.blobs.size_bytes == len("gone!")
    assert swept.trees.size_bytes > len("s" + "gone!")
    assert not content.has(store, gone)
    assert sorted(p.name for p in Path(store, "trees").iterdir()) == [kept[7:], kept[7:] + ".lock"]
    assert Path(content.export(store, kept, str(tmp_path / "out")), "mine").read_text() == "kept"
    assert list(Path(store, "tmp").iterdir()) == []
    assert counts(sweep.sweep(store, {kept})) == (0, 0, 0, 0)


def test_what_is_young_stays_and_storing_it_again_makes_it_young(store: str, tmp_path: Path) -> None:
    old = put(store, tmp_path / "a", {"x": "1"})
    age(store)
    assert put(store, tmp_path / "a", {"x": "1"}) == old
    assert counts(sweep.sweep(store, NOTHING)) == (0, 0, 0, 0)
    assert content.has(store, old)
    assert counts(sweep.sweep(store, NOTHING, now_s=time.time() + sweep.YOUNG_S + 1))[:2] == (1, 1)


def test_a_dry_run_tells_the_same_and_touches_nothing(store: str, tmp_path: Path) -> None:
    digest = put(store, tmp_path / "a", {"x": "1"})
    checkout(store, digest)
    age(store)
    before = everything(store)
    told = sweep.sweep(store, NOTHING, dry_run=True)
    assert everything(store) == before
    assert counts(sweep.sweep(store, NOTHING)) == counts(told) == (1, 1, 1, 0)
    assert counts(sweep.sweep(str(tmp_path / "none"), NOTHING)) == (0, 0, 0, 0)
    assert not (tmp_path / "none").exists()


def test_leftovers_of_killed_writers_go_when_they_are_old(store: str, tmp_path: Path) -> None:
    kept = put(store, tmp_path / "a", {"x": "1"})
    draft = Path(store, "tmp", "0123456789abcdef")
    draft.mkdir()
    (draft / "half").write_text("12345")
    half = Path(content.manifest_file(store, kept) + ".0123456789abcdef.tmp")
    half.write_text("123")
    assert counts(sweep.sweep(store, {kept})) == (0, 0, 0, 0)
    age(store)
    swept = sweep.sweep(store, {kept})
    assert (counts(swept), swept.drafts.size_bytes) == ((0, 0, 0, 2), 8)
    assert not draft.exists()
    assert not half.exists()


def test_blobs_that_no_manifest_came_to_name_go(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(content, "_write_manifest", die)
        with pytest.raises(Killed):
            put(store, tmp_path / "a", {"x": "1", "y": "2"})
    assert counts(sweep.sweep(store, NOTHING)) == (0, 2, 0, 0)


def test_while_a_manifest_that_is_kept_is_damaged_no_blob_goes(store: str, tmp_path: Path) -> None:
    kept, gone = (put(store, tmp_path / "a", {"x": text}) for text in ("1", "2"))
    age(store)
    Path(content.manifest_file(store, kept)).write_bytes(b"")
    swept = sweep.sweep(store, {kept})
    assert (counts(swept), swept.unreadable) == ((1, 0, 0, 0), [kept])
    Path(content.manifest_file(store, kept)).unlink()
    put(store, tmp_path / "a", {"x": "1"})
    assert counts(sweep.sweep(store, {kept})) == (0, 1, 0, 0)
    assert content.has(store, kept)
    assert not content.has(store, gone)


def test_killed_between_any_two_acts_the_store_is_consistent_and_the_next_sweep_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies before and after each removal, renaming and sync."""
    pattern = str(tmp_path / "pattern")
    kept = put(pattern, tmp_path / "k", {"shared": "s", "kept": "k"})
    doomed = [put(pattern, tmp_path / "d", {"shared": "s", "both": "b", "own": str(i)}) for i in range(3)]
    checkout(pattern, doomed[0])
    age(pattern)
    store = str(tmp_path / "store")
    points = 0
    while True:
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(pattern, store, symlinks=True)
        points += 1
        with monkeypatch.context() as patch:
            left = [points]
            for module, name in ((disk, "remove"), (atomic, "sync_folder"), (sweep, "retire")):
                patch.setattr(module, name, mortal(getattr(module, name), left))
            try:
                sweep.sweep(store, {kept})
                break
            except Killed:
                pass
        assert whole(store)
        assert content.has(store, kept)
        sweep.sweep(store, {kept}, now_s=time.time() + 2 * sweep.YOUNG_S)
        assert [Path(p).name for p in sweep.files(store, "manifests")] == [kept[7:]]
        assert len(list(sweep.files(store, "blobs"))) == 2
        assert not Path(store, "trees", doomed[0][7:]).exists()
    assert points > 15


def mortal(act: Callable[..., object], left: list[int]) -> Callable[..., object]:
    """Let an act die before or after it when its turn comes."""

    def acting(*args: object) -> object:
        for before in (True, False):
            left[0] -= 1
            if left[0] == 0:
                if not before:
                    act(*args)
                raise Killed
        return act(*args)

    return acting


def test_a_sweep_waits_for_who_publishes(store: str, tmp_path: Path) -> None:
    put(store, tmp_path / "a", {"x": "1"})
    age(store)
    sweeping = threading.Thread(target=sweep.sweep, args=(store, NOTHING))
    with lock.shared(store):
        sweeping.start()
        sweeping.join(0.2)
        assert sweeping.is_alive()
        assert len(list(sweep.files(store, "blobs"))) == 1
    sweeping.join(10)
    assert len(list(sweep.files(store, "blobs"))) == 0


@pytest.mark.slow
def test_what_is_being_published_is_never_taken(store: str, tmp_path: Path) -> None:
    """Each ``put`` shares a blob with content that is just being collected, and is whole when it returns."""
    over = threading.Event()
    failures: list[str] = []

    def publish(name: str) -> None:
        for number in range(40):
            digest = put(store, tmp_path / name, {"same": "for all", "own": f"{name}{number % 3}"})
            if not content.has(store, digest):
                failures.append(digest)
            os.utime(content.manifest_file(store, digest), (0, 0))

    def collect() -> None:
        while not over.is_set():
            sweep.sweep(store, NOTHING)

    collecting = threading.Thread(target=collect)
    publishing = [threading.Thread(target=publish, args=(name,)) for name in "abc"]
    for thread in (collecting, *publishing):
        thread.start()
    for thread in publishing:
        thread.join()
    over.set()
    collecting.join()
    assert whole(store)
    assert failures == []


def test_what_cannot_be_removed_is_said(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, tmp_path / "a", {"x": "1"})
    age(store)
    monkeypatch.setattr(disk, "remove", lambda _: False)
    with pytest.raises(ContentError, match="cannot be removed"):
        sweep.sweep(store, NOTHING)


def test_removing_follows_no_link_and_opens_closed_folders(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "closed").mkdir(parents=True)
    (outside / "closed" / "file").write_text("x")
    (outside / "closed").chmod(0o555)
    inside = tmp_path / "inside"
    (inside / "deep").mkdir(parents=True)
    (inside / "deep" / "file").write_text("123")
    (inside / "link").symlink_to(outside)
    (inside / "deep").chmod(0o000)
    (tmp_path / "top").symlink_to(outside)
    assert disk.remove(str(inside))
    assert disk.remove(str(tmp_path / "top"))
    assert disk.remove(str(tmp_path / "never"))
    assert (outside / "closed").stat().st_mode & 0o777 == 0o555
    assert (outside / "closed" / "file").read_text() == "x"
