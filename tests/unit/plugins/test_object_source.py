"""Listings of object stores are not trusted, and what is here is not fetched again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from trainwright.core.errors import BackendError, DeniedError, NotFoundError, SpecError, TransientBackendError
from trainwright.plugins.sources.object import ObjectSource
from trainwright.plugins.stores.local import LocalContent
from trainwright.ports.content import Intake
from trainwright.ports.source import FileSet, RemoteFiles
from trainwright.service.fetching import store as store_found

BASE = Path("/")


class Store:
    """A bucket that lists whatever keys it is told, as a hostile one would."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self.keys = dict(keys)
        self.opened: list[str] = []
        self.fails: Exception | None = None

    def invalidate_cache(self) -> None:
        """Nothing is kept."""

    def info(self, path: str) -> dict[str, Any]:
        if self.fails is not None:
            raise self.fails
        if path in self.keys:
            return self._told(path)
        if any(key.startswith(path.rstrip("/") + "/") for key in self.keys):
            return {"name": path, "type": "directory", "size": 0}
        raise FileNotFoundError(path)

    def ls(self, path: str, detail: bool) -> list[dict[str, Any]]:
        if self.fails is not None:
            raise self.fails
        prefix = path.rstrip("/") + "/"
        inside = [key[len(prefix) :] for key in self.keys if key.startswith(prefix)]
        if not inside:
            raise FileNotFoundError(path)
        folders = {name.partition("/")[0] for name in inside if "/" in name.rstrip("/")}
        files = [self._told(prefix + name) for name in inside if "/" not in name.rstrip("/")]
        return [{"name": prefix + name, "type": "directory", "size": 0} for name in sorted(folders)] + files

    def open(self, key: str, mode: str, block_size: int) -> Any:
        import io

        self.opened.append(key)
        return io.BytesIO(self.keys[key])

    def _told(self, key: str) -> dict[str, Any]:
        tag = hex(hash(self.keys[key]))
        return {"name": key, "type": "file", "size": len(self.keys[key]), "ETag": f'"{tag}"'}


def source(store: Any) -> ObjectSource:
    return ObjectSource(lambda uri: (store, uri.partition("://")[2]))


def located(store: Store, uri: str = "s3://b/p/") -> RemoteFiles:
    found = source(store).locate(uri, BASE)
    assert isinstance(found, RemoteFiles)
    return found


@pytest.mark.parametrize(
    "key", ["b/p/../x", "b/p//etc/passwd", "b/p/d/../../../x", "b/p/a\0b", "b/p/./x", "b/p/a/", "b/p/\udcff"]
)
def test_what_would_leave_the_folder_is_refused(tmp_path: Path, key: str) -> None:
    store = Store({"b/p/a": b"1", key: b"evil"})
    with pytest.raises(BackendError) as caught:
        LocalContent(tmp_path / "store").receive(located(store), lambda _: None)
    assert caught.value.problem.code == "TW6402"
    assert caught.value.problem.remedy
    assert store.opened == []
    assert not list(tmp_path.rglob("x"))
    assert not (tmp_path / "store" / "manifests").exists()


def test_a_file_that_is_a_folder_as_well_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="twice"):
        LocalContent(tmp_path).receive(located(Store({"b/p/a": b"1", "b/p/a/b": b"2"})), lambda _: None)


def test_markers_of_folders_are_no_files(tmp_path: Path) -> None:
    store = Store({"b/p/": b"", "b/p/d/": b"", "b/p/d/a.csv": b"1", "b/p/b.csv": b"2"})
    assert [file.path for file in located(store).files] == ["b.csv", "d/a.csv"]


def test_only_what_changed_is_fetched_again(tmp_path: Path) -> None:
    store = Store({"b/p/a": b"1", "b/p/b": b"2"})
    content = LocalContent(tmp_path)
    first = content.receive(located(store), lambda _: None)
    arrived: list[int | None] = []
    assert content.receive(located(store), arrived.append) == first
    assert arrived == [None, None]
    store.keys["b/p/b"] = b"33"
    changed = content.receive(located(store), arrived.append)
    assert changed.digest != first.digest
    assert sorted(store.opened) == ["b/p/a", "b/p/b", "b/p/b"]
    assert content.entries(changed.digest)[1][1] == 2


def test_more_than_the_limit_is_not_fetched_unasked_and_what_is_here_does_not_count(tmp_path: Path) -> None:
    store = Store({"b/p/a": b"12345", "b/p/b": b"6"})
    content = LocalContent(tmp_path, 5)
    with pytest.raises(DeniedError, match="holds 6B in 2") as caught:
        content.receive(located(store), lambda _: None)
    assert caught.value.problem.code == "TW3511"
    assert "--copy" in caught.value.problem.remedy
    assert store.opened == []
    content.receive(located(store), lambda _: None, Intake(any_size=True))
    store.keys["b/p/b"] = b"67"
    assert content.receive(located(store), lambda _: None).size_bytes == 7


def test_a_pattern_is_held_to_the_limit_and_code_is_not(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"123456")
    content = LocalContent(tmp_path / "store", 5)
    with pytest.raises(DeniedError):
        store_found(content, FileSet(tmp_path, ("a.csv",), "*.csv"), "*.csv")
    assert store_found(content, FileSet(tmp_path, ("a.csv",), "*.csv"), "*.csv", Intake(any_size=True))[0].files == 1
    assert LocalContent(tmp_path / "other", 5).put_files(tmp_path, ("a.csv",)).files == 1


def test_content_from_elsewhere_is_that_of_the_same_folder_here(tmp_path: Path) -> None:
    (tmp_path / "here" / "d").mkdir(parents=True)
    (tmp_path / "here" / "d" / "a").write_bytes(b"1")
    content = LocalContent(tmp_path / "store")
    assert content.receive(located(Store({"b/p/d/a": b"1"})), lambda _: None) == content.put(tmp_path / "here")
    (tmp_path / "a").write_bytes(b"1")
    single = content.receive(located(Store({"b/p/a": b"1"}), "s3://b/p/a"), lambda _: None)
    assert single == content.put(tmp_path / "a")


def test_a_file_that_is_shorter_than_listed_is_not_stored(tmp_path: Path) -> None:
    store = Store({"b/p/a": b"1234"})
    found = located(store)
    store.keys["b/p/a"] = b"12"
    with pytest.raises(BackendError, match="has 2 bytes and was listed with 4"):
        LocalContent(tmp_path).receive(found, lambda _: None)
    assert not (tmp_path / "manifests").exists()


def test_a_pattern_takes_what_matches_and_says_when_nothing_does() -> None:
    store = Store({"b/p/a.csv": b"1", "b/p/b.txt": b"2", "b/p/d/c.csv": b"3"})
    assert [file.path for file in located(store, "s3://b/p/*.csv").files] == ["a.csv"]
    assert [file.path for file in located(store, "s3://b/**/*.csv").files] == ["p/a.csv", "p/d/c.csv"]
    with pytest.raises(NotFoundError) as caught:
        located(store, "s3://b/p/*.parquet")
    assert caught.value.problem.code == "TW4305"


def test_an_object_whose_name_looks_like_a_pattern_is_itself() -> None:
    store = Store({"b/p/a[1].csv": b"1", "b/p/a1.csv": b"2"})
    assert [file.path for file in located(store, "s3://b/p/a[1].csv").files] == ["a[1].csv"]


@pytest.mark.parametrize(
    ("raised", "kind", "code"),
    [
        (FileNotFoundError("x"), NotFoundError, "TW4306"),
        (PermissionError("no"), BackendError, "TW6401"),
        (RuntimeError("\x1b[31mbroken\x1b[0m\nline"), TransientBackendError, "TW6401"),
        (ImportError("no", name="gcsfs"), NotFoundError, "TW4301"),
    ],
)
def test_whatever_a_library_raises_becomes_one_sentence(
    monkeypatch: pytest.MonkeyPatch, raised: Exception, kind: type[Exception], code: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://user@minio.example:9000/x")
    store = Store({})
    store.fails = raised
    with pytest.raises(kind) as caught:
        located(store)
    problem = caught.value.problem  # type: ignore[attr-defined]
    assert (problem.code, bool(problem.remedy)) == (code, True)
    if code == "TW6401":
        assert "minio.example:9000" in problem.message
        assert not {"\x1b", "\n"} & set(problem.message)


def test_a_missing_library_names_what_to_install() -> None:
    with pytest.raises(NotFoundError) as caught:
        ObjectSource().locate("gs://bucket/key", BASE)
    assert caught.value.problem.remedy == "pip install 'trainwright[gcs]'"


def test_a_store_without_versions_cannot_be_referred_to() -> None:
    fs = MemoryFileSystem()
    fs.pipe_file("/b/k", b"1")
    for uri in ("memory://b/k", "s3://b/k"):
        with pytest.raises(SpecError) as caught:
            source(fs).locate(uri, BASE, reference=True)
        assert caught.value.problem.code == "TW2112"
    for uri in ("s3://", "s3:///"):
        with pytest.raises(SpecError, match="names no object"):
            source(fs).locate(uri, BASE)
