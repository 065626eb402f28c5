"""Jobs for tests, valid as they are."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from trainwright.core.artifact import ArtifactKind, Input
from trainwright.core.ids import ProjectName, RunId, StepName, attempt_id
from trainwright.core.job import CodeTree, Command, JobSpec, Part, Template
from trainwright.core.resources import Resources
from trainwright.core.scalar import Plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a test says of a job; see ``JobSpec`` for the meaning, and ``make`` for the result."""

    run: str = "run1"
    step: str = "train"
    number: int = 1
    env: Mapping[str, str] = field(default_factory=dict)
    refs: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[Input, ...] = ()
    outputs: tuple[str, ...] = ()
    params: Mapping[str, Plain] = field(default_factory=dict)
    code: CodeTree | None = None
    devices: tuple[int, ...] = ()
    timeout_s: float | None = None
    grace_s: float = 0.5
    memory_bytes: int = 0

    def shell(self, script: str) -> JobSpec:
        """Return a job that runs a shell script; ``refs`` are ``TW_REF_n`` → ``input:…`` and the like."""
        return self.make(Command(shell=script, refs={k: (Part(ref=v),) for k, v in self.refs.items()}))

    def argv(self, *words: str) -> JobSpec:
        """Return a job that runs a program without a shell; a word such as ``output:model`` becomes a path."""
        return self.make(Command(argv=tuple(_word(word) for word in words)))

    def make(self, command: Command) -> JobSpec:
        """Return the job with this command."""
        run, step = RunId(self.run), StepName(self.step)
        return JobSpec(
            attempt=attempt_id(run, step, self.number),
            run=run,
            project=ProjectName("project"),
            pipeline="pipeline",
            step=step,
            number=self.number,
            token=f"token-{self.number}",
            command=command,
            env={name: (Part(text=value),) for name, value in self.env.items()},
            inputs=self.inputs,
            outputs=dict.fromkeys(self.outputs, ArtifactKind.FILE),
            params=self.params,
            code=self.code,
            resources=Resources(memory_bytes=self.memory_bytes),
            devices=self.devices,
            timeout_s=self.timeout_s,
            grace_s=self.grace_s,
        )


def _word(word: str) -> Template:
    is_reference = word.startswith(("input:", "output:", "checkpoint:"))
    return (Part(ref=word),) if is_reference else (Part(text=word),)
