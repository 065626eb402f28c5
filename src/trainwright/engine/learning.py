"""How long work ran, as rounds learn it: read from the store when somebody first waits, and kept as work ends."""

from collections.abc import Iterable
from dataclasses import replace

from trainwright.core.history import History
from trainwright.core.ids import AttemptId, ProjectName
from trainwright.core.run import Attempt, Run
from trainwright.core.states import AttemptState, ExitClass
from trainwright.engine.books import Books
from trainwright.engine.placing import workload
from trainwright.plan.plan import Plan
from trainwright.store import runs
from trainwright.store.database import Rows

MOST = 500
"""Ends that an engine reads when it first needs them, the newest."""


class Learning:
    """What one engine knows of ends; those that other engines see later are read by the next engine."""

    def __init__(self, project: ProjectName, books: Books) -> None:
        self._project, self._books = project, books
        self._begun = False
        self._noted: set[AttemptId] = set()  # learned before they were written
        self.history = History()

    def begin(self, rows: Rows) -> bool:
        """Read what ended before, the first time; tell whether that has taught anything."""
        if self._begun:
            return False
        self._begun = True
        before = self.history
        self.history = History()
        for attempt, run in reversed(runs.newest_ends(rows, self._project, MOST)):
            self._learn(attempt, self._books.plan(rows, run), run)
        return self.history != before

    def note(self, ended: Iterable[Attempt], plan: Plan, run: Run) -> None:
        """Take notice of attempts of a run that have ended; before the first reading, that will find them."""
        for attempt in ended if self._begun else ():
            if attempt.id not in self._noted:
                self._learn(attempt, plan, run)
            self._noted.discard(attempt.id)

    def note_early(self, ended: Iterable[Attempt], plan: Plan, run: Run) -> None:
        """Take notice of ends that are seen and not written yet, so that the round of this very turn knows of them."""
        for attempt in ended if self._begun else ():
            if attempt.id not in self._noted:
                self._noted.add(attempt.id)
                self._learn(attempt, plan, run)

    def _learn(self, attempt: Attempt, plan: Plan, run: Run) -> None:
        done = attempt.state is AttemptState.SUCCEEDED and attempt.exit_class is ExitClass.OK
        if not done or attempt.placed_at is None or attempt.finished_at is None:
            return
        ran_s = max((attempt.finished_at - attempt.placed_at).total_seconds(), 0.0)
        shown = workload(replace(attempt, state=AttemptState.QUEUED), plan, run)
        self.history = self.history.with_end(shown, attempt.served_s + ran_s, attempt.finished_at)
