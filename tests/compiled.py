"""Pipeline files in a test, with the files that they use, to plans; and what members of a run come to."""

import posixpath
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import replace

from build import CHANCE, NOW, ended, placed, running, told, view
from trainwright.core.artifact import Content, PinnedData
from trainwright.core.changes import applied
from trainwright.core.ids import Digest, StepName
from trainwright.core.run import Attempt, RunView
from trainwright.core.scalar import Plain
from trainwright.core.states import AttemptState, StepState
from trainwright.lifecycle.advance import Happening, advance
from trainwright.lifecycle.groups import ListRead
from trainwright.plan.compile import compile_plan, data_requests
from trainwright.plan.plan import Plan
from trainwright.ports.backend import Ended
from trainwright.spec.document import Document
from trainwright.spec.load import load
from trainwright.spec.params import resolve

NOTHING = Content(Digest("sha256:" + "0" * 64), 1, 1)


def document(text: str, files: Mapping[str, str] | None = None, name: str = "f.yaml") -> Document:
    """A file with those that it uses: ``./other.yaml`` → text."""
    found = load(textwrap.dedent(text), name)
    subs = {}
    for step in found.spec.steps.values():
        if step.uses:
            inner = posixpath.normpath(step.uses)
            subs[step.uses] = document((files or {})[step.uses], files, inner)
    return replace(found, subs=subs)


def compiled(text: str, files: Mapping[str, str] | None = None, params: Mapping[str, str] | None = None) -> Plan:
    """The plan of a file, its data pinned to nothing."""
    read = document(text, files)
    asked = data_requests(read).items()
    return compile_plan(read, resolve(read, params or {}), tuple(PinnedData(n, a, a, NOTHING) for n, a in asked))


Goes = Callable[[Attempt], Ended]


class Played:
    """A run without a backend: every attempt that waits is placed, runs, and ends as ``goes`` says.

    Attributes:
        now_is: the records by now.
        begun: attempts in the order in which they were placed.
        live: the most attempts that went on at one time.
    """

    def __init__(self, of: Plan, goes: Goes | None = None, lists: Mapping[str, Plain] | None = None) -> None:
        self.plan, self.goes, self.lists = of, goes or well_ended, dict(lists or {})
        self.now_is: RunView = view(of)
        self.begun: list[str] = []
        self.live = 0
        self.tell()

    def tell(self, *happenings: Happening) -> "Played":
        """One decision, and the lists that groups wait for after it."""
        self.now_is, _ = told(self.plan, self.now_is, *happenings)
        while read := self.wanted_lists():
            self.now_is = applied(self.now_is, advance(self.plan, self.now_is, read, NOW, CHANCE))
        return self

    def wanted_lists(self) -> list[Happening]:
        return [
            ListRead(s.name, self.lists[s.name])
            for s in self.now_is.steps
            if s.state is StepState.QUEUED and not s.attempts and s.name in self.lists
        ]

    def live_attempts(self) -> list[Attempt]:
        return [a for a in self.now_is.attempts if not a.state.is_final]

    def place_all(self) -> "Played":
        waiting = [a.id for a in self.live_attempts() if a.state is AttemptState.QUEUED]
        self.begun += waiting
        self.tell(*(placed(a) for a in waiting))
        return self.tell(*(running(a) for a in waiting))

    def end_all(self) -> "Played":
        attempts = [a for a in self.live_attempts() if a.state is not AttemptState.QUEUED]
        self.live = max(self.live, len(attempts))
        return self.tell(*(self.end_of(a) for a in attempts))

    def end_of(self, attempt: Attempt) -> Ended:
        return ended(attempt.id, cause="stopped") if attempt.state is AttemptState.STOPPING else self.goes(attempt)

    def to_the_end(self) -> "Played":
        for _ in range(300):
            if self.now_is.run.state.is_final:
                return self
            self.place_all().end_all()
        raise AssertionError("the run does not end")

    def stop_asked(self) -> RunView:
        return replace(self.now_is, run=replace(self.now_is.run, stop_asked_by="bob"))

    def stop(self) -> "Played":
        self.now_is = self.stop_asked()
        return self.tell()

    @property
    def states(self) -> dict[str, str]:
        return {**{str(s.name): str(s.state) for s in self.now_is.steps}, "run": str(self.now_is.run.state)}

    def code(self, name: str) -> str:
        reason = self.now_is.step(StepName(name)).reason
        return "" if reason is None else str(reason.code)

    def sentence(self, name: str) -> str:
        reason = self.now_is.step(StepName(name)).reason
        return "" if reason is None else reason.sentence()

    def inputs(self, attempt: str) -> dict[str, str]:
        """Name of what an attempt reads → where it came from."""
        found = next(v for k, v in self.now_is.inputs.items() if k == f"r/{attempt}")
        return {i.name: i.address for i in found}


def well_ended(attempt: Attempt) -> Ended:
    """It ends well, with every output that a test uses and a number that grows with the tries."""
    return ended(attempt.id, outputs=["o", "model", "list"], metrics={"x": 1.0})


def played(
    text: str,
    goes: Goes | Mapping[str, Mapping[str, object]] | None = None,
    *,
    files: Mapping[str, str] | None = None,
    lists: Mapping[str, Plain] | None = None,
) -> Played:
    """A run of a file; ``goes`` may be attempt or step → how it ends (code, and what ``build.ended`` takes)."""
    if goes is None or callable(goes):
        return Played(compiled(text, files), goes, lists)
    ends: Mapping[str, Mapping[str, object]] = goes

    def told_ends(attempt: Attempt) -> Ended:
        given = ends.get(f"{attempt.step}/{attempt.number}", ends.get(attempt.step))
        if given is None:
            return well_ended(attempt)
        good: dict[str, object] = {} if given.get("exit_code") else {"outputs": ["o", "model", "list"]}
        return ended(attempt.id, **{**good, **given})  # type: ignore[arg-type]

    return Played(compiled(text, files), told_ends, lists)


BAD: Mapping[str, object] = {"exit_code": 1}
