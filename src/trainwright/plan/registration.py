"""Registrations: which steps judge a model before it enters the registry, and whom ``production.…`` means."""

from collections.abc import Mapping

from trainwright.core import condition
from trainwright.core.artifact import ArtifactKind
from trainwright.core.errors import DeniedError, SpecError
from trainwright.core.ids import StepName
from trainwright.plan.order import Needs, everything_before
from trainwright.plan.plan import PlannedInput, Registration, Source
from trainwright.plan.scope import Scope
from trainwright.spec.document import Document, RegisterSpec, StepSpec

PRODUCTION = "production"

Reads = Mapping[str, tuple[PlannedInput, ...]]
"""What each step of one file reads, by its name there."""


def registrations(scope: Scope, reads: Reads, needs: Needs) -> dict[str, tuple[Registration, tuple[str, ...]]]:
    """Return the registration of every register step by its name, with the names of its judges.

    Args:
        scope: a file whose document is checked by ``spec.load``.
        reads: what each step reads.
        needs: without circles; the judges of a registration are not in it yet.

    Raises:
        DeniedError: nobody checks a model, or its alias is ``production``.
        SpecError: what is to be registered is a collection.
    """
    return {
        name: _registration(scope, name, step.register, reads, needs)
        for name, step in scope.document.spec.steps.items()
        if step.register is not None
    }


def _registration(
    scope: Scope, name: str, asked: RegisterSpec, reads: Reads, needs: Needs
) -> tuple[Registration, tuple[str, ...]]:
    document = scope.document
    if asked.alias == PRODUCTION:
        raise DeniedError(
            "TW3202",
            f"step {name} would move the alias production",
            where=document.where(f"steps.{name}.with.alias"),
            why="a model goes into production by a decision of its own, not by a run",
            remedy=f"write alias: candidate, then: tw model promote {asked.name}",
        )
    source = reads[name][0]
    if source.source is Source.ALL:
        raise SpecError(
            "TW1073",
            f"model: {asked.model} is many models",
            where=document.where(f"steps.{name}.with.model"),
            why="the step has members, and each makes one",
            remedy="choose one of them in a step, and register what that step gives",
        )
    if source.kind is not ArtifactKind.MODEL:
        raise SpecError(
            "TW1060",
            f"model: {asked.model} is a {source.kind.value}, not a model",
            where=document.where(f"steps.{name}.with.model"),
            remedy="register an output that is declared as one, as in out: {model: model}",
        )
    judges = tuple(
        other
        for other, step in sorted(document.spec.steps.items())
        if step.register is None
        and _has_checks(document, step)
        and source in reads[other]
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
    maker = source.step or StepName("")  # spec.load has made sure that a model comes from a step
    paths = tuple(map(scope.path, judges))
    return Registration(source, asked.name, asked.alias, paths, (maker, *paths), asked.signature, asked.card), judges


def _has_checks(document: Document, step: StepSpec) -> bool:
    if not step.uses:
        return bool(step.checks)
    sub = document.subs[step.uses]
    return any(_has_checks(sub, inner) for inner in sub.spec.steps.values())


def registered(scope: Scope, reads: Reads) -> dict[tuple[StepName, str], tuple[str, ...]]:
    """Return under which names each output is registered, by this file and those around it."""
    found = {key: set(names) for key, names in scope.registered.items()}
    for name, step in scope.document.spec.steps.items():
        if step.register is not None:
            source = reads[name][0]
            found.setdefault((source.step or StepName(""), source.output), set()).add(step.register.name)
    return {key: tuple(sorted(names)) for key, names in found.items()}


def baseline_model(scope: Scope, name: str, reads: Reads, known: Mapping[tuple[StepName, str], tuple[str, ...]]) -> str:
    """Return the registered name that ``production.…`` means in the checks of a step; empty when none asks.

    Args:
        scope: the file of the step.
        name: of the step.
        reads: what each step of the file reads.
        known: as ``registered`` returns it.

    Raises:
        SpecError: no register step registers a model that this step reads, or they give it several names.
    """
    document = scope.document
    index = _asks_production(document.spec.steps[name].checks)
    if index is None:
        return ""
    names = sorted({n for i in reads[name] if i.step is not None for n in known.get((i.step, i.output), ())})
    if len(names) == 1:
        return names[0]
    found = f"it reads models registered as {', '.join(names)}" if names else "it reads no model that is registered"
    raise SpecError(
        "TW1041",
        f"step {name} compares with production, and it is not clear with which model",
        where=document.where(f"steps.{name}.check.{index}"),
        why=found,
        remedy="read exactly one model that a uses: register step registers, or compare with a number",
    )


def _asks_production(checks: tuple[str, ...]) -> int | None:
    """Return the number of the first check that names ``production``."""
    for index, text in enumerate(checks):
        if any(operand.split(".")[0] == PRODUCTION for operand in condition.parse(text).operands):
            return index
    return None
