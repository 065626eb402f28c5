"""Attempts as the scheduler sees them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache

from trainwright.core.ids import AttemptId, RunId
from trainwright.core.priority import BUILT_IN
from trainwright.core.queue import DEFAULT_QUEUE, QueueName, QueueWord
from trainwright.core.reasons import ReasonCode
from trainwright.core.resources import Resources
from trainwright.core.run import Attempt, Run
from trainwright.core.scheduling import Gang, Scheduling
from trainwright.core.states import AttemptState
from trainwright.core.workload import Assignment, Contract, PodSet, Preemption, Shape, Standing, Workload
from trainwright.lifecycle.retry import resources_of
from trainwright.plan.plan import Plan

_CONTRACT = Contract()
_PLAIN = Gang()
_NOTHING_ASKED = Scheduling()


@dataclass(frozen=True, slots=True)
class Setting:
    """What is said outside the plans about what waits.

    Attributes:
        first_node: the backend's, on which places without a node are: those of attempts from before there were several.
        priorities: name → value.
        words: subject → what a person said.
    """

    first_node: str = ""
    priorities: Mapping[str, int] = field(default_factory=lambda: BUILT_IN)
    words: Mapping[str, QueueWord] = field(default_factory=dict)


_NOTHING_SAID = Setting()


class Known:
    """Workloads of the attempts that have not ended, made once for each state of an attempt."""

    def __init__(self) -> None:
        self._setting = Setting()
        self._made: dict[AttemptId, tuple[Attempt, datetime | None, Workload]] = {}

    def begin(self, setting: Setting) -> None:
        """Take over what is said outside; when that has changed, everything is made anew."""
        if setting != self._setting:
            self._setting = setting
            self._made.clear()

    def workload(self, attempt: Attempt, plan: Plan, run: Run, saved_at: datetime | None = None) -> Workload:
        """Return what the scheduler sees of an attempt: the same object as long as nothing about it has changed."""
        before = self._made.get(attempt.id)
        if before is None or before[1] != saved_at or not (before[0] is attempt or before[0] == attempt):
            made = workload(attempt, plan, run, self._setting, saved_at)
            self._made[attempt.id] = before = attempt, saved_at, made
        return before[2]

    def keep(self, attempts: Iterable[AttemptId]) -> None:
        """Forget all but these."""
        kept = set(attempts)
        if len(self._made) > len(kept):
            self._made = {name: made for name, made in self._made.items() if name in kept}


def workload(
    attempt: Attempt, plan: Plan, run: Run, setting: Setting | None = None, saved_at: datetime | None = None
) -> Workload:
    """Return what the scheduler sees of an attempt.

    Args:
        attempt: that waits, or holds room.
        plan: of its run.
        run: whose age it has.
        setting: what is said outside the plan; None = nothing.
        saved_at: when it last saved what it has done, as far as anybody knows.
    """
    path = plan.path(attempt.step)
    asked = plan.scheduling.get(path, _NOTHING_ASKED)
    setting = setting or _NOTHING_SAID
    resources = resources_of(plan.step(attempt.step), attempt.ooms)
    return Workload(
        attempt=attempt.id,
        label=f"{run.pipeline}#{run.number}/{attempt.step}",
        shape=_shape(resources, plan.gangs.get(path, _PLAIN), asked.pools or (), asked.most_price),
        queued_at=run.submitted_at,
        order=(run.number, plan.position(attempt.step)),
        queue=queue_of(asked),
        priority=_priority(asked, setting),
        contract=_contract(plan, attempt, asked, run),
        standing=_standing(attempt, setting, saved_at),
        purpose=asked.purpose or "",
    )


def queue_of(asked: Scheduling) -> QueueName:
    """Return the queue that a step waits in."""
    return QueueName(asked.queue) if asked.queue else DEFAULT_QUEUE


def is_due(attempt: Attempt, now: datetime) -> bool:
    """Tell whether a queued attempt is for the scheduler now: one that backs off is not, one that cools down waits."""
    if attempt.state is not AttemptState.QUEUED:
        return False
    backs_off = attempt.reason is not None and attempt.reason.code is ReasonCode.BACKING_OFF
    return attempt.not_before is None or attempt.not_before <= now or (bool(attempt.preempted_at) and not backs_off)


def places_on(attempt: Attempt, first_node: str) -> tuple[Assignment, ...]:
    """Return the places of an attempt, each with its node."""
    return tuple(p if p.node else replace(p, node=first_node) for p in attempt.places)


def run_of(attempt: AttemptId) -> RunId:
    """Return the run that an attempt belongs to."""
    return RunId(attempt.split("/", 1)[0])


@lru_cache(maxsize=4096)  # what waits is sorted at every turn
def natural(name: str) -> tuple[tuple[int, str], ...]:
    """Return a key that sorts ``eval.9`` before ``eval.10``."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in name.split("."))


@lru_cache(maxsize=1024)  # equal shapes are one object: a round looks for room once for all of them
def _shape(resources: Resources, gang: Gang, pools: tuple[str, ...], most_price: float | None) -> Shape:
    pod_set = PodSet(resources, gang.count, gang.least, gang.models)
    return Shape((pod_set,), pools, gang.isolation, most_price)


def _contract(plan: Plan, attempt: Attempt, asked: Scheduling, run: Run) -> Contract:
    deadline = asked.deadline_at
    if asked.deadline_s is not None:
        deadline = run.submitted_at + timedelta(seconds=asked.deadline_s)
    return Contract(
        preemption=asked.preemption or Preemption.BY_PRIORITY,
        restart_cost_s=_CONTRACT.restart_cost_s if asked.restart_cost_s is None else asked.restart_cost_s,
        grace_s=_CONTRACT.grace_s if asked.grace_s is None else asked.grace_s,
        expected_s=asked.expected_s,
        most_s=plan.step(attempt.step).timeout_s,
        window=asked.window,
        deadline=deadline,
        kin=f"{run.submitted_by}/{run.pipeline}/{plan.path(attempt.step)}",
    )


def _priority(asked: Scheduling, setting: Setting) -> int:
    if isinstance(asked.priority, str):
        return setting.priorities.get(asked.priority, 0)
    return asked.priority or 0


def _standing(attempt: Attempt, setting: Setting, saved_at: datetime | None) -> Standing:
    of_run = setting.words.get(f"runs/{attempt.run}")
    of_step = setting.words.get(f"runs/{attempt.run}/{attempt.step}")
    said = [word for word in (of_step, of_run) if word is not None]
    holds = attempt.state.holds_room
    return Standing(
        places=places_on(attempt, setting.first_node) if holds else (),
        started_at=attempt.placed_at or attempt.started_at,
        saved_at=saved_at if holds else None,
        told_at=attempt.told_at,
        claimed_at=attempt.claimed_at,
        leaving=attempt.state in {AttemptState.PREEMPTING, AttemptState.STOPPING},
        served_s=attempt.served_s,
        preempted_at=attempt.preempted_at,
        not_before=attempt.not_before,
        claim=attempt.claim,
        held=any(word.held_by for word in said),
        rank=next((word.rank for word in said if word.rank), 0),
    )
