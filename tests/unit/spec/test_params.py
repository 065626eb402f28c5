"""Values of parameters after overrides."""

import pytest

from trainwright.core.errors import DeniedError, SpecError
from trainwright.core.scalar import Plain
from trainwright.spec.load import load
from trainwright.spec.params import resolve

BASE = """
pipeline: p
params:
  epochs: 3
  lr: 1.0e-8
  layers: [64, 32]
  opt: {name: adam, betas: [0.9, 0.999], deep: {a: 1}}
  ref: "${epochs}"
  C: {type: float, default: 1, range: [0.001, 100]}
  aug: {type: bool, default: off}
  tag: {type: str, default: 1.10}
  mode: {default: a, choices: [a, b]}
steps: {s: {run: echo}}
"""


def values(**overrides: Plain) -> dict[str, Plain]:
    return resolve(load(BASE, "f.yaml"), {k.replace("__", "."): v for k, v in overrides.items()})


def refusal(**overrides: Plain) -> str:
    with pytest.raises((SpecError, DeniedError)) as caught:
        values(**overrides)
    return str(caught.value)


def test_overrides_keep_types_siblings_and_the_rest() -> None:
    found = values(epochs="5", lr="0.0001", layers="[128,64]", opt__betas="[0.8,0.99]", opt__deep__a="2")
    assert found["epochs"] == 5
    assert found["lr"] == 0.0001
    assert found["layers"] == [128, 64]
    assert found["opt"] == {"name": "adam", "betas": [0.8, 0.99], "deep": {"a": 2}}
    assert found["ref"] == "${epochs}"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("C", "2", 2.0),
        ("C", "1e-2", 0.01),
        ("tag", "1.10", "1.10"),
        ("tag", "true", "true"),
        ("tag", "", ""),
        ("aug", "on", True),
        ("aug", "false", False),
        ("epochs", "010", 10),
        ("layers", "[a, 1e-4, no]", ["a", 1e-4, "no"]),
        ("opt", "{name: sgd}", {"name": "sgd"}),
        ("C", 2, 2.0),
        ("layers", [1], [1]),
    ],
)
def test_a_value_is_read_as_the_declared_type(name: str, text: Plain, value: Plain) -> None:
    found = values(**{name: text})[name]
    assert found == value
    assert type(found) is type(value)


def test_floats_come_back_bit_identical() -> None:
    assert values(C=repr(0.1 + 0.2))["C"] == 0.1 + 0.2


def test_a_declared_text_keeps_what_the_file_says() -> None:
    assert values()["tag"] == "1.10"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("epcohs", "1", "did you mean epochs?"),
        ("opt__nmae", "sgd", "did you mean opt.name?"),
        ("epochs__x", "1", "epochs is an integer and has no 'x'"),
        ("epochs", "2.5", "not int"),
        ("epochs", "true", "not int"),
        ("aug", "1", "not bool"),
        ("layers", "5", "not list"),
        ("layers", "[1", "TW1032"),
        ("lr", ".nan", "TW1034"),
        ("lr", "1e999", "TW1034"),
        ("lr", "9" * 5000, "TW1032"),
        ("layers", "[.inf]", "TW1034"),
        ("C", "500", "TW3101"),
        ("C", "0", "f.yaml:9:39"),
        ("mode", "c", 'one of "a", "b"'),
        ("tag", 5, "write it in quotes"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(name: str, text: Plain, words: str) -> None:
    assert words in refusal(**{name: text})


def test_outside_the_range_is_a_denial_and_a_wrong_type_is_not() -> None:
    with pytest.raises(DeniedError):
        values(C="500")
    with pytest.raises(SpecError):
        values(C="many")


def test_the_document_is_not_changed_by_overrides() -> None:
    document = load(BASE, "f.yaml")
    before = repr(document)
    resolve(document, {"opt.name": "sgd"})
    assert repr(document) == before
