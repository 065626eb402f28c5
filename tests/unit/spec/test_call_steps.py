"""``call:`` in pipeline files."""

import pytest

from trainwright.core.artifact import Content, PinnedData
from trainwright.core.codec import canonical_json, from_json, to_json
from trainwright.core.errors import SpecError
from trainwright.core.ids import Digest
from trainwright.core.job import Argument, Call, Command
from trainwright.plan.compile import compile_plan
from trainwright.plan.plan import Plan, PlannedStep
from trainwright.spec.load import load
from trainwright.spec.params import resolve

FILE = """\
pipeline: p
params: {C: 1.0, layers: [64, 32]}
data: {raw: a.csv}
steps:
  prep: {call: "steps:prep", with: {raw: data.raw}, out: {table: dataset}}
  train:
    call: lib.training:Trainer.fit
    with: WITH
    out: {model: model, copy: pickle}
"""


def planned(with_: str, head: str = FILE) -> PlannedStep:
    document = load(head.replace("WITH", with_), "p.yaml")
    pinned = PinnedData("raw", "a.csv", "a.csv", Content(Digest("sha256:" + "0" * 64), 1, 1))
    plan = compile_plan(document, resolve(document, {}), (pinned,))
    assert from_json(Plan, to_json(plan)) == plan
    return plan.step(plan.steps[1].name)


def test_a_name_of_something_is_a_reference_and_anything_else_a_value() -> None:
    step = planned(
        "{table: prep.table, raw: data.raw, C: params.C, layers: params.layers, k: 3, x: other.csv, n: null, "
        "t: {value: data.raw}, m: {value: {value: 1}}, opt: {name: adam}}"
    )
    assert step.command == Command(
        call=Call(
            "lib.training:Trainer.fit",
            {
                "table": Argument(ref="input:prep.table"),
                "raw": Argument(ref="input:data.raw"),
                "C": Argument(1.0),
                "layers": Argument([64, 32]),
                "k": Argument(3),
                "x": Argument("other.csv"),
                "n": Argument(),
                "t": Argument("data.raw"),
                "m": Argument({"value": 1}),
                "opt": Argument({"name": "adam"}),
            },
        )
    )
    assert [i.name for i in step.inputs] == ["data.raw", "prep.table"]
    assert step.needs == ("prep",)


def test_what_a_member_gets_is_filled_in_when_its_job_is_made() -> None:
    for_each = FILE.replace("    out: {model: model, copy: pickle}", "    for_each: [1, 2]\n    out: {model: model}")
    step = planned("{table: each.value, place: each.index, C: params.C}", for_each)
    assert step.group is not None
    (body,) = step.group.body
    assert body.command == Command(
        call=Call(
            "lib.training:Trainer.fit",
            {
                "table": Argument(ref="each:train:value"),
                "place": Argument(ref="each:train:index"),
                "C": Argument(1.0),
            },
        )
    )


def test_the_order_of_arguments_means_nothing() -> None:
    assert canonical_json(planned("{k: 3, C: params.C, table: prep.table}")) == canonical_json(
        planned("{table: prep.table, C: params.C, k: 3}")
    )


def refusal(text: str) -> SpecError:
    with pytest.raises(SpecError) as caught:
        load(text, "p.yaml")
    return caught.value


@pytest.mark.parametrize(
    ("with_", "words", "place"),
    [
        ("{table: prep.tabel}", "prep.tabel names nothing: prep has no tabel", ":8:19"),
        ("{table: data.rwa}", "did you mean raw?", ":8:19"),
        ("{table: params.D}", "params.D names nothing", ":8:19"),
        ("{table: train.model}", "reads and writes the same", ":8:19"),
        ("{table: each.value}", "each. is known in steps with for_each:", ":8:19"),
        ("{table: prep.tabel}", '{value: "prep.tabel"}', ":8:19"),
        ("{not a name: 1}", "cannot be the name of an argument", ":8:24"),
        ("{C: .nan}", "C: nan is not a finite number", ":8:15"),
        ("[1]", "with: [1] is a list, not a mapping", ":8:11"),
        ('{t: "${{ prep.table }}"}', "write the name without ${{ }}", ":8:15"),
    ],
)
def test_a_wrong_argument_is_told_with_its_place(with_: str, words: str, place: str) -> None:
    problem = refusal(FILE.replace("WITH", with_)).problem
    assert words in str(problem)
    assert problem.where.endswith(place)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("{call: training.py}", "a script is run with run: python"),
        ("{call: training}", "write the module, a colon and the function"),
        ("{call: 'a:b', run: echo}", "has both run: and call:"),
        ("{run: echo, with: {a: 1}}", "with: without uses: or call:"),
        ("{uses: register, call: 'a:b', with: {model: a.b, name: c}}", "uses: register and call:"),
        ("{run: 'true', out: {m: pickle}}", "is a command, and its output m is a pickle"),
        ("{run: 'true', on_fail: {call: 'a:b'}}", "on_fail: of step s has call:"),
        ("{}", "neither run: nor call: nor uses:"),
    ],
)
def test_keys_that_do_not_go_together_are_refused(step: str, words: str) -> None:
    assert words in str(refusal(f"pipeline: p\nsteps:\n  s: {step}\n").problem)


def test_what_is_pickled_is_not_registered() -> None:
    text = FILE.replace("WITH", "{table: prep.table}") + "  r: {uses: register, with: {model: train.copy, name: m}}\n"
    assert "train.copy is a pickle, not a model" in str(refusal(text).problem)


def test_help_does_not_enter_the_plan() -> None:
    helped = FILE.replace("C: 1.0", "C: {default: 1.0, help: weight}").replace(
        "    out: {model", "    help: x\n    out: {model"
    )
    assert planned("{k: 1}", helped) == planned("{k: 1}")


WARM = """\
pipeline: p
steps:
  a: {call: "steps:a", warm: [pandas, sklearn.linear_model, pandas]}
  b: {call: "steps:b"}
"""


def test_modules_to_import_ahead_are_in_the_plan_and_not_in_the_command() -> None:
    document = load(WARM, "p.yaml")
    a, b = compile_plan(document, {}, ()).steps
    assert (a.warm, b.warm) == (("pandas", "sklearn.linear_model"), ())
    bare = compile_plan(load(WARM.replace(", warm: [pandas, sklearn.linear_model, pandas]", ""), "p.yaml"), {}, ())
    assert bare.steps[0].command == a.command


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ('{run: "true", warm: pandas}', "TW1017"),
        ('{call: "steps:a", warm: "pandas, numpy"}', "TW1015"),
        ('{call: "steps:a", warm: ["../pandas"]}', "TW1015"),
        ('{call: "steps:a", warm: [3]}', "TW1013"),
        ("{uses: register, with: {model: b.m, name: m}, warm: pandas}", "TW1017"),
    ],
)
def test_modules_to_import_ahead_belong_to_functions_and_are_names(step: str, code: str) -> None:
    with pytest.raises(SpecError) as refusal:
        load(f"pipeline: p\nsteps:\n  a: {step}\n  b: {{run: x, out: {{m: model}}}}\n", "p.yaml")
    assert refusal.value.problem.code == code
