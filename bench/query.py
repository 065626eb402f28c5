"""What questions about 10,000 runs with 20 metrics each cost, on SQLite.

The runs are written by the store's own functions into a real database file: four steps with five metrics each, three
parameters, two pipelines. Counted is the CPU, user and system, of ``find_runs`` in this process, from the text that
somebody typed to records and values in hand, on an open database; the median of several. ``newest_100_s`` is the latest
100 runs, ``top_100_by_metric_s`` the 100 best by one metric of a step (``bare``: of whichever step has it last), and
``where_s`` a condition on two metrics and a parameter, all runs that meet it returned. ``command_s`` is the CPU of the
whole command ``tw ps --where`` of the same condition that prints 100 runs as JSON. Prints one JSON object last.
"""

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from trainwright.app import open_app
from trainwright.core.cache import CacheMode
from trainwright.core.changes import Changes
from trainwright.core.ids import RunId, attempt_id
from trainwright.core.run import Attempt, MetricSummary
from trainwright.core.states import AttemptState, RunState, StepState
from trainwright.service.documents import read_document
from trainwright.service.search import Query, find_runs
from trainwright.service.submit import draft_run, prepare, take_fingerprint
from trainwright.store import runs

METRICS = ("loss", "auc", "f1", "recall", "seconds")
PIPELINE = "\n".join(
    [
        "pipeline: {name}",
        "params: {{C: 1.0, depth: 3, kind: linear}}",
        "steps:",
        *(f"  {step}: {{{{run: 'true'}}}}" for step in ("prep", "train", "evaluate", "report")),
        "",
    ]
)
WHERE = 'evaluate.auc > 0.8 and train.loss < 0.5 and params.C < 1 and state == "succeeded"'


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    count = 1_000 if parser.parse_args().quick else 10_000
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        figures = measured(Path(name), count)
    print(json.dumps({"bench": "query", "figures": {k: round(v, 4) for k, v in figures.items()}}))


def measured(folder: Path, count: int) -> dict:
    """Fill a project with so many runs and ask about them."""
    environ = {
        "TW_HOME": str(folder / "home"),
        "TW_RUNTIME_DIR": str(folder / "rt"),
        "TW_MACHINE_DIR": str(folder / "m"),
    }
    app = open_app(folder, environ)
    began = own_cpu_s()
    fill(app.context, folder, count)
    filled = own_cpu_s() - began

    def ask(query: Query, expected: Callable[[int], bool]) -> float:
        spent = []
        for _ in range(7):
            before = own_cpu_s()
            found = find_runs(app.context, query)
            spent.append(own_cpu_s() - before)
            assert expected(len(found.lines)), len(found.lines)
        return statistics.median(spent)

    newest = ask(Query(limit=100), lambda n: n == 100)
    top = ask(Query(sort="-evaluate.auc", limit=100), lambda n: n == 100)
    bare = ask(Query(sort="-auc", limit=100), lambda n: n == 100)
    where = ask(Query(where=WHERE), lambda n: 0.02 * count < n < 0.2 * count)
    command = [sys.executable, "-m", "trainwright.cli.main", "ps", "--where", WHERE, "-n", "100", "--json"]
    before, clock = children_cpu_s(), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environ, check=True, capture_output=True)
    assert 0 < len(json.loads(done.stdout)) <= 100
    return {
        "runs": count,
        "metrics": 20 * count,
        "newest_100_s": newest,
        "top_100_by_metric_s": top,
        "top_100_by_bare_metric_s": bare,
        "where_s": where,
        "command_s": children_cpu_s() - before,
        "command_wall_s": time.perf_counter() - clock,
        "fill_ms_per_run": filled / count * 1000,
    }


def fill(context, folder: Path, count: int) -> None:
    """Write runs that have ended, in one transaction."""
    chance = random.Random(1)
    drafts = []
    for name in ("digits", "prices"):
        path = folder / f"{name}.yaml"
        path.write_text(PIPELINE.format(name=name))
        prepared = prepare(context, read_document(path, path.name), {}, folder, path.name)
        fingerprint = take_fingerprint(context, prepared)
        drafts.append((prepared.plan, fingerprint, draft_run(context, prepared, fingerprint, CacheMode.AUTO)))
    now = context.clock.now()
    with context.database.writing() as rows:
        for number in range(1, count + 1):
            plan, fingerprint, draft = drafts[number % 2]
            identity = RunId(f"r{number:09d}")
            at = now - timedelta(minutes=count - number)
            params = {"C": chance.choice([0.1, 0.5, 1.0, 2.0]), "depth": chance.randrange(9), "kind": "linear"}
            run = replace(draft.run, id=identity, number=number, params=params, submitted_at=at)
            steps = [replace(s, run=identity) for s in draft.steps]
            view = replace(draft, run=run, steps=type(draft.steps).of(steps, lambda s: s.name))
            runs.insert_run(rows, view, plan, fingerprint)
            runs.take_lease(rows, identity, "bench", None, at)
            attempts = [attempt(identity, s.name, at, chance) for s in steps]
            ended = [replace(s, state=StepState.SUCCEEDED, attempts=1, finished_at=at) for s in steps]
            state = RunState.FAILED if number % 10 == 0 else RunState.SUCCEEDED
            after = replace(run, state=state, started_at=at, finished_at=at)
            runs.apply(rows, run, Changes(run=after, steps=tuple(ended), attempts=tuple(attempts)), at, "bench")


def attempt(run: RunId, step: str, at, chance: random.Random) -> Attempt:
    """Return one that logged five metrics."""
    metrics = {}
    for name in METRICS:
        value = float("nan") if chance.random() < 0.01 else chance.random()
        metrics[name] = MetricSummary(value, value, value, 1)
    identity = attempt_id(run, step, 1)
    return Attempt(identity, run, step, 1, AttemptState.SUCCEEDED, "token", at, metrics=metrics)


def own_cpu_s() -> float:
    """Return user + system seconds of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def children_cpu_s() -> float:
    """Return user + system seconds of children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
