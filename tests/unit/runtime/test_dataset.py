"""``tw.Dataset``: data in the hands of a function."""

from pathlib import Path

import pandas as pd
import pytest

import trainwright as tw


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b" / "c.csv").write_text("x,y\n3,4\n")
    (tmp_path / "readme.md").write_text("about")
    return tmp_path


def test_files_are_sorted_and_a_file_is_itself(folder: Path) -> None:
    assert tw.Dataset(folder).files() == [folder / "a.csv", folder / "b" / "c.csv", folder / "readme.md"]
    assert tw.Dataset(folder / "a.csv").files() == [folder / "a.csv"]


def test_tables_of_one_format_are_put_together(folder: Path) -> None:
    assert tw.Dataset(folder).pandas().to_dict("list") == {"x": [1, 3], "y": [2, 4]}
    assert tw.Dataset(folder).arrow().to_pydict() == {"x": [1, 3], "y": [2, 4]}


@pytest.mark.parametrize("name", ["t.parquet", "t.csv.gz", "t.tsv", "t.jsonl"])
def test_the_ending_says_the_format(name: str, tmp_path: Path) -> None:
    table, path = pd.DataFrame({"x": [1, 2]}), tmp_path / name
    if name.endswith(".parquet"):
        table.to_parquet(path)
    elif name.endswith(".jsonl"):
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, index=False, sep="\t" if name.endswith(".tsv") else ",")
    assert tw.Dataset(path).pandas().to_dict("list") == {"x": [1, 2]}


def test_options_go_to_the_reader(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("1;2\n")
    assert tw.Dataset(tmp_path / "t.csv").pandas(header=None, sep=";").shape == (1, 2)


def test_what_holds_no_table_says_what_it_holds(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"no table .*: readme.md"):
        tw.Dataset(folder / "readme.md").pandas()
    (folder / "d.parquet").touch()
    with pytest.raises(ValueError, match="several formats"):
        tw.Dataset(folder).pandas()


def test_a_table_is_read_at_its_version_by_every_library(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    from trainwright.runtime import tables

    asked = []

    def arrow(*words: str) -> object:
        asked.append(words)
        return pa.table({"x": [1, 2]})

    monkeypatch.setattr(tables, "arrow", arrow)
    table = tw.Dataset("s3://b/t", uri="delta+s3://b/t?version=3", version="3", kind="delta", table="id")
    assert list(table.pandas()["x"]) == [1, 2]
    assert table.arrow().num_rows == 2
    assert asked == [("delta", "s3://b/t", "3", "id")] * 2
    with pytest.raises(ValueError, match="is a table at s3://b/t, not a file here"):
        _ = table.path
    assert str(tw.Dataset("/t", uri="delta:/t?version=3", version="3", kind="delta").path) == "/t"
