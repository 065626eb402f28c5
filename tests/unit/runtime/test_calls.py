"""The calls inside a job: what they write, what they refuse, and that they are harmless outside."""

import json
import math
import os
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trainwright as tw
from trainwright.core.codec import canonical_json
from trainwright.runtime import bundle, events, plainjson
from trainwright.runtime.errors import ParamConflict


@pytest.fixture
def attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TW_ATTEMPT_DIR", str(tmp_path))
    (tmp_path / "job.json").write_text(json.dumps({"job": {"params": {"lr": 0.1, "epochs": 3, "flag": True}}}))
    return tmp_path


def told(attempt: Path) -> list[dict[str, Any]]:
    text = (attempt / "events.jsonl").read_text()
    return [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]


def test_a_point_is_one_line(attempt: Path) -> None:
    before = time.time()
    tw.log(step=3, loss=0.5, auc=1)
    tw.log(None, **{'odd "name" é': 2.0})
    first, second = told(attempt)
    assert before <= first.pop("t") <= time.time()
    assert first == {"k": "metric", "s": 3, "v": {"loss": 0.5, "auc": 1.0}}
    assert (second["s"], second["v"]) == (None, {'odd "name" é': 2.0})


def test_nan_and_infinities_are_kept_as_words(attempt: Path) -> None:
    tw.log(loss=float("nan"))
    tw.log(loss=float("inf"))
    tw.log(loss=-float("inf"))
    assert [event["v"]["loss"] for event in told(attempt)] == ["NaN", "Infinity", "-Infinity"]
    metrics, _ = events.summary(str(attempt / "events.jsonl"))
    assert metrics["loss"] == {
        "last": "-Infinity",
        "low": "-Infinity",
        "high": "Infinity",
        "count": 3,
        "last_step": None,
    }


def test_numbers_of_other_libraries_are_numbers(attempt: Path) -> None:
    tw.log(step=int(np.int64(4)), a=np.float32(0.5), b=np.array([2.0]), c=Decimal("1.5"), d=True, e=np.bool_(False))
    (event,) = told(attempt)
    assert event["s"] == 4
    assert event["v"] == {"a": 0.5, "b": 2.0, "c": 1.5, "d": 1.0, "e": 0.0}


@pytest.mark.parametrize("value", ["0.5", None, [1.0], np.array([1.0, 2.0]), 1j, b"1"])
def test_what_is_no_number_is_refused_with_its_name_and_a_remedy(attempt: Path, value: Any) -> None:
    with pytest.raises(TypeError, match=r"(?s)loss=.*tw\.params\(loss="):
        tw.log(loss=value)
    assert not (attempt / "events.jsonl").exists()
    with pytest.raises(TypeError, match="whole"):
        tw.log(step=1.5, loss=1.0)  # type: ignore[arg-type]


def test_params_are_quiet_when_equal_and_a_conflict_keeps_the_rest(attempt: Path) -> None:
    tw.params(lr=0.1, host="a")
    tw.params(lr=0.1, host="a", epochs=3.0, flag="true")
    with pytest.raises(ParamConflict) as declared:
        tw.params(warm=3, lr=0.2, last=np.float64(0.25), sizes=np.array([1, 2]))
    assert (declared.value.key, declared.value.old, declared.value.new) == ("lr", 0.1, 0.2)
    with pytest.raises(ParamConflict, match="noted by this attempt"):
        tw.params(host="b")
    _, params = events.summary(str(attempt / "events.jsonl"))
    assert params == {"lr": 0.1, "host": "a", "epochs": 3.0, "flag": "true", "warm": 3, "last": 0.25, "sizes": [1, 2]}
    with pytest.raises(TypeError, match="thing"):
        tw.params(thing=object())


def test_a_fact_noted_by_another_process_of_the_attempt_counts(attempt: Path) -> None:
    tw.params(host="a")
    script = "import trainwright as tw; tw.params(rank=1); tw.params(host='b')"
    other = subprocess.run([sys.executable, "-c", script], env=os.environ, capture_output=True, check=False)
    assert b"ParamConflict" in other.stderr
    with pytest.raises(ParamConflict):
        tw.params(rank=2)


def test_progress_and_the_stop_file(attempt: Path) -> None:
    tw.progress(3, 10)
    (event,) = told(attempt)
    assert (event["k"], event["d"], event["n"]) == ("progress", 3.0, 10.0)
    assert not tw.should_stop()
    (attempt / "stop").touch()
    assert tw.should_stop()


def test_inputs_and_outputs_are_paths_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TW_INPUTS", '{"prep.table":"/x/table.csv"}')
    monkeypatch.setenv("TW_OUTPUTS", "{}")
    assert dict(tw.inputs) == {"prep.table": Path("/x/table.csv")}
    with pytest.raises(KeyError, match=r"prep\.table"):
        tw.inputs["tabel"]
    with pytest.raises(KeyError, match="no output"):
        tw.outputs["model"]


def test_outside_a_job_every_call_is_harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    for name in [n for n in os.environ if n.startswith("TW_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    tw.log(loss=1.0, step=1)
    tw.params(seed=7)
    tw.progress(1, 2)
    assert not tw.should_stop()
    assert len(tw.inputs) == 0
    with pytest.raises(KeyError, match="not run inside a job"):
        tw.inputs["x"]
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_a_call_costs_microseconds(attempt: Path) -> None:
    tw.log(loss=0.0)
    began = time.perf_counter()
    for i in range(2000):
        tw.log(step=i, loss=0.123456789, acc=0.5)
    assert (time.perf_counter() - began) / 2000 < 200e-6  # about 6; the bound only catches a slip


def test_torn_and_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(
        b'{"k":"metric","s":1,"v":{"a":1}}\n\xff\xfe\n[]\n{"k":"metric","v":3}\n{"k":"metric","s":2,"v":{"a":'
    )
    metrics, params = events.summary(str(path))
    assert (metrics["a"]["count"], params) == (1, {})
    assert events.summary(str(tmp_path / "none")) == ({}, {})


@pytest.mark.parametrize(
    "value", [None, True, 0, -7, 1e-300, 0.1, 'é " \\ \n \u2028 \x00', [], {"b": [1, {"a": None}], "a": "x"}, 10**30]
)
def test_plain_json_is_the_canonical_text(value: Any) -> None:
    assert plainjson.dumps(value) == canonical_json(value)
    assert plainjson.loads(plainjson.dumps(value)) == value


@pytest.mark.parametrize("text", ["", "{", "[1,]", "1 2", "nul", '{"a"}'])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|property|delimiter|Expecting|value"):
        plainjson.loads(text)


def test_nan_has_no_json_number() -> None:
    with pytest.raises(ValueError, match="nan"):
        plainjson.dumps(math.nan)


def test_the_bundle_offers_the_calls_and_lets_the_whole_installation_go_first(tmp_path: Path) -> None:
    built = bundle.build(str(tmp_path), "1.2.3")
    assert bundle.build(str(tmp_path), "1.2.3") == built
    assert list(tmp_path.iterdir()) == [Path(built)]
    env = {**os.environ, "PYTHONPATH": built}
    alone = "import trainwright as tw; print(tw.__version__, tw.log.__module__, sorted(tw.__all__), tw.__path__[0])"
    out = subprocess.check_output([sys.executable, "-S", "-c", alone], env=env, text=True)
    assert out == f"1.2.3 trainwright.runtime.calls {sorted(set(tw.__all__) - tw._READING)} {built}/trainwright\n"
    front = bundle.front(built, "1.2.3")
    behind = {**os.environ, "PYTHONPATH": front}
    out = subprocess.check_output([sys.executable, "-S", "-c", alone], env=behind, text=True)
    assert out == f"1.2.3 trainwright.runtime.calls {sorted(set(tw.__all__) - tw._READING)} {front}/trainwright\n"
    whole = "import trainwright as tw, trainwright.core.ids; print(tw.log.__code__.co_filename)"
    out = subprocess.check_output([sys.executable, "-c", whole], env=behind, text=True)
    assert Path(out.strip()).is_file()
    out = subprocess.check_output([sys.executable, "-c", whole], env=env, text=True)
    assert Path(out.strip()).is_file()
