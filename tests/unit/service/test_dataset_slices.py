"""A slice is content of its own over the same files, and only what is in it counts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from build import context
from trainwright.core.artifact import DatasetVersion
from trainwright.core.errors import NotFoundError, SpecError
from trainwright.core.lineage import NodeKind
from trainwright.service import datasets
from trainwright.service.context import Context
from trainwright.service.lineage import upstream


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Context]:
    made = context(tmp_path)
    yield made
    made.database.close()


def add(world: Context, **files: str) -> DatasetVersion:
    for name, text in files.items():
        path = world.here / "digits" / f"split={name}" / "a.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return datasets.add(world, "digits", "digits")[0]


def test_a_change_elsewhere_leaves_a_slice_what_it_is(world: Context) -> None:
    add(world, train="1", test="2")
    add(world, test="3")
    asked = {
        f"{split}{number}": f"datasets/digits@{number}#split={split}"
        for split in ("train", "test")
        for number in (1, 2)
    }
    pinned = {p.name: p for p in datasets.pin(world, asked, world.here, {})}
    assert pinned["train1"].content == pinned["train2"].content
    assert pinned["test1"].content != pinned["test2"].content
    assert pinned["train2"].address == "datasets/digits@2#split=train"
    assert [path for path, _, _ in world.content.entries(pinned["train2"].content.digest)] == ["split=train/a.csv"]


def test_nothing_is_copied_for_a_slice(world: Context) -> None:
    version = add(world, train="1", test="2")
    before = sorted((world.here / "content" / "blobs").rglob("*"))
    (cut,) = datasets.pin(world, {"raw": "datasets/digits#split=train"}, world.here, {})
    assert sorted((world.here / "content" / "blobs").rglob("*")) == before
    assert (cut.content.files, version.content.files) == (1, 2)
    assert world.content.has(cut.content.digest)


def test_two_spellings_give_one_address(world: Context) -> None:
    add(world, train="1", test="2")
    texts = [
        "datasets/digits@latest#split=train&path=**",
        "datasets/digits#path=**/&split=train",
        "datasets/digits@1#path=./**&split=train",
    ]
    pinned = datasets.pin(world, {f"d{i}": text for i, text in enumerate(texts)}, world.here, {})
    assert {p.address for p in pinned} == {"datasets/digits@1#path=**&split=train"}
    assert len({p.content.digest for p in pinned}) == 1


def refusal(world: Context, address: str) -> list[str]:
    with pytest.raises((NotFoundError, SpecError)) as caught:
        datasets.pin(world, {"raw": address}, world.here, {"raw": "p.yaml:3:1"})
    problem = caught.value.problem
    return [problem.code, problem.where, problem.why, problem.remedy]


def test_an_empty_slice_is_refused_with_what_there_is(world: Context) -> None:
    add(world, train="1", test="2")
    assert refusal(world, "datasets/digits#split=trian") == [
        "TW4203", "p.yaml:3:1", "there is split=test, split=train", "did you mean split=train?"
    ]  # fmt: skip
    assert refusal(world, "datasets/digits#path=split=train/b.csv")[3] == "did you mean path=split=train/a.csv?"
    assert refusal(world, "datasets/digits#split=train&path=split=test")[3] == "choose one of these"
    assert refusal(world, "datasets/digits#train")[0] == "TW2121"
    assert refusal(world, "datasets/digits#")[0] == "TW2121"


def test_a_slice_leads_back_to_its_source(world: Context) -> None:
    version = add(world, train="1", test="2")
    found = upstream(world, "datasets/digits@latest#split=train")
    root = found.nodes[0]
    assert (root.address, root.kind, root.note) == ("datasets/digits@1#split=train", NodeKind.SLICE, "1 file, 1B")
    assert [node.address for node in found.nodes[1:]] == ["datasets/digits@1", version.source]
