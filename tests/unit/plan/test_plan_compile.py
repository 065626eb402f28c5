"""Documents to plans."""

import pytest

from trainwright.core.artifact import ArtifactKind, Content, PinnedData
from trainwright.core.codec import canonical_json, from_json, to_json
from trainwright.core.errors import BugError, DeniedError, SpecError, TrainwrightError
from trainwright.core.ids import Digest, StepName
from trainwright.core.job import Part
from trainwright.plan.compile import compile_plan, data_requests
from trainwright.plan.plan import Check, Plan
from trainwright.spec.load import load
from trainwright.spec.params import resolve

RAW = PinnedData("raw", "datasets/d@latest", "datasets/d@1", Content(Digest("sha256:" + "0" * 64), 1, 1))
MADE = "train: {run: 'echo ${{ out.model }}', out: {model: model}}\n"
REGISTER = "register: {uses: register, with: {model: train.model, name: digits}}\n"


def plan_of(steps: str, head: str = "", data: tuple[PinnedData, ...] = ()) -> Plan:
    body = "".join(f"  {line}\n" for line in steps.splitlines())
    document = load(f"pipeline: p\n{head}steps:\n{body}", "f.yaml")
    return compile_plan(document, resolve(document, {}), data)


def refusal(steps: str, kind: type[TrainwrightError], head: str = "") -> str:
    with pytest.raises(kind) as caught:
        plan_of(steps, head)
    return str(caught.value)


def order(plan: Plan) -> list[str]:
    return [str(s.name) for s in plan.steps]


def test_steps_follow_what_they_need_and_ties_go_by_name() -> None:
    steps = "z: {run: echo}\nb: {run: echo, depends_on: z}\na: {run: echo, depends_on: [z]}\nc: {run: echo}"
    assert order(plan_of(steps)) == ["c", "z", "a", "b"]


def test_references_become_edges_inputs_and_parts() -> None:
    steps = (
        "prep: {run: 'cat ${{ data.raw }} > ${{ out.table }}', out: {table: dataset}}\n"
        "use: {run: [cat, '--in=${{ prep.table }}-${{ params.n }}', '${{ checkpoint.path }}'],"
        " env: {R: 'x${{ data.raw }}'}}"
    )
    plan = plan_of(steps, "params: {n: 1e-4}\ndata: {raw: datasets/d@latest}\n", (RAW,))
    use = plan.step(StepName("use"))
    assert use.needs == ("prep",)
    assert [(i.name, i.step, i.output, i.kind) for i in use.inputs] == [
        ("data.raw", None, "raw", ArtifactKind.DATASET),
        ("prep.table", "prep", "table", ArtifactKind.DATASET),
    ]
    assert use.command is not None
    assert use.command.argv[1] == (Part("--in="), Part(ref="input:prep.table"), Part("-0.0001"))
    assert use.command.argv[2] == (Part(ref="checkpoint:path"),)
    assert use.env == {"R": (Part("x"), Part(ref="input:data.raw"))}
    prep = plan.step(StepName("prep")).command
    assert prep is not None
    assert prep.refs == {"TW_REF_1": (Part(ref="input:data.raw"),), "TW_REF_2": (Part(ref="output:table"),)}


def test_a_plan_survives_json() -> None:
    plan = plan_of(MADE + "judge: {run: 'echo ${{ train.model }}', check: auc > 0}\n" + REGISTER)
    assert from_json(Plan, to_json(plan)) == plan
    assert from_json(Plan, to_json(plan)).digest == plan.digest


def test_an_empty_text_parameter_is_an_empty_value() -> None:
    plan = plan_of("a: {run: 'echo ${{ params.t }}'}\nb: {run: [echo, '${{ params.t }}']}", "params: {t: ''}\n")
    first, second = plan.steps[0].command, plan.steps[1].command
    assert first is not None
    assert second is not None
    assert first.refs == {"TW_REF_1": ()}
    assert second.argv == ((Part("echo"),), ())


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        ("a: {run: echo, depends_on: b}\nb: {run: echo, depends_on: a}", "a → b → a"),
        (
            "c: {run: echo, depends_on: b}\nb: {run: echo, depends_on: a}\na: {run: echo, depends_on: c}",
            "a → c → b → a",
        ),
        (
            "0: {run: echo}\n".replace("0", "z")
            + "y: {run: echo, depends_on: b}\na: {run: echo, depends_on: z}\n"
            + "b: {run: echo, depends_on: c}\nc: {run: echo, depends_on: b}",
            "b → c → b",
        ),
    ],
)
def test_a_circle_is_shown_whole_from_its_smallest_name(steps: str, path: str) -> None:
    text = refusal(steps, SpecError)
    assert f"in a circle: {path}\n" in text
    assert "line " in text


def test_data_that_was_not_pinned_is_our_mistake() -> None:
    with pytest.raises(BugError):
        plan_of("a: {run: echo}", "data: {raw: datasets/d@latest}\n")


def test_data_is_asked_for_by_name() -> None:
    document = load("pipeline: p\ndata: {b: x@1, a: y}\nsteps: {s: {run: echo}}", "f")
    assert list(data_requests(document).items()) == [("a", "y"), ("b", "x@1")]


def test_gates_of_the_stage_follow_the_authors_checks() -> None:
    plan = plan_of(
        "a: {run: echo, stage: data_preparation, check: rows > 9}\n"
        "b: {run: echo, stage: data_preparation, check: rows > 0}"
    )
    assert plan.steps[0].checks == (Check("rows > 9"), Check("rows > 0", default=True))
    assert plan.steps[1].checks == (Check("rows > 0"),)


def test_a_registration_waits_for_its_maker_and_every_judge() -> None:
    judges = (
        "j2: {run: 'echo ${{ train.model }}', check: auc > 0}\n"
        "j1: {run: 'echo ${{ train.model }}', check: auc > 0}\n"
        "unchecked: {run: 'echo ${{ train.model }}'}\n"
        "other: {run: echo, check: x > 1}\n"
        "after: {run: 'echo ${{ train.model }}', check: auc > 0, depends_on: register}\n"
    )
    step = plan_of(MADE + judges + REGISTER).step(StepName("register"))
    assert step.registration is not None
    assert step.command is None
    assert step.registration.judges == ("j1", "j2")
    assert step.registration.metrics_from == ("train", "j1", "j2")
    assert step.needs == ("j1", "j2", "train")


def test_a_model_that_only_its_maker_or_a_stage_checks_is_not_registered() -> None:
    steps = "train: {run: 'echo ${{ out.model }}', out: {model: model}, check: loss < 1}\n"
    gated = "judge: {run: 'echo ${{ train.model }}', stage: data_preparation}\n"
    assert "TW3201" in refusal(steps + gated + REGISTER, DeniedError)


def test_production_is_never_an_alias_of_a_run() -> None:
    judge = "judge: {run: 'echo ${{ train.model }}', check: auc > 0}\n"
    assert "TW3202" in refusal(MADE + judge + REGISTER.replace("digits}", "digits, alias: production}"), DeniedError)


def test_production_means_the_one_model_that_is_registered() -> None:
    judge = "judge: {run: 'echo ${{ train.model }}', check: [x > 0, auc > production.auc], baseline: required}\n"
    step = plan_of(MADE + judge + REGISTER).step(StepName("judge"))
    assert (step.baseline_model, step.baseline_required) == ("digits", True)
    twice = REGISTER + REGISTER.replace("register:", "second:", 1).replace("digits", "numbers")
    assert "registered as digits, numbers" in refusal(MADE + judge + twice, SpecError)
    assert "f.yaml:4:58" in refusal(MADE + judge, SpecError)


def test_a_standard_pipeline_needs_all_six_stages() -> None:
    text = refusal("a: {run: echo, stage: training}", SpecError, "standard: true\n")
    assert "data_preparation, feature_load, model_init, evaluation, registration" in text


def test_help_texts_do_not_enter_the_digest() -> None:
    plain = plan_of("a: {run: echo}", "params: {x: {default: 1}}\n")
    helped = plan_of("a: {run: echo, help: b}", "description: c\nparams: {x: {default: 1, help: d}}\n")
    assert canonical_json(plain) == canonical_json(helped)
