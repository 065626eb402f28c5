"""``python -I -S -B runtime.pyz run FOLDER``: run the attempt in FOLDER."""

from __future__ import annotations

import os
import sys

_WORDS = 3


def main() -> None:
    """Run one attempt and leave at once: exit 0 whatever became of it, 2 for a wrong call, 1 for a failure of ours."""
    if len(sys.argv) != _WORDS or sys.argv[1] != "run":
        sys.stderr.write("usage: run FOLDER\n")
        sys.exit(2)
    _close_inherited()
    from trainwright.runtime.runner import run

    run(sys.argv[2])
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
