"""The unfinished runs of a project, read anew only when somebody has written since."""

from trainwright.core.ids import ProjectName
from trainwright.store import runs
from trainwright.store.database import Database


class Unfinished:
    """What one engine asks for twice a turn."""

    def __init__(self, database: Database, project: ProjectName) -> None:
        self._database, self._project = database, project
        self._heads: list[runs.Head] = []
        self._at: tuple[int, int] | None = None

    def heads(self) -> list[runs.Head]:
        """Return every unfinished run, oldest first.

        Raises:
            BackendError: the database cannot be used.
        """
        stamp = self._database.stamp()  # before the reading: what is written in between is then read once more
        if stamp != self._at:
            with self._database.reading() as rows:
                self._heads = runs.unfinished(rows, self._project)
            self._at = stamp
        return self._heads
