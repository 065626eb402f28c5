"""From Python functions to the document that YAML parses to."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tracing import drawing_in
from trainwright.core.errors import Position
from trainwright.core.scalar import Plain
from trainwright.spec.load import load, load_tree
from trainwright.spec.params import resolve
from trainwright.spec.traced import document_of
from trainwright.spec.write import write

Draw = Callable[..., dict[str, Any]]


@pytest.fixture
def draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Draw]:
    yield from drawing_in(tmp_path, monkeypatch)


HEAD = "from typing import Literal\nimport trainwright as tw\n"
STEPS = """
import trainwright as tw

@tw.step(out={"table": "dataset"}, check=["rows >= 1"])
def prep(raw):
    return raw

@tw.step(
    out={"model": "model"},
    cpu=2,
    memory="4Gi",
    retry=2,
)
def train(table, C: float = 1.0, seed=7, *, note=""):
    return table

@tw.step(check=["auc >= 0.8"])
def evaluate(model, table):
    pass
"""

DIGITS = (
    STEPS
    + """
@tw.pipeline(data={"raw": "datasets/digits@latest"})
def digits(raw, C: float = tw.param(1.0, range=(1e-3, 100), scale="log", help="inverse"), seed: int = 7):
    table = prep(raw)
    model = train(table, C, seed=seed, note="data.raw")
    evaluate(model, table)
    tw.register(model, name="digits", alias="candidate")
"""
)


def test_a_pipeline_draws_the_document_that_yaml_parses_to(draw: Draw) -> None:
    assert draw(DIGITS)["document"] == {
        "pipeline": "digits",
        "params": {
            "C": {"type": "float", "default": 1.0, "range": [0.001, 100], "scale": "log", "help": "inverse"},
            "seed": 7,
        },
        "data": {"raw": "datasets/digits@latest"},
        "steps": {
            "prep": {
                "call": "pipeline:prep",
                "with": {"raw": "data.raw"},
                "out": {"table": "dataset"},
                "check": ["rows >= 1"],
            },
            "train": {
                "call": "pipeline:train",
                "with": {"table": "prep.table", "C": "params.C", "seed": "params.seed", "note": {"value": "data.raw"}},
                "out": {"model": "model"},
                "resources": {"cpu": 2, "memory": "4Gi"},
                "retry": 2,
            },
            "evaluate": {
                "call": "pipeline:evaluate",
                "with": {"model": "train.model", "table": "prep.table"},
                "check": ["auc >= 0.8"],
            },
            "register": {"uses": "register", "with": {"model": "train.model", "name": "digits", "alias": "candidate"}},
        },
    }


def test_places_lead_to_the_call_and_to_the_decorator(draw: Draw) -> None:
    document = document_of(draw(DIGITS))
    lines = DIGITS.splitlines()
    call, decorator = document.where("steps.train.with.table"), document.where("steps.train.retry")
    assert lines[call.line - 1].startswith("    model = train(")
    assert call.column == len("    model = ") + 1
    assert lines[decorator.line - 1] == "@tw.step("
    assert call.file == "pipeline.py"


def test_the_yaml_of_a_drawn_pipeline_gives_the_same_values(draw: Draw) -> None:
    drawn = draw(DIGITS)
    assert load(write(drawn["document"]), "p.yaml").spec == document_of(drawn).spec


def test_an_already_parsed_tree_is_checked_like_a_file() -> None:
    value: Plain = {"pipeline": "p", "steps": {"s": {"run": "true"}}}
    document = load_tree(value, {"steps.s": Position("p.py", 3, 1)}, "p.py", ("careful",))
    assert document.spec == load("pipeline: p\nsteps: {s: {run: 'true'}}", "p.yaml").spec
    assert (str(document.where("steps.s.run")), document.warnings) == ("p.py:3:1", ("careful",))


def test_a_step_called_twice_is_two_steps(draw: Draw) -> None:
    text = (
        STEPS
        + '@tw.pipeline\ndef p():\n    train(train(1))\n    train.options(name="last", retry=0, when="x > 1")(2)\n'
    )
    steps = draw(text)["document"]["steps"]
    assert list(steps) == ["train", "train_2", "last"]
    assert steps["train_2"]["with"] == {"table": "train.model"}
    assert (steps["last"]["retry"], steps["last"]["when"]) == (0, "x > 1")


def test_options_leave_the_step_itself_as_it_is(draw: Draw) -> None:
    text = STEPS + "@tw.pipeline\ndef p():\n    train.options(cpu=8)(1)\n    train(1)\n"
    steps = draw(text)["document"]["steps"]
    assert [step["resources"] for step in steps.values()] == [{"cpu": 8, "memory": "4Gi"}, {"cpu": 2, "memory": "4Gi"}]


def test_every_key_of_a_fan_out_is_passed_on(draw: Draw) -> None:
    text = STEPS + (
        "@tw.pipeline(parallel=4)\n"
        "def p():\n"
        "    shards = prep(1)\n"
        "    each = train.options(for_each=shards, parallel=2, tolerate=1)(tw.each.value, seed=tw.each.index)\n"
        '    train.options(matrix={"lr": [0.1, 0.2]}, name="grid")(tw.each.path, C=tw.matrix.lr)\n'
        '    again = train.options(loop={"max_rounds": 6, "until": "again.passed"}, name="again")\n'
        "    again(tw.prev.model, seed=tw.loop.round)\n"
        '    evaluate.options(depends_on=[each, "grid"], on_fail={"uses": "./mend.yaml"})(each, shards)\n'
    )
    document = draw(text)["document"]
    steps = document["steps"]
    assert document["parallel"] == 4
    assert steps["train"]["for_each"] == "prep.table"
    assert (steps["train"]["parallel"], steps["train"]["tolerate"]) == (2, 1)
    assert steps["train"]["with"] == {"table": "each.value", "seed": "each.index"}
    assert steps["grid"]["with"] == {"table": "each.path", "C": "matrix.lr"}
    assert steps["again"]["with"] == {"table": "prev.model", "seed": "loop.round"}
    assert steps["evaluate"]["depends_on"] == ["train", "grid"]
    assert steps["evaluate"]["on_fail"] == {"uses": "./mend.yaml"}


def test_another_pipeline_is_a_step_with_outputs_by_attribute(draw: Draw) -> None:
    text = STEPS + (
        "@tw.pipeline\n"
        "def p(C=0.5):\n"
        '    sub = tw.use("./parts/other.yaml", table=prep(1), C=C, options={"when": "prep.rows > 0"})\n'
        "    train(sub.model)\n"
        '    return {"best": sub.model}\n'
    )
    document = draw(text)["document"]
    assert document["steps"]["other"] == {
        "uses": "./parts/other.yaml",
        "when": "prep.rows > 0",
        "with": {"table": "prep.table", "C": "params.C"},
    }
    assert document["steps"]["train"]["with"] == {"table": "other.model"}
    assert document["outputs"] == {"best": "other.model"}


def test_commands_are_written_as_in_yaml(draw: Draw) -> None:
    text = STEPS + (
        '@tw.pipeline(data={"raw": "a.csv"})\n'
        "def p(raw, C=0.5):\n"
        '    text = "python src/prep.py --raw ${{ raw }} --out ${{ out.t }} $${{ x }}"\n'
        '    table = tw.command(text, raw=raw, out={"t": "file"})\n'
        '    tw.command(f"python eval.py {table} {C}", name="look", env={"TABLE": table, "N": 3}, cpu=1)\n'
        '    tw.command(["python", "tree.py", table, C, 3], timeout="5m")\n'
    )
    steps = draw(text)["document"]["steps"]
    assert steps == {
        "prep": {
            "run": "python src/prep.py --raw ${{ data.raw }} --out ${{ out.t }} $${{ x }}",
            "out": {"t": "file"},
        },
        "look": {
            "run": "python eval.py ${{ prep.t }} ${{ params.C }}",
            "env": {"TABLE": "${{ prep.t }}", "N": 3},
            "resources": {"cpu": 1},
        },
        "tree": {"run": ["python", "tree.py", "${{ prep.t }}", "${{ params.C }}", 3], "timeout": "5m"},
    }


def test_torchrun_declares_a_launcher(draw: Draw) -> None:
    text = STEPS + (
        '@tw.pipeline(data={"raw": "a.csv"})\n'
        "def p(raw):\n"
        '    tw.torchrun("train.py --data ${{ raw }}", raw=raw, workers="2..8", gpu=4, out={"model": "model"})\n'
    )
    assert draw(text)["document"]["steps"]["train"] == {
        "script": "train.py --data ${{ data.raw }}",
        "launcher": "torchrun",
        "workers": "2..8",
        "resources": {"gpu": 4},
        "out": {"model": "model"},
    }


@pytest.mark.parametrize(
    ("parameter", "declared"),
    [
        ("x=1", 1),
        ("x=True", True),
        ("x='1e-4'", "1e-4"),
        ("x: float = 1", {"type": "float", "default": 1}),
        ("x: float", {"type": "float"}),
        ("x: 'int'", {"type": "int"}),
        ("x: dict = {'type': 'adam'}", {"type": "map", "default": {"type": "adam"}}),
        ("x={'a': 1}", {"default": {"a": 1}}),
        ("x: list[int] = (1, 2)", {"type": "list", "default": [1, 2]}),
        ("x: Literal['a', 'b'] = 'a'", {"type": "str", "default": "a", "choices": ["a", "b"]}),
        ("x=tw.param(type=str)", {"type": "str"}),
        ("x=tw.param('a', choices=['a', 'b'])", {"default": "a", "choices": ["a", "b"]}),
        ("*, x: bool = False", False),
    ],
)
def test_a_signature_declares_parameters(parameter: str, declared: object, draw: Draw) -> None:
    text = HEAD + f"@tw.pipeline\ndef p({parameter}):\n    tw.command('true')\n"
    assert draw(text)["document"]["params"]["x"] == declared


def test_python_values_are_the_values_that_yaml_has(draw: Draw) -> None:
    """G01: one typing rule; the same values through both faces dump equal."""
    python = (
        "import trainwright as tw\n@tw.pipeline\n"
        "def p(lr=1e-4, warmup=1e3, country='no', aug=True, shard=10, start='22:00', tag: str = '1.10', "
        "sum=0.1 + 0.2, layers=[64, 32], opt={'name': 'adam', 'betas': [0.9, 0.999]}):\n    tw.command('true')\n"
    )
    yaml = (
        "pipeline: p\nparams: {lr: 1e-4, warmup: 1E3, country: no, aug: true, shard: 010, start: 22:00, "
        "tag: {type: str, default: 1.10}, sum: 0.30000000000000004, layers: [64, 32], "
        "opt: {default: {name: adam, betas: [0.9, 0.999]}}}\nsteps: {true: {run: 'true'}}\n"
    )
    drawn, written = resolve(document_of(draw(python)), {}), resolve(load(yaml, "p.yaml"), {})
    assert repr(drawn) == repr(written)
    assert drawn["lr"] == 0.0001


def test_overrides_mean_the_same_in_both_faces(draw: Draw) -> None:
    """G08: types follow the declaration, siblings survive, floats come back bit for bit."""
    python = (
        HEAD + "@tw.pipeline\ndef p(epochs=3, lr=1e-8, layers=[64, 32], opt={'name': 'adam', 'lr': 0.1}):\n"
        "    tw.command('true')\n"
    )
    yaml = (
        "pipeline: p\nparams: {epochs: 3, lr: 1.0e-8, layers: [64, 32], opt: {default: {name: adam, lr: 0.1}}}\n"
        "steps: {s: {run: 'true'}}\n"
    )
    typed: Mapping[str, Plain] = {"epochs": 5, "lr": 0.1 + 0.2, "layers": [128, 64], "opt.lr": 0.5}
    text: Mapping[str, Plain] = {"epochs": "5", "lr": "0.30000000000000004", "layers": "[128, 64]", "opt.lr": "0.5"}
    results = [
        resolve(document, given) for document in (document_of(draw(python)), load(yaml, "p")) for given in (typed, text)
    ]
    assert results == [results[0]] * 4
    assert results[0] == {"epochs": 5, "lr": 0.1 + 0.2, "layers": [128, 64], "opt": {"name": "adam", "lr": 0.5}}


def test_one_of_several_pipelines_is_named(draw: Draw) -> None:
    two = HEAD + "@tw.pipeline\ndef one():\n    tw.command('true')\n"
    two += "@tw.pipeline(name='b')\ndef two():\n    tw.command('true')\n"
    assert draw(two, "two")["document"]["pipeline"] == "b"


def test_a_pipeline_called_in_another_adds_its_steps(draw: Draw) -> None:
    text = STEPS + (
        "@tw.pipeline\ndef inner(table, C=tw.param(2.0, range=(0, 3))):\n    return train(table, C)\n"
        '@tw.pipeline(data={"raw": "a.csv"})\ndef outer(raw):\n    inner(prep(raw))\n'
    )
    steps = draw(text, "outer")["document"]["steps"]
    assert steps["train"]["with"] == {"table": "prep.table", "C": 2.0}
