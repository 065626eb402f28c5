"""From changes of state to beginnings and ends: each round of a run or step begins once and ends once, in this order.

A step that was never more than pending has no beginning, so that one that was skipped or cancelled before says nothing.
"""

from dataclasses import dataclass, field

from trainwright.core.ids import AttemptId, StepName
from trainwright.core.states import RunState, StepState
from trainwright.ports.exporter import Phase, Subject

_AT_WORK = frozenset({StepState.QUEUED, StepState.RUNNING, StepState.PREEMPTING})
_NEVER_BEGAN = frozenset({StepState.SKIPPED, StepState.CANCELLED})


@dataclass(slots=True)
class Progress:
    """How far one run and its steps are, told its events from the first one on."""

    _rounds: dict[StepName | None, int] = field(default_factory=dict)
    _begun: set[StepName | None] = field(default_factory=set)
    _attempts: dict[StepName, int] = field(default_factory=dict)

    def note_run(self, state: RunState) -> tuple[Phase, ...]:
        """Take notice of a change of the run; return what it means. To be called before ``end``."""
        if not state.is_final:
            return self._at_work(None, going=state is RunState.RUNNING)
        return self._over(None)

    def note_step(self, step: StepName, state: StepState) -> tuple[Phase, ...]:
        """Take notice of a change of a step; return what it means. To be called before ``end``."""
        if state in _AT_WORK:
            return self._at_work(step, going=state is StepState.RUNNING)
        if state is StepState.PENDING or (state in _NEVER_BEGAN and step not in self._begun):
            return ()
        return self._over(step)

    def note_attempt(self, step: StepName, number: int) -> None:
        """Take notice of an attempt: what follows at its step is about this one."""
        self._attempts[step] = number

    def subject(self, step: StepName | None) -> Subject:
        """Return a run or step in its present round."""
        return Subject(step, self._rounds.get(step, 0))

    def attempt(self, run: str, step: StepName) -> AttemptId | None:
        """Return the attempt that a step is at."""
        number = self._attempts.get(step)
        return None if number is None else AttemptId(f"{run}/{step}/{number}")

    def end(self, step: StepName | None, phases: tuple[Phase, ...]) -> None:
        """Close the round when that is what the phases say."""
        if Phase.END in phases:
            self._rounds[step] = self._rounds.get(step, 0) + 1
            self._begun.discard(step)

    def _at_work(self, who: StepName | None, *, going: bool) -> tuple[Phase, ...]:
        if who not in self._begun:
            self._begun.add(who)
            return (Phase.BEGIN,)
        return (Phase.GO_ON,) if going else ()

    def _over(self, who: StepName | None) -> tuple[Phase, ...]:
        return (Phase.END,) if who in self._begun else (Phase.BEGIN, Phase.END)
