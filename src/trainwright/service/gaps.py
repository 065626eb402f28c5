"""What stands between a record and the same run once more: each thing that differs, or that nothing holds fixed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields

from trainwright.core.fingerprint import CodeState, Environment, Fingerprint, Hardware
from trainwright.core.occasion import TriggerEvent
from trainwright.core.quantity import show_bytes
from trainwright.core.reproduction import Gap, Grade
from trainwright.core.run import RunView
from trainwright.core.scalar import Plain
from trainwright.core.states import RunState, StepState
from trainwright.plan.plan import Plan
from trainwright.service.capture.pointers import lacks_of

_NAMED = 5
"""Names in one sentence."""


def gaps_of_record(view: RunView, plan: Plan, known: Fingerprint, started_for: Iterable[TriggerEvent]) -> Iterator[Gap]:
    """Yield what the record of a run lacks, whatever machine it is made again on.

    Args:
        view: of the finished run.
        plan: of the run.
        known: its fingerprint.
        started_for: the events that it was started for.
    """
    yield from code_gaps(known.code)
    if known.seed is None:
        sentence = "the pipeline has no parameter seed; what its steps draw at random is not held fixed"
        yield Gap("seed", sentence, Grade.SAME_ENVIRONMENT)
    origins: dict[str, list[str]] = {}
    for step in view.steps:
        attempt = view.latest(step.name)
        if step.state is StepState.CACHED and attempt is not None and attempt.origin is not None:
            origins.setdefault(attempt.origin.partition("/")[0], []).append(step.name)
    for run, names in origins.items():
        taken = "taken over" if set(names) & set(known.taken_over) else "reused"
        sentence = f"{_some(names)} did not run, but {taken} from runs/{run}; here everything runs, from one code"
        yield Gap("steps", sentence, Grade.SAME_ENVIRONMENT)
    registers = [step.name for step in plan.by_path.values() if step.registration is not None]
    if registers:
        yield Gap("steps", f"{_some(registers)} is left out: a run made again registers nothing", Grade.EXACT)
    if view.run.state is not RunState.SUCCEEDED:
        why = f": {view.run.reason.sentence()}" if view.run.reason else ""
        yield Gap("steps", f"the original is {view.run.state}{why}", Grade.EXACT)
    for event in started_for:
        sentence = f"it was started by {event.trigger} for {event.id}; the clock says another time now"
        yield Gap("time", sentence, Grade.SAME_ENVIRONMENT)


def code_gaps(code: CodeState) -> Iterator[Gap]:
    """Yield what the captured code never had."""
    for lack in lacks_of(code):
        yield Gap("code", f"{lack}, when it was captured", Grade.SAME_ENVIRONMENT)


def environment_gaps(known: Environment, now: Environment) -> Iterator[Gap]:
    """Yield how the interpreter and packages of a run differ from those at hand, or that nothing holds them fixed."""
    if not known.locked:
        sentence = "it was inherited, not locked; packages are compared by name and version"
        yield Gap("environment", sentence, Grade.SAME_ENVIRONMENT)
    if known.editable:
        sentence = f"{_some(known.editable)} was installed from a folder, whose code may have changed"
        yield Gap("environment", sentence, Grade.SAME_ENVIRONMENT)
    if known.python != now.python:
        yield Gap("environment", f"Python was {known.python} and is {now.python}", Grade.BEST_EFFORT)
    changed, gone, new = package_changes(known, now)
    if changed or gone:
        listed = [f"{name} {before} → {after}" for name, (before, after) in changed.items()]
        listed += [f"{name} {before} → none" for name, before in gone.items()]
        count = f"{len(listed)} package{'s' if len(listed) > 1 else ''}"
        yield Gap("environment", f"{count} changed: {_some(listed)}", Grade.BEST_EFFORT)
    if known.packages == now.packages and known.records and now.records and known.records != now.records:
        yield Gap("environment", "packages have other files under the same versions", Grade.BEST_EFFORT)
    if new:
        listed = [f"{name} {version}" for name, version in new.items()]
        yield Gap("environment", f"installed since: {_some(listed)}", Grade.SAME_ENVIRONMENT)


def package_changes(
    known: Environment, now: Environment
) -> tuple[dict[str, tuple[str, str]], dict[str, str], dict[str, str]]:
    """Return packages with another version (before, now), those that are gone, and those that are new."""
    before, after = known.packages, now.packages
    changed = {name: (before[name], after[name]) for name in before if after.get(name, before[name]) != before[name]}
    gone = {name: version for name, version in before.items() if name not in after}
    new = {name: version for name, version in after.items() if name not in before}
    return changed, gone, new


def hardware_gaps(known: Hardware, now: Hardware) -> Iterator[Gap]:
    """Yield one gap with everything in which two machines differ."""
    differing = [
        f"{f.name.removesuffix('_bytes')} {_shown(f.name, getattr(known, f.name))}"
        f" → {_shown(f.name, getattr(now, f.name))}"
        for f in fields(Hardware)
        if getattr(known, f.name) != getattr(now, f.name)
    ]
    if differing:
        yield Gap("hardware", f"it differs: {', '.join(differing)}", Grade.SAME_ENVIRONMENT)


def baseline_gaps(view: RunView, there: Mapping[str, bool]) -> Iterator[Gap]:
    """Yield the versions that checks were compared with and that exist no more.

    Args:
        view: of the finished run.
        there: address of each such version → whether it still exists.
    """
    lost = {gate.baseline for step in view.steps for gate in step.gates if gate.baseline and not there[gate.baseline]}
    for address in sorted(lost):
        sentence = f"{address}, which checks were compared with, exists no more; they are compared with what is now"
        yield Gap("checks", sentence, Grade.BEST_EFFORT)


def _shown(name: str, value: "Plain | tuple[str, ...]") -> str:
    if name == "memory_bytes" and isinstance(value, int):
        return show_bytes(value)
    return (", ".join(value) or "none") if isinstance(value, tuple) else str(value)


def _some(names: Iterable[str]) -> str:
    known = list(names)
    return ", ".join(known[:_NAMED]) + (f" and {len(known) - _NAMED} more" if len(known) > _NAMED else "")
