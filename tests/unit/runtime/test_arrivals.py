"""Files from elsewhere arrive whole, once, and survive whatever ends the reception."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainwright.runtime import arrivals, content
from trainwright.runtime.arrivals import Arrival
from trainwright.runtime.errors import ContentError


def arrival(name: str, data: bytes, tag: str = "t", size: int | None = None) -> Arrival:
    return Arrival(name, len(data) if size is None else size, tag, lambda: iter([data]))


def broken() -> Iterator[bytes]:
    yield b"some"
    raise ConnectionResetError("reset")


def test_what_came_before_a_failure_does_not_come_again(tmp_path: Path) -> None:
    root = str(tmp_path)
    first_is_here = threading.Event()

    def late() -> Iterator[bytes]:
        first_is_here.wait(10)
        return broken()

    lists = [arrival("a", b"1"), Arrival("b", None, "t", late)]
    with pytest.raises(ConnectionResetError):
        arrivals.receive(root, arrivals.Reception("folder", "x", lists), lambda _: first_is_here.set())
    assert not (tmp_path / "manifests").exists()
    assert list((tmp_path / "tmp").iterdir()) == []
    came: list[int | None] = []
    arrivals.receive(root, arrivals.Reception("folder", "x", [arrival("a", b"1"), arrival("b", b"2")]), came.append)
    assert came == [None, 1]


def test_a_line_cut_short_by_a_kill_counts_for_nothing(tmp_path: Path) -> None:
    root = str(tmp_path)
    lists = [arrival("a", b"1"), arrival("b", b"2")]
    stored = arrivals.receive(root, arrivals.Reception("folder", "x", lists))
    (notes,) = (tmp_path / "known").iterdir()
    text = notes.read_bytes()
    for cut in range(0, len(text), 29):
        notes.write_bytes(text[:cut])
        assert arrivals.receive(root, arrivals.Reception("folder", "x", lists)).digest == stored.digest


def test_notes_of_blobs_that_are_gone_or_of_other_origins_help_nobody(tmp_path: Path) -> None:
    root = str(tmp_path)
    arrivals.receive(root, arrivals.Reception("folder", "x", [arrival("a", b"1")]))
    came: list[int | None] = []
    arrivals.receive(root, arrivals.Reception("folder", "y", [arrival("a", b"1")]), came.append)
    next(path for path in (tmp_path / "blobs").rglob("*") if path.is_file()).unlink()
    arrivals.receive(root, arrivals.Reception("folder", "x", [arrival("a", b"1")]), came.append)
    assert came == [1, 1]


def test_a_file_without_a_tag_always_comes_anew(tmp_path: Path) -> None:
    came: list[int | None] = []
    for _ in range(2):
        arrivals.receive(str(tmp_path), arrivals.Reception("file", "x", [arrival("a", b"1", tag="")]), came.append)
    assert came == [1, 1]


def test_many_threads_make_the_content_that_one_folder_is(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "d").mkdir(parents=True)
    lists = []
    for number in range(40):
        data = b"%d" % (number % 7)
        (folder / "d" / f"{number}").write_bytes(data)
        lists.append(arrival(f"d/{number}", data, tag=str(number)))
    there = arrivals.receive(str(tmp_path / "store"), arrivals.Reception("folder", "x", lists))
    here = content.put(str(tmp_path / "store"), str(folder))
    assert (there.digest, there.files, there.size_bytes) == (here.digest, here.files, here.size_bytes)
    assert content.has(str(tmp_path / "store"), there.digest)


@pytest.mark.parametrize("names", [["../a"], ["/a"], ["a\0"], ["a/"], ["a", "a"], ["a", "a/b"], [""], ["a//b"]])
def test_names_that_lead_elsewhere_never_arrive(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(ContentError):
        arrivals.receive(
            str(tmp_path / "s"), arrivals.Reception("folder", "x", [arrival(name, b"1") for name in names])
        )
    assert not (tmp_path / "s").exists()
