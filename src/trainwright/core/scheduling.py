"""How a step wants to be scheduled: what ``scheduling:``, ``workers:`` and ``runs_on:`` of a pipeline file say."""

from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import StrEnum

from trainwright.core.window import Window
from trainwright.core.workload import Isolation, Preemption


class Choice(StrEnum):
    """By what a pool is chosen where several would do; stored, never renamed."""

    CHEAPEST = "cheapest"
    SOONEST = "soonest"


@dataclass(frozen=True, slots=True)
class Gang:
    """The replicas of a step.

    Attributes:
        count: wanted ones, each with the step's ``resources``.
        least: without which it does not run; less than ``count`` when it is elastic.
        models: GPU models it can use, sorted; empty = any.
        isolation: asked of whoever shares a GPU with it.
    """

    count: int = 1
    least: int = 1
    models: tuple[str, ...] = ()
    isolation: Isolation = Isolation.NONE


@dataclass(frozen=True, slots=True)
class Scheduling:
    """What a pipeline or a step asks of the scheduler; None = not said.

    Attributes:
        queue: name; the default queue when nobody says one.
        priority: name of a class, or a number; larger is more important.
        preemption: when it may be told to leave.
        window: outside which it does not start.
        deadline_s: seconds after the submission by which it wants to be done.
        deadline_at: the same as an instant.
        expected_s: how long a run of it takes as far as its author knows.
        restart_cost_s: what a restart costs beside the work since the last checkpoint.
        grace_s: between the notice and the kill.
        most_price: per hour.
        pools: where it may run, in order of preference.
        choice: by what a pool is chosen, instead of by order.
        purpose: what it serves, for reports.
    """

    queue: str | None = None
    priority: int | str | None = None
    preemption: Preemption | None = None
    window: Window | None = None
    deadline_s: float | None = None
    deadline_at: datetime | None = None
    expected_s: float | None = None
    restart_cost_s: float | None = None
    grace_s: float | None = None
    most_price: float | None = None
    pools: tuple[str, ...] | None = None
    choice: Choice | None = None
    purpose: str | None = None

    def over(self, general: "Scheduling") -> "Scheduling":
        """Return this with what it does not say taken from what holds for more than it."""
        said = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}
        return replace(general, **said)
