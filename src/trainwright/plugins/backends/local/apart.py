"""Processes that outlive whoever starts them."""

import os
import signal
from collections.abc import Mapping


def start_apart(argv: tuple[str, ...], env: Mapping[bytes, bytes], log: str) -> int:
    """Start a program in a session of its own; return its pid.

    Args:
        argv: the first is a path.
        env: all of its environment.
        log: file to which its stdout and stderr are appended; stdin is empty.

    Raises:
        OSError: it cannot be executed.
    """
    return os.posix_spawn(
        argv[0],
        argv,
        env,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=[signal.SIGPIPE, signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD],
    )
