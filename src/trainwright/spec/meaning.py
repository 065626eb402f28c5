"""From the shape of a file to its values: what the keys of one parameter or one step mean together."""

from pydantic import ValidationError

from trainwright.core import condition
from trainwright.core.artifact import Signature
from trainwright.core.cache import CachePolicy
from trainwright.core.resources import Resources
from trainwright.core.scalar import Plain
from trainwright.core.scheduling import Gang
from trainwright.core.stage import Stage
from trainwright.spec.calls import CHECK_DATA, CHECK_DATA_TARGET, clashes_of_call, clashes_of_warm
from trainwright.spec.document import ParamSpec, ParamType, PipelineSpec, RegisterSpec, StepSpec
from trainwright.spec.environments import environment_of
from trainwright.spec.findings import Findings, WrongValueError, show
from trainwright.spec.groups import clashes, fan_out_of, join_of, loop_of
from trainwright.spec.models import (
    DECLARES,
    ParamModel,
    PipelineModel,
    RegisterModel,
    ResourcesModel,
    StepModel,
)
from trainwright.spec.params import outside, refuse_unfinite, type_of, typed
from trainwright.spec.reader import Tree
from trainwright.spec.retry import clashes_of_retry, retry_of
from trainwright.spec.scheduling import scheduling_of
from trainwright.spec.shape import place, translate
from trainwright.spec.triggers import triggers_of

_NUMBERS = {ParamType.INT, ParamType.FLOAT}
_NOT_FOR_REGISTER = (
    *("call", "out", "check", "resources", "retry", "timeout", "env", "baseline", "cache", "warm", "environment"),
    *("workers", "scheduling", "runs_on"),
)
_NOT_FOR_FILE = ("run", "stage", *_NOT_FOR_REGISTER[:-2], "skip_code")


def pipeline_of(model: PipelineModel, tree: Tree, findings: Findings) -> PipelineSpec:
    """Return the pipeline; what is wrong with it is added to ``findings``."""
    params = {name: _Param(name, param, tree, findings).spec() for name, param in model.params.items()}
    steps = {name: _step(f"steps.{name}", step, tree, findings) for name, step in model.steps.items()}
    declared = {name: spec for name, spec in params.items() if spec is not None}
    return PipelineSpec(
        pipeline=model.pipeline,
        steps=steps,
        api_version=model.api_version,
        description=model.description,
        standard=model.standard,
        params=declared,
        data=dict(model.data),
        outputs=dict(model.outputs),
        parallel=model.parallel or 0,
        triggers=triggers_of(model.triggers, model.pipeline, declared, tree, findings),
        environment=environment_of("environment", model.environment, tree, findings),
        tolerance=dict(model.reproduce.tolerance),
        scheduling=scheduling_of(model.scheduling, model.runs_on),
    )


def is_declaration(value: Plain) -> bool:
    """Tell whether a value under ``params:`` declares, or is itself the default."""
    return isinstance(value, dict) and bool(DECLARES & value.keys())


class _Param:
    """One parameter on its way to a ``ParamSpec``."""

    def __init__(self, name: str, model: ParamModel, tree: Tree, findings: Findings) -> None:
        self.name, self.model, self.tree, self.findings = name, model, tree, findings
        self.path = f"params.{name}"
        declared = f"{self.path}.default"
        params = tree.value["params"] if isinstance(tree.value, dict) else None
        written = params[name] if isinstance(params, dict) else None
        self.default_path = declared if is_declaration(written) and declared in tree.positions else self.path

    def spec(self) -> ParamSpec | None:
        default: Plain = self.model.default  # type: ignore[assignment]  # object in the model, Plain by the reader
        try:
            kind = self.model.type or type_of(default)
        except WrongValueError as wrong:
            self.findings.add(self.tree.where(self.path), wrong)
            return None
        spec = ParamSpec(
            type=kind,
            default=None if default is None else self.typed(default, kind, self.default_path),
            range=self.range(kind),
            choices=self.choices(kind),
            scale=self.model.scale,
            help=self.model.help,
        )
        if spec.scale == "log" and (kind not in _NUMBERS or (spec.range and spec.range[0] <= 0)):
            self.wrong("scale", "scale: log needs a number with a range above zero", "write scale: linear")
        judged = spec.default is not None and None not in spec.choices
        obstacle = outside(self.name, spec, spec.default) if judged else None
        if obstacle:
            found = WrongValueError("TW1030", f"the default {obstacle[0]}", remedy=obstacle[1])
            self.findings.add(self.tree.where(self.default_path), found)
        return spec

    def typed(self, value: Plain, kind: ParamType, path: str) -> Plain:
        try:
            return typed(value, kind, source=self.tree.sources.get(path))
        except WrongValueError as wrong:
            wrong.message = f"parameter {self.name}: {wrong.message}"
            self.findings.add(self.tree.where(path), wrong)
            return None

    def wrong(self, key: str, message: str, remedy: str) -> None:
        self.findings.add(self.tree.where(f"{self.path}.{key}"), WrongValueError("TW1030", message, remedy=remedy))

    def range(self, kind: ParamType) -> tuple[int | float, ...]:
        bounds = self.model.range
        if bounds is None:
            return ()
        if kind not in _NUMBERS:
            self.wrong("range", f"range: has no meaning for a {kind.value} parameter", "use choices:, or leave it out")
            return ()
        try:
            refuse_unfinite(list(bounds))
        except WrongValueError:
            self.wrong("range", "an end of the range is not a finite number", "write a large number")
            return ()
        if bounds[0] > bounds[1]:
            self.wrong("range", f"the range ends before it begins: {show(bounds)}", "write the lower value first")
            return ()
        return tuple(bounds)

    def choices(self, kind: ParamType) -> tuple[Plain, ...]:
        found = self.model.choices or []
        paths = (f"{self.path}.choices.{index}" for index in range(len(found)))
        return tuple(self.typed(value, kind, path) for value, path in zip(found, paths, strict=True))  # type: ignore[arg-type]


def _step(path: str, model: StepModel, tree: Tree, findings: Findings) -> StepSpec:
    for key, wrong in _clashes(path, model, tree):
        findings.add(tree.where(f"{path}.{key}" if key else path), wrong)
    for index, text in enumerate(model.check):
        _check(f"{path}.check", index, text, tree, findings)
    register = _register(path, model, tree, findings) if model.uses == "register" else None
    is_check, is_file = model.uses == CHECK_DATA, model.uses not in {None, "register", CHECK_DATA}
    arguments: dict[str, Plain] = {}
    checks = tuple(model.check)
    if is_check:
        from trainwright.spec import checking  # noqa: PLC0415 - its models cost time, and few files need them

        arguments, checks = checking.arguments_of(path, model, tree, findings), checking.checks_of(model)
    elif model.uses != "register":
        arguments = dict(model.with_ or {})  # type: ignore[arg-type]  # Plain by the reader
    join, when = join_of(path, model, tree, findings)
    return StepSpec(
        stage=Stage.REGISTRATION if model.uses == "register" else model.stage,
        run=model.run if isinstance(model.run, str) else "",
        argv=tuple(model.run) if isinstance(model.run, list) else (),
        call=CHECK_DATA_TARGET if is_check else model.call or "",
        register=register,
        out=dict(model.out),
        depends_on=tuple(sorted(set(model.depends_on))),
        resources=_resources(model.resources),
        checks=checks,
        baseline_required=model.baseline == "required",
        retry=retry_of(model.retry),
        timeout_s=model.timeout,
        cache=CachePolicy(model.cache.mode, model.cache.ttl),
        env=dict(model.env),
        help=model.help,
        uses=model.uses or "" if is_file else "",
        arguments=arguments,
        fan_out=fan_out_of(path, model, tree, findings),
        loop=loop_of(path, model, tree, findings),
        parallel=model.parallel or 0,
        tolerate=model.tolerate or 0,
        join=join,
        when=when,
        on_fail=_on_fail(path, model, tree, findings),
        skip_code=model.skip_code,
        warm=tuple(sorted(set(model.warm))),
        environment=environment_of(f"{path}.environment", model.environment, tree, findings),
        scheduling=scheduling_of(model.scheduling, model.runs_on),
        gang=_gang(model),
    )


def _gang(model: StepModel) -> Gang:
    least, count = model.workers or (1, 1)
    asked = model.resources
    return Gang(count, least, tuple(sorted(set(asked.gpu_model))), asked.isolation)


def _on_fail(path: str, model: StepModel, tree: Tree, findings: Findings) -> StepSpec | None:
    return None if model.on_fail is None else _step(f"{path}.on_fail", model.on_fail, tree, findings)


def _register(path: str, model: StepModel, tree: Tree, findings: Findings) -> RegisterSpec | None:
    """Return what a register step registers; what is wrong with its ``with:`` is added to the findings."""
    if model.with_ is None:
        return None
    try:
        asked = RegisterModel.model_validate(model.with_)
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            below = ".".join([f"{path}.with", *(str(part) for part in problem["loc"])])
            findings.add(place(tree, below, problem), translate(problem, below))
        return None
    stated = asked.signature
    signature = None if stated is None else Signature(dict(stated.inputs), dict(stated.outputs), "pipeline")
    step, _, output = asked.card.rpartition(".")
    maker = asked.model.partition(".")[0]
    if step not in {"", maker}:
        message = f"card: {asked.card} is of another step than the model"
        remedy = f"name an output of {maker} that holds the text, as in card: {maker}.card"
        findings.add(tree.where(f"{path}.with.card"), WrongValueError("TW1060", message, remedy=remedy))
    return RegisterSpec(asked.model, asked.name, asked.alias, signature, output)


def _clashes(path: str, model: StepModel, tree: Tree) -> list[tuple[str, WrongValueError]]:
    """Return keys that do not go together, with what is wrong."""
    name = path.removeprefix("steps.").replace(".", ": ")
    found = clashes(path, model, tree)
    if model.uses is None:
        return [*found, *_clashes_of_command(name, model)]
    if model.uses == CHECK_DATA:
        from trainwright.spec import checking  # noqa: PLC0415 - as above

        found += clashes_of_warm(name, CHECK_DATA_TARGET, model.warm)
        return [*found, *checking.clashes_of_check(name, path, model, tree)]
    if model.uses != "register":
        return [*found, *_clashes_of_file(name, path, tree)]
    for key in ("run", *_NOT_FOR_REGISTER):
        if f"{path}.{key}" in tree.positions:
            message = f"step {name} has uses: register and {key}:"
            remedy = f"leave {key}: out" if key != "check" else "put the check on a step that reads the model"
            why = "a register step runs no command of yours"
            found.append((key, WrongValueError("TW1017", message, why=why, remedy=remedy)))
    if model.with_ is None:
        remedy = "add with: {model: train.model, name: digits}"
        found.append(("", WrongValueError("TW1012", f"step {name} uses register without with:", remedy=remedy)))
    if model.stage not in {None, Stage.REGISTRATION}:
        message = f"step {name} uses register and is of another stage"
        found.append(("stage", WrongValueError("TW1017", message, remedy="leave stage: out")))
    return found


def _clashes_of_file(name: str, path: str, tree: Tree) -> list[tuple[str, WrongValueError]]:
    found = []
    for key in _NOT_FOR_FILE:
        if f"{path}.{key}" in tree.positions:
            message = f"step {name} uses a pipeline file and has {key}:"
            remedy = f"write {key}: at the steps in that file" if key != "run" else "leave run: out, or uses:"
            why = "the step stands for the steps in that file"
            found.append((key, WrongValueError("TW1017", message, why=why, remedy=remedy)))
    return found


def _clashes_of_command(name: str, model: StepModel) -> list[tuple[str, WrongValueError]]:
    found = clashes_of_call(name, model.call, model.run is not None, model.with_, model.out)
    found += clashes_of_warm(name, model.call, model.warm)
    if not model.call and (not model.run or model.run == [""]):
        message = f"step {name} has nothing to do: neither run: nor call: nor uses:"
        remedy = "add run: and a command, call: and a function, or uses: register"
        found.append(("", WrongValueError("TW1012", message, remedy=remedy)))
    if model.stage is Stage.REGISTRATION:
        message = f"step {name} is of the stage registration and does not use register"
        why = "a model enters the registry only after every check on it has passed"
        remedy = "write uses: register instead of run:"
        found.append(("stage", WrongValueError("TW1017", message, why=why, remedy=remedy)))
    return [*found, *clashes_of_retry(name, model.retry, model.resources.memory)]


def _check(path: str, index: int, text: str, tree: Tree, findings: Findings) -> None:
    try:
        parsed = condition.parse(text)
        if not parsed.operands and "has(" not in text:
            raise ValueError("it names no metric, so it says nothing about the step")  # noqa: TRY301
    except ValueError as error:
        place = f"{path}.{index}" if f"{path}.{index}" in tree.positions else path
        remedy = 'write a condition such as "auc >= 0.8"'
        findings.add(tree.where(place), WrongValueError("TW1040", f"the check {show(text)}: {error}", remedy=remedy))


def _resources(model: ResourcesModel) -> Resources:
    return Resources(model.cpu, model.memory, model.gpu, model.gpu_memory)
