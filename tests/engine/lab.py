"""A world in which an engine can be killed between any two of its acts, and another can be put in its place."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from build import CHANCE, PROJECT, database, node
from trainwright.core.ids import AttemptId, Digest, RunId
from trainwright.core.job import JobSpec
from trainwright.core.node import Node
from trainwright.core.run import RunView
from trainwright.core.scalar import Plain
from trainwright.core.states import AttemptState
from trainwright.engine.engine import Engine, World
from trainwright.engine.memory import Memory
from trainwright.ports.backend import Ended, Observation
from trainwright.ports.testing.clock import VirtualClock
from trainwright.ports.testing.fake import FakeBackend, Script
from trainwright.store import registry, runs
from trainwright.store.database import Database, Rows


class Killed(BaseException):
    """The engine's process dies here."""


@dataclass
class Death:
    """Counts the points at which an engine may die, and lets it die at some of them.

    Attributes:
        at: numbers of those points, from 1.
        seen: what was passed, in order.
    """

    at: frozenset[int] = frozenset()
    seen: list[str] = field(default_factory=list)

    def here(self, point: str) -> None:
        self.seen.append(point)
        if len(self.seen) in self.at:
            raise Killed(point)


class MortalDatabase(Database):
    """Dies before a commit, which then has not happened, or right after it.

    Attributes:
        before: what somebody else does before our first write, our second …
        afterwards: what somebody else does after it.
    """

    def __init__(self, path: Path, death: Death) -> None:
        super().__init__(path)
        self.death = death
        self.before: list[Callable[[], None]] = []
        self.afterwards: list[Callable[[], None]] = []

    @contextmanager
    def writing(self) -> Iterator[Rows]:
        if self.before:
            self.before.pop(0)()
        with super().writing() as rows:
            yield rows
            self.death.here("before commit")
        self.death.here("after commit")
        if self.afterwards:
            self.afterwards.pop(0)()


class MortalBackend(FakeBackend):
    """Dies before or after each call; what it has begun goes on. Speaks late and fails where it is told to."""

    def __init__(self, clock: VirtualClock, script: Callable[[JobSpec], Script], nodes: tuple[Node, ...]) -> None:
        super().__init__(clock, script, nodes)
        self.death = Death()
        self.late: dict[AttemptId, int] = {}  # how often an end is not told yet
        self.broken: dict[AttemptId, Exception] = {}  # raised by ``observe``
        self.stop_failures: list[Exception] = []

    def start(self, job: JobSpec) -> None:
        self.death.here(f"before start {job.attempt}")
        super().start(job)
        self.death.here(f"after start {job.attempt}")

    def stop(self, attempt: AttemptId, why: str) -> None:
        self.death.here(f"before stop {attempt}")
        if self.stop_failures:
            raise self.stop_failures.pop(0)
        super().stop(attempt, why)
        self.death.here(f"after stop {attempt}")

    def preempt(self, attempt: AttemptId, why: str, grace_s: float) -> None:
        self.death.here(f"before preempt {attempt}")
        super().preempt(attempt, why, grace_s)
        self.death.here(f"after preempt {attempt}")

    def observe(self, attempt: AttemptId) -> Observation:
        if attempt in self.broken:
            raise self.broken[attempt]
        seen = super().observe(attempt)
        if isinstance(seen, Ended) and self.late.get(attempt, 0):
            self.late[attempt] -= 1
            return self._began[attempt]
        return seen

    def used_milli(self) -> int:
        """Sum up the cores of what has begun and not ended."""
        live = [j for j in self.started if not isinstance(FakeBackend.observe(self, j.attempt), Ended)]
        return sum(job.resources.cpu_milli for job in live)


class Lab:
    """One project on a virtual clock; engines come and go."""

    def __init__(
        self, folder: Path, script: Callable[[JobSpec], Script] = lambda _: Script(), nodes: tuple[Node, ...] = ()
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.clock = VirtualClock()
        self.backend = MortalBackend(self.clock, script, nodes or (node(),))
        self.database = database(folder)
        self.living: set[str] = set()
        self.values: dict[Digest, Plain] = {}
        self.opened = [self.database]
        self.memory: Callable[[Database], Memory] | None = None

    def engine(self, owner: str, death: Death | None = None) -> Engine:
        """Start an engine of that name."""
        mortal = MortalDatabase(self.database.path, death or Death())
        self.opened.append(mortal)
        self.backend.death = mortal.death
        self.living.add(owner)
        world = World(
            database=mortal,
            backend=self.backend,
            clock=self.clock,
            read_value=self.values.__getitem__,
            chance=lambda: CHANCE,
            project=PROJECT,
            owner=owner,
            owner_is_gone=lambda other: other not in self.living,
            memory=self.memory(mortal) if self.memory else None,
        )
        return Engine(world)

    def survive(self, death: Death, at_turn: Callable[[int], None] = lambda _: None) -> int:
        """Carry all work to its end; a dead engine is followed by another. Return how many died."""
        died = 0
        engine = self.engine("engine 0", death)
        for turn in range(500):
            at_turn(turn)
            try:
                if not engine.has_work():
                    return died
                if not engine.turn():
                    engine.wait(60)
            except Killed:
                self.living.discard(f"engine {died}")
                died += 1
                engine = self.engine(f"engine {died}", death)
            self.check_room()
        raise AssertionError("the work does not end")

    def carry(self, engine: Engine) -> None:
        """Let one engine carry all work to its end."""
        for _ in range(500):
            if not engine.has_work():
                return
            if not engine.turn():
                engine.wait(60)
            self.check_room()
        raise AssertionError("the work does not end")

    def check_room(self) -> None:
        """Hold what runs against what there is."""
        assert self.backend.used_milli() <= sum(n.total.cpu_milli for n in self.backend.nodes()), "room given twice"

    def stop(self, run: str, actor: str = "bob") -> None:
        with self.database.writing() as rows:
            runs.ask_to_stop(rows, RunId(run), actor)

    def view(self, run: str = "r") -> RunView:
        with self.database.reading() as rows:
            return runs.view(rows, RunId(run))

    def states(self, run: str = "r") -> dict[str, str]:
        """Step or attempt → state, and ``run``."""
        now_is = self.view(run)
        found = {str(s.name): str(s.state) for s in now_is.steps}
        found |= {str(a.id): str(a.state) for a in now_is.attempts}
        return {**found, "run": str(now_is.run.state)}

    def attempt(self, name: str, state: AttemptState) -> bool:
        return any(a.id == name and a.state is state for a in self.view(name.split("/", maxsplit=1)[0]).attempts)

    def versions(self) -> list[tuple[int, str]]:
        """Version and run of every model, oldest first."""
        with self.database.reading() as rows:
            return [(v.version, str(v.run)) for v in reversed(registry.versions(rows, PROJECT))]

    def count(self, sql: str) -> int:
        with self.database.reading() as rows:
            return rows.number(sql)

    def holder(self) -> str | None:
        """Return who holds the lease of the oldest unfinished run."""
        with self.database.reading() as rows:
            return runs.unfinished(rows, PROJECT)[0].lease_owner

    def close(self) -> None:
        for one in self.opened:
            one.close()
