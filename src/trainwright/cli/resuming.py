"""What ``tw resume`` says before it starts: what is taken over, what runs again, and why."""

from dataclasses import replace

from trainwright.app import App
from trainwright.cli import output
from trainwright.core.cache import CacheMode
from trainwright.core.errors import ConflictError, SpecError
from trainwright.core.ids import StepName
from trainwright.engine.forecast import Foresight
from trainwright.service.resume import CodeChoice, Resumption
from trainwright.service.submit import Prepared

_HEADS = {"hit": "reused:  ", "skipped": "skipped: "}
"""What does not run, by the word on it; everything else runs again."""


def choice(word: str) -> CodeChoice:
    """Return the code that ``--with-code`` names.

    Raises:
        SpecError: it names none.
    """
    found = {one.value.lower(): one for one in CodeChoice}.get(word.lower())
    if found is None:
        known = ", ".join(one.value for one in CodeChoice)
        raise SpecError("TW2208", f"--with-code {word} is no code", remedy=f"write one of {known}")
    return found


def announce(app: App, found: Resumption, *, insist: bool) -> Prepared:
    """Print what a resumed run takes over and what runs again; return it with what it takes over noted.

    Args:
        app: of the project.
        found: the run to be submitted.
        insist: whether steps before those named with ``--from`` have to be equal.

    Raises:
        ConflictError: they are not.
    """
    run, prepared = found.before.run, found.prepared
    output.say(f"resumes {run.pipeline} #{run.number} ({run.id})")
    if found.dropped:
        output.say(f"without its parameters {', '.join(found.dropped)}: the pipeline does not have them any more")
    foreseen = app.foresee(prepared, CacheMode.AUTO)
    anew = set(prepared.resumes.anew if prepared.resumes else ())
    for name, one in foreseen.items():
        output.say(f"{_HEADS.get(one.verdict, 'again:  ')}{name}, {_why(one)}")
    if insist:
        _refuse_mixture(prepared, foreseen, anew)
    origins = {name: f"runs/{one.origin}" for name, one in foreseen.items() if one.verdict == "hit" and one.origin}
    return replace(prepared, taken_over=origins)


def _why(one: Foresight) -> str:
    return "a registration is never taken over" if one.verdict == "registers" else one.sentence


def _refuse_mixture(prepared: Prepared, foreseen: dict[str, Foresight], anew: set[StepName]) -> None:
    """Refuse when a step before those that run again would run as well: then nobody asked for what happens."""
    before: set[StepName] = set()
    todo = [need for name in anew for need in prepared.plan.step(name).needs]
    while todo:
        name = todo.pop()
        if name not in before | anew:
            before.add(name)
            todo.extend(prepared.plan.step(name).needs)
    changed = sorted(name for name in before if foreseen[name].verdict not in _HEADS)
    if changed:
        raise ConflictError(
            "TW5303",
            f"{', '.join(changed)} cannot be taken over: {foreseen[changed[0]].sentence}",
            why="--from keeps what comes before as it was, and it is not equal any more",
            remedy=f"leave --from out, or begin earlier: --from {changed[0]}",
        )
