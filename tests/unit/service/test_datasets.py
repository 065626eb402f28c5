"""Datasets: equal content is the same version, and an address leads to one version."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from build import context
from trainwright.core.errors import NotFoundError, SpecError, TrainwrightError
from trainwright.service import datasets
from trainwright.service.context import Context


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Context]:
    """Dataset ``digits`` with two versions, made from one file that changed."""
    made = context(tmp_path)
    for text in ("one", "two"):
        (tmp_path / "raw.csv").write_text(text)
        datasets.add(made, "digits", "raw.csv")
    yield made
    made.database.close()


def audits(world: Context) -> int:
    with world.database.reading() as rows:
        return rows.number("SELECT count(*) FROM audit WHERE action = 'dataset.added'")


def test_equal_content_is_the_version_that_exists(world: Context, tmp_path: Path) -> None:
    (tmp_path / "again.csv").write_text("one")
    (tmp_path / "raw.csv").write_text("one")
    version, is_new = datasets.add(world, "digits", "raw.csv")
    assert (version.version, is_new) == (1, False)
    assert audits(world) == 2
    other, is_new = datasets.add(world, "ads/clicks", "raw.csv")
    assert (other.address, is_new, other.content) == ("datasets/ads/clicks@1", True, version.content)
    assert (other.source, other.added_by) == (str(tmp_path / "raw.csv"), "ada")


def test_versions_count_up_and_come_newest_first(world: Context) -> None:
    assert [v.version for v in datasets.versions(world, "digits")] == [2, 1]
    assert [v.address for v in datasets.versions(world)] == ["datasets/digits@2", "datasets/digits@1"]


def resolved(world: Context, address: str) -> int | str:
    try:
        return datasets.resolve(world, address).version
    except TrainwrightError as error:
        return error.problem.code


def test_every_form_of_address_leads_to_its_version(world: Context) -> None:
    digest = str(datasets.versions(world, "digits")[1].content.digest)
    asked = ["", "@latest", "@1", "@2", f"@{digest}", f"@{digest[:13]}", f"@{digest[:12]}", "@3", "@v1", "@0"]
    found = [resolved(world, f"datasets/digits{tail}") for tail in asked]
    assert found == [2, 2, 1, 2, 1, 1, "TW4202", "TW4202", "TW4202", "TW4202"]
    assert resolved(world, "datasets/digts") == "TW4201"


def test_an_unknown_version_is_told_which_there_are(world: Context) -> None:
    with pytest.raises(NotFoundError) as caught:
        datasets.resolve(world, "datasets/digits@7", "f.yaml:3:4")
    assert (caught.value.problem.where, caught.value.problem.remedy) == ("f.yaml:3:4", "it has 1, 2; or use @latest")
    with pytest.raises(NotFoundError, match="did you mean digits"):
        datasets.versions(world, "digit")


@pytest.mark.parametrize("name", ["", "a//b", "/a", "a/", "1a", "a b", "a..b", "../a", "a@1"])
def test_a_name_that_could_not_be_addressed_is_refused(world: Context, name: str) -> None:
    with pytest.raises(SpecError) as caught:
        datasets.add(world, name, "raw.csv")
    assert caught.value.problem.code == "TW2101"


def test_what_a_pipeline_asks_for_is_pinned_to_content(world: Context, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x.csv").write_text("x")
    asked = {"b": "datasets/digits@latest", "a": "x.csv", "c": "file:x.csv"}
    pinned = datasets.pin(world, asked, tmp_path / "sub", {})
    assert [(p.name, p.asked, p.address) for p in pinned] == [
        ("a", "x.csv", str(tmp_path / "sub" / "x.csv")),
        ("b", "datasets/digits@latest", "datasets/digits@2"),
        ("c", "file:x.csv", str(tmp_path / "sub" / "x.csv")),
    ]
    assert pinned[0].content == pinned[2].content


def test_an_unknown_scheme_is_told_the_known_ones(world: Context) -> None:
    with pytest.raises(SpecError) as caught:
        datasets.locate(world, "fle:x", world.here)
    assert (caught.value.problem.code, caught.value.problem.remedy) == ("TW2102", "did you mean file?")
    with pytest.raises(NotFoundError) as missing:
        datasets.add(world, "digits", "nowhere.csv")
    assert missing.value.problem.code == "TW4303"
