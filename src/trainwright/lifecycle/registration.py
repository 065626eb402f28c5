"""Whether a model may enter the registry, and as what."""

import math
from collections.abc import Iterator, Mapping

from trainwright.core.artifact import ArtifactKind, Evidence, GateResult, Output, Signature
from trainwright.core.changes import RegisterModel
from trainwright.core.codec import to_json
from trainwright.core.ids import Digest, StepName
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import StepRun
from trainwright.core.scalar import Plain
from trainwright.lifecycle.inputs import made
from trainwright.lifecycle.join import End, how_ended
from trainwright.lifecycle.promotion import Candidate, weigh
from trainwright.lifecycle.turn import Turn
from trainwright.plan.plan import GroupKind, PlannedStep, Registration, within

SIGNATURE = "tw.signature"
"""Fact under which ``tw.signature`` notes what it is told; with a dot and an output's name for one of several."""

INFERRED = "tw.inferred"
"""Fact with a dot and an output's name, under which a function step notes what the estimator says itself."""

CARD = "card"
"""Output of the model's maker that holds its author's text, when the pipeline names no other."""


def register(planned: PlannedStep, turn: Turn, name: StepName) -> RegisterModel | Reason:
    """Return the new version, or the reason why there is none.

    A model needs at least one passed check, written by an author, of a step that read it and came before, and no such
    step may have failed, whatever ``when:`` of the registration says.

    Args:
        planned: with a registration; every step that it needs has ended, as its join wants it.
        turn: the decision under way; versions that it registers already are counted.
        name: of the step that registers.
    """
    registration = planned.registration
    if registration is None:
        raise ValueError(f"step {planned.name} registers nothing")
    asked = [turn.step(within(path, name)) for path in registration.judges]
    against: list[Plain] = [judge.name for judge in asked if how_ended(judge) is End.BADLY]
    if against:
        return Reason(ReasonCode.JUDGE_FAILED, {"model": registration.source.name, "steps": against})
    judges = [end for judge in asked for end in _ends(turn, judge.name)]
    gates = tuple(gate for judge in judges for gate in judge.gates)
    source = registration.source
    output = made(turn, within(source.step or StepName(""), name), source.output)
    if output is None or not any(gate.passed and not gate.default for gate in gates):
        return Reason(ReasonCode.NOT_REGISTERED, {"model": source.name})
    model = registration.model
    metrics = _metrics([within(path, name) for path in registration.metrics_from], turn)
    evidence = _evidence(registration, turn, metrics, gates)
    if not all(said.passed for said in evidence):
        return _refused(registration, evidence)
    taken = [m.version for m in turn.models if m.model == model]
    return RegisterModel(
        model=model,
        version=taken[-1] + 1 if taken else turn.view.next_versions.get(model, 1),
        alias=registration.alias,
        content=output.content,
        run=turn.run.id,
        step=output.step,
        output=output.name,
        metrics=metrics,
        gates=gates,
        evidence=evidence,
        signature=registration.signature or _stated(turn, output),
        card=_card(turn, registration.card, output),
    )


def _evidence(
    registration: Registration, turn: Turn, metrics: Mapping[str, float], gates: tuple[GateResult, ...]
) -> tuple[Evidence, ...]:
    """Return what the policies of the alias say of a version that never had one."""
    if not registration.alias:
        return ()
    production = turn.view.baselines.get(registration.model)
    candidate = Candidate(registration.model, metrics, gates, turn.run.params, (), production)
    return weigh(turn.view.policies, candidate, registration.alias)


def _refused(registration: Registration, evidence: tuple[Evidence, ...]) -> Reason:
    failed = [said for said in evidence if not said.passed]
    told: dict[str, Plain] = {
        "model": registration.source.name,
        "alias": f"{registration.model}@{registration.alias}",
        "policy": failed[0].policy,
        "rules": "; ".join(f"{said.rule} {said.verdict}" for said in failed),
        "evidence": to_json(evidence),
    }
    return Reason(ReasonCode.ALIAS_REFUSED, told)


def _stated(turn: Turn, output: Output) -> Signature | None:
    """Return what the job said that made the model: of this output, or else of its only model."""
    attempt = turn.attempt(output.attempt)
    facts = attempt.params if attempt else {}
    names = (f"{SIGNATURE}.{output.name}", SIGNATURE, f"{INFERRED}.{output.name}")
    given = next((facts[name] for name in names if name in facts), None)
    if not isinstance(given, dict):
        return None
    sides = [given.get(side) for side in ("inputs", "outputs")]
    if not all(isinstance(side, dict) and all(isinstance(kind, str) for kind in side.values()) for side in sides):
        return None
    inputs, outputs = sides
    return Signature(inputs, outputs, str(given.get("source", "step")))  # type: ignore[arg-type]  # looked at above


def _card(turn: Turn, asked: str, output: Output) -> Digest | None:
    card = turn.output(output.step, asked or CARD)
    return card.content.digest if card is not None and card.kind is ArtifactKind.FILE else None


def _ends(turn: Turn, name: StepName) -> Iterator[StepRun]:
    """Yield the steps that stand behind one: itself, the last round of a loop, the parts of a group."""
    step = turn.step(name)
    group = turn.plan.step(name).group
    if group is None:
        yield step
        return
    begun = step.tally.begun if step.tally else 0
    if group.kind is GroupKind.ONCE:
        names = [within(inner.name, StepName(f"{name}.")) for inner in group.body]
    else:
        first = begun - 1 if group.kind is GroupKind.LOOP else 0
        names = [StepName(f"{name}.{number}") for number in range(max(0, first), begun)]
    for inner in names:
        if turn.has_step(inner):
            yield from _ends(turn, inner)


def _metrics(names: list[StepName], turn: Turn) -> dict[str, float]:
    """Return the final metrics that are numbers; a later step's stand over an earlier one's."""
    found: dict[str, float] = {}
    for step in (end for name in names for end in _ends(turn, name)):
        attempt = turn.latest(step.name)
        for key, metric in (attempt.metrics if attempt else {}).items():
            if math.isfinite(metric.last):
                found[key] = metric.last
    return found
