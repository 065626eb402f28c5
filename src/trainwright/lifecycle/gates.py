"""What a finished attempt has to show before its step has succeeded: stage metadata, numbers, checks."""

import math
from collections.abc import Mapping
from dataclasses import replace

from trainwright.core.artifact import GateResult, Input, Output
from trainwright.core.codec import encode_float
from trainwright.core.condition import Condition, judge, parse
from trainwright.core.ids import RunId
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import Attempt, RunView
from trainwright.core.scalar import Plain
from trainwright.core.stage import NUMBERS_ONLY, StepFacts, metadata
from trainwright.plan.plan import PlannedStep


def facts_of(
    params: Mapping[str, Plain], attempt: Attempt, inputs: tuple[Input, ...], outputs: tuple[Output, ...]
) -> StepFacts:
    """Return what is known of a finished attempt; its own notes stand over the declared parameters."""
    return StepFacts(
        metrics={name: m.last for name, m in attempt.metrics.items()},
        params={**params, **attempt.params},
        inputs=inputs,
        outputs=outputs,
    )


def owed(step: PlannedStep, facts: StepFacts) -> tuple[dict[str, Plain], Reason | None]:
    """Return the stage's metadata, and the reason to fail when some is missing."""
    if step.stage is None:
        return {}, None
    given, missing = metadata(step.stage, facts)
    if not missing:
        return given, None
    evidence: dict[str, Plain] = {
        "stage": str(step.stage),
        "owed": ", ".join(o.name for o in missing),
        "remedy": "; ".join(o.remedy for o in missing),
    }
    return given, Reason(ReasonCode.METADATA_MISSING, evidence)


def not_a_number(step: PlannedStep, facts: StepFacts) -> Reason | None:
    """Return the reason when a stage that must end in numbers has a final metric that is none."""
    if step.stage not in NUMBERS_ONLY:
        return None
    bad: dict[str, Plain] = {
        name: encode_float(value) for name, value in sorted(facts.metrics.items()) if not math.isfinite(value)
    }
    return Reason(ReasonCode.NOT_A_NUMBER, {"values": bad}) if bad else None


def judge_checks(
    step: PlannedStep, facts: StepFacts, view: RunView, params: Mapping[str, Plain]
) -> tuple[GateResult, ...]:
    """Return the result of every check, in order; ``params`` are those that the checks may name."""
    baseline = view.baselines.get(step.baseline_model)
    names: dict[str, object] = {"params": dict(params), **facts.metrics}
    if baseline is not None:
        names["production"] = dict(baseline[1])
    conditions = [(check, parse(check.expression)) for check in step.checks]
    return tuple(
        replace(
            judge(condition, names, baseline_required=step.baseline_required),  # type: ignore[arg-type]
            default=check.default,
            baseline=baseline[0] if baseline and _asks_production(condition) else "",
        )
        for check, condition in conditions
    )


def _asks_production(condition: Condition) -> bool:
    return any(operand.startswith("production.") for operand in condition.operands)


def failed_gate(gates: tuple[GateResult, ...], step: PlannedStep, run: RunId) -> Reason | None:
    """Return the reason of the first check that does not let the step pass."""
    bad = next((gate for gate in gates if not gate.passed), None)
    if bad is None:
        return None
    missing = [name for name, value in bad.values.items() if value is None]
    evidence: dict[str, Plain] = {
        "expression": bad.expression,
        "verdict": bad.verdict,
        "values": {name: "missing" if value is None else value for name, value in bad.values.items()},
        "baseline": bad.baseline,
        "step": step.name,
    }
    if bad.verdict == "not-a-number":
        evidence["remedy"] = "a value in the check is not a number: look for divergence"
    if missing or bad.verdict == "missing":
        what = ", ".join(missing) or "a model in production"
        evidence["remedy"] = f"the check needs {what}: log it in the step, or promote a model first"
    elif bad.baseline:
        evidence["remedy"] = f"it is worse than {bad.baseline}, which is in production: tw compare {bad.baseline} {run}"
    return Reason(ReasonCode.GATE_FAILED, evidence)
