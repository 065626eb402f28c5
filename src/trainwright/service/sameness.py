"""Whether a run that makes another one again came to the same: metrics within their tolerance, outputs byte by byte."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from trainwright.core.ids import Digest, StepName
from trainwright.core.reproduction import EXACTLY, Tolerance
from trainwright.core.run import RunView
from trainwright.plan.plan import Plan
from trainwright.service.metrics import final


class Verdict(StrEnum):
    """What one metric says."""

    EQUAL = "equal"
    WITHIN = "within"  # not equal, but near enough
    NOT_A_NUMBER = "not-a-number"  # both are, and that counts as equal here
    DIFFERS = "differs"
    MISSING = "missing"  # only the original has it
    NEW = "new"  # only the run now has it


_SAME = frozenset({Verdict.EQUAL, Verdict.WITHIN, Verdict.NOT_A_NUMBER})


@dataclass(frozen=True, slots=True)
class ComparedMetric:
    """One metric of both runs.

    Attributes:
        name: ``step.metric``.
        original, now: final values; None where the run has none.
        difference: what has to be added to the original; None without two numbers.
        tolerance: as somebody would write it, ``exact`` by default.
    """

    name: str
    original: float | None
    now: float | None
    difference: float | None
    tolerance: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class ComparedOutput:
    """One output of both runs: ``step/output``, and its content in each; None where the run has none."""

    name: str
    original: Digest | None
    now: Digest | None

    @property
    def equal(self) -> bool:
        """Tell whether both have the same bytes."""
        return self.original == self.now


@dataclass(frozen=True, slots=True)
class Sameness:
    """The comparison of two runs.

    Attributes:
        original_state, state: how both ended.
        reproduced: whether they ended alike, with metrics that are all near enough; without any metrics, with outputs
            that are all equal.
        unused: tolerances that no metric has the name of.
    """

    metrics: tuple[ComparedMetric, ...]
    outputs: tuple[ComparedOutput, ...]
    original_state: str
    state: str
    reproduced: bool
    unused: tuple[str, ...] = ()


def compare_outcomes(original: RunView, now: RunView, plan: Plan, tolerance: Mapping[str, Tolerance]) -> Sameness:
    """Compare two finished runs of one plan, but for what they registered.

    Args:
        original: the run that was made again.
        now: the run that made it again.
        plan: of both.
        tolerance: ``step.metric``, ``group.*.metric`` or ``metric`` → how far it may be off; the rest has to be equal.
    """
    found = list(_metrics(final(original), final(now), plan, tolerance))
    metrics = tuple(metric for metric, _ in found)
    outputs = tuple(_outputs(original, now))
    alike = all(m.verdict in _SAME for m in metrics) if metrics else all(o.equal for o in outputs)
    named = {key for _, keys in found for key in keys}
    return Sameness(
        metrics=metrics,
        outputs=outputs,
        original_state=original.run.state,
        state=now.run.state,
        reproduced=alike and original.run.state is now.run.state,
        unused=tuple(sorted(set(tolerance) - named)),
    )


def _metrics(
    before: Mapping[str, Mapping[str, float]],
    after: Mapping[str, Mapping[str, float]],
    plan: Plan,
    tolerance: Mapping[str, Tolerance],
) -> Iterator[tuple[ComparedMetric, tuple[str, ...]]]:
    """Yield each metric with the names that a tolerance for it may have."""
    for step in dict.fromkeys((*before, *after)):
        old, new = before.get(step, {}), after.get(step, {})
        for metric in sorted({*old, *new}):
            keys = _keys(StepName(step), metric, plan)
            allowed = next((tolerance[key] for key in keys if key in tolerance), EXACTLY)
            yield _compared(keys[0], old.get(metric), new.get(metric), allowed), keys


def _keys(step: StepName, metric: str, plan: Plan) -> tuple[str, ...]:
    """Return the names under which a tolerance for a metric may stand, the closest first."""
    return f"{step}.{metric}", f"{plan.path(step)}.{metric}", metric


def _compared(name: str, original: float | None, now: float | None, allowed: Tolerance) -> ComparedMetric:
    if original is None or now is None:
        verdict = Verdict.MISSING if now is None else Verdict.NEW
        return ComparedMetric(name, original, now, None, str(allowed), verdict)
    if original == now:
        verdict = Verdict.EQUAL
    elif not allowed.allows(original, now):
        verdict = Verdict.DIFFERS
    else:
        verdict = Verdict.NOT_A_NUMBER if math.isnan(now) else Verdict.WITHIN
    finite = math.isfinite(original) and math.isfinite(now)
    return ComparedMetric(name, original, now, now - original if finite else None, str(allowed), verdict)


def _outputs(original: RunView, now: RunView) -> Iterator[ComparedOutput]:
    before, after = ({f"{o.step}/{o.name}": o.content.digest for o in view.made()} for view in (original, now))
    for name in dict.fromkeys((*before, *after)):
        yield ComparedOutput(name, before.get(name), after.get(name))
