"""The runner: supervises one attempt of a step, from its ``job.json`` to its ``result.json``.

In the attempt's folder it finds ``job.json`` and makes ``runner.json`` (who runs it; there is never a second),
``started.json``, ``log``, ``events.jsonl`` (by the script), ``work/``, ``inputs/``, ``outputs/`` and, once and last,
``result.json``. A file ``stop`` asks it to end, ``preempt`` to save and leave within a grace. Every module here is
imported when needed: the start is paid for by each step of each run.
"""

from __future__ import annotations

import os
import sys
import time

from trainwright.runtime import (
    atomic,
    bringing,
    environment,
    events,
    limits,
    marks,
    notice,
    plainjson,
    publishing,
    reading,
    replicas,
    revive,
    telemetry,
    tree,
    watching,
    workspace,
)
from trainwright.runtime.errors import ContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

STRAY_GRACE_S = 2.0
"""Between TERM and KILL for what the command left behind when it ended."""

_RESERVE, _RESERVE_BYTES = "reserve", 1 << 16
_PATIENCE_S = 60.0


class Outcome:
    """How the attempt ended.

    Attributes:
        cause: as in ``ports.backend.Ended``.
        message: for a person; may be empty.
        status: wait status of the command; None when it never ran.
        outputs: JSON of what was published.
    """

    def __init__(self, cause: str, message: str = "", status: int | None = None) -> None:
        self.cause = cause
        self.message = message
        self.status = status
        self.outputs: dict[str, Any] = {}


def run(
    folder: str,
    env: Mapping[bytes, bytes],
    start: Callable[[list[bytes], dict[bytes, bytes], int], int] = tree.spawn,
    *,
    stays: bool = False,
) -> bool:
    """Run the attempt in ``folder`` and write its result; nothing happens when somebody else has taken it.

    Returns whether this process is as it was before, so that it may run another one.

    Args:
        folder: of the attempt.
        env: environment of whoever asked for it.
        start: starts the command, see ``tree.spawn``.
        stays: this process may go on after the attempt; noted, since its life then says less about the attempt.

    Raises:
        OSError: the folder cannot be read, or the result cannot be written.
    """
    tree.hold_signals()
    folder = os.path.abspath(folder)
    order = plainjson.loads(reading.read(os.path.join(folder, "job.json")))
    facts = {**tree.identity(os.getpid()), "at": instant(), **({"stays": True} if stays else {})}
    if not atomic.create(os.path.join(folder, "runner.json"), atomic.encode(facts), durable=False):
        return True  # not durable: after a crash of the machine no runner is left to be known
    _reserve(folder)
    attempt = _Attempt(folder, order, env, start)
    outcome = attempt.carry_out()
    _conclude(folder, attempt.result(outcome))
    if order.get("engine"):
        revive.revive(order["engine"], env)
    return outcome.cause == "exited" and attempt.is_plain()


class _Attempt:
    """One attempt under way."""

    def __init__(
        self,
        folder: str,
        order: dict[str, Any],
        env: Mapping[bytes, bytes],
        start: Callable[[list[bytes], dict[bytes, bytes], int], int],
    ) -> None:
        self._folder = folder
        self._order = order
        self._env = env
        self._start = start
        self._stop = os.path.join(folder, marks.STOP)
        self._job: dict[str, Any] = order["job"]
        self._tree = tree.Tree(b"TW_ATTEMPT_DIR=" + os.fsencode(folder))
        self._started_at: str | None = None
        devices = [] if "pretended" in order else [index for given in replicas.devices(self._job) for index in given]
        self._sampler = telemetry.Sampler(folder, devices)
        asked = {**self._job["resources"], "memory_bytes": 0} if "pretended" in order else self._job["resources"]
        self._limits = limits.Limits(asked, None, "none")
        self._notice: notice.Notice | None = None
        self._held: object = None  # the environment in use

    def carry_out(self) -> Outcome:
        """Prepare, execute, publish; whatever goes wrong becomes an outcome, and no process is left."""
        try:
            return self._carry_out()
        except Exception as error:  # noqa: BLE001 - the top of this process: its end must be told
            import traceback

            traceback.print_exc()
            self._tree.end(STRAY_GRACE_S)
            cause = "not-started" if self._started_at is None else "not-published"
            return Outcome(cause, f"the runner failed: {type(error).__name__}: {error}")

    def is_plain(self) -> bool:
        """Tell whether nothing of this process was changed for the attempt: no group entered, no environment held."""
        return self._limits.kind == "none" and self._held is None

    def result(self, outcome: Outcome) -> dict[str, Any]:
        """Return the JSON of ``result.json``."""
        metrics, params = events.summary(os.path.join(self._folder, events.FILE))
        ended = outcome.status
        return {
            "format": 1,
            "attempt": self._job["attempt"],
            "token": self._job["token"],
            "cause": outcome.cause,
            "exit_code": os.WEXITSTATUS(ended) if ended is not None and os.WIFEXITED(ended) else None,
            "signal": os.WTERMSIG(ended) if ended is not None and os.WIFSIGNALED(ended) else None,
            "message": outcome.message,
            "started_at": self._started_at,
            "finished_at": instant(),
            "outputs": outcome.outputs,
            "metrics": metrics,
            "params": params,
            "usage": {
                "max_rss_bytes": max(self._tree.max_rss_bytes, self._sampler.peak_bytes),
                "cpu_s": round(self._tree.cpu_s, 6),
                "memory_limit": self._limits.kind,
            },
        }

    def _carry_out(self) -> Outcome:
        if self._is_called_off():
            return self._called_off()
        checkpoints = environment.checkpoint_folder(self._order, self._folder)
        try:
            fetch = bringing.fetching(self._folder, self._order, self._env, self._is_called_off)
            strict = "strict" in self._order
            places = workspace.prepare(self._folder, self._job, self._order["store"], fetch, strict=strict)
            obstacle = self._take_environment(places) if self._job.get("environment") else None
            if obstacle is not None:
                return obstacle
            renderer = environment.Renderer(places, checkpoints)
            env = environment.build(self._order, self._folder, self._env, places, renderer)
            argv = environment.argv(self._job["command"], renderer, env[b"PATH"])
            os.chdir(places.cwd)
        except (ContentError, ValueError, OSError) as error:
            return self._called_off() if self._is_called_off() else Outcome("not-started", explain(error))
        if self._is_called_off() or tree.next_signal(0.0) == tree.TERM:
            return self._called_off()
        outcome = self._execute(argv, env, checkpoints)
        if outcome.cause == "exited" and outcome.status == 0 and not (self._notice and self._notice.has_saved()):
            self._publish(outcome, places)
        return outcome if self._notice is None else self._after_notice(outcome, self._notice)

    def _take_environment(self, places: workspace.Workspace) -> Outcome | None:
        """Hold the job's own Python environment until we end; return the outcome when there is none to be had."""
        from trainwright.runtime import virtualenv

        def is_stopped() -> bool:
            return self._is_called_off() or tree.next_signal(0.0) == tree.TERM

        try:
            held = virtualenv.for_attempt(self._order, self._folder, places.cwd, self._env, is_stopped)
        except virtualenv.BuildError as error:
            return Outcome("environment-failed", str(error))
        except virtualenv.StoppedError:
            return self._called_off()
        self._held, places.environment = held, held.path
        return None

    def _execute(self, argv: list[bytes], env: dict[bytes, bytes], checkpoints: str) -> Outcome:
        self._started_at = instant()
        atomic.write_new(os.path.join(self._folder, "started.json"), atomic.encode({"at": self._started_at}))
        log = os.open(os.path.join(self._folder, "log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._limit()
        limits.raise_open_files()
        gang = replicas.Gang(self._job, log, self._start)
        try:
            self._limits.enter()
            gang.start(argv, env)
        except OSError as error:
            self._tree.end(0.0)
            self._started_at = None
            name = argv[0].decode("utf-8", "backslashreplace")
            return Outcome("not-started", f"{name} cannot be executed: {error.strerror}")
        finally:
            self._limits.leave()
            gang.follow()
        watch = watching.Watch(self._folder, checkpoints, self._tree, self._sampler, self._limits)
        cause = watch.wait(gang.commands, self._job["timeout_s"])
        self._notice = watch.notice
        self._tree.end(self._grace_s(cause, gang))
        gang.close()
        decisive = watch.decisive(gang.commands)
        status = self._tree.statuses.get(decisive)
        if cause == "exited" and status and self._limits.oom_killed():
            cause = "out-of-memory"
        message = self._words(cause) or gang.told(decisive, failed=bool(status))
        self._limits.close()
        return Outcome(cause, message or (self._full_disk() if status else ""), status)

    def _grace_s(self, cause: str, gang: replicas.Gang) -> float:
        """Return the seconds between TERM and KILL for whatever is left when the wait is over."""
        if cause == "preempted":
            return 0.0  # it had its grace
        alone = cause == "exited" and all(pid in self._tree.statuses for pid in gang.commands)
        return STRAY_GRACE_S if alone else float(self._job["grace_s"])

    def _after_notice(self, outcome: Outcome, told: notice.Notice) -> Outcome:
        """Return how it ended for one that had notice: finished, or stopped, or else preempted."""
        finished = outcome.cause == "exited" and outcome.status == 0 and not told.has_saved()
        if finished or outcome.cause in {"stopped", "not-published"}:
            return outcome
        stayed = f"; it did not leave within {told.grace_s:g} s and was killed" if outcome.cause == "preempted" else ""
        return Outcome("preempted", told.why + stayed, outcome.status)

    def _limit(self) -> None:
        """Make the groups that hold the attempt's memory; only when it states some."""
        asked = self._job["resources"]
        if asked["memory_bytes"] and "pretended" not in self._order:
            name, count = "trainwright-" + atomic.unique(), len(replicas.devices(self._job))
            self._limits = limits.Limits(
                {**asked, "memory_bytes": asked["memory_bytes"] * count, "cpu_milli": asked["cpu_milli"] * count},
                limits.find_layout(),
                name,
            )

    def _words(self, cause: str) -> str:
        """Return the sentence that belongs to the cause; empty when the exit status says it all."""
        if cause == "stopped":
            return self._why()
        if cause == "timeout":
            return f"took longer than {self._job['timeout_s']:g} s"
        if cause == "out-of-memory":
            limit = self._job["resources"]["memory_bytes"] * len(replicas.devices(self._job))
            how = "" if self._limits.kind != "watchdog" else ", seen by the watchdog, which looks twice a second"
            return f"{limit} bytes allowed{how}"
        return ""

    def _full_disk(self) -> str:
        """Say that the disk is full, which the command's own words could not when the log is on it."""
        room = os.statvfs(self._folder)
        free = room.f_bavail * room.f_frsize
        return f"no space is left: {free} bytes free in {self._folder}" if free < _RESERVE_BYTES else ""

    def _publish(self, outcome: Outcome, places: workspace.Workspace) -> None:
        try:
            outcome.outputs = publishing.publish(self._order, self._folder, places.outputs)
        except publishing.Refusal as refusal:
            outcome.cause, outcome.message = refusal.cause, str(refusal)
        except (ContentError, OSError) as error:
            outcome.cause, outcome.message = "not-published", explain(error)

    def _is_called_off(self) -> bool:
        return os.path.exists(self._stop) or notice.was_given(self._folder)

    def _called_off(self) -> Outcome:
        """Return how an attempt ended that was not started any more."""
        if notice.was_given(self._folder) and not os.path.exists(self._stop):
            return Outcome("preempted", notice.why(self._folder))
        return Outcome("stopped", self._why())

    def _why(self) -> str:
        try:
            return reading.read(self._stop).decode("utf-8", "replace").strip()
        except OSError:
            return "the runner was told to end (SIGTERM)"


def explain(error: Exception) -> str:
    """Return one sentence for an error, with the remedy where it has one."""
    if isinstance(error, ContentError):
        return f"{error.message}; {error.remedy}" if error.remedy else error.message
    if isinstance(error, OSError) and error.filename:
        name = error.filename if isinstance(error.filename, str) else os.fsdecode(error.filename)
        return f"{name}: {error.strerror}"
    return str(error)


def instant() -> str:
    """Return the present instant, ISO 8601 in UTC with microseconds."""
    whole, nanos = divmod(time.time_ns(), 10**9)
    return "%04d-%02d-%02dT%02d:%02d:%02d.%06d+00:00" % (*time.gmtime(whole)[:6], nanos // 1000)


def _reserve(folder: str) -> None:
    """Hold some room, so that a disk filled by the command can still take the result: it becomes the result."""
    try:
        fd = os.open(os.path.join(folder, _RESERVE), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        return
    try:
        os.posix_fallocate(fd, 0, _RESERVE_BYTES)
    except OSError:
        return
    finally:
        os.close(fd)


def _conclude(folder: str, result: dict[str, Any]) -> None:
    """Write the result, once; on a full disk wait for room rather than lose it."""
    data = atomic.encode(result)
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            atomic.complete(os.path.join(folder, _RESERVE), os.path.join(folder, "result.json"), data)
        except OSError as error:  # noqa: PERF203 - once in half a second
            if time.monotonic() >= deadline:
                raise
            sys.stderr.write(f"result.json: {error.strerror}; trying again\n")
            tree.next_signal(0.5)
        else:
            return
