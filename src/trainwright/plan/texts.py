"""Commands and variables of a step: parameters become text, inputs and outputs stay references for the runner."""

from collections.abc import Iterable, Mapping

from trainwright.core.artifact import ArtifactKind
from trainwright.core.ids import StepName
from trainwright.core.job import Command, Part, Template
from trainwright.core.scalar import Plain, render_scalar
from trainwright.plan.plan import PlannedInput
from trainwright.spec.document import PipelineSpec, StepSpec
from trainwright.spec.references import Reference, pieces, references
from trainwright.spec.shell import rewrite


def command_of(step: StepSpec, params: Mapping[str, Plain]) -> Command:
    """Return what a step executes, its parameters filled in."""
    if step.argv:
        return Command(argv=tuple(template_of(pieces(argument), params) for argument in step.argv))
    script = rewrite(step.run)
    refs = {f"TW_REF_{n}": template_of([ref], params) for n, ref in enumerate(script.variables, start=1)}
    return Command(shell=script.text, refs=refs)


def env_of(step: StepSpec, params: Mapping[str, Plain]) -> dict[str, Template]:
    """Return the variables of a step, by name in sorted order."""
    return {name: template_of(pieces(text), params) for name, text in sorted(step.env.items())}


def inputs_of(step: StepSpec, spec: PipelineSpec) -> tuple[PlannedInput, ...]:
    """Return everything a step reads, by name in sorted order, each once."""
    if step.register:
        found = {step.register.model}
    else:
        texts = [*step.argv, *step.env.values()]
        named = [ref for text in texts for ref in references(text)] + list(rewrite(step.run).variables)
        found = {f"{r.name}.{r.field}" for r in named if r.name == "data" or r.name in spec.steps}
    return tuple(_input(name, spec) for name in sorted(found))


def template_of(parts: Iterable[str | Reference], params: Mapping[str, Plain]) -> Template:
    """Return parts as a template; neighbouring literal parts are merged, empty ones left out."""
    found: list[Part] = []
    for part in parts:
        made = Part(text=part) if isinstance(part, str) else _part(part, params)
        if found and not made.ref and not found[-1].ref:
            found[-1] = Part(text=found[-1].text + made.text)
        elif made.text or made.ref:
            found.append(made)
    return tuple(found)


def _part(reference: Reference, params: Mapping[str, Plain]) -> Part:
    match reference.name:
        case "params":
            return Part(text=render_scalar(params[reference.field]))
        case "out":
            return Part(ref=f"output:{reference.field}")
        case "checkpoint":
            return Part(ref=f"checkpoint:{reference.field}")
        case _:
            return Part(ref=f"input:{reference.name}.{reference.field}")


def _input(name: str, spec: PipelineSpec) -> PlannedInput:
    step, _, output = name.partition(".")
    if step == "data":
        return PlannedInput(name, None, output, ArtifactKind.DATASET)
    return PlannedInput(name, StepName(step), output, spec.steps[step].out[output])
