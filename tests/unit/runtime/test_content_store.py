"""The content store: equal content is equal, whatever else differs; nothing is half there or outside."""

import errno
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainwright.core.errors import BackendError, NotFoundError
from trainwright.core.ids import Digest
from trainwright.plugins.stores.local import LocalContent
from trainwright.runtime import atomic, blobs, content, manifest, staging
from trainwright.runtime.checkout import checkout
from trainwright.runtime.errors import ContentError

FILES = {"a.txt": b"a", "sub/b.bin": b"\0b", "sub/deep/c": b"", "é ü/日本.txt": b"text"}


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "store")


def lay(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def test_order_and_times_do_not_change_the_digest_and_content_names_and_x_do(store: str, tmp_path: Path) -> None:
    many = {f"{i % 7}/{i}": str(i).encode() for i in range(100)}
    first = content.put(store, str(lay(tmp_path / "1", many)))
    second = lay(tmp_path / "2", dict(reversed(many.items())))
    for path in second.rglob("*"):
        os.utime(path, (1, 1))
    (second / "empty").mkdir()
    assert content.put(store, str(second)).digest == first.digest
    changes: list[Callable[[Path], object]] = [
        lambda p: (p / "1" / "1").rename(p / "1" / "other"),
        lambda p: ((p / "1" / "1").write_bytes(b"2"), (p / "2" / "2").write_bytes(b"1")),
        lambda p: (p / "1" / "1").chmod(0o755),
        lambda p: (p / "1" / "1").unlink(),
    ]
    digests = {first.digest}
    for number, change in enumerate(changes):
        other = lay(tmp_path / f"other{number}", many)
        change(other)
        digests.add(content.put(store, str(other)).digest)
    assert len(digests) == 5


def test_an_edit_that_keeps_size_and_time_is_noticed(store: str, tmp_path: Path) -> None:
    folder = lay(tmp_path / "x", FILES)
    before = content.put(store, str(folder))
    facts = (folder / "a.txt").stat()
    (folder / "a.txt").write_bytes(b"A")
    os.utime(folder / "a.txt", ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert content.put(store, str(folder)).digest != before.digest


@pytest.mark.parametrize("env", [{"PYTHONHASHSEED": "1", "LC_ALL": "C"}, {"PYTHONHASHSEED": "2", "LC_ALL": "POSIX"}])
def test_hash_seed_and_locale_do_not_count(store: str, tmp_path: Path, env: dict[str, str]) -> None:
    folder = lay(tmp_path / "x", FILES)
    script = "import sys; from trainwright.runtime import content; print(content.put(*sys.argv[1:]).digest)"
    told = subprocess.run(
        [sys.executable, "-c", script, store, folder], env={**os.environ, **env}, capture_output=True, check=True
    )
    assert told.stdout.decode().strip() == content.put(store, str(folder)).digest


def test_a_folder_comes_out_as_it_went_in(store: str, tmp_path: Path) -> None:
    folder = lay(tmp_path / "x", FILES)
    (folder / "a.txt").chmod(0o755)
    stored = content.put(store, str(folder))
    assert (stored.files, stored.size_bytes) == (4, 7)
    out = Path(content.export(store, stored.digest, str(tmp_path / "deep" / "out")))
    assert {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()} == FILES
    assert os.access(out / "a.txt", os.X_OK)
    (out / "sub" / "b.bin").write_bytes(b"mine")
    assert content.has(store, stored.digest)
    with pytest.raises(ContentError, match="exists already"):
        content.export(store, stored.digest, str(out))


def test_a_file_keeps_its_name(store: str, tmp_path: Path) -> None:
    source = lay(tmp_path, {"table.csv": b"1,2\n"}) / "table.csv"
    stored = content.put(store, str(source))
    assert Path(checkout(store, stored.digest)).name == "table.csv"
    out = content.export(store, stored.digest, str(tmp_path / "elsewhere.csv"))
    assert Path(out).read_bytes() == b"1,2\n"
    assert content.put(store, str(tmp_path / "elsewhere.csv")).digest != stored.digest


def test_equal_content_is_stored_once_and_no_file_is_linked(store: str, tmp_path: Path) -> None:
    content.put(store, str(lay(tmp_path / "x", {"a": b"same", "b": b"same", "big": b"z" * 3000000})))
    content.put(store, str(lay(tmp_path / "y", {"c": b"same", "big": b"z" * 3000000})))
    found = [p for p in Path(store, "blobs").rglob("*") if p.is_file()]
    assert len(found) == 2
    assert {p.stat().st_nlink for p in found} == {1}
    assert {p.stat().st_mode & 0o777 for p in found} == {0o444}
    assert list(Path(store, "tmp").iterdir()) == []


def test_files_are_chosen_by_their_relative_paths(store: str, tmp_path: Path) -> None:
    base = lay(tmp_path / "x", FILES)
    chosen = content.put_files(store, str(base), ["sub/b.bin", "a.txt", "sub/deep"])
    assert [e.path for e in content.read_manifest(store, chosen.digest).entries] == ["a.txt", "sub/b.bin", "sub/deep/c"]
    for bad in ("../x/a.txt", "/etc/hostname", "sub/../a.txt", "", "none", "a\0b"):
        with pytest.raises(ContentError):
            content.put_files(store, str(base), [bad])


def test_links_inside_are_followed_and_others_refused(store: str, tmp_path: Path) -> None:
    folder = lay(tmp_path / "x", FILES)
    (folder / "inner").symlink_to("sub")
    (folder / "one").symlink_to("a.txt")
    paths = [e.path for e in content.read_manifest(store, content.put(store, str(folder)).digest).entries]
    assert {"inner/b.bin", "inner/deep/c", "one"} <= set(paths)
    for target in ("/etc/hostname", "../outside", "nowhere", "."):
        (tmp_path / "outside").mkdir(exist_ok=True)
        link = folder / "bad"
        link.symlink_to(target)
        with pytest.raises(ContentError):
            content.put(store, str(folder))
        link.unlink()


def test_special_files_and_names_that_are_not_utf8_are_refused(store: str, tmp_path: Path) -> None:
    folder = lay(tmp_path / "x", FILES)
    os.mkfifo(folder / "pipe")
    with pytest.raises(ContentError, match="not a regular file"):
        content.put(store, str(folder))
    (folder / "pipe").unlink()
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).touch()
    with pytest.raises(ContentError, match="UTF-8"):
        content.put(store, str(folder))
    with pytest.raises(ContentError, match="does not exist"):
        content.put(store, str(tmp_path / "nothing"))


def test_a_file_that_changes_while_it_is_read_is_an_error(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = lay(tmp_path, {"log": b"x"}) / "log"
    honest = staging.whole

    def growing(fd: int, source: bytes, size: int) -> bytes:
        data = honest(fd, source, size)
        with path.open("ab") as file:
            file.write(b"more")
        return data

    monkeypatch.setattr(staging, "whole", growing)
    with pytest.raises(ContentError, match="changed while it was read"):
        content.put(store, str(path))


def test_nothing_is_published_when_the_disk_is_full(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lay(tmp_path / "x", FILES)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for victim in ("write_all", "sync_folder", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(atomic, victim, full)
            with pytest.raises(ContentError, match="bytes needed"):
                content.put(store, str(folder))
        assert not [p for p in Path(store).rglob("*") if p.is_file() and "manifests" in p.parts]
    assert content.has(store, content.put(store, str(folder)).digest)


def test_an_altered_blob_does_not_come_out_and_is_replaced_when_it_is_torn(store: str, tmp_path: Path) -> None:
    folder = lay(tmp_path / "x", {"a": b"0123456789"})
    stored = content.put(store, str(folder))
    blob = Path(blobs.blob(store, sha256(b"0123456789").hexdigest()))
    blob.chmod(0o644)
    blob.write_bytes(b"012345678X")
    with pytest.raises(ContentError, match="altered"):
        content.export(store, stored.digest, str(tmp_path / "out"))
    with pytest.raises(ContentError, match="altered"):
        checkout(store, stored.digest)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["store", "x"]
    blob.write_bytes(b"012")
    assert not content.has(store, stored.digest)
    content.put(store, str(folder))
    assert content.has(store, stored.digest)


def test_a_working_copy_is_made_once_and_anew_when_altered(store: str, tmp_path: Path) -> None:
    stored = content.put(store, str(lay(tmp_path / "x", FILES)))
    first = Path(checkout(store, stored.digest))
    inode = (first / "a.txt").stat().st_ino
    assert Path(checkout(store, stored.digest)) == first
    assert (first / "a.txt").stat().st_ino == inode
    assert {p.stat().st_mode & 0o222 for p in first.rglob("*")} == {0}
    facts = (first / "a.txt").stat()
    damages: list[Callable[[], object]] = [
        partial((first / "a.txt").write_bytes, b"B"),
        (first / "sub" / "new").touch,
        (first / "sub" / "deep" / "c").unlink,
    ]
    for damage in damages:
        for path in (first, first / "a.txt", first / "sub", first / "sub" / "deep"):
            path.chmod(0o755)
        damage()
        os.utime(first / "a.txt", ns=(facts.st_atime_ns, facts.st_mtime_ns))
        again = Path(checkout(store, stored.digest))
        assert {str(p.relative_to(again)): p.read_bytes() for p in again.rglob("*") if p.is_file()} == FILES


def test_many_may_make_one_working_copy_at_once(store: str, tmp_path: Path) -> None:
    stored = content.put(store, str(lay(tmp_path / "x", FILES)))
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(checkout(store, stored.digest))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert list(Path(store, "tmp").iterdir()) == []


PATHS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=8).filter(
        lambda name: name not in {".", ".."}
    ),
    min_size=1,
    max_size=3,
).map("/".join)


@given(st.dictionaries(PATHS, st.tuples(st.integers(0, 2**53), st.booleans()), max_size=8))
def test_a_manifest_has_one_text_and_comes_back(files: dict[str, tuple[int, bool]]) -> None:
    names = [n for n in files if not any(other.startswith(n + "/") for other in files)]
    entries = [manifest.Entry(n, files[n][0], "a" * 64, executable=files[n][1]) for n in names]
    text = manifest.Manifest("folder", entries).text()
    assert manifest.Manifest("folder", reversed(entries)).text() == text
    back = manifest.parse(text)
    assert back.text() == text
    assert [(e.path, e.size, e.executable) for e in back.entries] == [
        (n, *files[n]) for n in sorted(names, key=lambda n: n.encode())
    ]
    for line, entry in zip(text.decode().split("\n")[1:-1], back.entries, strict=True):
        assert json.loads(line) == [entry.path, entry.size, entry.sha256, "x" if entry.executable else "-"]


@pytest.mark.parametrize(
    "lines",
    [
        ['["../x",1,"{h}","-"]'],
        ['["/etc/x",1,"{h}","-"]'],
        ['["a/../../b",1,"{h}","-"]'],
        ['["a\\u0000b",1,"{h}","-"]'],
        ['["",1,"{h}","-"]'],
        ['["a",1,"{h}","-"]', '["a",1,"{h}","-"]'],
        ['["a",1,"{h}","-"]', '["a/b",1,"{h}","-"]'],
        ['["b",1,"{h}","-"]', '["a",1,"{h}","-"]'],
        ['["a",1,"../../etc/passwd","-"]'],
        ['["a",-1,"{h}","-"]'],
        ['["a",true,"{h}","-"]'],
        ['["a", 1,"{h}","-"]'],
        ['["a",1,"{h}"]'],
        ["nonsense"],
    ],
)
def test_a_manifest_that_leads_elsewhere_or_has_another_form_is_refused(
    store: str, tmp_path: Path, lines: list[str]
) -> None:
    text = "\n".join(["trainwright-manifest 1 folder", *lines, ""]).replace("{h}", "a" * 64).encode()
    digest = "sha256:" + sha256(text).hexdigest()
    name = Path(content.manifest_file(store, digest))
    name.parent.mkdir(parents=True)
    name.write_bytes(text)
    with pytest.raises(ContentError):
        content.export(store, digest, str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_an_altered_manifest_and_a_false_digest_are_refused(store: str, tmp_path: Path) -> None:
    stored = content.put(store, str(lay(tmp_path / "x", FILES)))
    with Path(content.manifest_file(store, stored.digest)).open("ab") as file:
        file.write(b"x")
    with pytest.raises(ContentError, match="altered"):
        content.read_manifest(store, stored.digest)
    for digest in ("sha256:../../x", "sha256:" + "A" * 64, "md5:" + "a" * 64):
        with pytest.raises(ContentError, match="not a digest"):
            content.has(store, digest)


def test_the_port_speaks_in_the_errors_of_the_tree(store: str, tmp_path: Path) -> None:
    port = LocalContent(Path(store))
    stored = port.put(lay(tmp_path / "x", FILES))
    assert port.has(stored.digest)
    assert port.put_files(tmp_path / "x", ("a.txt",)).files == 1
    assert port.entries(stored.digest)[0] == ("a.txt", 1, sha256(b"a").hexdigest())
    assert port.export(stored.digest, tmp_path / "out") == tmp_path / "out"
    absent = Digest("sha256:" + "0" * 64)
    assert not port.has(absent)
    with pytest.raises(NotFoundError) as none:
        port.entries(absent)
    with pytest.raises(BackendError) as failed:
        port.put(tmp_path / "nothing")
    assert (none.value.problem.code, failed.value.problem.code) == ("TW4101", "TW6101")


def test_three_hundred_small_files_are_stored_quickly(store: str, tmp_path: Path) -> None:
    folder = lay(tmp_path / "x", {f"{i % 10}/{i}": os.urandom(500) for i in range(300)})
    began = time.perf_counter()
    content.put(store, str(folder))
    assert time.perf_counter() - began < 2.0  # about 0.1 s; the bound only catches an fsync each on a slow disk
