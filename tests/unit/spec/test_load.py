"""Text to a checked document."""

import json

import pytest

from trainwright.core.cache import CacheMode, CachePolicy
from trainwright.core.codec import from_json, to_json
from trainwright.core.errors import SpecError
from trainwright.core.job import MemoryGrowth, Retry
from trainwright.core.quantity import memory_bytes
from trainwright.core.stage import Stage
from trainwright.core.states import ExitClass as X
from trainwright.spec.document import Document
from trainwright.spec.load import load
from trainwright.spec.schema import json_schema

FULL = """
pipeline: digits
description: "all of it, ${{ free }}"
params:
  C: {type: float, default: 1.0, range: [1, 100], scale: log, help: x}
  n: {default: 2, choices: [1, 2, 3]}
  opt: {lr: 0.1, name: adam}
  must: {type: map}
data: {raw: datasets/digits@latest}
steps:
  prep:
    stage: data_preparation
    run: [python, prep.py, 3, "${{ data.raw }}", "--out=${{ out.table }}"]
    out: {table: dataset}
    depends_on: first
    check: rows > 1
    env: {A: 1, B: true, C: "x ${{ params.C }}"}
  first: {run: echo, resources: {cpu: 500m, memory: 4Gi, gpu: 0.5, gpu_memory: 8Gi}}
  train:
    run: "python ${{ prep.table }} ${{ out.model }} ${{ checkpoint.path }}"
    out: {model: model}
    retry: {max: 3, on: [killed, crash], backoff: 30s..10m}
    timeout: 1h30m
  judge: {run: "echo ${{ train.model }}", check: ["auc > production.auc"], baseline: required}
  register: {uses: register, with: {model: train.model, name: digits}}
"""


def error(text: str) -> str:
    with pytest.raises(SpecError) as caught:
        load(text, "f.yaml")
    return str(caught.value)


def step(body: str) -> str:
    return "pipeline: p\nsteps:\n  s:\n" + "".join(f"    {line}\n" for line in body.splitlines())


def test_every_key_arrives() -> None:
    steps = load(FULL, "f.yaml").spec.steps
    assert steps["prep"].argv[2] == "3"
    assert steps["prep"].env["B"] == "true"
    assert steps["prep"].depends_on == ("first",)
    assert steps["first"].resources.memory_bytes == memory_bytes("4Gi")
    assert steps["first"].resources.gpu_milli == 500
    assert steps["train"].retry.on == (X.CRASH, X.KILLED)
    assert (steps["train"].retry.backoff_s, steps["train"].retry.backoff_max_s) == (30.0, 600.0)
    assert steps["train"].timeout_s == 5400.0
    assert steps["judge"].baseline_required
    assert steps["register"].stage is Stage.REGISTRATION


def test_a_cache_is_a_word_or_a_mapping_and_off_is_a_word() -> None:
    document = load(step("run: echo\ncache: off") + "  t: {run: echo, cache: {mode: refresh, ttl: 7d}}\n", "f.yaml")
    assert document.warnings == ()
    assert document.spec.steps["s"].cache == CachePolicy(CacheMode.OFF)
    assert document.spec.steps["t"].cache == CachePolicy(CacheMode.REFRESH, 604800.0)
    assert load(step("run: echo"), "f.yaml").spec.steps["s"].cache == CachePolicy()


def test_a_document_survives_json() -> None:
    document = load(FULL, "f.yaml")
    assert from_json(Document, json.loads(json.dumps(to_json(document)))) == document


def test_positions_point_at_values() -> None:
    document = load(FULL, "f.yaml")
    assert str(document.where("steps.train.run")) == "f.yaml:20:10"
    assert str(document.where("params.C.range")) == "f.yaml:5:41"
    assert str(document.where("steps.judge.check.0")) == "f.yaml:24:51"
    assert str(document.where("steps.train")) == "f.yaml:19:3"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2", Retry(2)),
        ("{max: 3, on: [oom, crash]}", Retry(3, (X.CRASH, X.OOM))),
        ("{max: 3, on: {oom: 1, crash: 2}}", Retry(3, (X.CRASH, X.OOM), budgets={X.CRASH: 2, X.OOM: 1})),
        ("{on: {oom: 1, crash: 2}}", Retry(3, (X.CRASH, X.OOM), budgets={X.CRASH: 2, X.OOM: 1})),
        ("{max: 1, on: [oom], memory: x2}", Retry(1, (X.OOM,), memory=MemoryGrowth(2000))),
        ("{max: 1, on: [oom], memory: x1.5..64Gi}", Retry(1, (X.OOM,), memory=MemoryGrowth(1500, 64 * 2**30))),
        ("{max: 1, backoff: 1h..24h}", Retry(1, backoff_s=3600.0, backoff_max_s=86400.0)),
    ],
)
def test_what_a_retry_means(written: str, meant: Retry) -> None:
    document = load(step(f"run: echo\nresources: {{memory: 4Gi}}\nretry: {written}"), "f.yaml")
    assert document.spec.steps["s"].retry == meant


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("run: echo\nstage: trainng", "did you mean training?"),
        ("run: echo\nout: {a/b: file}", "it holds a slash"),
        ("run: echo\nout: {a: modle}", "did you mean model?"),
        ("run: echo\nenv: {TW_RUN: 1}", "set by trainwright"),
        ("run: echo\nenv: {a-b: 1}", "environment variable"),
        ("run: echo\nenv: {A: [1]}", "a list"),
        ("run: echo\nresources: {gpu: 1.5}", "gpu"),
        ("run: echo\nresources: {cpu: lots}", "lots"),
        ("run: echo\nresources: {cpu: 99999999999999999999}", "more than any machine"),
        ("run: echo\nresources: {shm: 1Gi}", "not supported yet"),
        ("run: echo\nretry: -1", "number of retries"),
        ("run: echo\nretry: true", "number of retries"),
        ("run: echo\nretry: {on: [crash]}", "retry: max is missing"),
        ("run: echo\nretry: {max: 1, on: [crsh]}", "did you mean crash?"),
        ("run: echo\nretry: {max: 1, on: [ok]}", "cannot be retried"),
        ("run: echo\nretry: {max: 1, backoff: 10m..30s}", "ends before it begins"),
        ("run: echo\nretry: {max: 1, backoff: 30s..25h}", "longer than a day"),
        ("run: echo\nretry: {max: 1, backoff: 99999999999d}", "longer than a duration can be"),
        ("run: echo\nretry: {max: 1, on: {ooom: 1}}", "did you mean oom?"),
        ("run: echo\nretry: {on: {oom: 0}}", "leave the word out"),
        ("run: echo\nretry: {on: {oom: true}}", "f.yaml:5:23"),
        ("run: echo\nretry: {max: 1, on: crash}", "on: [crash, oom]"),
        ("run: echo\nretry: {max: 1, on: []}", "names no kind of end"),
        ("run: echo\nretry: {max: 1, on: [ok, oom]}", "f.yaml:5:26"),
        ("run: echo\nretry: {max: 1, on: [oom], memory: 2}", "write it as x2, or x2..64Gi"),
        ("run: echo\nretry: {max: 1, on: [oom], memory: x1}", "not between x1.5 and x16"),
        ("run: echo\nretry: {max: 1, on: [oom], memory: x17}", "not between x1.5 and x16"),
        ("run: echo\nretry: {max: 1, on: [oom], memory: x2..lots}", "lots"),
        ("run: echo\nretry: {max: 1, on: [oom], memory: x2}", "does not state"),
        ("run: echo\nresources: {memory: 1Gi}\nretry: {max: 1, memory: x2}", "add oom to on:"),
        ("run: echo\nresources: {memory: 1Gi}\nretry: {max: 1, on: [crash], memory: x2}", "add oom to on:"),
        (
            "run: echo\nresources: {memory: 1Gi}\nretry: {max: 1, on: [oom], memory: x2..1Gi}",
            "larger most, as in memory: x2..4Gi",
        ),
        ("run: echo\ntimeout: 0s", "not longer than nothing"),
        ("run: echo\ncache: of", "did you mean off?"),
        ("run: echo\ncache: true", "true is not possible here"),
        ("run: echo\ncache: {tll: 7d}", "unknown key 'tll' in cache: of step s"),
        ("run: echo\ncache: {ttl: 0s}", "not longer than nothing"),
        ("run: echo\non_fail: {run: echo, cache: off}", "cache"),
        ("uses: register\ncache: off\nwith: {model: a.b, name: x}", "uses: register and cache:"),
        ("run: echo\ntimeout: 99999999999999d", "longer than a duration"),
        ("run: echo\ncheck: 5", "not text"),
        ("run: echo\ncheck: ['a > 1', '1 > 0']", "names no metric"),
        ("run: echo\ncheck: 'a > ${{ params.x }}'", "write the name without"),
        ("run: echo\ndepends_on: [t]", "t is no step"),
        ("run: echo\nbaseline: maybe", "required"),
        ("run: echo\nwith: {model: a.b, name: x}", "without uses:"),
        ("run: echo\nstage: registration", "uses: register"),
        ("run: echo\nuses: regster", "did you mean register?"),
        ("uses: register", "without with:"),
        ("uses: register\nwith: {model: a.b, name: x, alis: y}", "did you mean alias?"),
        ("uses: register\nwith: {model: a.b, name: x}", "no output of a step"),
        ("uses: register\nstage: training\nwith: {model: a.b, name: x}", "another stage"),
        ("uses: register\nwith: {model: a.b, name: x}\nout: {a: file}", "and out:"),
        ("help: nothing", "nothing to do"),
        ("run: ''", "nothing to do"),
        ("run: {a: b}", "a mapping"),
        ("run: [a, [b]]", "f.yaml:4:14"),
        ("run: echo ${{ checkpoint.dir }}", "checkpoint has: path"),
        ("run: echo ${{ nothing", "not closed"),
        ("run: ['${{ nothing }}']", "TW1020"),
    ],
)
def test_a_wrong_step_is_refused_in_words(body: str, words: str) -> None:
    assert words in error(step(body))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ("{a: }", "neither a type nor a default"),
        ("{a: {help: x}}", "neither a type nor a default"),
        ("{a: {type: flot}}", "did you mean float?"),
        ("{a: {default: 1, rnge: [1, 2]}}", "did you mean range?"),
        ("{a: {default: 1, range: [2, 1]}}", "ends before it begins"),
        ("{a: {default: 1, range: [1]}}", "has 1 values"),
        ("{a: {default: x, range: [1, 2]}}", "no meaning for a str"),
        ("{a: {default: 1, range: [0, 1], scale: log}}", "above zero"),
        ("{a: {default: 1, range: [0, .inf]}}", "not a finite number"),
        ("{a: {default: 1, choices: [x]}}", "not int"),
        ("{a: {default: 5, choices: [1, 2]}}", "one of 1, 2"),
        ("{a: .nan}", "TW1034"),
        ("{a.b: 1}", "it holds a dot"),
    ],
)
def test_a_wrong_parameter_is_refused_in_words(params: str, words: str) -> None:
    assert words in error(f"pipeline: p\nparams: {params}\nsteps: {{s: {{run: echo}}}}\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1]", "not a mapping"),
        ("pipeline: p", "steps is missing"),
        ("pipeline: p\nsteps:", "no steps"),
        ("pipeline: p\nsteps: {s: }", "not a mapping"),
        ("pipeline: 1.5\nsteps: {s: {run: echo}}", "write it in quotes"),
        ("pipeline: 'a b'\nsteps: {s: {run: echo}}", "it holds a space"),
        ("pipeline: p\nstandard: yes\nsteps: {s: {run: echo}}", "not true or false"),
        ("pipeline: p\ndata: {x: 1}\nsteps: {s: {run: echo}}", "not text"),
        ("pipeline: p\nrun: echo\nsteps: {s: {run: echo}}", "belongs to a step"),
        ("pipeline: p\nsteps: {'': {run: echo}}", "it is empty"),
        ("pipeline: p\nsteps: {'a\\tb': {run: echo}}", "TW1015"),
        ("pipeline: p\nsteps: {" + "a" * 64 + ": {run: echo}}", "64 characters"),
        ("pipeline: p\nsteps: {-a: {run: echo}}", "begins or ends with a dash"),
        ("pipeline: p\nsteps: {production: {run: echo}}", "meaning of its own"),
    ],
)
def test_a_wrong_file_is_refused_in_words(text: str, words: str) -> None:
    assert words in error(text)


def test_names_are_compared_in_composed_form() -> None:
    document = load("pipeline: p\nparams: {e\u0301: 1}\nsteps: {s: {run: 'echo ${{ params.\u00e9 }}'}}", "f.yaml")
    assert list(document.spec.params) == ["\u00e9"]


def test_a_misspelt_declaration_is_warned_of() -> None:
    document = load("pipeline: p\nparams: {a: {defualt: 1}}\nsteps: {s: {run: echo}}", "f.yaml")
    assert document.warnings == (
        "f.yaml:2: parameter a: the key defualt makes this a mapping parameter; was default meant?",
    )


def test_the_schema_names_every_key_and_is_the_same_each_time() -> None:
    schema = json_schema()
    assert {"apiVersion", "pipeline", "params", "data", "steps", "standard"} <= schema["properties"].keys()
    assert "with" in schema["$defs"]["StepModel"]["properties"]
    assert json.dumps(schema) == json.dumps(json_schema())
