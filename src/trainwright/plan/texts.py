"""Commands and variables of a step: parameters become text, inputs and outputs stay references for the runner."""

from collections.abc import Callable, Iterable

from trainwright.core.job import Argument, Call, Command, Part, Template
from trainwright.core.scalar import Plain
from trainwright.spec.document import StepSpec
from trainwright.spec.references import Reference, pieces, references
from trainwright.spec.shell import rewrite

Stands = Callable[[Reference], Part]
"""Returns what stands for a reference."""

Given = Callable[[Plain], Argument]
"""Returns what a value under ``with:`` gives to a function."""


def command_of(step: StepSpec, stands: Stands, given: Given) -> Command:
    """Return what a step executes, its parameters filled in."""
    if step.call:
        return Command(call=Call(step.call, {name: given(value) for name, value in sorted(step.arguments.items())}))
    if step.argv:
        return Command(argv=tuple(template_of(pieces(argument), stands) for argument in step.argv))
    script = rewrite(step.run)
    refs = {f"TW_REF_{n}": template_of([ref], stands) for n, ref in enumerate(script.variables, start=1)}
    return Command(shell=script.text, refs=refs)


def env_of(step: StepSpec, stands: Stands) -> dict[str, Template]:
    """Return the variables of a step, by name in sorted order."""
    return {name: template_of(pieces(text), stands) for name, text in sorted(step.env.items())}


def references_of(step: StepSpec) -> tuple[Reference, ...]:
    """Return every reference in the command and the variables of a step."""
    texts = [*step.argv, *step.env.values()]
    return (*(ref for text in texts for ref in references(text)), *rewrite(step.run).variables)


def params_of(step: StepSpec) -> tuple[str, ...]:
    """Return the names of the parameters that a step's command, arguments and variables hold, sorted."""
    named = {reference.field for reference in references_of(step) if reference.name == "params"}
    given = [value for value in step.arguments.values() if isinstance(value, str)] if step.call else []
    return tuple(sorted(named | {text.removeprefix("params.") for text in given if text.startswith("params.")}))


def template_of(parts: Iterable[str | Reference], stands: Stands) -> Template:
    """Return parts as a template; neighbouring literal parts are merged, empty ones left out."""
    found: list[Part] = []
    for part in parts:
        made = Part(text=part) if isinstance(part, str) else stands(part)
        if found and not made.ref and not found[-1].ref:
            found[-1] = Part(text=found[-1].text + made.text)
        elif made.text or made.ref:
            found.append(made)
    return tuple(found)
