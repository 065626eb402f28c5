"""Why a run or step is as it is: one subject, its state, sentences, and what a person can do."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from trainwright.core.artifact import GateResult
from trainwright.core.codec import decode_float
from trainwright.core.ids import StepName, attempt_id
from trainwright.core.occasion import TriggerEvent
from trainwright.core.quantity import show_bytes
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import Attempt, RunView, StepRun
from trainwright.core.states import AttemptState, StepState
from trainwright.lifecycle.retry import resources_of
from trainwright.plan.plan import Plan, PlannedStep
from trainwright.service.lookup import find_step
from trainwright.service.outline import Outline

MOST_MEMBERS = 5
"""Members of a group that are explained with it."""

_QUIET = frozenset({ReasonCode.RUNNING, ReasonCode.SUCCEEDED})


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of one subject.

    Attributes:
        subject: ``runs/id`` or ``runs/id/step``.
        code: of the reason; empty when nothing is out of the ordinary.
        sentence: the reason in words.
        remedy: what to do; may be empty.
        evidence: further lines: gates with their numbers, earlier attempts.
        about: explanations of the steps behind a run's state.
    """

    subject: str
    state: str
    code: str
    sentence: str
    remedy: str = ""
    evidence: tuple[str, ...] = ()
    about: tuple["Explanation", ...] = field(default=())


def explain_run(view: RunView, plan: Plan, story: tuple[str, ...] = ()) -> Explanation:
    """Explain a run by its own reason and the steps that hold it up or broke it.

    Args:
        view: of the run.
        plan: of the run.
        story: further lines, see ``story_lines``.
    """
    run = view.run
    notable = [s for s in Outline(view, plan).inside(None) if not s.state.is_success]
    order = {StepState.FAILED: 0, StepState.RUNNING: 1, StepState.QUEUED: 2}
    notable.sort(key=lambda s: (order.get(s.state, 3), s.position))
    about = tuple(explain_step(view, plan, s.name) for s in notable)
    sentence, remedy = _words(run.reason)
    if not run.state.is_final:
        moving = [s.name for s in notable if s.state in {StepState.RUNNING, StepState.QUEUED}]
        sentence = f"is at {', '.join(moving)}" if moving else "waits for an engine to take it up"
        remedy = "" if moving else "any tw command starts one; tw wait RUN stays with it"
    code = "" if run.reason is None else str(run.reason.code)
    return Explanation(f"runs/{run.id}", str(run.state), code, sentence, remedy, story, about)


def explain_step(view: RunView, plan: Plan, name: str) -> Explanation:
    """Explain one step with its gates and attempts.

    Raises:
        NotFoundError: the run has no such step.
    """
    step = view.step(find_step(view, name))
    reason = _reason_of(view, step)
    sentence, remedy = _words(reason)
    code = "" if reason is None else str(reason.code)
    if step.state is StepState.PENDING and reason is None:
        sentence = _waiting(view, plan, step)
    evidence = [gate_line(gate) for gate in step.gates]
    ids = (attempt_id(view.run.id, step.name, number) for number in range(1, step.attempts + 1))
    attempts = [a for a in map(view.attempts.get, ids) if a is not None]
    if len(attempts) > 1:
        evidence += [
            f"attempt {a.number}: {a.state}" + (f", {a.reason.sentence()}" if a.reason and a.state.is_final else "")
            for a in attempts
        ]
        evidence += memory_lines(plan.step(step.name), attempts)
    latest = view.latest(step.name)
    if latest is not None and latest.reuse is not None:
        evidence += _reuse(latest.reuse)
    about, more = _members(view, plan, step)
    evidence += more
    subject = f"runs/{view.run.id}/{step.name}"
    return Explanation(subject, str(step.state), code, sentence, remedy, tuple(evidence), about)


def _members(view: RunView, plan: Plan, step: StepRun) -> tuple[tuple[Explanation, ...], list[str]]:
    """Return the first members of a group that failed, else those that wait or run, and lines about the others."""
    outline = Outline(view, plan)
    count = outline.count(step)
    if not count:
        return (), []
    members = outline.inside(step.name)
    failed = [s for s in members if s.state is StepState.FAILED]
    notable = failed or [s for s in members if s.state in {StepState.RUNNING, StepState.QUEUED}]
    shown = tuple(explain_step(view, plan, s.name) for s in notable[:MOST_MEMBERS])
    lines = [count]
    if len(notable) > len(shown):
        what = "failed" if failed else "under way"
        lines.append(f"{len(notable) - len(shown)} more {what}: tw show {view.run.id}/{step.name}")
    return shown, lines


def memory_lines(planned: PlannedStep, attempts: Sequence[Attempt]) -> list[str]:
    """Return a line for each attempt that had more memory than the one before it.

    Args:
        planned: the step.
        attempts: all at that step, oldest first.
    """
    amounts = [resources_of(planned, attempt.ooms).memory_bytes for attempt in attempts]
    return [
        f"attempt {attempt.number}: {show_bytes(now)} after out of memory at {show_bytes(before)}"
        for attempt, before, now in zip(attempts[1:], amounts, amounts[1:], strict=False)
        if now > before
    ]


def memory_of_run(view: RunView, plan: Plan) -> list[str]:
    """Return ``memory STEP: …`` for each attempt of a run that had more memory than the one before it."""
    tried: dict[StepName, list[Attempt]] = defaultdict(list)
    for attempt in view.attempts:
        tried[attempt.step].append(attempt)
    return [
        f"memory {name}: {line}" for name, attempts in tried.items() for line in memory_lines(plan.step(name), attempts)
    ]


def story_lines(started_for: Iterable[TriggerEvent], started: Iterable[TriggerEvent]) -> tuple[str, ...]:
    """Return what triggers have to do with a run, a line an event.

    Args:
        started_for: the events that the run was started for.
        started: the events that its own end is.
    """
    lines = [f"started by {e.trigger} for {e.id}" for e in started_for]
    for event in started:
        became = f"started runs/{event.run}" if event.run else "is to start a run"
        if event.reason is not None:
            became = f"{event.reason.sentence()}  [{event.reason.code}]"
        lines.append(f"its end, by {event.trigger}: {became}")
    return tuple(lines)


def _reuse(reuse: Reason) -> list[str]:
    """Return whether a step was answered from memory and by what, or why it had to run."""
    said = [] if reuse.code is ReasonCode.CACHE_HIT else [f"cache {reuse.sentence()}"]
    key, code = reuse.evidence.get("key"), reuse.evidence.get("code")
    return [*said, f"key {key}: {code}"] if key else said


def gate_line(gate: GateResult) -> str:
    """Return a check as one line: its text, verdict, numbers, and what it was compared with."""
    numbers = ", ".join(f"{k} is missing" if v is None else f"{k} = {_number(v)}" for k, v in gate.values.items())
    against = f", against {gate.baseline}" if gate.baseline else ""
    origin = " (of the stage)" if gate.default else ""
    return f"{gate.verdict}: {gate.expression}{origin}" + (f"  [{numbers}{against}]" if numbers or against else "")


def _waiting(view: RunView, plan: Plan, step: StepRun) -> str:
    """Return what a step waits for that no turn has looked at yet, or that its group has not begun."""
    if step.parent and view.step(step.parent).tally is not None:
        return f"waits for its turn in {step.parent}"
    return f"waits for {', '.join(plan.step(step.name).needs) or 'an engine to take it up'}"


def _reason_of(view: RunView, step: StepRun) -> Reason | None:
    attempt = view.latest(step.name)
    waiting = attempt is not None and attempt.state is AttemptState.QUEUED and not step.state.is_final
    return attempt.reason if waiting and attempt is not None and attempt.reason else step.reason


def _words(reason: Reason | None) -> tuple[str, str]:
    if reason is None:
        return "", ""
    return reason.sentence(), "" if reason.code in _QUIET else reason.remedy()


def _number(value: object) -> str:
    if isinstance(value, str) and value in {"NaN", "Infinity", "-Infinity"}:
        value = decode_float(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
