"""``runtime.pyz run FOLDER`` runs an attempt; ``runtime.pyz supervise SOCKET [MODULES]`` forks such runners on demand.

``python -c BEGIN runtime.pyz …`` does the same without what Python loads to run an archive, as long as all of ours.
"""

from __future__ import annotations

import os
import sys

_WORDS = {"run": {2}, "supervise": {2, 3}}


def main() -> None:
    """Do what the words say and leave at once: exit 0 whatever came of it, 2 for a wrong call, 1 for a failure."""
    words = sys.argv[1:]
    if not words or len(words) not in _WORDS.get(words[0], ()):
        sys.stderr.write("usage: run FOLDER | supervise SOCKET [MODULES]\n")
        sys.exit(2)
    _close_inherited()
    if words[0] == "run":
        from trainwright.runtime.runner import run

        run(words[1], os.environb)
    else:
        from trainwright.runtime.supervisor import supervise

        supervise(*words[1:])
    sys.stderr.flush()
    os._exit(0)  # nothing is left to tidy up, and who waits for us sees the end sooner


def _close_inherited() -> None:
    """Close what came with us: a pipe kept open here would keep its reader waiting."""
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        if fd > 2:  # noqa: PLR2004 - stderr
            try:
                os.close(fd)
            except OSError:
                continue


if __name__ == "__main__":
    main()
