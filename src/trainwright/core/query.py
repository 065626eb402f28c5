"""Conditions that choose among many runs: the language of ``core.condition``, typed before anything is looked up.

A comparison is true, false or unknown: unknown when a side is missing, not a number (NaN), or of another type in that
run. ``and``, ``or`` and ``not`` carry that on as SQL does, and a run is chosen only by what is true.
``store.selection`` says the same in SQL; ``truth`` is what both are held against.
"""

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from trainwright.core import quantity
from trainwright.core.condition import Condition, dotted_name
from trainwright.core.states import RunState

Known: TypeAlias = bool | int | float | str
"""What a run has under a name."""

Look = Callable[["Operand"], Known | None]
"""Gives what one run has: None when it has nothing; NaN is a float."""

LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Operand:
    """A name of a condition, and where a run keeps what it stands for.

    Attributes:
        home: ``field`` of a run, ``param``, ``metric``, or ``data``.
        name: there.
        step: of a metric; empty = the last step of the run, in order, that has it.
        kind: ``number``, ``text``, ``instant``, ``age`` (seconds), or ``any`` where runs differ.
    """

    home: str
    name: str
    step: str = ""
    kind: str = "number"


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a typed condition.

    Attributes:
        op: ``value``, ``name``, ``has``, ``and``, ``or``, ``not``, a comparison, ``in``, an operator, ``neg``, ``abs``,
            ``min`` or ``max``.
        kind: ``number`` or ``text``; truth is a number.
        value: of ``value``.
        operand: of ``name`` and ``has``.
    """

    op: str
    parts: tuple["Term", ...] = ()
    kind: str = "number"
    value: Known | None = None
    operand: Operand | None = None


Resolve = Callable[[str], Operand]
"""Finds what a dotted name stands for."""

_COMPARED: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_COMPUTED: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}


def typed(condition: Condition, resolve: Resolve, has: Resolve) -> Term:
    """Return a condition whose comparisons are all between things of one type.

    Args:
        condition: parsed.
        resolve: raises what it likes for a name that stands for nothing.
        has: the same, for names that are only asked for.

    Raises:
        ValueError: a text stands where a number belongs, or the other way round; the message says which.
    """
    return _Typing(resolve, has).truth(condition.tree.body)


def read_as(kind: str, value: Known | None) -> Known | None:
    """Return what a run has as a number or as a text; None when it is neither that nor known."""
    if kind == "text":
        return value if isinstance(value, str) else None
    if not isinstance(value, bool | int | float) or (isinstance(value, float) and math.isnan(value)):
        return None
    return _held(value)


def truth(term: Term, look: Look) -> bool | None:
    """Tell whether a typed condition holds for one run; None = unknown."""
    value = _evaluate(term, look)
    return None if value is None else bool(value)


class _Typing:
    """From the tree of the parser to terms."""

    def __init__(self, resolve: Resolve, has: Resolve) -> None:
        self._resolve, self._has = resolve, has

    def truth(self, node: ast.expr) -> Term:
        term = self.term(node)
        if term.kind == "text":
            raise ValueError(f"{ast.unparse(node)} is text, and a text is neither true nor false")
        return _as(term, "number")

    def term(self, node: ast.expr) -> Term:
        dotted = dotted_name(node)
        if dotted is not None:
            operand = self._resolve(dotted)
            kind = {"instant": "text", "age": "number"}.get(operand.kind, operand.kind)
            return Term("name", kind=kind, operand=operand)
        match node:
            case ast.Constant(value=None):
                raise ValueError('nothing equals None; ask whether a run has something: has("auc")')
            case ast.Constant(value=str(text)):
                return Term("value", kind="text", value=text)
            case ast.Constant(value=bool() | int() | float() as number):
                return Term("value", value=_held(number))
            case ast.BoolOp(op=op, values=values):
                return Term("and" if isinstance(op, ast.And) else "or", tuple(map(self.truth, values)))
            case ast.UnaryOp(op=op, operand=inner):
                return self.unary(op, inner)
            case ast.BinOp(left=left, op=op, right=right):
                return Term(_COMPUTED[type(op)], (self.number(left), self.number(right)))
            case ast.Compare():
                return self.comparison(node)
            case ast.Call():
                return self.call(node)
            case _:
                raise ValueError(f"{ast.unparse(node)} has no place here")

    def unary(self, op: ast.unaryop, inner: ast.expr) -> Term:
        if isinstance(op, ast.Not):
            return Term("not", (self.truth(inner),))
        return Term("neg" if isinstance(op, ast.USub) else "pos", (self.number(inner),))

    def number(self, node: ast.expr) -> Term:
        term = self.term(node)
        if term.kind == "text":
            raise ValueError(f"{ast.unparse(node)} is text, and one cannot compute with that")
        return _as(term, "number")

    def comparison(self, node: ast.Compare) -> Term:
        sides = [node.left, *node.comparators]
        pairs = [self.pair(a, op, b) for a, op, b in zip(sides, node.ops, sides[1:], strict=False)]
        return pairs[0] if len(pairs) == 1 else Term("and", tuple(pairs))

    def pair(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Term:
        if not isinstance(op, ast.In | ast.NotIn):
            return Term(_COMPARED[type(op)], self.alike(left, right))
        if isinstance(right, ast.List | ast.Tuple):
            found = Term("or", tuple(Term("==", self.alike(left, each)) for each in right.elts))
        else:
            hay = self.term(right)
            needle, hay = _as(self.term(left), "text"), _as(hay, "text")
            if needle.kind != "text" or hay.kind != "text":
                raise ValueError(f"{ast.unparse(right)} is a number: in looks into a list or a text")
            found = Term("in", (needle, hay))
        return Term("not", (found,)) if isinstance(op, ast.NotIn) else found

    def alike(self, left: ast.expr, right: ast.expr) -> tuple[Term, Term]:
        """Return two sides of one type.

        Raises:
            ValueError: one is text and the other a number.
        """
        a, b = self.term(left), self.term(right)
        a, b = _meant(a, b, left), _meant(b, a, right)
        kinds = {a.kind, b.kind} - {"any"}
        if len(kinds) > 1:
            text, number = (left, right) if a.kind == "text" else (right, left)
            quoted = ""
            if isinstance(number, ast.Constant) and isinstance(text, ast.Name | ast.Attribute):
                quoted = f'; as text it is written "{ast.unparse(number)}"'
            raise ValueError(f"{ast.unparse(text)} is text and {ast.unparse(number)} is a number{quoted}")
        kind = kinds.pop() if kinds else "number"
        return _as(a, kind), _as(b, kind)

    def call(self, node: ast.Call) -> Term:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "has":
            asked = node.args[0] if len(node.args) == 1 else None
            if not (isinstance(asked, ast.Constant) and isinstance(asked.value, str)):
                raise ValueError('has takes one name in quotes: has("auc")')
            return Term("has", operand=self._has(asked.value))
        least, most = (1, 1) if name == "abs" else (2, 20)
        if not least <= len(node.args) <= most:
            raise ValueError(f"{name} takes {'one number' if most == 1 else 'two numbers or more'}")
        return Term(name, tuple(map(self.number, node.args)))


def _as(term: Term, kind: str) -> Term:
    """Return a term of the kind that its place needs, when it may be either."""
    return Term(term.op, term.parts, kind, term.value, term.operand) if term.kind == "any" else term


def _meant(term: Term, other: Term, node: ast.expr) -> Term:
    """Return a text beside an instant, an age or a state as what it stands for there."""
    if term.op != "value" or not isinstance(term.value, str) or other.operand is None or other.op != "name":
        return term
    if other.operand.kind == "instant":
        return Term("value", kind="text", value=instant_text(term.value))
    if other.operand.kind == "age":
        return Term("value", value=quantity.duration(term.value).total_seconds())
    if other.operand == Operand("field", "state", kind="text") and term.value not in set(RunState):
        raise ValueError(f"{ast.unparse(node)} is no state of a run; there are {', '.join(RunState)}")
    return term


def instant_text(text: str) -> str:
    """Return the sortable text of an instant as the store keeps it; without an offset it is of UTC.

    Raises:
        ValueError: it is none.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text} is no instant; write 2026-03-01 or 2026-03-01T12:00:00Z") from error
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _held(number: float) -> float:
    """Return a number as the database holds it: a whole one too large for it becomes a float."""
    if isinstance(number, int) and not -LARGEST <= number <= LARGEST:
        return float(number) if abs(number) < 1 << 1000 else math.copysign(math.inf, number)
    return number


def _evaluate(term: Term, look: Look) -> Known | None:
    if term.op == "value":
        return term.value
    if term.operand is not None:
        found = look(term.operand)
        return found is not None if term.op == "has" else read_as(term.kind, found)
    values = [_evaluate(part, look) for part in term.parts]
    if term.op in {"and", "or"}:
        decides = term.op == "or"
        truths = [None if v is None else bool(v) for v in values]
        return decides if decides in truths else None if None in truths else not decides
    if any(v is None for v in values):
        return None
    return _apply(term.op, [v for v in values if v is not None])


def _apply(op: str, values: list[Known]) -> Known | None:
    if op in _TESTS:
        return _TESTS[op](*values)
    if op in {"min", "max"}:
        return min(values, key=_number) if op == "min" else max(values, key=_number)
    try:
        made = _SUMS[op](*map(_number, values))
    except (ArithmeticError, ValueError):
        return None
    return None if math.isnan(made) else made


def _number(value: Known) -> float:
    return value if isinstance(value, bool | int | float) else math.nan


_TESTS: Mapping[str, Callable[..., bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "in": lambda needle, hay: needle in hay,
    "not": lambda a: not a,
}
_SUMS: Mapping[str, Callable[..., float]] = {
    "+": lambda a, b: float(a) + float(b),
    "-": lambda a, b: float(a) - float(b),
    "*": lambda a, b: float(a) * float(b),
    "/": lambda a, b: float(a) / float(b),
    "//": lambda a, b: float(a) // float(b),
    "%": lambda a, b: float(a) % float(b),
    "neg": lambda a: -float(a),
    "pos": float,
    "abs": lambda a: abs(float(a)),
}
