"""Whether the policies of an alias let it point at a version: every rule with what it found."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from trainwright.core.artifact import Evidence, GateResult
from trainwright.core.condition import judge, parse
from trainwright.core.governance import AliasPolicy
from trainwright.core.scalar import Plain


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version that an alias is to point at.

    Attributes:
        model: name.
        metrics, gates: as they were registered.
        params: of its run.
        held: aliases that point at it or ever did.
        production: address and metrics of the version in production; None without one.
    """

    model: str
    metrics: Mapping[str, float]
    gates: tuple[GateResult, ...]
    params: Mapping[str, Plain] = field(default_factory=dict)
    held: Collection[str] = ()
    production: tuple[str, Mapping[str, float]] | None = None


def weigh(policies: Iterable[AliasPolicy], candidate: Candidate, alias: str) -> tuple[Evidence, ...]:
    """Return what each rule of the policies that govern the alias says, in the order of the policies."""
    mine = [policy for policy in policies if policy.governs(candidate.model, alias)]
    return tuple(said for policy in mine for said in _weigh(policy, candidate))


def _weigh(policy: AliasPolicy, candidate: Candidate) -> Iterable[Evidence]:
    if policy.came_from:
        verdict = "passed" if policy.came_from in candidate.held else "failed"
        held: Plain = [*sorted(candidate.held)]
        yield Evidence(policy.name, f"from: {policy.came_from}", verdict, {"held": held})
    yield _enough_checks(policy, candidate)
    passed = {gate.expression for gate in candidate.gates if gate.passed}
    for expression in policy.checks:
        yield Evidence(policy.name, f"check passed: {expression}", "passed" if expression in passed else "failed")
    yield from (_required(policy, text, candidate) for text in policy.require)


def _enough_checks(policy: AliasPolicy, candidate: Candidate) -> Evidence:
    count = sum(gate.passed and not gate.default for gate in candidate.gates)
    verdict = "passed" if count >= policy.passed_checks else "failed"
    return Evidence(policy.name, f"checks: {policy.passed_checks}", verdict, {"passed": count})


def _required(policy: AliasPolicy, text: str, candidate: Candidate) -> Evidence:
    names: dict[str, object] = {"params": dict(candidate.params), **candidate.metrics}
    if candidate.production is not None:
        names["production"] = dict(candidate.production[1])
    condition = parse(text)
    result = judge(condition, names, baseline_required=policy.baseline_required)  # type: ignore[arg-type]
    compared = candidate.production is not None and any(o.startswith("production.") for o in condition.operands)
    baseline = candidate.production[0] if compared and candidate.production else ""
    return Evidence(policy.name, text, result.verdict, result.values, baseline)
