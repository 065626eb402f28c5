"""Registrations: which steps judge a model before it enters the registry, and whom ``production.…`` means."""

from collections.abc import Mapping

from trainwright.core import condition
from trainwright.core.errors import DeniedError, SpecError
from trainwright.core.ids import StepName
from trainwright.plan.order import Needs, everything_before
from trainwright.plan.plan import PlannedInput, Registration
from trainwright.spec.document import Document, RegisterSpec

PRODUCTION = "production"


def registrations(
    document: Document, inputs: Mapping[str, tuple[PlannedInput, ...]], needs: Needs
) -> dict[str, Registration]:
    """Return the registration of every register step, by the name of the step.

    Args:
        document: checked by ``spec.load``.
        inputs: what each step reads.
        needs: without circles; the judges of a registration are not in it yet.

    Raises:
        DeniedError: nobody checks a model, or its alias is ``production``.
    """
    steps = document.spec.steps
    return {
        name: _registration(document, name, step.register, inputs, needs)
        for name, step in steps.items()
        if step.register is not None
    }


def _registration(
    document: Document,
    name: str,
    asked: RegisterSpec,
    inputs: Mapping[str, tuple[PlannedInput, ...]],
    needs: Needs,
) -> Registration:
    if asked.alias == PRODUCTION:
        raise DeniedError(
            "TW3202",
            f"step {name} would move the alias production",
            where=document.where(f"steps.{name}.with.alias"),
            why="a model goes into production by a decision of its own, not by a run",
            remedy=f"write alias: candidate, then: tw model promote {asked.name}",
        )
    source = inputs[name][0]
    judges = tuple(
        StepName(other)
        for other, step in sorted(document.spec.steps.items())
        if step.register is None
        and step.checks
        and source in inputs[other]
        and name not in everything_before(other, needs)
    )
    if not judges:
        raise DeniedError(
            "TW3201",
            f"nobody checks the model {asked.model} before step {name} registers it",
            where=document.where(f"steps.{name}"),
            why="a model is registered only after a check on it has passed; checks made after it do not count",
            remedy=f'give a step that reads ${{{{ {asked.model} }}}} a check:, as in check: "auc >= 0.8"',
        )
    maker = StepName(source.step or "")  # spec.load has made sure that a model comes from a step
    return Registration(source, asked.name, asked.alias, judges, (maker, *judges))


def baseline_model(document: Document, name: str, inputs: Mapping[str, tuple[PlannedInput, ...]]) -> str:
    """Return the registered name that ``production.…`` means in the checks of a step; empty when none asks.

    Raises:
        SpecError: no register step registers a model that this step reads, or they give it several names.
    """
    index = _asks_production(document.spec.steps[name].checks)
    if index is None:
        return ""
    names = sorted(
        {
            step.register.name
            for other, step in document.spec.steps.items()
            if step.register is not None and inputs[other][0] in inputs[name]
        }
    )
    if len(names) == 1:
        return names[0]
    known = f"it reads models registered as {', '.join(names)}" if names else "it reads no model that is registered"
    raise SpecError(
        "TW1041",
        f"step {name} compares with production, and it is not clear with which model",
        where=document.where(f"steps.{name}.check.{index}"),
        why=known,
        remedy="read exactly one model that a uses: register step registers, or compare with a number",
    )


def _asks_production(checks: tuple[str, ...]) -> int | None:
    """Return the number of the first check that names ``production``."""
    for index, text in enumerate(checks):
        if any(operand.split(".")[0] == PRODUCTION for operand in condition.parse(text).operands):
            return index
    return None
