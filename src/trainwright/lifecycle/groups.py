"""Groups: steps that stand for several. How their members come about, how many go on at once, how they end."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from trainwright.core.condition import mentioned, parse
from trainwright.core.ids import StepName
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import StepRun, Tally
from trainwright.core.scalar import Plain
from trainwright.core.states import StepState
from trainwright.lifecycle.facts import hold
from trainwright.lifecycle.turn import Turn, counted
from trainwright.plan.items import lacking
from trainwright.plan.plan import Group, GroupKind, PlannedStep, within
from trainwright.spec.document import MOST_MEMBERS

WAITING = 16
"""Members of one group that wait for room at one time: more would only be asked about in every round."""

OPEN = 128
"""Members of one group that are under way at one time when each is a group itself, which takes no room."""

Begin = Callable[[Turn, StepName], None]


@dataclass(frozen=True, slots=True)
class ListRead:
    """The list of a group's members was read from the output that holds it.

    Attributes:
        value: what it holds.
        problem: why it could not be read; empty when it could.
    """

    step: StepName
    value: Plain = None
    problem: str = ""


def begin_group(turn: Turn, planned: PlannedStep, group: Group, step: StepRun, begin: Begin) -> None:
    """Make the members of a group that may begin; one whose list is not known yet waits for it to be read."""
    if step.tally is not None:
        _reopen(turn, group, step, begin)
        return
    match group.kind:
        case GroupKind.EACH if group.items is None:
            reason = Reason(ReasonCode.READING_LIST, {"output": group.over.name if group.over else ""})
            turn.put(replace(step, state=StepState.QUEUED, reason=reason))
        case GroupKind.EACH:
            _members(turn, planned, step, group.items or (), begin)
        case GroupKind.LOOP:
            _open(turn, step, Tally(group.max_rounds))
            follow_group(turn, group, turn.step(step.name), begin)
        case GroupKind.ONCE:
            _open(turn, step, Tally(len(group.body), begun=len(group.body)))
            names = [within(inner.name, StepName(f"{step.name}.")) for inner in group.body]
            for name in names:
                turn.put(_member(turn, step, name))
            for name in names:
                turn.consider(name)


def _reopen(turn: Turn, group: Group, step: StepRun, begin: Begin) -> None:
    """Let a group go on in a run that is tried again: the members that stand are kept."""
    _open(turn, step, step.tally or Tally(0))
    if group.kind is not GroupKind.EACH:
        for member in list(_members_of(turn, group, step)):
            turn.consider(member.name)
    follow_group(turn, group, turn.step(step.name), begin)


def take_list(turn: Turn, read: ListRead, begin: Begin) -> None:
    """Make the members of a group whose list has been read; one that is no list fails it."""
    step = turn.step(read.step)
    planned = turn.plan.step(read.step)
    group = planned.group
    stopping = turn.run.stop_asked_by is not None
    if stopping or step.state is not StepState.QUEUED or group is None or group.over is None:
        return
    fault = read.problem or _fault(planned, group, read.value)
    if fault:
        advice = "the step before has to write a JSON list to that output, each item with what ${{ each. }} names"
        evidence: dict[str, Plain] = {"output": group.over.name, "message": fault, "advice": advice}
        turn.end(step.name, StepState.FAILED, Reason(ReasonCode.BAD_LIST, evidence))
    else:
        _members(turn, planned, step, tuple(read.value) if isinstance(read.value, list) else (), begin)


def follow_group(turn: Turn, group: Group, step: StepRun, begin: Begin) -> None:
    """Begin further members of a group that is under way, or end it when all have ended."""
    tally = step.tally
    if tally is None:
        return
    if group.kind is GroupKind.LOOP:
        _follow_loop(turn, group, step, begin)
        return
    if turn.run.stop_asked_by is not None:
        tally = _all_counted(turn, group, step, tally)
    while _may_begin(group, tally):
        member = turn.step(StepName(f"{step.name}.{tally.begun}"))
        tally = replace(tally, begun=tally.begun + 1)
        if member.state.is_final:  # it stands from before the run was tried again
            turn.put(replace(turn.step(step.name), tally=counted(tally, member.state)))
        else:
            turn.put(replace(turn.step(step.name), tally=tally))
            begin(turn, member.name)
        tally = turn.step(step.name).tally or tally
    if tally.ended >= tally.total:
        state, reason = _verdict(turn, group, turn.step(step.name), tally)
        turn.end(step.name, state, reason)


def _all_counted(turn: Turn, group: Group, step: StepRun, tally: Tally) -> Tally:
    """Return the tally of a group that begins no more members: those that stand from before count as over."""
    if tally.begun == tally.total:
        return tally
    tally = Tally(tally.total, begun=tally.total)
    turn.put(replace(step, tally=tally))
    for member in list(_members_of(turn, group, turn.step(step.name))):
        if member.state.is_final:
            tally = counted(tally, member.state)
        elif member.state in {StepState.RUNNING, StepState.PREEMPTING}:
            tally = replace(tally, started=tally.started + 1)
    turn.put(replace(step, tally=tally))
    return tally


def _may_begin(group: Group, tally: Tally) -> bool:
    """Tell whether one more member may begin."""
    if tally.begun >= tally.total or tally.begun - tally.started >= WAITING:
        return False
    limit = group.parallel or (OPEN if group.body[0].group is not None else tally.total)
    return tally.begun - tally.ended < limit


def _members(turn: Turn, planned: PlannedStep, step: StepRun, items: tuple[Plain, ...], begin: Begin) -> None:
    _open(turn, step, Tally(len(items)))
    for number, item in enumerate(items):
        turn.put(_member(turn, step, StepName(f"{step.name}.{number}"), item))
    if planned.group is not None:
        follow_group(turn, planned.group, turn.step(step.name), begin)


def _member(turn: Turn, group: StepRun, name: StepName, item: Plain = None) -> StepRun:
    """Return a member that is to begin; attempts made before the run was tried again keep their numbers."""
    made = turn.step(name).attempts if turn.has_step(name) else 0
    return StepRun(
        group.run, name, group.position, StepState.PENDING,
        attempts=made, parent=group.name, item=item, forgiven=made,
    )  # fmt: skip


def _open(turn: Turn, step: StepRun, tally: Tally) -> None:
    reason = Reason(ReasonCode.RUNNING)
    started_at = step.started_at or turn.now
    turn.put(replace(step, state=StepState.RUNNING, started_at=started_at, reason=reason, tally=tally))


def _verdict(turn: Turn, group: Group, step: StepRun, tally: Tally) -> tuple[StepState, Reason]:
    """Return how a group ends whose members have all ended."""
    if tally.cancelled:
        return StepState.CANCELLED, stopped(turn)
    if tally.failed > group.tolerate:
        first = next(member for member in _members_of(turn, group, step) if member.state is StepState.FAILED)
        cause = first.reason.sentence() if first.reason else "?"
        code = first.reason.root if first.reason else ""
        if group.kind is GroupKind.ONCE:
            return StepState.FAILED, Reason(ReasonCode.STEP_FAILED, {"step": first.name, "cause": cause, "code": code})
        evidence: dict[str, Plain] = {
            "failed": tally.failed,
            "total": tally.total,
            "tolerate": group.tolerate,
            "first": first.name,
            "cause": cause,
            "code": code,
        }
        return StepState.FAILED, Reason(ReasonCode.MEMBERS_FAILED, evidence)
    if tally.total and tally.skipped == tally.total:
        return StepState.SKIPPED, Reason(ReasonCode.MEMBERS_SKIPPED, {"total": tally.total})
    wanting = _wanting(turn, group, step)
    if wanting:
        return StepState.SKIPPED, Reason(ReasonCode.UPSTREAM_SKIPPED, {"steps": wanting})
    return StepState.SUCCEEDED, Reason(ReasonCode.SUCCEEDED)


def stopped(turn: Turn) -> Reason:
    """Return the reason of what was stopped."""
    return Reason(ReasonCode.STOPPED, {"actor": turn.run.stop_asked_by or "somebody"})


def _members_of(turn: Turn, group: Group, step: StepRun) -> Iterator[StepRun]:
    """Yield the members of a group that were begun, or the steps of a sub-pipeline, in order."""
    begun = step.tally.begun if step.tally else 0
    if group.kind is GroupKind.ONCE:
        names = [within(inner.name, StepName(f"{step.name}.")) for inner in group.body]
    else:
        names = [StepName(f"{step.name}.{number}") for number in range(begun)]
    yield from map(turn.step, names)


def _wanting(turn: Turn, group: Group, step: StepRun) -> list[Plain]:
    """Return the steps of a sub-pipeline that were skipped and should have made its outputs."""
    makers = sorted({within(body, StepName(f"{step.name}.")) for body, _ in group.outputs.values()})
    return [name for name in makers if not turn.step(name).state.is_success]


def _follow_loop(turn: Turn, group: Group, step: StepRun, begin: Begin) -> None:
    tally = step.tally or Tally(group.max_rounds)
    if tally.begun > tally.ended:
        return
    if tally.begun:
        last = turn.step(StepName(f"{step.name}.{tally.begun - 1}"))
        ending = _after_round(turn, group, step, last)
        if ending is not None:
            turn.end(step.name, *ending)
            return
    name = StepName(f"{step.name}.{tally.begun}")
    item: Plain = {"round": tally.begun}
    turn.put(_member(turn, step, name, item))
    turn.put(replace(turn.step(step.name), tally=replace(tally, begun=tally.begun + 1)))
    begin(turn, name)


def _after_round(turn: Turn, group: Group, step: StepRun, last: StepRun) -> tuple[StepState, Reason | None] | None:
    """Return how a loop ends after a round; None when another one follows."""
    if not last.state.is_success and not _may_go_on(turn, group, last):
        return last.state, last.reason
    beside = StepName(f"{last.name}.x") if turn.plan.step(last.name).group else step.name
    verdict = hold(turn, group.until, last.name, beside)
    if verdict.verdict == "passed":  # its outputs are those of the last round: a round that failed has none to give
        return last.state, last.reason
    values: dict[str, Plain] = {k: "missing" if v is None else v for k, v in verdict.values.items()}
    if verdict.verdict in {"missing", "not-a-number"}:
        return StepState.FAILED, Reason(ReasonCode.CONDITION_UNDECIDED, {"expression": group.until, "values": values})
    if turn.run.stop_asked_by is not None:
        return StepState.CANCELLED, stopped(turn)
    tally = step.tally or Tally(0)
    if tally.begun < tally.total:
        return None
    evidence: dict[str, Plain] = {"until": group.until, "rounds": tally.total, "values": values}
    return StepState.FAILED, Reason(ReasonCode.LOOP_EXHAUSTED, evidence)


def _may_go_on(turn: Turn, group: Group, last: StepRun) -> bool:
    """Tell whether a round that failed is only a round that did not pass: by a gate, which ``until`` asks about."""
    if last.state is not StepState.FAILED or turn.run.stop_asked_by is not None:
        return False
    asked = any(name.rpartition(".")[2] == "passed" for name in mentioned(parse(group.until)))
    return asked and _only_checks_failed(turn, last)


def _only_checks_failed(turn: Turn, step: StepRun) -> bool:
    """Tell whether every failure in a step that failed is one of a check."""
    group = turn.plan.step(step.name).group
    if group is None or step.tally is None:
        return step.reason is not None and step.reason.code is ReasonCode.GATE_FAILED
    if step.reason is None or step.reason.code not in {ReasonCode.STEP_FAILED, ReasonCode.MEMBERS_FAILED}:
        return step.reason is not None and step.reason.root == ReasonCode.GATE_FAILED
    failed = [member for member in _members_of(turn, group, step) if member.state is StepState.FAILED]
    return all(_only_checks_failed(turn, member) for member in failed)


def _fault(planned: PlannedStep, group: Group, value: Plain) -> str:
    """Return why a value cannot be the list of a group's members; empty when it can."""
    if not isinstance(value, list):
        return f"it holds {type(value).__name__}, not a list"
    if len(value) > MOST_MEMBERS:
        return f"it has {len(value)} items, at most {MOST_MEMBERS} are allowed"
    return lacking(group.body[0], planned.name, value)
