"""How published traces name their columns, and how ours are made of theirs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to write a trace.

    Attributes:
        columns: all of these, and it is this one.
        translate: returns a row in our columns; raises ``ValueError`` or ``KeyError`` where a value is none.
    """

    name: str
    columns: frozenset[str]
    translate: Callable[[Row], Row]


def _muri(row: Row) -> Row:
    return {
        "name": row["job_id"],
        "submit": _times(row["submit_time"], 0.001),
        "duration": _times(row["duration"], 0.001),
        "gpus": row["num_gpu"],
    }


def _chronus(row: Row) -> Row:
    strict = row.get("job_type", "") != "best"
    return {
        "name": row["job_id"],
        "submit": _times(row["submit_time"], 60),
        "duration": _times(row["duration"], 60),
        "gpus": row["num_gpu"],
        "queue": row["user"],
        "deadline": _times(row["expect_time_list"].split("-")[0], 60) if strict else "",
    }


def _philly(row: Row) -> Row:
    return {"submit": row["timestamp"], "duration": row["duration"], "gpus": row["num_gpus"], "queue": row["cluster"]}


def _openb(row: Row) -> Row:
    gpus = float(row["num_gpu"]) * float(row["gpu_milli"]) / 1000 if row["gpu_milli"] else 0.0
    start = row.get("scheduled_time") or row["creation_time"]
    return {
        "name": row["name"],
        "submit": row["creation_time"],
        "duration": f"{float(row['deletion_time']) - float(start):.3f}" if row["deletion_time"] else "",
        "gpus": f"{gpus:g}",
        "cpus": f"{float(row['cpu_milli']) / 1000:g}",
        "memory": f"{row['memory_mib']}Mi",
        "gpu_model": row["gpu_spec"],
        "queue": row["qos"],
    }


def _times(text: str, factor: float) -> str:
    return f"{float(text) * factor:.6f}"


DIALECTS = (
    Dialect("muri", frozenset({"job_id", "num_gpu", "submit_time", "duration", "iteration_time"}), _muri),
    Dialect("chronus", frozenset({"job_id", "user", "num_gpu", "submit_time", "duration", "expect_time_list"}),
            _chronus),
    Dialect("philly", frozenset({"timestamp", "duration", "num_gpus", "gpu_time", "cluster"}), _philly),
    Dialect("openb", frozenset({"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos",
                                "creation_time", "deletion_time"}), _openb),
)  # fmt: skip
"""In the order in which they are tried."""
