"""The one language of conditions, checks and rules: a small subset of Python expressions.

Names, ``a.b``, ``a["b"]``, numbers, text, arithmetic, comparisons (chained too), ``and or not in``,
``abs min max has``; at most 500 characters. simpleeval evaluates with the operator table below; names are looked up
before, so that a missing or NaN operand is a verdict of its own and never a comparison.
"""

import ast
import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from trainwright.core.artifact import GateResult
from trainwright.core.scalar import Plain

LONGEST = 500
"""Characters in one expression."""

Names: TypeAlias = "Mapping[str, Plain | float | Mapping[str, Plain] | Mapping[str, float]]"

_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Gt: operator.gt,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.LtE: operator.le,
    ast.In: lambda item, group: item in group,
    ast.NotIn: lambda item, group: item not in group,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_FUNCTIONS = {"abs": abs, "min": min, "max": max}
_NODES = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Call, ast.Name, ast.Load,
    ast.Attribute, ast.Subscript, ast.Constant, ast.List, ast.Tuple, *_OPERATORS,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Condition:
    """A parsed expression.

    Attributes:
        text: as written.
        operands: dotted names it looks up, in order of appearance: ``auc``, ``production.auc``.
    """

    text: str
    operands: tuple[str, ...]
    tree: ast.Expression = field(compare=False, repr=False)


def parse(text: str) -> Condition:
    """Return the condition behind ``text``.

    Raises:
        ValueError: not in the language; the message says which part.
    """
    if len(text) > LONGEST:
        raise ValueError(f"the expression has {len(text)} characters; at most {LONGEST} are allowed")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or "nested too deeply"
        raise ValueError(f"not an expression: {reason}") from error
    for node in ast.walk(tree):
        _refuse_foreign(node)
    return Condition(text, tuple(dict.fromkeys(_operands(tree.body))), tree)


def mentioned(condition: Condition) -> tuple[str, ...]:
    """Return every dotted name of a condition, those that it only asks for with ``has`` too."""
    asked = [
        node.args[0].value
        for node in ast.walk(condition.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "has"
        if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
    ]
    return tuple(dict.fromkeys([*condition.operands, *asked]))


def dotted_name(node: ast.AST) -> str | None:
    """Return the name that a node looks up: ``a``, ``a.b``, ``a["b"]``; None when it looks up none."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=base, attr=attr):
            head = dotted_name(base)
            return None if head is None else f"{head}.{attr}"
        case ast.Subscript(value=base, slice=ast.Constant(value=str(key))):
            head = dotted_name(base)
            return None if head is None else f"{head}.{key!s}"
        case _:
            return None


def judge(condition: Condition, names: Names, *, baseline_required: bool = False) -> GateResult:
    """Evaluate a check to a verdict; never raises.

    Args:
        condition: parsed.
        names: operands; ``production`` maps to the metrics of the model in production and is absent without one.
        baseline_required: whether the absence of a model in production fails the check.
    """
    found: dict[str, Plain] = {}
    for dotted in condition.operands:
        value = _lookup(names, dotted)
        if value is None:
            if dotted.startswith("production.") and "production" not in names:
                verdict = "missing" if baseline_required else "no-baseline"
                return GateResult(condition.text, verdict, found)
            return GateResult(condition.text, "missing", {**found, dotted: None})
        found[dotted] = value
    if any(isinstance(value, float) and math.isnan(value) for value in found.values()):
        return GateResult(condition.text, "not-a-number", found)
    from simpleeval import InvalidExpression  # noqa: PLC0415 - 14 ms, and most commands judge nothing

    try:
        held = bool(_evaluate(condition, names))
    except (InvalidExpression, ArithmeticError, TypeError, ValueError):
        return GateResult(condition.text, "failed", found)
    return GateResult(condition.text, "passed" if held else "failed", found)


def _evaluate(condition: Condition, names: Names) -> object:
    from simpleeval import EvalWithCompoundTypes  # noqa: PLC0415 - as above

    def has(name: object) -> bool:
        return isinstance(name, str) and _lookup(names, name) is not None

    scope = {f"operand{place}": _lookup(names, dotted) for place, dotted in enumerate(condition.operands)}
    looked = _Looked({dotted: f"operand{place}" for place, dotted in enumerate(condition.operands)})
    body = looked.visit(ast.parse(condition.text.strip(), mode="eval").body)
    evaluator = EvalWithCompoundTypes(operators=_OPERATORS, functions={**_FUNCTIONS, "has": has}, names=scope)
    return evaluator.eval(condition.text.strip(), previously_parsed=body)


class _Looked(ast.NodeTransformer):
    """Puts one plain name in the place of each operand, so that a name may have dots in it, as metrics do."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> ast.AST:
        dotted = dotted_name(node)
        if dotted is not None and dotted in self._names:
            return ast.Name(id=self._names[dotted], ctx=ast.Load())
        if isinstance(node, ast.Call):  # what is called is no operand
            node.args = [self.visit(argument) for argument in node.args]  # type: ignore[misc]  # expressions stay some
            return node
        return super().generic_visit(node)


def _refuse_foreign(node: ast.AST) -> None:
    if not isinstance(node, _NODES):
        raise ValueError(f"{type(node).__name__} is not part of the language of conditions")
    if isinstance(node, ast.Call):
        known = isinstance(node.func, ast.Name) and node.func.id in {*_FUNCTIONS, "has"}
        if not known or node.keywords:
            raise ValueError("the only functions are abs, min, max and has")
    if isinstance(node, ast.Subscript) and not (
        isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    ):
        raise ValueError('between brackets only a name in quotes: a["b"]')
    if isinstance(node, ast.Constant) and not isinstance(node.value, bool | int | float | str | None):
        raise ValueError(f"{node.value!r} is neither a number nor text")
    if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
        raise ValueError(f"names that begin with an underscore are not reachable: {node.attr}")


def _operands(node: ast.AST) -> list[str]:
    dotted = dotted_name(node)
    if dotted is not None:
        return [dotted]
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "has":
            return []
        return [name for child in node.args for name in _operands(child)]
    return [name for child in ast.iter_child_nodes(node) for name in _operands(child)]


def _lookup(names: Names, dotted: str) -> Plain:
    """Return what a dotted name means; ``table.rows`` may be one name with a dot, or a name within another."""
    here: object = names
    rest = dotted
    while isinstance(here, Mapping):
        if rest in here:
            here = here[rest]
            return here if isinstance(here, bool | int | float | str | list) else None
        part, _, rest = rest.partition(".")
        here = here.get(part)
    return None
