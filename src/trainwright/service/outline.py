"""The steps of a run as people read them: each group, then what is in it, and of large groups only what matters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trainwright.core.ids import StepName
from trainwright.core.reasons import ReasonCode
from trainwright.core.run import RunView, StepRun
from trainwright.core.states import StepState
from trainwright.plan.plan import GroupKind, Plan

MOST = 20
"""Members of one group that are listed one by one; of more, only those that failed or run."""

_BY_MEMBERS = frozenset({ReasonCode.MEMBERS_FAILED, ReasonCode.STEP_FAILED})
_NOTABLE = (StepState.FAILED, StepState.RUNNING)


@dataclass(frozen=True, slots=True)
class Line:
    """A step in its place.

    Attributes:
        step: None where ``rest`` members of a group are not listed.
        depth: 0 at the top.
        group: of the members that are not listed.
    """

    step: StepRun | None
    depth: int
    rest: int = 0
    group: StepName | None = None


class Outline:
    """Finds what is in what. Steps that would have followed a failure, and were not needed, are left out.

    ``everything`` keeps them.
    """

    def __init__(self, view: RunView, plan: Plan, *, everything: bool = False) -> None:
        self._view, self._plan = view, plan
        self._inside: dict[StepName | None, list[StepRun]] = {}
        for step in view.steps:
            if everything or not is_unneeded(step):
                self._inside.setdefault(step.parent, []).append(step)
        for name, members in self._inside.items():
            if name is not None and self.kind(name) is not GroupKind.ONCE:
                members.sort(key=lambda s: int(s.name.rpartition(".")[2]))

    def kind(self, name: StepName) -> GroupKind | None:
        """Return how a step stands for several; None for one that does not."""
        group = self._plan.step(name).group
        return None if group is None else group.kind

    def inside(self, name: StepName | None) -> Sequence[StepRun]:
        """Return what a group consists of, in order; the steps at the top for None."""
        return self._inside.get(name, ())

    def below(self, name: StepName | None) -> Iterator[StepRun]:
        """Yield every step in a group, each group before what is in it."""
        for step in self.inside(name):
            yield step
            yield from self.below(step.name)

    def lines(self, name: StepName | None = None, most: int = MOST, depth: int = 0) -> Iterator[Line]:
        """Yield the steps in a group; of one of more than ``most`` the first that failed or run, and how many rest."""
        members = self.inside(name)
        chosen = members
        if name is not None and len(members) > most:
            chosen = [s for state in _NOTABLE for s in members if s.state is state][:most]
        for step in chosen:
            yield Line(step, depth)
            yield from self.lines(step.name, most, depth + 1)
        if len(chosen) < len(members) and name is not None:
            yield Line(None, depth, len(members) - len(chosen), name)

    def count(self, step: StepRun) -> str:
        """Return how far a group is: ``12/40 ✓ 1 ✗``; empty for a step that is none, or has not begun."""
        kind, tally = self.kind(step.name), step.tally
        if kind is None or tally is None:
            return ""
        if kind is GroupKind.LOOP:
            return f"{tally.begun}/{tally.total} ↻"
        well, failed, total = tally.succeeded, tally.failed, tally.total
        if kind is GroupKind.ONCE:
            total = len(self.inside(step.name))
        skipped = sum(s.state is StepState.SKIPPED for s in self.inside(step.name)) if tally.skipped else 0
        marks = {"✗": failed, "-": skipped, "■": tally.cancelled}
        return " ".join([f"{well}/{total} ✓", *(f"{number} {mark}" for mark, number in marks.items() if number)])

    def causes(self, name: StepName | None = None) -> Iterator[StepRun]:
        """Yield the steps whose own failure made a step fail: itself, or members, or steps in them."""
        for step in self.inside(name):
            if step.state is not StepState.FAILED:
                continue
            of_loop = name is not None and self.kind(name) is GroupKind.LOOP
            if of_loop and step is not self.inside(name)[-1]:
                continue  # a round that did not pass, and was followed by another
            yield from self.behind(step)

    def behind(self, step: StepRun) -> Iterator[StepRun]:
        """Yield the steps whose own failure made this one fail."""
        code = step.reason.code if step.reason else None
        by_round = self.kind(step.name) is GroupKind.LOOP and code is not ReasonCode.LOOP_EXHAUSTED
        found = list(self.causes(step.name)) if code in _BY_MEMBERS or by_round else []
        yield from found or [step]


def page_of(view: RunView, plan: Plan, top: StepName | None, page: int, limit: int) -> dict[str, object]:
    """Return one page of the steps of a run, or of one step and what is in it, with their attempts and outputs.

    Args:
        view: all records of the run.
        plan: of the run.
        top: the step; None = the run.
        page: from 1; one beyond the last is empty.
        limit: steps of a page.
    """
    outline = Outline(view, plan, everything=True)
    steps = [*([view.step(top)] if top is not None else []), *outline.below(top)]
    chosen = steps[(page - 1) * limit : page * limit]
    names = {step.name for step in chosen}
    return {
        "run": view.run,
        "page": {"number": page, "of": max(1, -(-len(steps) // limit)), "limit": limit, "steps": len(steps)},
        "steps": chosen,
        "attempts": [attempt for attempt in view.attempts if attempt.step in names],
        "outputs": [made for made in view.outputs if made.step in names],
    }


def is_unneeded(step: StepRun) -> bool:
    """Tell whether a step would have followed a failure that there was none of."""
    return step.name.endswith(".on_fail") and step.attempts == 0 and step.state is not StepState.FAILED
