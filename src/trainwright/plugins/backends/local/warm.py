"""Runners for functions from a warm interpreter, when there is one; see ``runtime.warm``."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import trainwright
from trainwright.core.job import JobSpec
from trainwright.plugins.backends.local.apart import start_apart
from trainwright.plugins.backends.local.settings import LocalSettings
from trainwright.runtime import bundle, environment, replicas, supervisor, warm

_AGAIN_S = 60.0
"""How long after a launch, or after an answer that did not come in time, nothing is tried again."""

_LATE_S = 1.0
"""After so long without an answer an interpreter is there, and does not serve."""

_MOST = 4
"""Warm interpreters of one user: each holds what it imported, some hundred MB."""


class WarmStart:
    """Warm interpreters as one process asks for them."""

    def __init__(
        self, settings: LocalSettings, inherited: Mapping[bytes, bytes], started: Callable[[int], None]
    ) -> None:
        """Prepare; nothing is started.

        Args:
            settings: of the backend.
            inherited: environment that commands inherit.
            started: told the pid of each interpreter that was launched.
        """
        self._settings, self._inherited, self._started = settings, inherited, started
        self._launch_after: dict[str, float] = {}
        self._silent_until: dict[str, float] = {}

    def runner(self, job: JobSpec, folder: str, front: str) -> int | None:
        """Have a runner of the warm interpreter that the job asks for; return what ``supervisor.request`` does.

        None when the job asks for none, or none answers: then one is launched for the steps to come. A runner may have
        begun all the same.

        Args:
            job: to be run.
            folder: of the attempt.
            front: the folder for ``PYTHONPATH``.
        """
        sockets = self._settings.sockets
        env = self._environment(job, front) if sockets is not None and self._may(job) else None
        if sockets is None or env is None:
            return None
        try:
            python = environment.find(b"python", env[b"PATH"])
        except FileNotFoundError:
            return None
        name = warm.key(python, job.warm, env)
        socket = f"{sockets}/{warm.socket_name(name)}"
        now = time.monotonic()
        if self._silent_until.get(name, now) > now:
            return None
        connection = supervisor.request(socket, folder, self._inherited)
        if connection is None and time.monotonic() - now > _LATE_S:
            self._silent_until[name] = now + _AGAIN_S
        elif connection is None and self._launch_after.get(name, now) <= now and self._is_room(sockets, socket):
            self._launch_after[name] = now + _AGAIN_S
            own = bundle.build(str(sockets), trainwright.__version__)
            words = (os.fsdecode(python), "-c", warm.BEGIN, own, "supervise", socket, ",".join(job.warm))
            self._started(start_apart(words, warm.surroundings(env), f"{socket.removesuffix('.sock')}.log"))
        return connection

    def _may(self, job: JobSpec) -> bool:
        """Tell whether the job asks for modules that are allowed, and for no device or gang, which could not be forked.

        Nor for an environment of its own: the attempt itself holds that, and it may not be built yet.
        """
        allowed = self._settings.warm
        fit = bool(job.warm) and not job.devices and not job.places[1:] and job.environment is None
        return fit and all(name.partition(".")[0] in allowed for name in job.warm)

    def _environment(self, job: JobSpec, library: str) -> dict[bytes, bytes] | None:
        """Return what the interpreter of the job would have when it starts.

        None when that is known only in the attempt: a variable is made of a reference, or a path is relative.
        """
        env = environment.inherited(self._inherited, self._settings.path, job.resources.cpu_milli)
        own = {name.encode(): template for name, template in job.env.items()}
        for name in warm.matters(dict.fromkeys(own, b"")):
            if any(part.ref for part in own[name]):
                return None
            env[name] = "".join(part.text for part in own[name]).encode("utf-8", "surrogateescape")
        environment.add_library(env, library)
        env.update(replicas.visible(job.devices))
        places = (*env[b"PYTHONPATH"].split(b":"), *env[b"PATH"].split(b":"))
        return env if all(place.startswith(b"/") for place in places) else None

    def _is_room(self, sockets: Path, socket: str) -> bool:
        """Tell whether another warm interpreter may be launched here, and none said lately that it cannot serve."""
        try:
            said = os.stat(warm.refusal_of(socket)).st_mtime  # noqa: PTH116 - a text, as all of these
        except OSError:
            said = 0.0
        serving = sum(supervisor.is_listening(str(path)) for path in sockets.glob(warm.socket_name("*")))
        return time.time() - said > warm.REFUSED_S and serving < _MOST
