"""Tables in a dataset are read once by content, in pieces, by rules that are written down."""

import gzip
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from build import context
from trainwright.core.table import Table
from trainwright.service import datasets, measuring
from trainwright.service.context import Context
from trainwright.service.dataset_changes import compare
from trainwright.service.measuring import UnreadableTableError, format_of, measure
from trainwright.service.tables import describe
from trainwright.store import tables as store


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Context]:
    made = context(tmp_path)
    yield made
    made.database.close()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The forms of the files that are read from now on."""
    found: list[str] = []
    real = measuring.measure

    def watched(path: Path, form: str) -> Table:
        found.append(form)
        return real(path, form)

    monkeypatch.setattr(measuring, "measure", watched)
    return found


def put(world: Context, **files: str) -> None:
    for name, text in files.items():
        path = world.here / "d" / name.replace("__", "/").replace("_csv", ".csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    datasets.add(world, "d", "d")


def test_the_format_is_that_of_the_name() -> None:
    names = ["a.csv", "b/c.CSV.gz", "t.tsv.zst", "x.parquet", "y.jsonl", "y.ndjson.bz2", "x.parquet.gz", "csv", "a.txt"]
    assert [format_of(name) for name in names] == [
        "csv", "csv gzip", "tsv zstd", "parquet", "jsonl", "jsonl bz2", "", "", ""
    ]  # fmt: skip


def test_nulls_nan_and_infinities_are_counted_apart(tmp_path: Path) -> None:
    (tmp_path / "t").write_text('n,x,t,none\n1,2.5,a,\nNA,nan,"NA",\n3,inf,NA,\n-0,-0.5,,\n')
    found = {c.name: c for c in measure(tmp_path / "t", "csv").columns}
    n, x, t, none = (found[name] for name in ("n", "x", "t", "none"))
    assert (n.type, n.nulls, n.low, n.high, n.count) == ("int64", 1, 0, 3, 3)
    assert (x.nulls, x.nans, x.infinities, x.low, x.high, x.mean) == (0, 1, 1, -0.5, 2.5, 1.0)
    assert (t.nulls, t.low, t.high, t.distinct) == (2, "NA", "a", 2)
    assert (none.type, none.nulls, none.distinct) == ("null", 4, 0)


def test_figures_are_those_of_pandas_in_every_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_PIECE_BYTES", 1000)
    monkeypatch.setattr(measuring, "_PIECE_ROWS", 64)
    frame = pd.DataFrame(
        {"i": range(500), "f": [i * 0.37 - 50 for i in range(500)], "s": [f"v{i % 7}" for i in range(500)]}
    )
    frame["b"] = frame["i"] % 3 == 0
    frame.to_csv(tmp_path / "csv", index=False)
    frame.to_csv(tmp_path / "tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "parquet")
    frame.to_json(tmp_path / "jsonl", orient="records", lines=True)
    (tmp_path / "csv gzip").write_bytes(gzip.compress((tmp_path / "csv").read_bytes()))
    for form in ("csv", "tsv", "parquet", "jsonl", "csv gzip"):
        table = measure(tmp_path / form, form)
        assert table.rows == 500
        i, f, s, b = table.columns
        for column, wanted in ((i, frame["i"]), (f, frame["f"])):
            assert (column.low, column.high) == pytest.approx((wanted.min(), wanted.max()))
            assert (column.mean, column.std) == pytest.approx((wanted.mean(), wanted.std()))
            assert abs(column.distinct - 500) < 150
        assert (s.type.removeprefix("large_"), s.low, s.high, s.distinct, s.is_exact) == ("string", "v0", "v6", 7, True)
        assert (b.type, b.low, b.high) == ("bool", 0, 1)
        assert b.mean == pytest.approx(frame["b"].mean())


def test_a_type_that_later_values_do_not_fit_becomes_wider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_PIECE_BYTES", 200)
    rows = [f"{i},{i},," for i in range(100)] + ["x,2.5,late,", "1,nan,,"]
    (tmp_path / "t").write_text("\n".join(["a,b,c,d", *rows]))
    found = [(c.name, c.type, c.rows, c.nulls, c.distinct) for c in measure(tmp_path / "t", "csv").columns]
    assert found == [
        ("a", "string", 102, 0, 101),
        ("b", "double", 102, 0, 101),
        ("c", "string", 102, 101, 1),
        ("d", "null", 102, 102, 0),
    ]


def test_large_whole_numbers_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("a\n" + "\n".join(str(2**53 + i) for i in range(4)))
    (column,) = measure(tmp_path / "t", "csv").columns
    assert (column.low, column.high, column.distinct) == (2**53, 2**53 + 3, 4)


@pytest.mark.parametrize(("text", "form"), [("a,b\n1\n", "csv"), ("{", "jsonl"), ("PAR", "parquet"), ("x", "csv gzip")])
def test_what_is_no_table_is_told_in_one_line(tmp_path: Path, text: str, form: str) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises((UnreadableTableError, OSError)) as caught:
        measure(tmp_path / "t", form)
    assert "\n" not in str(caught.value)


def test_nothing_is_no_rows(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("")
    assert [measure(tmp_path / "t", form) for form in ("csv", "jsonl")] == [Table(0, ()), Table(0, ())]
    (tmp_path / "t").write_text("a,b\n")
    assert [c.name for c in measure(tmp_path / "t", "csv").columns] == ["a", "b"]


def test_two_columns_of_one_name_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("a,a\n1,x\n")
    assert [(c.name, c.low) for c in measure(tmp_path / "t", "csv").columns] == [("a", 1), ("a (2)", "x")]


def test_what_is_known_of_a_table_is_kept_as_it_is(world: Context, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a,b,c,d\n1,NaN,NaN,9007199254740993\n2,inf,"Infinity",-1\n')
    table = measure(tmp_path / "t.csv", "csv")
    with world.database.writing() as rows:
        store.keep(rows, {("s", "csv 1"): table}, world.clock.now())
    with world.database.reading() as rows:
        assert store.known(rows, [("s", "csv 1"), ("s", "tsv 1")]) == {("s", "csv 1"): table}


def test_a_new_version_reads_only_files_that_changed(world: Context, read: list[str]) -> None:
    put(world, a_csv="x\n1\n", b_csv="x\n2\n", again_csv="x\n1\n")
    (table,) = describe(world, "d").tables
    assert (table.name, table.table.rows, table.files) == ("*.csv", 3, ("a.csv", "again.csv", "b.csv"))
    assert read == ["csv", "csv"], "equal files are read once"
    put(world, b_csv="x\n3\n")
    assert describe(world, "d@2").tables[0].table.columns[0].high == 3
    assert len(read) == 3
    describe(world, "d@1")
    describe(world, "d#path=a.csv")
    assert len(read) == 3


def test_quick_reads_nothing_new_and_says_so(world: Context, read: list[str]) -> None:
    put(world, a_csv="x\n1\n", b_csv="y\n2\n")
    found = describe(world, "d", quick=True)
    assert (found.tables, found.unread) == ((), {"a.csv": "not read before", "b.csv": "not read before"})
    assert (read, len(found.files)) == ([], 2)


def test_without_pyarrow_names_and_sizes_are_left(world: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "can_measure", lambda: False)
    put(world, a_csv="x\n1\n")
    found = describe(world, "d")
    assert found.unread == {"a.csv": "pyarrow is not installed: pip install trainwright[tables]"}
    assert [(f.path, f.size_bytes) for f in found.files] == [("a.csv", 4)]


def test_files_of_one_folder_and_the_same_columns_are_one_table(world: Context) -> None:
    put(
        world,
        split=("ignored"),
        k__v__a_csv="x\n1\n",
        k__v__b_csv="x\n1\n2\n",
        k__labels_csv="y\n1\n",
        k__z_csv="x\n9\n",
    )
    found = describe(world, "datasets/d@1")
    assert [(t.name, t.table.rows) for t in found.tables] == [("k/labels.csv", 1), ("k/v/*.csv", 3), ("k/z.csv", 1)]


def test_partitions_are_one_table(world: Context) -> None:
    for split in ("train", "test"):
        path = world.here / "d" / f"split={split}" / "a.csv"
        path.parent.mkdir(parents=True)
        path.write_text("x\n1\n")
    datasets.add(world, "d", "d")
    assert [(t.name, len(t.files)) for t in describe(world, "d").tables] == [("split=*/*.csv", 2)]


def test_a_damaged_table_does_not_hide_the_others(world: Context) -> None:
    put(world, a_csv="x,y\n1\n", b_csv="x\n2\n")
    found = describe(world, "d")
    assert [t.name for t in found.tables] == ["b.csv"]
    assert found.unread["a.csv"].startswith("CSV parse error")


def test_a_renamed_table_is_compared_with_what_it_was(world: Context) -> None:
    put(world, one_csv="x\n1\n")
    (world.here / "d" / "one.csv").unlink()
    put(world, two_csv="x\n1\n2\n")
    found = compare(world, "d")
    assert (found.before.address, found.after.address) == ("datasets/d@1", "datasets/d@2")
    (change,) = found.tables
    assert (change.name, change.kind) == ("two.csv", "changed")
    figures = {(f.column, f.what): (f.before, f.after) for f in change.figures}
    assert figures["", "rows"] == (1, 2)
    assert figures["x", "max"] == (1, 2)


def test_slices_can_be_compared(world: Context) -> None:
    put(world, train_csv="x\n1\n", test_csv="x\n1\n")
    put(world, test_csv="x\n5\n")
    assert compare(world, "d#split=train").files == ()
    assert [c.path for c in compare(world, "d#split=test").files] == ["test.csv"]
    across = compare(world, "d@2#split=train", "d@2#split=test")
    assert (across.before.address, [c.kind for c in across.files]) == ("datasets/d@2#split=train", ["added", "removed"])


def test_json_lines_of_many_pieces_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_PIECE_BYTES", 64)
    lines = [json.dumps({"a": i, "long": "x" * (i * 7 % 200)}) for i in range(100)]
    (tmp_path / "t").write_text("\n".join(lines))
    table = measure(tmp_path / "t", "jsonl")
    assert (table.rows, table.columns[0].high) == (100, 99)


def test_every_type_of_parquet_is_read_and_what_has_no_order_only_counted(tmp_path: Path) -> None:
    table = pa.table(
        {
            "duration": pa.array([1, None], pa.duration("us")),
            "date": pa.array([1, 2], pa.date32()),
            "at": pa.array([1, 2], pa.timestamp("ns", "UTC")),
            "bytes": pa.array([b"a", b"b"]),
            "list": pa.array([[1], None]),
            "record": pa.array([{"a": 1}, {"a": 2}]),
            "decimal": pa.array([Decimal("1.50"), Decimal("2.25")]),
            "half": pa.array([1.5, float("nan")], pa.float16()),
            "words": pa.array(["x", None]).dictionary_encode(),
            "view": pa.array(["a", "b"], pa.string_view()),
            "large": pa.array([2**64 - 1, 1], pa.uint64()),
        }
    )
    pq.write_table(table, tmp_path / "t")
    found = {c.name: (c.nulls, c.nans, c.low, c.high, c.distinct) for c in measure(tmp_path / "t", "parquet").columns}
    assert found == {
        "duration": (1, 0, None, None, 0),
        "date": (0, 0, "1970-01-02", "1970-01-03", 2),
        "at": (0, 0, "1970-01-01 00:00:00.000000001Z", "1970-01-01 00:00:00.000000002Z", 2),
        "bytes": (0, 0, None, None, 0),
        "list": (1, 0, None, None, 0),
        "record": (0, 0, None, None, 0),
        "decimal": (0, 0, 1.5, 2.25, 2),
        "half": (0, 1, 1.5, 1.5, 1),
        "words": (1, 0, "x", "x", 1),
        "view": (0, 0, "a", "b", 2),
        "large": (0, 0, 1, 2**64 - 1, 2),
    }
