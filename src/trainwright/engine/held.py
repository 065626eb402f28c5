"""One run as an engine holds it between two turns."""

from dataclasses import dataclass, field

from trainwright.core.changes import Changes
from trainwright.core.ids import AttemptId
from trainwright.core.run import Attempt, RunView
from trainwright.engine.memory import Ground
from trainwright.store.journal import OpenInstruction


@dataclass(slots=True)
class Held:
    """One run that is ours, as the last turn left it.

    Attributes:
        open: instructions still to be carried out, in order.
        done: carried out, to be marked by the next commit: a crash before it carries them out again.
        live: attempts that have not ended.
        rested: whether a turn of ours has brought the records to rest, so that only what happens can change them.
    """

    ground: Ground
    view: RunView
    open: list[OpenInstruction]
    done: list[int]
    live: dict[AttemptId, Attempt] = field(default_factory=dict)
    rested: bool = False

    def with_changes(self, changes: Changes) -> list[Attempt]:
        """Return the attempts that have not ended once the changes are made."""
        later = {**self.live, **{a.id: a for a in changes.attempts}}
        return [a for a in later.values() if not a.state.is_final]


def live_of(view: RunView) -> dict[AttemptId, Attempt]:
    """Return the attempts of a run that have not ended."""
    return {a.id: a for a in view.attempts if not a.state.is_final}
