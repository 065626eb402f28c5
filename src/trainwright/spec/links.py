"""References of every step against what exists: parameters, data, outputs, steps."""

from collections.abc import Iterator, Mapping

from trainwright.core import condition
from trainwright.core.artifact import ArtifactKind
from trainwright.core.errors import Position
from trainwright.spec.arguments import reference_of
from trainwright.spec.calls import CHECK_DATA_TARGET, CHECKED_TABLES
from trainwright.spec.document import ParamType, PipelineSpec, RegisterSpec, StepSpec
from trainwright.spec.findings import Findings, WrongValueError, show, suggest
from trainwright.spec.reader import Tree
from trainwright.spec.references import OPEN, Reference, ReferenceSyntaxError, references
from trainwright.spec.shell import rewrite

_ELSEWHERE = {
    "each": "each. is known in steps with for_each:",
    "matrix": "matrix. is known in steps with matrix:",
    "loop": "loop. is known in steps with loop:",
    "prev": "prev. is known in steps with loop:",
}


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
            for path, value, found in self.references_of(f"steps.{name}", step):
                for reference in found:
                    wrong = self.obstacle(name, step, reference)
                    if wrong:
                        self.findings.add(self.place(path, value, reference.offset), wrong)
            if step.register:
                self.register(f"steps.{name}.with.model", name, step.register)
            self.arguments(name, step)
            self.members(name, step)
            self.conditions(name, step)
            if step.loop and not step.uses:
                self.until(f"steps.{name}.loop.until", name, step, step.loop.until)
            if step.on_fail:
                self.on_fail(name, step.on_fail)
        for output, made in self.spec.outputs.items():
            self.output(f"outputs.{output}", made)

    def arguments(self, name: str, step: StepSpec) -> None:
        """Check the references among ``with:`` of a function or a sub-pipeline."""
        for key, value in step.arguments.items():
            reference = reference_of(value, self.spec.steps)
            wrong = self.obstacle(name, step, reference) if reference else None
            if wrong:
                wrong.remedy = f'{wrong.remedy}; the text itself is written {{value: "{reference}"}}'
            if step.call == CHECK_DATA_TARGET and key in CHECKED_TABLES and reference is None:
                remedy = "name an output of a step or an entry of data:, as in prep.table or data.raw"
                wrong = WrongValueError("TW1021", f"{key}: {show(value)} is no table", remedy=remedy)
            if wrong:
                self.findings.add(self.tree.where(f"steps.{name}.with.{key}"), wrong)

    def members(self, name: str, step: StepSpec) -> None:
        """Check that what a step goes over is a list that exists."""
        if step.fan_out is None:
            return
        path = f"steps.{name}.for_each"
        wrong = self.no_list(name, step, step.fan_out.over) if step.fan_out.over else None
        if wrong:
            self.findings.add(self.tree.where(path), wrong)
        for key, values in step.fan_out.matrix.items():
            place = self.tree.where(f"steps.{name}.matrix.{key}")
            if isinstance(values, str):
                wrong = self.no_list(name, step, values)
                if not wrong and not values.startswith("params."):
                    remedy = "write the values, or a parameter that holds them; a list that a step makes: for_each:"
                    wrong = WrongValueError("TW1021", f"{values} is not known before the run", remedy=remedy)
                if wrong:
                    self.findings.add(place, wrong)
            elif not values:
                wrong = WrongValueError("TW1013", f"{key}: has no values", remedy="write at least one")
                self.findings.add(place, wrong)

    def no_list(self, name: str, step: StepSpec, over: str) -> WrongValueError | None:
        """Return why ``over`` is not a list to go over."""
        head, _, field = over.partition(".")
        wrong = self.obstacle(name, step, Reference(head, field, 0))
        if wrong or head not in {"params", *self.spec.steps}:
            remedy = "write a list, the output of a step that holds one (list.shards), or a parameter (params.shards)"
            return wrong or WrongValueError("TW1021", f"{over} is no list", remedy=remedy)
        if head == "params":
            kind = self.spec.params[field].type
            if kind is ParamType.LIST:
                return None
            remedy = f"declare it as one: {field}: [a, b]"
            return WrongValueError(
                "TW1021", f"the parameter {field} is of type {kind.value}, not a list", remedy=remedy
            )
        other = self.spec.steps[head]
        if other.uses or other.out.get(field) is ArtifactKind.VALUE:
            return None
        remedy = f"declare it as one: out: {{{field}: value}}, and write a JSON list to it"
        return WrongValueError("TW1021", f"{over} is a {other.out[field].value}, not a value", remedy=remedy)

    def conditions(self, name: str, step: StepSpec) -> None:
        """Check that conditions name steps and parameters that exist."""
        for index, text in enumerate(step.when):
            path = f"steps.{name}.when.{index}"
            for dotted in condition.mentioned(condition.parse(text)):
                head, _, field = dotted.partition(".")
                known = {"params", *self.scopes(step), *self.spec.steps} - {name}
                wrong = None
                if head not in known or not field:
                    remedy = suggest(head, known, "it may name")
                    message = f"{dotted} in the condition {text!r} names no step"
                    wrong = WrongValueError("TW1042", message, remedy=remedy)
                elif head in {"loop", "prev"}:
                    message = f"{dotted} cannot stand in when:, which is asked before the first round"
                    wrong = WrongValueError("TW1042", message, remedy="ask for it in loop: until")
                elif head in {"params", "each", "matrix"}:
                    wrong = self.obstacle(name, step, Reference(head, field.partition(".")[0], 0))
                if wrong:
                    self.findings.add(self.tree.where(path if path in self.tree.positions else path[:-2]), wrong)

    def until(self, path: str, name: str, step: StepSpec, text: str) -> None:
        """Check that ``until:`` of a command names what the command says of itself, parameters, or the round."""
        for dotted in condition.mentioned(condition.parse(text)):
            head, _, field = dotted.partition(".")
            wrong = None
            if head in {"params", "loop"}:
                wrong = self.obstacle(name, step, Reference(head, field.partition(".")[0], 0))
            elif field and head != name:
                message = f"{dotted} in the condition {text!r} is nothing that a round of {name} tells"
                remedy = "it may name metrics of the step itself, passed, loop.round and params"
                wrong = WrongValueError("TW1042", message, remedy=remedy)
            if wrong:
                self.findings.add(self.tree.where(path), wrong)

    def on_fail(self, name: str, step: StepSpec) -> None:
        """Check what follows a failure: it may read parameters and data, since nothing else is sure to be there."""
        for path, value, found in self.references_of(f"steps.{name}.on_fail", step):
            for reference in found:
                if reference.name not in {"params", "data"}:
                    why = "a step that follows a failure cannot count on what others make"
                    remedy = "it may name params and data; TW_FAILED_STEP and TW_FAILED_REASON tell what happened"
                    wrong: WrongValueError | None = WrongValueError(
                        "TW1021", f"{reference} cannot stand here", why=why, remedy=remedy
                    )
                else:
                    wrong = self.obstacle(f"{name}.on_fail", step, reference)
                if wrong:
                    self.findings.add(self.place(path, value, reference.offset), wrong)

    def output(self, path: str, made: str) -> None:
        """Check an output of the pipeline itself."""
        head, _, field = made.partition(".")
        if head not in self.spec.steps:
            remedy = suggest(head, self.spec.steps, "there are")
            self.findings.add(
                self.tree.where(path), WrongValueError("TW1021", f"{made} is no output of a step", remedy=remedy)
            )
            return
        other = self.spec.steps[head]
        if not other.uses and field not in other.out:
            wrong = WrongValueError(
                "TW1021", f"step {head} has no output {field}", remedy=suggest(field, other.out, f"{head} has")
            )
            self.findings.add(self.tree.where(path), wrong)

    def scopes(self, step: StepSpec) -> dict[str, Mapping[str, object] | None]:
        """Return what a step knows of its own item: name → fields, None when any field may be there."""
        found: dict[str, Mapping[str, object] | None] = {}
        if step.fan_out is not None and step.fan_out.matrix:
            found["matrix"] = step.fan_out.matrix
        elif step.fan_out is not None:
            found["each"] = None  # the fields of items are looked at once they are known
        if step.loop is not None:
            found["loop"] = {"round": None}
            found["prev"] = None if step.uses else step.out
        return found

    def references_of(self, path: str, step: StepSpec) -> Iterator[tuple[str, str, tuple[Reference, ...]]]:
        """Yield path, text and references of everything in a step that may hold some."""
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
            if reference.bare:
                remedy = "name an output of another step"
            return WrongValueError("TW1051", f"step {name} reads and writes the same {target}", remedy=remedy)
        roots: dict[str, Mapping[str, object] | None] = {
            "params": self.spec.params,
            "data": self.spec.data,
            "out": step.out,
            "checkpoint": {"path": None},
            **self.scopes(step),
        }
        other = self.spec.steps.get(reference.name)
        if other is not None:
            roots[reference.name] = None if other.uses else other.out
        if reference.name not in roots:
            remedy = _ELSEWHERE.get(reference.name) or suggest(
                reference.name, (roots.keys() | self.spec.steps.keys()) - {name}, "there are"
            )
            return WrongValueError("TW1021", f"{reference} names nothing: there is no {reference.name}", remedy=remedy)
        fields = roots[reference.name]
        if fields is None or reference.field in fields:
            return None
        message = f"{reference} names nothing: {reference.name} has no {reference.field}"
        return WrongValueError("TW1021", message, remedy=self.advice(reference, fields))

    def advice(self, reference: Reference, fields: Mapping[str, object]) -> str:
        """Return what to write instead of a reference to a missing field."""
        given = suggest(reference.field, fields, f"{reference.name} has")
        if reference.name == "checkpoint":
            return given
        if reference.name in {"matrix", "loop"}:
            return given
        where = {"params": "params:", "data": "data:", "out": "out: of this step", "prev": "out: of this step"}.get(
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
        if register.card and made.get(f"{step}.{register.card}", ArtifactKind.FILE) is not ArtifactKind.FILE:
            message = f"card: {register.card} is a {made[f'{step}.{register.card}'].value}, not a file"
            remedy = f"declare it as one: out: {{{register.card}: file}}"
            where = self.tree.where(f"steps.{name}.with.card")
            self.findings.add(where, WrongValueError("TW1060", message, remedy=remedy))
        if step in self.spec.steps and self.spec.steps[step].uses and output:
            return  # what that file gives is known when all files are read
        if register.card and f"{step}.{register.card}" not in made and step in self.spec.steps:
            message = f"card: {register.card} is no output of step {step}"
            remedy = f"declare it there: out: {{{register.card}: file}}"
            where = self.tree.where(f"steps.{name}.with.card")
            self.findings.add(where, WrongValueError("TW1060", message, remedy=remedy))
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
