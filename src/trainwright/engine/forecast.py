"""What a run would be answered from memory: the loop's own decisions on records that nobody writes."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from trainwright.core.cache import CacheMode
from trainwright.core.changes import applied
from trainwright.core.ids import Digest, ProjectName
from trainwright.core.run import RunView, StepRun
from trainwright.core.scalar import Plain
from trainwright.core.states import AttemptState, StepState
from trainwright.engine.lists import read_list
from trainwright.engine.memory import Ground, Memory
from trainwright.engine.production import with_registry
from trainwright.lifecycle.advance import Happening, advance
from trainwright.lifecycle.turn import Chance
from trainwright.store.database import Database

_NO_CHANCE = Chance(0.0, str)


@dataclass(frozen=True, slots=True)
class Foresight:
    """What one step would do.

    Attributes:
        verdict: ``hit``, ``miss``, ``runs`` (it always does), ``unknown`` (depends on a step that runs),
            ``skipped``, or ``registers``.
        sentence: why.
        origin: attempt that made what is there; empty when there is none, or several.
    """

    verdict: str
    sentence: str
    origin: str = ""


class Forecast:
    """Foresees for one project."""

    def __init__(
        self, database: Database, memory: Memory, read_value: Callable[[Digest], Plain], project: ProjectName
    ) -> None:
        self._database = database
        self._memory = memory
        self._read_value = read_value
        self._project = project

    def foresee(self, ground: Ground, view: RunView, now: datetime) -> dict[str, Foresight]:
        """Return what each top step of a run would do, were it submitted now, in the plan's order.

        Args:
            ground: of the run.
            view: as it would be submitted.
            now: the present instant.
        """
        with self._database.reading() as rows:
            view = with_registry(rows, self._project, ground.plan, view)
        told: list[Happening] = []
        while True:
            view = applied(view, advance(ground.plan, view, told, now, _NO_CHANCE))
            queued = [a for a in view.attempts if a.state is AttemptState.QUEUED]
            lists = [s.name for s in view.steps if s.state is StepState.QUEUED and not s.attempts]
            told = [
                *(read_list(ground.plan, view, name, self._read_value) for name in lists),
                *self._memory.answers(ground, view, queued, now),
            ]
            if not told:
                break
        return {step.name: _foresight(ground, view, view.step(step.name)) for step in ground.plan.steps}


def _foresight(ground: Ground, view: RunView, step: StepRun) -> Foresight:
    planned = ground.plan.step(step.name)
    attempt = view.latest(step.name)
    if planned.registration is not None:
        return Foresight("registers", "a registration is never cached")
    if step.state is StepState.SKIPPED and step.reason is not None and attempt is None:
        return Foresight("skipped", step.reason.sentence().removeprefix("was skipped "))
    if planned.group is not None and step.tally is not None:
        return _of_group(view, step)
    if attempt is None:
        return Foresight("unknown", _before(step))
    if attempt.origin is not None and attempt.reuse is not None:
        failed = f"; {step.reason.sentence()}" if step.state is StepState.FAILED and step.reason else ""
        return Foresight("hit", attempt.reuse.sentence().partition(": ")[2] + failed, attempt.origin)
    if attempt.reuse is not None:
        return Foresight("miss", str(attempt.reuse.evidence["cause"]))
    if attempt.key is None and attempt.reason is not None:
        return Foresight("unknown", attempt.reason.sentence())
    off = planned.cache.under(view.run.cache) is CacheMode.OFF
    return Foresight("runs", "cache is off" if off else "it has no outputs (out:) to reuse")


def _of_group(view: RunView, step: StepRun) -> Foresight:
    if view.run.resumes is not None and step.name in view.run.resumes.anew:
        return Foresight("miss", "asked to run again (resume --from)")
    if step.tally is not None and not step.tally.total:
        return Foresight("hit", "it has no members")
    members = [s for s in view.steps if s.name.startswith(f"{step.name}.")]
    made = [a for member in members if (a := view.latest(member.name)) is not None]
    hits = sum(attempt.origin is not None for attempt in made)
    return Foresight("hit" if made and hits == len(made) else "miss", f"{hits} of {len(made)} members are there")


def _before(step: StepRun) -> str:
    steps = step.reason.evidence.get("steps") if step.reason else None
    return f"depends on {', '.join(map(str, steps))}" if isinstance(steps, list) else "depends on what runs before"
