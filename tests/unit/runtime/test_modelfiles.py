"""Models are loaded without running what is in them."""

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from trainwright.runtime import calls, formats, signatures, values
from trainwright.runtime.formats import RefusedValue
from trainwright.runtime.modelfiles import load_model_files


class Trap:
    """Leaves a trace where it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return (Path.touch, (self.trace,))


def load(path: Path, *, allow_pickle: bool = False, trusted: tuple[str, ...] = ()) -> Any:
    return load_model_files(str(path), allow_pickle=allow_pickle, trusted=trusted, project="p")


def fitted() -> LogisticRegression:
    return LogisticRegression().fit(np.array([[0.0, 1.0], [1.0, 0.0]]), [0, 1])


@pytest.mark.parametrize("name", ["model.pkl", "m.pickle", "m.joblib", "m.pt", "m.ckpt", "model", "object.pickle"])
def test_a_pickle_is_refused_and_runs_nothing(name: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    (tmp_path / name).write_bytes(pickle.dumps(Trap(trace)))
    with pytest.raises(RefusedValue) as caught:
        load(tmp_path / name)
    assert "allow_pickle=True" in caught.value.remedy
    assert not trace.exists()


@pytest.mark.parametrize("name", ["m.json", "m.npy", "m.npz", "m.safetensors", "m.skops", "m.parquet"])
def test_a_pickle_under_another_name_runs_nothing(name: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    (tmp_path / name).write_bytes(pickle.dumps(Trap(trace)))
    with pytest.raises(RefusedValue):
        load(tmp_path / name)
    assert not trace.exists()


def test_a_torch_archive_without_an_ending_is_known_for_a_pickle(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Trap(tmp_path / "trace")))
    with pytest.raises(RefusedValue, match="torch"):
        load(tmp_path / "model")
    assert not (tmp_path / "trace").exists()


def test_an_array_of_objects_is_a_pickle(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "m.npz", a=np.array([{"a": 1}], dtype=object))
    for name in ("m.npy", "m.npz"):
        with pytest.raises(RefusedValue):
            load(tmp_path / name)


def test_who_says_so_in_so_many_words_gets_the_pickle(tmp_path: Path) -> None:
    (tmp_path / "m.pkl").write_bytes(pickle.dumps({"a": 1}))
    assert load(tmp_path / "m.pkl", allow_pickle=True) == {"a": 1}
    formats.save_pickle([1], str(tmp_path / "object.pickle"), "p")
    assert load(tmp_path / "object.pickle", allow_pickle=True) == [1]
    formats.save_pickle([1], str(tmp_path / "x.pkl"), "q")
    with pytest.raises(RefusedValue, match="not a pickle of the project p"):
        load(tmp_path / "x.pkl", allow_pickle=True)


@pytest.mark.parametrize("value", [{"quality": 0.9}, np.arange(3.0), {"w": np.ones(2), "b": np.zeros(1)}])
def test_what_steps_return_is_loaded(value: Any, tmp_path: Path) -> None:
    values.save(value, str(tmp_path / "model"), "model", "p")
    back = load(tmp_path / "model")
    assert json.dumps(back, default=lambda a: a.tolist()) == json.dumps(value, default=lambda a: a.tolist())


def test_an_estimator_is_loaded_from_skops_with_or_without_an_ending(tmp_path: Path) -> None:
    values.save(fitted(), str(tmp_path / "model"), "model", "p")
    (tmp_path / "model" / "model_card.md").write_text("about it")
    assert load(tmp_path / "model").predict([[1.0, 0.0]]).tolist() == [1]
    (tmp_path / "model" / "model.skops").rename(tmp_path / "bare")
    assert load(tmp_path / "bare").predict([[0.0, 1.0]]).tolist() == [0]


def test_types_that_skops_does_not_know_are_refused_by_name(tmp_path: Path) -> None:
    import skops.io

    skops.io.dump(FunctionTransformer(json.dumps), tmp_path / "m.skops")
    with pytest.raises(RefusedValue, match="json") as caught:
        load(tmp_path / "m.skops")
    assert "trusted=" in caught.value.remedy
    unknown = skops.io.get_untrusted_types(file=tmp_path / "m.skops")
    assert load(tmp_path / "m.skops", trusted=tuple(unknown)).func is json.dumps


def test_a_folder_of_many_files_is_for_its_owner_to_load(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\xff\xfe")
    (tmp_path / "b.bin").write_bytes(b"2")
    with pytest.raises(RefusedValue, match=r"a\.bin, b\.bin"):
        load(tmp_path)
    (tmp_path / "b.bin").unlink()
    with pytest.raises(RefusedValue, match="no format"):
        load(tmp_path)


def test_an_estimator_says_what_it_takes() -> None:
    import pandas as pd

    assert signatures.inferred(fitted()) == {
        "inputs": {"features": "array of 2"},
        "outputs": {"prediction": "one of 2 classes"},
        "source": "model",
    }
    table = pd.DataFrame({"age": [1.0, 2.0], "height": [2, 1]})
    named = LogisticRegression().fit(table, [0, 1])
    assert signatures.inferred(named)["inputs"] == {"age": "", "height": ""}  # type: ignore[index]
    assert signatures.inferred(object()) is None
    assert signatures.stated(None, table, ["y"])["inputs"] == {"age": "float64", "height": "int64"}
    stated = signatures.stated(named, None, {"risk": "float"})
    assert (stated["inputs"], stated["outputs"], stated["source"]) == (
        {"age": "", "height": ""},
        {"risk": "float"},
        "step",
    )


@pytest.mark.parametrize("given", [(None, 3, None), (None, {"x": 1}, None), (None, [1], None), (object(), None, None)])
def test_what_says_nothing_is_no_signature(given: tuple[Any, Any, Any]) -> None:
    with pytest.raises(TypeError):
        signatures.stated(*given)


def test_outside_a_job_a_signature_does_no_harm() -> None:
    calls.signature(inputs=["x"], outputs={"y": "float"})
    calls.signature(fitted())
    with pytest.raises(TypeError):
        calls.signature()
