"""Reads what the runner left in an attempt's folder."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from trainwright.core.artifact import Content
from trainwright.core.codec import from_json
from trainwright.core.ids import AttemptId
from trainwright.core.run import MetricSummary
from trainwright.core.scalar import Plain
from trainwright.ports.backend import Ended
from trainwright.runtime import events, marks, reading


def read(path: str) -> dict[str, Plain] | None:
    """Return a JSON object, or None when there is no such file or a power cut has taken its bytes."""
    try:
        found: Plain = json.loads(reading.read(path))
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def runner(folder: Path) -> dict[str, Plain] | None:
    """Return who carries an attempt out, or None before somebody does.

    Empty when what was written is lost: the machine went down since, and the runner with it.
    """
    try:
        found: Plain = json.loads(reading.read(f"{folder}/runner.json"))
    except FileNotFoundError:
        return {} if (folder / "result.json").exists() else None
    except ValueError:
        return {}
    return _object(found)


def started_at(folder: Path) -> datetime:
    """Return when the command started; before that, when the attempt was taken or ordered."""
    for name in ("started.json", "runner.json"):
        at = (read(f"{folder}/{name}") or {}).get("at")
        if isinstance(at, str):
            return datetime.fromisoformat(at)
    return datetime.fromtimestamp((folder / "job.json").stat().st_mtime, UTC)


def saved_at(folder: Path) -> datetime | None:
    """Return when the step of an attempt last committed a checkpoint; None without one. One look at the disk."""
    try:
        found = os.stat(f"{folder.parent}/checkpoints/{marks.SAVED}")  # noqa: PTH116 - each running attempt, each turn
    except OSError:
        return None
    return datetime.fromtimestamp(found.st_mtime, UTC)


def result(folder: Path, attempt: AttemptId) -> Ended | None:
    """Return the end of an attempt, or None before it; what a power cut left without its bytes is none."""
    found = read(f"{folder}/result.json")
    if found is None:
        return None
    started = found["started_at"]
    return Ended(
        attempt=attempt,
        token=str(found["token"]),
        cause=str(found["cause"]),
        finished_at=datetime.fromisoformat(str(found["finished_at"])),
        started_at=None if started is None else datetime.fromisoformat(str(started)),
        exit_code=_whole(found["exit_code"]),
        signal=_whole(found["signal"]),
        message=str(found["message"]),
        outputs=from_json(dict[str, Content], found["outputs"]),
        metrics=from_json(dict[str, MetricSummary], found["metrics"]),
        params=_object(found["params"]),
    )


def _whole(value: Plain) -> int | None:
    return value if isinstance(value, int) else None


def _object(value: Plain) -> dict[str, Plain]:
    return value if isinstance(value, dict) else {}


def substitute(folder: Path, cause: str, message: str, now: datetime) -> dict[str, Plain] | None:
    """Return the result that stands for one the runner could not write, with all that the script told.

    None when the order itself is lost.
    """
    job = _object((read(f"{folder}/job.json") or {}).get("job"))
    if not job:
        return None
    started = read(f"{folder}/started.json")
    metrics, params = events.summary(str(folder / events.FILE))
    return {
        "format": 1,
        "attempt": job["attempt"],
        "token": job["token"],
        "cause": cause,
        "exit_code": None,
        "signal": None,
        "message": message,
        "started_at": started["at"] if started else None,
        "finished_at": now.isoformat(),
        "outputs": {},
        "metrics": metrics,
        "params": params,
        "usage": {},
    }
