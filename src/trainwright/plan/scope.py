"""One pipeline file within a plan: what its names mean there."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from trainwright.core.artifact import ArtifactKind
from trainwright.core.environment import AskedEnvironment, EnvironmentKind, StepEnvironment
from trainwright.core.errors import SpecError
from trainwright.core.ids import StepName
from trainwright.core.job import Argument, Part
from trainwright.core.scalar import Plain, render_scalar
from trainwright.plan.plan import PlannedInput, Source
from trainwright.spec.arguments import literal_of, reference_of
from trainwright.spec.document import Document, StepSpec
from trainwright.spec.findings import suggest
from trainwright.spec.references import Reference


@dataclass(frozen=True, slots=True)
class Scope:
    """A document in its place.

    Attributes:
        prefix: of the paths of its steps: empty at the top, ``sub.`` or ``sub.*.`` within a sub-pipeline.
        data_prefix: of the names of data that it asks for itself.
        params: its parameters, but for those in ``bound``.
        bound: parameters that are known for each member only: name → what stands for them in a template.
        data: its data entries that somebody gives: name → what they are.
        registered: model names of each output that a register step further out puts into the registry.
        folder: of the file, relative to the folder of the top one.
        environment: of steps that say none, its path relative to the folder of the top file.
    """

    document: Document
    params: Mapping[str, Plain]
    prefix: str = ""
    data_prefix: str = ""
    bound: Mapping[str, Part] = field(default_factory=dict)
    data: Mapping[str, PlannedInput] = field(default_factory=dict)
    registered: Mapping[tuple[StepName, str], tuple[str, ...]] = field(default_factory=dict)
    folder: str = "."
    environment: AskedEnvironment | None = None

    def path(self, name: str) -> StepName:
        """Return the path of a step of this file."""
        return StepName(self.prefix + name)

    def template_path(self, name: str) -> StepName:
        """Return the path of what is executed for a step: of its members' template when it has members."""
        step = self.document.spec.steps[name]
        return StepName(f"{self.path(name)}.*" if step.fan_out or step.loop else self.path(name))

    @property
    def default_environment(self) -> AskedEnvironment | None:
        """Return the environment of steps that say none: that of this file, else of the file that uses it."""
        return self._placed(self.document.spec.environment) or self.environment

    def environment_of(self, step: StepSpec) -> StepEnvironment | None:
        """Return the environment of a step, not locked yet; None when it is inherited."""
        asked = self._placed(step.environment) or self.default_environment
        return StepEnvironment(asked) if asked is not None and asked.kind is not EnvironmentKind.INHERIT else None

    def _placed(self, asked: AskedEnvironment | None) -> AskedEnvironment | None:
        if asked is None or not asked.path:
            return asked
        return replace(asked, path=posixpath.normpath(posixpath.join(self.folder, asked.path)))

    def part(self, name: str, reference: Reference) -> Part:
        """Return what stands for a reference of the step ``name`` in a template."""
        match reference.name:
            case "params":
                bound = self.bound.get(reference.field)
                return bound or Part(text=render_scalar(self.params[reference.field]))
            case "out":
                return Part(ref=f"output:{reference.field}")
            case "checkpoint":
                return Part(ref=f"checkpoint:{reference.field}")
            case "each" | "matrix" | "loop":
                return Part(ref=f"each:{self.path(name)}:{reference.field}")
            case _:
                return Part(ref=f"input:{reference.name}.{reference.field}")

    def argument(self, name: str, value: Plain) -> Argument:
        """Return what a value under ``with:`` of the step ``name`` gives to its function; parameters stay typed."""
        reference = reference_of(value, self.document.spec.steps)
        if reference is None:
            return Argument(literal_of(value))
        if reference.name == "params" and reference.field not in self.bound:
            return Argument(self.params[reference.field])
        return Argument(ref=self.part(name, reference).ref)

    def input(self, name: str, reference: Reference) -> PlannedInput | None:
        """Return what a reference of the step ``name`` reads; None when it reads nothing.

        Raises:
            SpecError: a sub-pipeline has no such output.
        """
        spec = self.document.spec
        said = f"{reference.name}.{reference.field}"
        if reference.name == "data":
            given = self.data.get(reference.field)
            if given is not None:
                return PlannedInput(said, given.step, given.output, given.kind, given.source)
            return PlannedInput(said, None, self.data_prefix + reference.field, ArtifactKind.DATASET)
        if reference.name == "prev":
            kind = self.kind(name, reference.field)
            return PlannedInput(said, self.template_path(name), reference.field, kind, Source.PREVIOUS)
        if reference.name not in spec.steps:
            return None
        source = Source.ALL if spec.steps[reference.name].fan_out else Source.ONE
        kind = self.kind(reference.name, reference.field)
        return PlannedInput(said, self.path(reference.name), reference.field, kind, source)

    def kind(self, name: str, output: str) -> ArtifactKind:
        """Return what an output of a step is.

        Raises:
            SpecError: the step is a sub-pipeline without such an output.
        """
        step = self.document.spec.steps[name]
        return outputs_of(self.document, step)[output] if not step.uses else self._of_sub(name, step, output)

    def _of_sub(self, name: str, step: StepSpec, output: str) -> ArtifactKind:
        known = outputs_of(self.document, step)
        if output not in known:
            raise SpecError(
                "TW1071",
                f"step {name} has no output {output}",
                where=self.document.where(f"steps.{name}.uses"),
                why=f"{step.uses} declares what it gives under outputs:",
                remedy=suggest(output, known, f"{name} has") or f"add outputs: {{{output}: STEP.OUTPUT}} there",
            )
        return known[output]


def outputs_of(document: Document, step: StepSpec) -> dict[str, ArtifactKind]:
    """Return the outputs of a step with their kinds; those of a sub-pipeline are the outputs of steps in it.

    Raises:
        SpecError: an output of a sub-pipeline leads to nothing, or to a collection.
    """
    if not step.uses:
        return dict(sorted(step.out.items()))
    sub = document.subs[step.uses]
    found: dict[str, ArtifactKind] = {}
    for output, made in sorted(sub.spec.outputs.items()):
        maker, _, inner = made.partition(".")
        other = sub.spec.steps[maker]
        if other.fan_out:
            raise SpecError(
                "TW1073",
                f"the output {output} of {sub.file} is a collection",
                where=sub.where(f"outputs.{output}"),
                why=f"step {maker} has members, each with an output of its own",
                remedy="collect them in a step, and give out what that step makes",
            )
        kinds = outputs_of(sub, other)
        if inner not in kinds:
            raise SpecError(
                "TW1071",
                f"{made} is no output of a step",
                where=sub.where(f"outputs.{output}"),
                remedy=suggest(inner, kinds, f"{maker} has"),
            )
        found[output] = kinds[inner]
    return found


def joined(folder: str, uses: str) -> str:
    """Return the folder of the file that ``uses`` names, seen from ``folder``."""
    return posixpath.normpath(posixpath.join(folder, posixpath.dirname(uses)))
