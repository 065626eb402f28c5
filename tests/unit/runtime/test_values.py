"""What functions return, stored and loaded again."""

import builtins
import math
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from trainwright.runtime import values
from trainwright.runtime.formats import RefusedValue, check_value


def there_and_back(value: Any, folder: Path, kind: str = "dataset") -> tuple[Any, list[str]]:
    path = folder / "output"
    values.save(value, str(path), kind, "project")
    names = sorted(p.name for p in path.iterdir()) if path.is_dir() else []
    return values.load(str(path), kind, "project"), names


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -3, 2**70, 0.1 + 0.2, 1e-300, "", "a\u2028\U0001f600", [1, [2.5, None]], {"a": {"b": []}}, {}],
)
def test_plain_values_come_back_bit_for_bit(value: Any, tmp_path: Path) -> None:
    back, names = there_and_back(value, tmp_path)
    assert repr(back) == repr(value)
    assert names == ["value.json"]


def test_numbers_that_json_has_not_come_back(tmp_path: Path) -> None:
    back, _ = there_and_back([math.inf, -math.inf, math.nan], tmp_path, "value")
    assert back[:2] == [math.inf, -math.inf]
    assert math.isnan(back[2])
    assert (tmp_path / "output").read_text() == '["Infinity", "-Infinity", "NaN"]\n'


def test_a_value_is_the_file_of_json_itself(tmp_path: Path) -> None:
    back, names = there_and_back({"b": 1, "a": [np.int64(2), np.float32(0.5)]}, tmp_path, "value")
    assert (tmp_path / "output").read_text() == '{"b": 1, "a": [2, 0.5]}\n'
    assert (back, names) == ({"b": 1, "a": [2, 0.5]}, [])


def test_a_table_of_pandas_keeps_index_and_types(tmp_path: Path) -> None:
    table = pd.DataFrame({"x": [1, 2], "when": pd.to_datetime(["2026-01-01", None])}, index=["a", "b"])
    back, names = there_and_back(table, tmp_path)
    pd.testing.assert_frame_equal(back, table)
    assert names == ["table.parquet"]


def test_a_table_of_arrow_stays_one(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2]})
    back, names = there_and_back(table, tmp_path)
    assert isinstance(back, pa.Table)
    assert back.to_pydict() == table.to_pydict()
    assert names == ["table.parquet"]


def test_arrays_come_back(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    one, name = there_and_back(array, tmp_path / "one")
    two, names = there_and_back({"a": array, "b": array[0]}, tmp_path / "two")
    assert one.dtype == array.dtype
    assert (one == array).all()
    assert (two["b"] == array[0]).all()
    assert (name, names) == (["array.npy"], ["arrays.npz"])


def test_a_scikit_learn_model_comes_back(tmp_path: Path) -> None:
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    back, names = there_and_back(model, tmp_path, "model")
    assert (back.coef_ == model.coef_).all()
    assert names == ["model.skops"]


def test_a_model_with_strange_types_is_refused_before_anybody_needs_it(tmp_path: Path) -> None:
    with pytest.raises(RefusedValue, match="does not trust: ") as caught:
        values.save(FunctionTransformer(there_and_back), str(tmp_path / "output"), "model", "project")
    assert "tw.pickle" in caught.value.remedy


def test_a_path_is_what_it_leads_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    (work / "folder").mkdir(parents=True)
    (work / "folder" / "weights.bin").write_bytes(b"123")
    elsewhere = tmp_path / "elsewhere.csv"
    elsewhere.write_text("a,b\n")
    monkeypatch.chdir(work)
    values.save(Path("folder"), str(tmp_path / "one"), "model", "project")
    values.save(elsewhere, str(tmp_path / "two"), "file", "project")
    assert (tmp_path / "one" / "weights.bin").read_bytes() == b"123"
    assert elsewhere.exists()
    assert values.load(str(tmp_path / "one"), "model", "project") == tmp_path / "one"
    assert values.load(str(tmp_path / "two"), "file", "project") == tmp_path / "two"
    with pytest.raises(RefusedValue, match="nothing is there"):
        values.save(Path("gone"), str(tmp_path / "three"), "file", "project")


def test_a_command_writes_what_a_function_reads(tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "table" / "table.parquet")
    (tmp_path / "list").mkdir()
    (tmp_path / "list" / "value.json").write_text("[1, 2]")
    assert list(values.load(str(tmp_path / "table"), "dataset", "p").columns) == ["x"]
    assert values.load(str(tmp_path / "list"), "value", "p") == [1, 2]


class Strange:
    """Nothing that has a safe format."""


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Strange(), "a Strange (test_values) has no safe format"),
        ([Strange()], "has no safe format"),
        ({1: 2}, "has no safe format"),
        (pd.Series([1]), "is no table"),
        (np.array([Strange()], dtype=object), "array of Python objects"),
        ("NaN", "would come back as a number"),
    ],
)
def test_a_value_without_a_safe_format_is_refused_with_the_remedy(value: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(RefusedValue) as caught:
        values.save(value, str(tmp_path / "output"), "dataset", "project")
    assert words in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize("value", [pd.DataFrame({"x": [1]}), Strange(), {1: 2}])
def test_a_value_is_plain(value: Any, tmp_path: Path) -> None:
    with pytest.raises(RefusedValue):
        values.save(value, str(tmp_path / "output"), "value", "project")


def test_a_pickle_is_loaded_by_the_project_that_made_it_only(tmp_path: Path) -> None:
    path = str(tmp_path / "output")
    values.save(Strange(), path, "pickle", "ours")
    assert isinstance(values.load(path, "pickle", "ours"), Strange)
    with pytest.raises(RefusedValue, match="not a pickle of the project theirs"):
        values.load(path, "pickle", "theirs")
    with pytest.raises(RefusedValue, match="loading one runs code"):
        values.load(path, "dataset", "ours")


def test_a_pickle_that_somebody_else_wrote_is_never_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "output").mkdir()
    (tmp_path / "output" / "object.pickle").write_bytes(pickle.dumps(Strange()))
    monkeypatch.setattr(pickle, "load", lambda _: pytest.fail("it was unpickled"))
    for kind in ("pickle", "dataset", "model"):
        with pytest.raises(RefusedValue):
            values.load(str(tmp_path / "output"), kind, "ours")


def test_what_cannot_be_pickled_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedValue, match="cannot be pickled"):
        values.save(lambda: 1, str(tmp_path / "output"), "pickle", "ours")


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] in {"pyarrow", "polars"}:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    table = pd.DataFrame({"x": [1]})
    values.save(table, str(tmp_path / "before"), "dataset", "p")
    monkeypatch.setattr(builtins, "__import__", without)
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(RefusedValue, match="pyarrow is needed to store tables"):
        values.save(table, str(tmp_path / "output"), "dataset", "p")
    with pytest.raises(RefusedValue, match="polars or pyarrow is needed to read tables"):
        values.load(str(tmp_path / "before"), "dataset", "p")


@pytest.mark.parametrize("text", ["", "{", "NaN", "[1, Infinity]", "1 2", "[" * 100_000])
def test_what_is_no_json_is_no_value(text: str, tmp_path: Path) -> None:
    (tmp_path / "value").write_text(text)
    with pytest.raises(RefusedValue, match="is no JSON"):
        check_value(str(tmp_path / "value"))


def test_a_folder_is_no_value(tmp_path: Path) -> None:
    with pytest.raises(RefusedValue, match="it is a folder"):
        check_value(str(tmp_path))
