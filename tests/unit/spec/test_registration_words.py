"""What a register step may say of its model: a signature, a card."""

import textwrap

import pytest

from trainwright.core.artifact import Signature
from trainwright.core.errors import SpecError
from trainwright.spec.document import RegisterSpec
from trainwright.spec.load import load

TEXT = textwrap.dedent("""\
    pipeline: p
    steps:
      train: {run: "true", out: {model: model, notes: file, table: dataset}}
      judge: {run: "echo ${{ train.model }}", check: auc > 0}
      register:
        uses: register
        with:
          model: train.model
          name: digits
          signature: {inputs: {x: float64}, outputs: {y: int64}}
          card: train.notes
    """)


def test_a_signature_and_a_card_are_kept() -> None:
    assert load(TEXT, "p.yaml").spec.steps["register"].register == RegisterSpec(
        "train.model", "digits", "", Signature({"x": "float64"}, {"y": "int64"}, "pipeline"), "notes"
    )
    bare = load(TEXT.replace("card: train.notes", "card: notes"), "p.yaml").spec.steps["register"].register
    assert bare is not None
    assert bare.card == "notes"


@pytest.mark.parametrize(
    ("before", "after", "code", "line"),
    [
        ("card: train.notes", "card: judge.notes", "TW1060", 11),
        ("card: train.notes", "card: noted", "TW1060", 11),
        ("card: train.notes", "card: table", "TW1060", 11),
        ("{inputs: {x: float64}, outputs: {y: int64}}", "{inputs: {}}", "TW1013", 10),
        ("outputs: {y: int64}", "output: {y: int64}", "TW1010", 10),
        ("{x: float64}", "{x: 64}", "TW1013", 10),
    ],
)
def test_a_mistake_has_a_place(before: str, after: str, code: str, line: int) -> None:
    with pytest.raises(SpecError) as caught:
        load(TEXT.replace(before, after), "p.yaml")
    problem = caught.value.problem
    assert problem.code == code, problem
    assert problem.where.split(":")[1] == str(line), problem
