"""The columns of a trace, and how a line of them becomes a job."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from trainwright.core import quantity
from trainwright.core.node import Node
from trainwright.core.priority import BUILT_IN
from trainwright.core.queue import DEFAULT_QUEUE, QueueName
from trainwright.core.resources import Resources
from trainwright.core.workload import Contract, Preemption
from trainwright.sim.job import Job
from trainwright.sim.shapes import Shapes

COLUMNS: Mapping[str, str] = {
    "submit": "seconds, or an instant; needed",
    "duration": "of the work with all of its replicas: seconds, or 1h30m; needed",
    "name": "for people",
    "gpus": "of the whole job; a share of one is 0.5",
    "gpu_model": "that it can use; several with | between",
    "gpu_memory": "on each GPU",
    "cpus": "of the whole job; by itself 1 for a job without GPUs, else 0, which means not accounted",
    "memory": "of the whole job",
    "workers": "equal replicas; by itself one, or as few as fit on nodes",
    "least_workers": "without which it does not run: it is elastic",
    "queue": "by itself the default one",
    "user": "for reports; equal users' equal jobs last about equally long",
    "priority": "a number, or one of batch, normal, high, urgent",
    "expected": "how long its owner says it takes",
    "max_duration": "after which it is killed, so that others may rely on its end",
    "deadline": "seconds after its submission",
    "preemption": "never, by-priority or time-sliced",
    "restart": "what a restart costs",
    "grace": "between the notice and the kill",
    "save": "from the notice until it has saved and is gone",
    "checkpoint": "it saves so often by itself",
}

T = TypeVar("T")

Line = Mapping[str, str]


class NoValueError(ValueError):
    """A value of a line is none; says which and why.

    Attributes:
        remedy: how to write it.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class Columns:
    """Makes the jobs of one trace."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        """Make jobs for these nodes."""
        self._shapes = Shapes(nodes)

    def job(self, line: Line, number: int) -> tuple[float | datetime, Job]:
        """Return when it is submitted, as written, and the job with submission 0.

        Raises:
            NoValueError: a value is none.
        """
        submit = _value(line, "submit", _instant, None)
        duration = _value(line, "duration", _seconds, None)
        gpus = _value(line, "gpus", _gpus, 0)
        cpus = _value(line, "cpus", quantity.cpu_milli, 0 if gpus else 1000)
        memory = _value(line, "memory", quantity.memory_bytes, 0)
        vram = _value(line, "gpu_memory", quantity.memory_bytes, 0)
        models = tuple(sorted(filter(None, line.get("gpu_model", "").split("|"))))
        workers = _value(line, "workers", _count, 0) or None
        least = _value(line, "least_workers", _count, 0) or None
        if least is not None and least > (workers or 1):
            raise NoValueError(f"least_workers {least} is more than workers {workers or 1}")
        user, name = line.get("user", ""), line.get("name", "") or f"job-{number}"
        shape = self._shapes.of(Resources(cpus, memory, gpus, vram), models, workers, least)
        job = Job(
            name=name,
            submit_s=0.0,
            duration_s=duration,
            shape=shape,
            queue=QueueName(line.get("queue", "")) or DEFAULT_QUEUE,
            user=user,
            priority=_value(line, "priority", _priority, 0),
            contract=_contract(line, submit, f"{user}/{gpus}" if user else ""),
            save_s=_value(line, "save", _seconds, 5.0),
            checkpoint_s=_value(line, "checkpoint", _seconds, 0.0) or None,
        )
        return submit, job


def _contract(line: Line, submit: float | datetime, kin: str) -> Contract:
    plain = Contract()
    deadline = None
    after = _value(line, "deadline", _seconds, 0.0)
    if after and isinstance(submit, datetime):
        deadline = submit + timedelta(seconds=after)
    return Contract(
        preemption=_value(line, "preemption", _preemption, plain.preemption),
        restart_cost_s=_value(line, "restart", _seconds, plain.restart_cost_s),
        grace_s=_value(line, "grace", _seconds, plain.grace_s),
        expected_s=_value(line, "expected", _seconds, 0.0) or None,
        most_s=_value(line, "max_duration", _seconds, 0.0) or None,
        deadline=deadline,
        kin=kin,
    )


def _value(line: Line, column: str, read: Callable[[str], T], otherwise: T | None) -> T:
    text = line.get(column, "")
    if not text:
        if otherwise is None:
            raise NoValueError(f"{column} is empty")
        return otherwise
    try:
        return read(text)
    except (ValueError, OverflowError) as error:
        message = str(error) if str(error).startswith(column) else f"{column} {text!r}: {error}"
        raise NoValueError(message, COLUMNS[column]) from error


def _seconds(text: str) -> float:
    if text.startswith("-"):
        raise ValueError("a duration is not negative")
    try:
        seconds = float(text)
    except ValueError:
        return quantity.duration(text).total_seconds()
    if not seconds < 1e10:  # noqa: PLR2004 - three centuries; NaN too
        raise ValueError("longer than any job")
    return seconds


def _instant(text: str) -> float | datetime:
    try:
        return _finite(float(text))
    except ValueError:
        pass
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("neither seconds nor an instant") from error
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _finite(value: float) -> float:
    if not abs(value) < 1e13:  # noqa: PLR2004 - longer than the calendar; NaN too
        raise ValueError("neither seconds nor an instant")
    return value


def _gpus(text: str) -> int:
    return quantity.gpu_milli(float(text) if text.replace(".", "", 1).isdigit() else text)


def _count(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise ValueError("not a whole number above 0")
    return int(text)


def _priority(text: str) -> int:
    if text in BUILT_IN:
        return BUILT_IN[text]
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"neither a number nor one of {', '.join(BUILT_IN)}") from None


def _preemption(text: str) -> Preemption:
    try:
        return Preemption(text)
    except ValueError:
        raise ValueError(f"none of {', '.join(Preemption)}") from None
