"""What the registry costs with very many versions of one model.

100,000 versions, each of the same run, are inserted directly; then versions are registered, found, promoted and listed
by the code that commands and engines use. CPU is this process's; ``register_ms`` is the median of one registration in
a transaction of its own, synced to disk. Prints one JSON object last.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from trainwright.app import App, open_app
from trainwright.core.artifact import Content, GateResult
from trainwright.core.changes import RegisterModel
from trainwright.core.fingerprint import CodeState, Environment, Fingerprint, Hardware
from trainwright.core.ids import Digest, RunId, StepName
from trainwright.core.run import Run, RunView, attempts_of, steps_of
from trainwright.core.states import RunState
from trainwright.plan.plan import Plan
from trainwright.service import models, promotion
from trainwright.store import registry, runs

ZERO = Digest("sha256:" + "0" * 64)
GATE = GateResult("auc >= 0.8", "passed", {"auc": 0.9})


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=50)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        app = open_app(Path(name), {"TW_HOME": f"{name}/state", "TW_ACTOR": "bench"})
        run = a_run(app)
        fill(app, run, chosen.versions)
        context = app.context

        def register() -> None:
            with app.database.writing() as rows:
                number = registry.next_version(rows, context.project, "m")
                registry.insert_version(rows, context.project, version(run, number, "candidate"), run.submitted_at, "b")

        def promote() -> None:
            with app.database.reading() as rows:
                number = registry.next_version(rows, context.project, "m") - 1
            register()
            promotion.promote(context, f"m/{number}", "production", "")

        figures = {
            "versions": chosen.versions,
            "register_ms": milliseconds(register, chosen.times),
            "find_ms": milliseconds(lambda: models.find(context, "m@candidate"), chosen.times),
            "promote_and_register_ms": milliseconds(promote, chosen.times),
            "history_ms": milliseconds(lambda: models.history(context, "m@candidate"), 5),
            "list_all_ms": milliseconds(lambda: models.versions(context, "m"), 1),
        }
        app.database.close()
    print(json.dumps(figures))


def milliseconds(act: Callable[[], object], times: int) -> float:
    """Return the median time of an act."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        act()
        found.append(time.perf_counter() - start)
    return round(1000 * statistics.median(found), 3)


def a_run(app: App) -> Run:
    """Return a run that is in the store."""
    plan = Plan("trainwright/v1", "bench", standard=False, params={}, data=(), steps=())
    print_ = Fingerprint(
        plan.digest, CodeState(ZERO, "."), Environment("3", {}), {}, {}, None, Hardware("", "", "", 1, 1)
    )
    now = app.context.clock.now()
    run = Run(
        RunId("rbench"), app.context.project, 1, "bench", "bench.yaml", plan.digest, print_.digest, {},
        RunState.SUCCEEDED, now, "bench",
    )  # fmt: skip
    with app.database.writing() as rows:
        runs.insert_run(rows, RunView(run, steps_of(()), attempts_of(())), plan, print_)
    return run


def version(run: Run, number: int, alias: str = "") -> RegisterModel:
    """Return a version to register."""
    return RegisterModel(
        "m", number, alias, Content(ZERO, 1, 1), run.id, StepName("train"), "model", {"auc": 0.9}, (GATE,)
    )


def fill(app: App, run: Run, count: int) -> None:
    """Insert so many versions directly."""
    with app.database.writing() as rows:
        registry.insert_version(rows, app.context.project, version(run, 1), run.submitted_at, "bench")
        rows.write(
            "INSERT INTO model_version SELECT project, name, n.value, digest, files, size_bytes, run_id, step, output,"
            " metrics, gates, registered_at, registered_by, signature, card FROM model_version,"
            " (WITH RECURSIVE c(value) AS (SELECT 2 UNION ALL SELECT value + 1 FROM c WHERE value < :count)"
            " SELECT value FROM c) n",
            {"count": count},
        )


if __name__ == "__main__":
    main()
