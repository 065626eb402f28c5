"""What is expected of a table is judged by pandera; every figure is a metric, every failure names its rows."""

from pathlib import Path

import pandas as pd
import pandera.pandas as pandera
import pyarrow as pa
import pytest

from trainwright.runtime.expect import expect
from trainwright.runtime.formats import RefusedValue
from trainwright.runtime.frames import frame

TABLE = pd.DataFrame(
    {
        "age": [30.0, 130.0, None, -1.0],
        "label": ["a", "b", "z", None],
        "id": [1, 1, 2, 3],
        "code": ["x1", "x22", "y1", "x3"],
        "flag": [True, False, True, True],
        "at": pd.to_datetime(["2026-01-01", "2026-02-01", "2026-03-01", None]),
    }
)


def failures(wanted: object, table: object = TABLE) -> dict[str, int]:
    return {f"{f.column}.{f.check}": f.count for f in expect(table, wanted).failures}


def of(column: str, **asked: object) -> dict[str, int]:
    return failures({"columns": {column: asked}})


def test_every_expectation_holds_or_is_counted() -> None:
    assert of("age", range=[0, 120]) == {"age.range": 2}
    assert of("age", range=[None, 120]) == {"age.range": 1}
    assert of("age", range=[-1, None]) == {}
    assert of("at", range=["2026-01-15", None]) == {"at.range": 1}
    assert of("label", **{"in": ["a", "b"]}) == {"label.in": 1}
    assert of("id", unique=True) == {"id.unique": 1}
    assert of("id", unique=False) == {}
    assert of("age", nulls=0.25) == {}
    assert of("age", nulls=0.2) == {"age.nulls": 1}
    assert of("age", nulls=0) == {"age.nulls": 1}
    assert of("code", pattern="x.") == {"code.pattern": 2}
    assert of("code", length=[2, 2]) == {"code.length": 1}
    assert of("gone", type="int") == {"gone.present": 1}
    assert of("gone", type="int", optional=True) == {}
    assert failures({"rows": [5, None]}) == {".rows": 1}
    assert failures({"rows": [4, 4]}) == {}
    assert failures({"only": True, "columns": dict.fromkeys(TABLE.columns)}) == {}
    assert failures({"only": True, "columns": dict.fromkeys(list(TABLE.columns)[1:])}) == {"age.only": 1}
    assert failures({"unique": ["id"]}) == {".unique": 1}
    assert failures({"unique": ["id", "code"]}) == {}


def test_a_type_is_that_of_the_values_whatever_they_are_stored_as() -> None:
    table = pd.DataFrame(
        {"whole": [1.0, None, 3.0], "half": [1.0, 1.5, None], "text": ["a", None, "b"], "mixed": ["a", 1, 2]}
    )
    table["flag"] = [True, False, None]
    good = {"whole": "int", "half": "float", "text": "str", "flag": "bool"}
    assert failures({"columns": {name: {"type": kind} for name, kind in good.items()}}, table) == {}
    bad = {"half": "int", "text": "float", "mixed": "str", "flag": "int", "whole": "datetime"}
    assert failures({"columns": {name: {"type": kind} for name, kind in bad.items()}}, table) == {
        "half.type": 1, "text.type": 2, "mixed.type": 2, "flag.type": 2, "whole.type": 2
    }  # fmt: skip
    assert of("at", type="datetime") == of("id", type="int") == of("flag", type="bool") == {}


def test_a_failure_names_column_check_count_first_values_and_rows() -> None:
    report = expect(TABLE, {"columns": {"age": {"range": [0, 120]}, "gone": {}}, "rows": [9, None]})
    assert str(report).splitlines() == [
        "table: 4 rows, 3 expectation(s) failed",
        "  gone: present: not there; there are age, label, id, code, flag, at",
        "  table: rows [9, None]: 4 rows",
        "  age: range [0, 120]: 2 values: 130.0 (row 1), -1.0 (row 3)",
    ]
    assert not report.passed
    many = expect(pd.DataFrame({"n": range(100)}), {"columns": {"n": {"range": [None, -1]}}})
    assert str(many.failures[0]).endswith("100 values: 0 (row 0), 1 (row 1), 2 (row 2), 3 (row 3), 4 (row 4), …")


def test_metrics_tell_of_what_holds_too() -> None:
    wanted = {"columns": {"age": {"range": [0, 120], "nulls": 0.5}, "id": {"unique": True}, "gone": {"type": "int"}}}
    assert expect(TABLE, wanted, name="t").metrics == {
        "t.rows": 4, "t.failed_checks": 3,
        "t.age.present_failures": 0, "t.age.null_rate": 0.25, "t.age.range_failures": 2, "t.age.nulls_failures": 0,
        "t.id.present_failures": 0, "t.id.null_rate": 0.0, "t.id.unique_failures": 1,
        "t.gone.present_failures": 1,
    }  # fmt: skip


def test_an_empty_table_fails_only_what_is_about_rows() -> None:
    report = expect(TABLE.head(0), {"columns": {"age": {"range": [0, 1], "nulls": 0}}, "rows": [1, None]})
    assert [(f.column, f.check) for f in report.failures] == [("", "rows")]
    assert report.metrics["table.rows"] == 0


def test_a_schema_or_a_model_of_pandera_is_taken_as_it_is() -> None:
    schema = pandera.DataFrameSchema(
        {
            "age": pandera.Column(float, [pandera.Check.ge(0), pandera.Check.lt(200)], nullable=True),
            "gone": pandera.Column(int),
        }
    )
    report = expect(TABLE, schema)
    assert {f"{f.column}.{f.check}": f.count for f in report.failures} == {
        "gone.present": 1, "age.greater_than_or_equal_to": 1
    }  # fmt: skip
    assert report.metrics["table.age.less_than_failures"] == 0
    assert "-1.0 (row 3)" in str(report)

    class Model(pandera.DataFrameModel):
        id: int = pandera.Field(ge=2)

    assert failures(Model) == {"id.greater_than_or_equal_to": 2}


@pytest.mark.parametrize(
    ("wanted", "remedy"),
    [
        ({"colums": {}}, "did you mean columns?"),
        ({"columns": {"a": {"rnage": [0, 1]}}}, "did you mean range?"),
        ({"columns": {"a": {"type": "text"}}}, "known: bool, datetime, float, int, str"),
        ({"rows": 3}, "write null for an end that is open"),
        (7, "give a mapping, or a DataFrameSchema or DataFrameModel"),
    ],
)
def test_what_is_no_expectation_is_refused_with_a_remedy(wanted: object, remedy: str) -> None:
    with pytest.raises(RefusedValue) as caught:
        expect(TABLE, wanted)
    assert caught.value.remedy == remedy


def test_a_table_may_be_of_any_library_or_a_path(tmp_path: Path) -> None:
    small = pd.DataFrame({"n": [1, 2]})
    small.to_parquet(tmp_path / "parquet")
    small.to_csv(tmp_path / "plain", index=False)
    small.to_json(tmp_path / "lines", orient="records", lines=True)
    small.to_csv(tmp_path / "t.csv", index=False)
    paths = [tmp_path / name for name in ("parquet", "plain", "lines", "t.csv")]
    for table in (small, pa.table({"n": [1, 2]}), *paths, str(tmp_path / "t.csv")):
        assert frame(table)["n"].tolist() == [1, 2]
    with pytest.raises(RefusedValue, match="a list is no table"):
        frame([1, 2])
    (tmp_path / "x.png").write_bytes(b"")
    with pytest.raises(RefusedValue, match="holds no table"):
        frame(tmp_path / "x.png")
