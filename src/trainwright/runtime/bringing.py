"""What brings the foreign snapshots of an attempt in: a process of its own, before the command begins."""

from __future__ import annotations

import os

from trainwright.runtime import environment, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def fetching(
    folder: str, order: dict[str, Any], given: Mapping[bytes, bytes], is_stopped: Callable[[], bool]
) -> Callable[[Mapping[str, str], str], None]:
    """Return a function that fills an empty folder with what the facts of a snapshot stand for.

    Its libraries are those of whoever asked for the run, not those of the step's own environment.

    Args:
        folder: of the attempt.
        order: JSON of ``job.json``.
        given: environment of whoever asked for it.
        is_stopped: whether somebody wants the attempt to end.
    """

    def fetch(facts: Mapping[str, str], target: str) -> None:
        from trainwright.runtime import fetch, snapshot

        env = environment.inherited(given, order.get("path", ()), order["job"]["resources"]["cpu_milli"])
        environment.add_library(env, order.get("library") or "")
        env[b"TW_ATTEMPT_DIR"] = os.fsencode(folder)  # by this whoever cleans up finds it
        argv = [environment.find(b"python", env[b"PATH"]), b"-c", fetch.BEGIN.encode()]
        snapshot.Fetching(argv, env, snapshot.unique_log(folder), tree.spawn, is_stopped)(facts, target)

    return fetch
