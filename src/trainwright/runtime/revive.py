"""Calling an engine back to life: an attempt that ends after its engine was killed starts another one.

So a run goes on to its end with nobody watching, whatever was killed, as long as one of its steps was running. The new
engine leaves at once when somebody else has taken its place.
"""

from __future__ import annotations

import os

from trainwright.runtime import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def revive(engine: dict[str, Any], env: Mapping[bytes, bytes]) -> bool:
    """Start an engine unless one is alive; tell whether one was started.

    Args:
        engine: of the order: ``identity`` of the process that started the attempt, ``argv`` and ``env`` of an engine,
            ``lock`` that a background engine holds, ``log`` that takes its output.
        env: what the engine's own is added to.
    """
    if tree.is_alive(engine["identity"]) or _is_held(engine["lock"]):
        return False
    whole = {**env, **{os.fsencode(k): os.fsencode(v) for k, v in engine["env"].items()}}
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, engine["log"], flags, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    try:
        os.posix_spawn(engine["argv"][0], engine["argv"], whole, file_actions=actions, setsid=True, setsigmask=[])
    except OSError:
        return False  # the installation is gone: the next command of a person has to do it
    return True


def _is_held(path: str) -> bool:
    import fcntl

    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
