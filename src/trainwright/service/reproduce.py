"""Making a run again: what the record gives back, what it does not, and the new run in which nothing is reused."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from trainwright.core.errors import NotFoundError
from trainwright.core.fingerprint import CodeState, Environment
from trainwright.core.reproduction import Gap, Grade, Reproduced, Tolerance, grade_of
from trainwright.core.run import RunView
from trainwright.plan.plan import Plan
from trainwright.service.capture.environment import RECORDS, capture_environment
from trainwright.service.capture.hardware import capture_hardware
from trainwright.service.context import Context
from trainwright.service.environments import restorable
from trainwright.service.gaps import baseline_gaps, environment_gaps, gaps_of_record, hardware_gaps
from trainwright.service.lookup import read_run
from trainwright.service.originals import Original, read_record
from trainwright.service.origins import look_at
from trainwright.service.resume import refuse_unfinished
from trainwright.service.sameness import Sameness, compare_outcomes
from trainwright.service.submit import Prepared, refuse_too_much
from trainwright.service.triggers import story_of
from trainwright.store import registry, runs


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A run that makes another one again, ready to be submitted unless something is lost.

    Attributes:
        gaps: what could not be restored or is not held fixed, the worst first.
        lost: of these, without which nothing can start.
        tolerance: how far each metric may be off.
    """

    original: Original
    gaps: tuple[Gap, ...]
    lost: tuple[Gap, ...]
    tolerance: Mapping[str, Tolerance]

    @property
    def grade(self) -> Grade | None:
        """Return how surely the run is the same; None when it cannot be made again."""
        return None if self.lost else grade_of(self.gaps)

    def prepared(self, context: Context) -> Prepared:
        """Return the run to be submitted.

        Raises:
            NotFoundError: something that it needs is gone.
            DeniedError: this machine could never run it.
        """
        original = self.original
        run = original.view.run
        if self.grade is None:
            missing = "; ".join(f"{gap.part} {gap.sentence}" for gap in self.lost)
            raise NotFoundError(
                "TW4107",
                f"{run.pipeline} #{run.number} ({run.id}) cannot be made again: {missing}",
                why="a run with other data or code would be another run",
                remedy="bring the data back to where it came from, or restore the state folder from a backup",
                details={"lost": len(self.lost)},
            )
        refuse_too_much(context, None, original.plan)
        reproduced = Reproduced(run.id, self.grade, self.gaps, self.tolerance, original.record)
        return Prepared(original.plan, run.source, context.here, code=original.fingerprint.code, reproduces=reproduced)


def find_original(context: Context, name: str) -> Original:
    """Return the records of a finished run of the project.

    Raises:
        NotFoundError, SpecError: as ``find_run``.
        ConflictError: it is not over yet.
    """
    view, plan = read_run(context, name)
    refuse_unfinished(view.run)
    with context.database.reading() as rows:
        known = runs.fingerprint(rows, context.project, view.run.fingerprint)
    return Original(view, plan, known, tuple(story_of(context, view.run.id)[0]))


def reproduction(context: Context, original: Original, tolerance: Mapping[str, Tolerance]) -> Reproduction:
    """Find out how far a run can be made again here; data that the store has lost is read from its origin.

    Args:
        context: of the project.
        original: the run.
        tolerance: beside that of the pipeline, which gives way to it.
    """
    known, view = original.fingerprint, original.view
    gaps = list(gaps_of_record(view, original.plan, known, original.started_for))
    gaps += _environment(context, known.environment)
    gaps += hardware_gaps(known.hardware, capture_hardware(context.backend.nodes()))
    gaps += _baselines(context, original)
    lost = [*_lost_code(context, known.code), *_lost_locks(context, known.environment)]
    for data in original.plan.data:
        gap, there = look_at(context, data)
        if gap is not None:
            (gaps if there else lost).append(gap)
    worst_first = sorted(gaps, key=lambda gap: list(Grade).index(gap.best), reverse=True)
    return Reproduction(original, (*lost, *worst_first), tuple(lost), {**original.plan.tolerance, **tolerance})


def _environment(context: Context, known: Environment) -> Iterator[Gap]:
    """Yield what of an environment cannot be had again; of an inherited one, all in which it differs from here."""
    if not known.locked:
        yield from environment_gaps(known, capture_environment(kept=context.home / RECORDS))
    for sentence in restorable(context, replace(known, locked=True)).gaps:
        yield Gap("environment", sentence, Grade.BEST_EFFORT)


def _lost_locks(context: Context, known: Environment) -> Iterator[Gap]:
    for lock in known.locks.values():
        if not lock.is_image and (lock.lock is None or not context.content.has(lock.lock)):
            yield Gap("environment", f"the lock of {lock.asked.words} is gone from the store", Grade.BEST_EFFORT)


def _lost_code(context: Context, code: CodeState) -> Iterator[Gap]:
    if not context.content.verify(code.tree):
        commit = f"; commit {code.commit[:12]} may still hold most of it" if code.commit else ""
        sentence = f"its bytes ({code.tree[7:19]}) are gone from the store{commit}"
        yield Gap("code", sentence, Grade.BEST_EFFORT)


def _baselines(context: Context, original: Original) -> Iterator[Gap]:
    """Return gaps for the models that checks were compared with; those of another project are never here."""
    view = original.view
    named = {gate.baseline for step in view.steps for gate in step.gates if gate.baseline}
    with context.database.reading() as rows:
        there = {address: registry.version_at(rows, context.project, address) is not None for address in named}
    there = dict.fromkeys(named, False) if original.record else there
    return baseline_gaps(view, there)


def outcome(context: Context, view: RunView, plan: Plan) -> tuple[RunView, Sameness] | None:
    """Return the original of a finished run that makes another one again, and how they compare; None without both."""
    reproduced = view.run.reproduces
    original = None if reproduced is None else _records_of(context, reproduced)
    if reproduced is None or original is None:
        return None
    return original, compare_outcomes(original, view, plan, reproduced.tolerance)


def _records_of(context: Context, reproduced: Reproduced) -> RunView | None:
    if reproduced.record:
        return read_record(context, reproduced.record).view
    with context.database.reading() as rows:
        known = runs.run(rows, reproduced.run)
        return None if known is None else runs.view(rows, reproduced.run)


def trust_lines(context: Context, view: RunView) -> tuple[str, ...]:
    """Return which run a run makes again and which make it again, a line each, oldest first."""
    lines = []
    reproduced = view.run.reproduces
    if reproduced is not None:
        lines.append(f"reproduces runs/{reproduced.run}, {reproduced.grade}")
    with context.database.reading() as rows:
        found = runs.reproductions(rows, context.project, view.run.id)
    for run in found:
        grade = run.reproduces.grade if run.reproduces else ""
        lines.append(f"made again by runs/{run.id}, {grade}, {run.state}")
    return tuple(lines)
