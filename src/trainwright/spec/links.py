"""References of every step against what exists: parameters, data, outputs, steps."""

from collections.abc import Iterator, Mapping

from trainwright.core.artifact import ArtifactKind
from trainwright.core.errors import Position
from trainwright.spec.document import PipelineSpec, RegisterSpec, StepSpec
from trainwright.spec.findings import Findings, WrongValueError, suggest
from trainwright.spec.reader import Tree
from trainwright.spec.references import OPEN, Reference, ReferenceSyntaxError, references
from trainwright.spec.shell import rewrite


class Links:
    """Checks the references of one file."""

    def __init__(self, spec: PipelineSpec, tree: Tree, text: str, findings: Findings) -> None:
        self.spec, self.tree, self.findings = spec, tree, findings
        self.lines = text.removeprefix("\ufeff").split("\n")
        self.warnings: list[tuple[Position, str]] = []

    def check(self) -> None:
        """Add what is wrong to the findings, and what is doubtful to ``warnings``."""
        for name, step in self.spec.steps.items():
            self.order(name, step)
            for path, value, found in self.references_of(name, step):
                for reference in found:
                    wrong = self.obstacle(name, step, reference)
                    if wrong:
                        self.findings.add(self.place(path, value, reference.offset), wrong)
            if step.register:
                self.register(f"steps.{name}.with.model", name, step.register)

    def references_of(self, name: str, step: StepSpec) -> Iterator[tuple[str, str, tuple[Reference, ...]]]:
        """Yield path, text and references of everything in a step that may hold some."""
        path = f"steps.{name}"
        texts = [(f"{path}.run.{index}", value) for index, value in enumerate(step.argv)]
        texts += [(f"{path}.env.{key}", value) for key, value in step.env.items()]
        for below, value in texts:
            try:
                yield below, value, references(value)
            except ReferenceSyntaxError as wrong:
                self.findings.add(self.place(below, value, wrong.offset), wrong)
        try:
            script = rewrite(step.run)
        except ReferenceSyntaxError as wrong:
            self.findings.add(self.place(f"{path}.run", step.run, wrong.offset), wrong)
            return
        for remark in script.remarks:
            where = self.place(f"{path}.run", step.run, remark.reference.offset)
            if remark.severe:
                self.findings.add(where, WrongValueError("TW1022", remark.message, remedy=remark.remedy))
            else:
                self.warnings.append((where, f"{remark.message}: {remark.remedy}"))
        yield f"{path}.run", step.run, script.variables

    def place(self, path: str, value: str, offset: int) -> Position:
        """Return where the reference at ``offset`` of ``value`` stands: the file has as many ``${{`` before it."""
        start = self.tree.where(path)
        left = value.count(OPEN, 0, offset)
        column = start.column - 1
        for number in range(start.line - 1, len(self.lines)):
            here = self.lines[number].find(OPEN, column)
            while here >= 0:
                if left == 0:
                    return Position(start.file, number + 1, here + 1)
                left -= 1
                here = self.lines[number].find(OPEN, here + len(OPEN))
            column = 0
        return start

    def obstacle(self, name: str, step: StepSpec, reference: Reference) -> WrongValueError | None:
        """Return why a reference of this step leads nowhere."""
        if reference.name == name:
            target = f"{name}.{reference.field}"
            remedy = f"write ${{{{ out.{reference.field} }}}} for what the step itself writes"
            return WrongValueError("TW1051", f"step {name} reads and writes the same {target}", remedy=remedy)
        roots: dict[str, Mapping[str, object]] = {
            "params": self.spec.params,
            "data": self.spec.data,
            "out": step.out,
            "checkpoint": {"path": None},
            **{other: found.out for other, found in self.spec.steps.items() if other != name},
        }
        if reference.name not in roots:
            remedy = suggest(reference.name, roots, "there are")
            return WrongValueError("TW1021", f"{reference} names nothing: there is no {reference.name}", remedy=remedy)
        fields = roots[reference.name]
        if reference.field in fields:
            return None
        message = f"{reference} names nothing: {reference.name} has no {reference.field}"
        return WrongValueError("TW1021", message, remedy=self.advice(reference, fields))

    def advice(self, reference: Reference, fields: Mapping[str, object]) -> str:
        """Return what to write instead of a reference to a missing field."""
        given = suggest(reference.field, fields, f"{reference.name} has")
        if reference.name == "checkpoint":
            return given
        where = {"params": "params:", "data": "data:", "out": "out: of this step"}.get(
            reference.name, f"out: of step {reference.name}"
        )
        declare = f"declare {reference.field} under {where}"
        return f"{given}; or {declare}" if given else declare

    def order(self, name: str, step: StepSpec) -> None:
        """Check ``depends_on:``."""
        path = f"steps.{name}.depends_on"
        for other in step.depends_on:
            if other == name:
                message = f"step {name} waits for itself: {name} → {name}"
                self.findings.add(self.tree.where(path), WrongValueError("TW1050", message, remedy="leave it out"))
            elif other not in self.spec.steps:
                remedy = suggest(other, self.spec.steps, "there are")
                wrong = WrongValueError("TW1052", f"depends_on: {other} is no step", remedy=remedy)
                self.findings.add(self.tree.where(path), wrong)

    def register(self, path: str, name: str, register: RegisterSpec) -> None:
        """Check that what is registered is a model that some step makes."""
        step, _, output = register.model.partition(".")
        made = {
            f"{other}.{key}": kind
            for other, found in self.spec.steps.items()
            if other != name
            for key, kind in found.out.items()
        }
        models = [made_by for made_by, kind in made.items() if kind is ArtifactKind.MODEL]
        kind = made.get(f"{step}.{output}")
        if kind is ArtifactKind.MODEL:
            return
        if kind is None:
            message = f"model: {register.model} is no output of a step"
            remedy = suggest(register.model, models, "models") or "declare one: out: {model: model}"
        else:
            message = f"model: {register.model} is a {kind.value}, not a model"
            remedy = f"declare it as one: out: {{{output}: model}}"
        self.findings.add(self.tree.where(path), WrongValueError("TW1060", message, remedy=remedy))
