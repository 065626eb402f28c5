"""Steps that stand for several, and steps that begin under conditions: what their keys mean together."""

from trainwright.core import condition
from trainwright.core.join import Join
from trainwright.core.scalar import Plain
from trainwright.spec.document import MOST_MEMBERS, FanOut, LoopSpec
from trainwright.spec.findings import Findings, WrongValueError, show, suggest
from trainwright.spec.models import StepModel
from trainwright.spec.reader import Tree

JOINS = tuple(join.value for join in Join if join is not Join.ONE_FAILED)
"""Words that may stand in ``when:``."""

_OF_GROUPS = ("parallel", "tolerate")
_NOT_ON_FAIL = (
    "call",
    "when",
    "for_each",
    "matrix",
    "loop",
    "on_fail",
    "parallel",
    "tolerate",
    "depends_on",
    "out",
    "check",
    "cache",
    "warm",
)


def fan_out_of(path: str, model: StepModel, tree: Tree, findings: Findings) -> FanOut | None:
    """Return what a step goes over; too many members are a finding."""
    if model.matrix is not None:
        matrix = {
            name: values if isinstance(values, str) else _plain(values) for name, values in sorted(model.matrix.items())
        }
        count = 1
        for values in matrix.values():
            count *= len(values) if isinstance(values, tuple) else 1
        _refuse_many(f"{path}.matrix", count, tree, findings)
        return FanOut(matrix=matrix)
    if isinstance(model.for_each, str):
        return FanOut(over=model.for_each)
    if model.for_each is not None:
        _refuse_many(f"{path}.for_each", len(model.for_each), tree, findings)
        return FanOut(items=_plain(model.for_each))
    return None


def loop_of(path: str, model: StepModel, tree: Tree, findings: Findings) -> LoopSpec | None:
    """Return the loop of a step; an ``until:`` outside the language of conditions is a finding."""
    if model.loop is None:
        return None
    judge_condition(f"{path}.loop.until", model.loop.until, tree, findings)
    return LoopSpec(model.loop.max_rounds, model.loop.until)


def join_of(path: str, model: StepModel, tree: Tree, findings: Findings) -> tuple[Join, tuple[str, ...]]:
    """Return the join rule among ``when:`` and the conditions beside it."""
    rules: list[Join] = []
    conditions: list[str] = []
    for index, text in enumerate(model.when):
        if text in JOINS:
            rules.append(Join(text))
            continue
        place = f"{path}.when.{index}" if f"{path}.when.{index}" in tree.positions else f"{path}.when"
        if text.isidentifier():
            remedy = suggest(text, JOINS, "rules")
            wrong = WrongValueError("TW1042", f"when: {text} is neither a rule nor a condition", remedy=remedy)
            findings.add(tree.where(place), wrong)
        else:
            judge_condition(place, text, tree, findings)
        conditions.append(text)
    if len(rules) > 1:
        message = f"when: has several rules: {', '.join(rules)}"
        findings.add(tree.where(f"{path}.when"), WrongValueError("TW1042", message, remedy="write one of them"))
    return rules[0] if rules else Join.ALL_SUCCESS, tuple(conditions)


def judge_condition(path: str, text: str, tree: Tree, findings: Findings) -> None:
    """Add a finding when a text is not a condition, or names nothing."""
    try:
        if not condition.mentioned(condition.parse(text)):
            raise ValueError("it names nothing, so it is always the same")  # noqa: TRY301
    except ValueError as error:
        remedy = 'write a condition such as "evaluate.auc > 0.9"'
        findings.add(tree.where(path), WrongValueError("TW1042", f"the condition {show(text)}: {error}", remedy=remedy))


def clashes(path: str, model: StepModel, tree: Tree) -> list[tuple[str, WrongValueError]]:
    """Return keys of groups that do not go together, with what is wrong."""
    name = path.removeprefix("steps.")
    found = []
    several = [key for key in ("for_each", "matrix", "loop") if f"{path}.{key}" in tree.positions]
    if len(several) > 1:
        message = f"step {name} has both {several[0]}: and {several[1]}:"
        remedy = "put one of them into a pipeline file of its own and use that: uses: ./other.yaml"
        found.append((several[1], WrongValueError("TW1017", message, remedy=remedy)))
    for key in _OF_GROUPS:
        if f"{path}.{key}" in tree.positions and model.for_each is None and model.matrix is None:
            message = f"step {name} has {key}: without for_each: or matrix:"
            found.append((key, WrongValueError("TW1017", message, remedy="leave it out")))
    if model.uses is not None and (several or model.skip_code is not None) and model.uses == "register":
        message = f"step {name} has uses: register and {(several or ['skip_code'])[0]}:"
        remedy = "register once, after the step that chooses the model"
        found.append(((several or ["skip_code"])[0], WrongValueError("TW1017", message, remedy=remedy)))
    for key in _NOT_ON_FAIL if model.on_fail is not None else ():
        if f"{path}.on_fail.{key}" in tree.positions:
            message = f"on_fail: of step {name} has {key}:"
            remedy = "on_fail: takes run:, env:, environment:, resources:, retry: and timeout:"
            found.append((f"on_fail.{key}", WrongValueError("TW1017", message, remedy=remedy)))
    if model.on_fail is not None and model.on_fail.uses is not None:
        message = f"on_fail: of step {name} has uses:"
        found.append(("on_fail.uses", WrongValueError("TW1017", message, remedy="write run: and a command")))
    return found


def _plain(values: list[object]) -> tuple[Plain, ...]:
    return tuple(values)  # type: ignore[arg-type]  # Plain by the reader


def _refuse_many(path: str, count: int, tree: Tree, findings: Findings) -> None:
    if count > MOST_MEMBERS:
        message = f"the step would have {count} members, at most {MOST_MEMBERS} are allowed"
        remedy = "let each member take a part of the list"
        findings.add(tree.where(path), WrongValueError("TW1043", message, remedy=remedy))
