"""What looks as it did is not read again; whatever may have been edited is, and a damaged memory is no memory."""

import os
import time
from pathlib import Path

import pytest

from trainwright.runtime import blobs, content, index, staging
from trainwright.runtime.errors import ContentError, TooMuch
from trainwright.runtime.intake import Wish

REMEMBERED = Wish(remembered=True)
STRICT = Wish(remembered=True, strict=True)


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "store")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that was written well before anybody looks at it."""
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(20):
        (folder / f"{number}").write_bytes(b"%d" % number)
    later(monkeypatch, 10)
    return folder


def later(monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    at_ns = time.time_ns() + seconds * 10**9
    monkeypatch.setattr("trainwright.runtime.content.time.time_ns", lambda: at_ns)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read, as they are read."""
    names: list[str] = []
    honest = staging.whole

    def noted(fd: int, source: bytes, size: int) -> bytes:
        names.append(Path(os.fsdecode(source)).name)
        return honest(fd, source, size)

    monkeypatch.setattr(staging, "whole", noted)
    return names


def test_unchanged_data_is_not_read_again_and_strict_reads_all(store: str, data: Path, reads: list[str]) -> None:
    first = content.put(store, str(data), REMEMBERED).digest
    assert len(reads) == 20
    reads.clear()
    again = content.put(store, str(data), REMEMBERED)
    assert (again.digest, again.files, again.size_bytes, reads) == (first, 20, 30, [])
    assert content.put(store, str(data), STRICT).digest == first
    assert len(reads) == 20


def test_only_what_changed_is_read(store: str, data: Path, reads: list[str]) -> None:
    first = content.put(store, str(data), REMEMBERED).digest
    reads.clear()
    (data / "3").write_bytes(b"other")
    (data / "new").write_bytes(b"new")
    (data / "4").unlink()
    second = content.put(store, str(data), REMEMBERED).digest
    assert (sorted(reads), second != first) == (["3", "new"], True)
    assert second == content.put(store + "2", str(data)).digest


def test_an_edit_that_keeps_size_and_mtime_is_given_away_by_ctime(store: str, data: Path) -> None:
    first = content.put(store, str(data), REMEMBERED).digest
    facts = (data / "5").stat()
    (data / "5").write_bytes(b"X")
    os.utime(data / "5", ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert content.put(store, str(data), REMEMBERED).digest != first


def test_what_was_written_just_now_is_not_trusted(store: str, tmp_path: Path, reads: list[str]) -> None:
    (tmp_path / "fresh").write_bytes(b"1")
    content.put(store, str(tmp_path / "fresh"), REMEMBERED)
    content.put(store, str(tmp_path / "fresh"), REMEMBERED)
    assert reads == ["fresh", "fresh"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: b"",
        lambda text: b"\0" * 100,
        lambda text: text[:-9],
        lambda text: text.replace(b'"format":1', b'"format":2'),
        lambda text: text.replace(b"a", b"b"),
        lambda text: text.partition(b"\n")[0] + b"\n[]",
    ],
)
def test_a_damaged_or_foreign_index_is_ignored(store: str, data: Path, reads: list[str], damage) -> None:
    first = content.put(store, str(data), REMEMBERED).digest
    file = Path(index.of_path(store, str(data)))
    file.write_bytes(damage(file.read_bytes()))
    reads.clear()
    assert content.put(store, str(data), REMEMBERED).digest == first
    assert len(reads) == 20
    reads.clear()
    content.put(store, str(data), REMEMBERED)
    assert reads == []


def test_a_missing_blob_is_stored_again_whatever_the_index_says(store: str, data: Path, reads: list[str]) -> None:
    stored = content.put(store, str(data), REMEMBERED)
    entry = content.read_manifest(store, stored.digest).entries[7]
    Path(blobs.blob(store, entry.sha256)).unlink()
    reads.clear()
    content.put(store, str(data), REMEMBERED)
    assert reads == [entry.path]
    assert content.has(store, stored.digest)


def test_a_missing_manifest_is_written_again(store: str, data: Path) -> None:
    stored = content.put(store, str(data), REMEMBERED)
    Path(content.manifest_file(store, stored.digest)).unlink()
    assert content.put(store, str(data), REMEMBERED).digest == stored.digest
    assert content.has(store, stored.digest)


def test_more_than_the_limit_is_refused_before_a_byte_is_copied(store: str, data: Path) -> None:
    with pytest.raises(TooMuch) as caught:
        content.put(store, str(data), Wish(remembered=True, limit=29))
    assert (caught.value.size_bytes, caught.value.files) == (30, 20)
    assert not [path for path in Path(store).rglob("*") if path.is_file() and path.name != "lock"]
    content.put(store, str(data), REMEMBERED)
    content.put(store, str(data), Wish(remembered=True, limit=0))  # nothing is left to copy


def test_what_does_not_fit_on_the_disk_is_refused_first(store: str, tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 43)
    with pytest.raises(ContentError, match="8796093022208 bytes needed"):
        content.put(store, str(tmp_path / "huge"))


@pytest.mark.parametrize("size", [(1 << 20) + 1, 4 << 20, (4 << 20) + 4095, 9_000_000])
def test_large_files_come_out_as_they_went_in_also_past_the_page_cache(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(blobs, "LARGE_BYTES", blobs.CHUNK)
    (tmp_path / "x").write_bytes(os.urandom(size))
    stored = content.put(store, str(tmp_path / "x"))
    out = content.export(store, stored.digest, str(tmp_path / "out"))
    assert Path(out).read_bytes() == (tmp_path / "x").read_bytes()
    assert content.put(store, str(tmp_path / "x")).digest == stored.digest
    assert list(Path(store, "tmp").iterdir()) == []


def test_many_files_are_dealt_to_threads_when_reading_waits(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(700):
        (many / f"{number}").write_bytes(b"%d" % (number % 300))
    alone = content.put(store, str(many)).digest
    monkeypatch.setattr("trainwright.runtime.intake._WAITING", -1.0)
    told: list[tuple[int, int, int, int]] = []
    wish = Wish(progress=lambda *numbers: told.append(numbers))
    assert content.put(store + "2", str(many), wish).digest == alone
    assert (len(told), {numbers[2] for numbers in told}) == (700, {700})
    assert list(Path(store + "2", "tmp").iterdir()) == []
