"""What stands for a value that only exists when the run executes: a parameter, data, or an output of a step."""

from __future__ import annotations

from trainwright.dsl.errors import PipelineError
from trainwright.dsl.places import caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_DRAWN = "the pipeline function only draws the graph; what steps make is there when the run executes"
_DECIDE = 'decide in the step, or say it of the step: step.options(when="evaluate.auc > 0.9")(…)'
_EACH = "let the step run once for each item: step.options(for_each=shards)(tw.each.value)"
_COMPUTE = "compute it inside a step, or give the result a parameter of its own"


class Reference:
    """``prep.table``: one output of a step, an entry of ``data``, or a parameter.

    In a text it becomes ``${{ prep.table }}``, so that an f-string for :func:`trainwright.command` says what is meant.
    """

    __slots__ = ("_field", "_name")

    def __init__(self, name: str, field: str) -> None:
        self._name, self._field = name, field

    def __str__(self) -> str:
        return f"${{{{ {self._name}.{self._field} }}}}"

    def __repr__(self) -> str:
        return f"<reference {self._name}.{self._field}>"

    def __format__(self, how: str) -> str:
        if how:
            self._refuse(f"is formatted as {how!r}", _COMPUTE)
        return str(self)

    def __getattr__(self, name: str) -> Reference:
        if name == self._field:
            return self
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse(f"is asked for .{name}", _COMPUTE)

    def __getitem__(self, key: object) -> Reference:
        if key == self._field:
            return self
        return self._refuse(f"is asked for [{key!r}]", _COMPUTE)

    def _refuse(self, use: str, remedy: str) -> NoReturn:
        message = f"{self._name}.{self._field} {use}, and it has no value yet"
        raise PipelineError("TW1105", message, where=caller(), why=_DRAWN, remedy=remedy)

    def __bool__(self) -> bool:  # noqa: PLE0304 - it never returns
        self._refuse("is used as a condition", _DECIDE)

    def __iter__(self) -> NoReturn:
        self._refuse("is iterated over", _EACH)

    def __len__(self) -> int:  # noqa: PLE0303 - it never returns
        self._refuse("is asked for its length", _EACH)

    def __contains__(self, item: object) -> bool:
        self._refuse("is searched", _DECIDE)

    def __call__(self, *_: object, **__: object) -> NoReturn:  # noqa: D102 - as the others, it refuses
        self._refuse("is called", _COMPUTE)

    __hash__ = object.__hash__


def _refusing(use: str, remedy: str) -> Any:
    def operation(self: Reference, *_: object) -> NoReturn:
        self._refuse(use, remedy)

    return operation


def _compared(self: Reference, other: object) -> bool:
    if self is other:
        return True
    return self._refuse("is compared", _DECIDE)


for _word in ("lt", "le", "gt", "ge"):
    setattr(Reference, f"__{_word}__", _refusing("is compared", _DECIDE))
for _word in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"):
    setattr(Reference, f"__{_word}__", _refusing("is computed with", _COMPUTE))
    setattr(Reference, f"__r{_word}__", _refusing("is computed with", _COMPUTE))
for _word in ("neg", "abs", "int", "float", "index", "round"):
    setattr(Reference, f"__{_word}__", _refusing("is computed with", _COMPUTE))
Reference.__eq__ = _compared  # type: ignore[method-assign,assignment] # as the operators above


class Outputs:
    """What a step returns while the pipeline is drawn: its outputs by attribute or by name.

    Attributes:
        _step: its name.
        _known: names of its outputs; None when only the compiler knows them.
    """

    __slots__ = ("_known", "_step")

    def __init__(self, step: str, known: tuple[str, ...] | None) -> None:
        self._step, self._known = step, known

    def __repr__(self) -> str:
        return f"<step {self._step}>"

    def __getattr__(self, name: str) -> Reference:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Reference:
        if self._known is not None and name not in self._known:
            has = f"it has {', '.join(self._known)}" if self._known else "declare it: out={…}"
            message = f"step {self._step} has no output {name!r}"
            raise PipelineError("TW1106", message, where=caller(), remedy=has)
        return Reference(self._step, name)

    def __iter__(self) -> NoReturn:
        raise PipelineError(
            "TW1105",
            f"the outputs of step {self._step} are unpacked",
            where=caller(),
            why="they have names and no order",
            remedy=f'take them by name: {self._step}["{(self._known or ("…",))[0]}"]',
        )

    def __bool__(self) -> bool:
        raise PipelineError(
            "TW1105", f"step {self._step} is used as a condition", where=caller(), why=_DRAWN, remedy=_DECIDE
        )


class Scope:
    """``tw.each``, ``tw.matrix``, ``tw.loop`` or ``tw.prev``: names that mean something in a fan-out or a loop."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<references of {self._name}>"

    def __getattr__(self, field: str) -> Reference:
        if field.startswith("__"):
            raise AttributeError(field)
        return Reference(self._name, field)

    def __getitem__(self, field: str) -> Reference:
        return Reference(self._name, field)


each, matrix, loop, prev = Scope("each"), Scope("matrix"), Scope("loop"), Scope("prev")
SCOPES = frozenset({"each", "matrix", "loop", "prev"})


def bare(value: object) -> str | None:
    """Return ``prep.table`` for what stands for a value; None for anything else.

    Raises:
        PipelineError: a step with no output, or with several, where one is meant.
    """
    if isinstance(value, Reference):
        return f"{value._name}.{value._field}"  # noqa: SLF001 - what users see of it are its refusals
    if isinstance(value, Outputs):
        step, known = value._step, value._known  # noqa: SLF001
        message = f"step {step} is used as a value, and it has " + ("several outputs" if known else "no output")
        remedy = f'name one: {step}["{known[0]}"]' if known else "declare one at its step: out={…}"
        raise PipelineError("TW1106", message, where=caller(), remedy=remedy)
    return None


def step_of(value: object) -> str | None:
    """Return the name of the step behind a result; None for anything else."""
    if isinstance(value, Reference):
        return value._name  # noqa: SLF001
    return value._step if isinstance(value, Outputs) else None  # noqa: SLF001
