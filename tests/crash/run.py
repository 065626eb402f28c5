"""Kill engine, supervisor and runner at every point and at random instants; the run must end right all the same.

    python tests/crash/run.py                       every point, a hundred random rounds
    python tests/crash/run.py --quick               some of them, in less than a minute
    python tests/crash/run.py --only main:runner:part3:17     one point again; main:random:-:SEED one random round
    python tests/crash/run.py --seeded              three bugs switched on: each must be found

What a KILL leaves depends only on what was changed before it, so the points are the changes: commits, acts, forks, and
whatever a runner changes on disk. Prints one JSON object last; exits with 1 when something was violated.
"""

import argparse
import io
import json
import multiprocessing
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

from rounds import DEADLINE_S, Order, Verdict, leave_tidily, play
from scenario import KILLED_RUNNERS, PIPELINES
from seeded import BUGS

_AFTER_A_LOSS = 40
"""How many points an engine passes between the loss of a runner and the start of the next attempt, and some more."""


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="every so many points only")
    parser.add_argument("--seeded", action="store_true", help="switch on three bugs, which must be found")
    parser.add_argument("--seed", type=int, default=None, help="of the random rounds; printed")
    parser.add_argument("--random", type=int, default=None, help="how many random rounds")
    parser.add_argument("--jobs", type=int, default=2, help="rounds at once")
    parser.add_argument("--only", action="append", default=[], metavar="SCENARIO:KIND:STEP:AT", help="one round")
    parser.add_argument("--bug", default="", choices=["", *BUGS], help="with --only: switch this one on")
    asked = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if asked.seed is None else asked.seed
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    began = time.monotonic()
    context = multiprocessing.get_context("spawn")  # workers fork engines: they must not have threads
    with ProcessPoolExecutor(asked.jobs, context, leave_tidily) as pool:
        orders, lasts_s = enumerated(pool)
        if asked.only:
            orders = [replace(one(text, lasts_s), bug=asked.bug) for text in asked.only]
        elif asked.seeded:
            return report_bugs(pool, orders)
        else:
            count = (8 if asked.quick else 100) if asked.random is None else asked.random
            if asked.quick:
                orders = thinned(orders)
            sys.stdout.write(f"seed {seed}\n")
            orders += [Order("random", at=seed + i, lasts_s=lasts_s) for i in range(count)]
        verdicts = list(progress(pool.map(play, orders), len(orders)))
    return report(verdicts, time.monotonic() - began)


def enumerated(pool: ProcessPoolExecutor) -> tuple[list[Order], float]:
    """Return every point of two calm runs of each scenario, and how long one lasts."""
    counts: Counter[tuple[str, str, str]] = Counter()
    lasts_s = DEADLINE_S
    calm = [Order("record", scenario) for scenario in PIPELINES for _ in range(2)]
    for verdict in pool.map(play, calm):
        scenario = verdict.order.scenario
        if verdict.wrong:
            sys.exit(f"a calm run of {scenario} went wrong: {verdict.wrong}; see {verdict.folder}")
        if scenario == "main":
            lasts_s = min(lasts_s, verdict.took_s)
        for (kind, step), count in verdict.points.items():
            counts[scenario, kind, step] = max(count, counts[scenario, kind, step])
    orders = [
        Order(kind, scenario, step, at, lasts_s=lasts_s)
        for (scenario, kind, step), count in sorted(counts.items())
        if kind != "runner" or step in KILLED_RUNNERS[scenario]
        for at in range(1, count + 1)
    ]
    orders += [Order("both", "main", "part3", at, lasts_s=lasts_s) for at in range(1, _AFTER_A_LOSS + 1)]
    sys.stdout.write(f"{len(orders)} points; a calm run takes {lasts_s:.2f} s\n")
    return orders, lasts_s


def thinned(orders: list[Order]) -> list[Order]:
    """Return a few points of each kind, spread out."""
    few = {("main", "engine"): 8, ("main", "runner"): 10, ("main", "freeze"): 2, ("main", "both"): 3}
    found: list[Order] = []
    for key in sorted({(o.scenario, o.kind) for o in orders}):
        of_kind = [o for o in orders if (o.scenario, o.kind) == key]
        wanted = min(few.get(key, 1), len(of_kind))
        found += [of_kind[(2 * i + 1) * len(of_kind) // (2 * wanted)] for i in range(wanted)]
    return found


def one(text: str, lasts_s: float) -> Order:
    """Return the round that was written as ``SCENARIO:KIND:STEP:AT``."""
    scenario, kind, step, at = text.split(":")
    return Order(kind, scenario, step, int(at), lasts_s=lasts_s)


def progress(verdicts: Iterable[Verdict], total: int) -> Iterator[Verdict]:
    """Pass verdicts on; say every tenth, and every violation at once."""
    wrong = 0
    for number, verdict in enumerate(verdicts, 1):
        if verdict.wrong:
            wrong += 1
            tell(verdict)
        if number % 10 == 0 or number == total:
            sys.stdout.write(f"{number}/{total}  {verdict.order}  {wrong} violated\n")
        yield verdict


def tell(verdict: Verdict) -> None:
    """Say what is wrong, where, and how to see it again."""
    o = verdict.order
    sys.stdout.write(f"VIOLATED at {o} ({'; '.join(verdict.met) or 'no point met'})\n")
    sys.stdout.writelines(f"    {sentence}\n" for sentence in verdict.wrong)
    if not o.bug:
        sys.stdout.write(f"    kept in {verdict.folder}\n")
    bug = f" --bug {o.bug}" if o.bug else ""
    sys.stdout.write(f"    again: python tests/crash/run.py --only {o.scenario}:{o.kind}:{o.step}:{o.at}{bug}\n")


def report(verdicts: list[Verdict], took_s: float) -> int:
    """Say what came of all rounds."""
    kinds = Counter(v.order.kind for v in verdicts)
    met = Counter(v.order.kind for v in verdicts if v.met)
    for kind in sorted(kinds):
        sys.stdout.write(f"{kind}: {kinds[kind]} rounds, somebody was hit in {met[kind]}\n")
    wrong = sum(1 for v in verdicts if v.wrong)
    points = sum(count for kind, count in met.items() if kind != "random")
    sys.stdout.write(f"{points} points, {kinds['random']} random rounds, {wrong} violated, {took_s:.0f} s\n")
    put({"points": points, "random_kills": met["random"], "violations": wrong, "seconds": round(took_s)})
    return 1 if wrong else 0


def report_bugs(pool: ProcessPoolExecutor, orders: list[Order]) -> int:
    """Switch on one bug after the other; fail when one is not found."""
    found = 0
    for bug, kind in BUGS.items():
        seeded = shuffled(orders, kind, bug)
        number, verdict = next(((n, v) for n, v in enumerate(batches(pool, seeded), 1) if v.wrong), (0, None))
        if verdict is None:
            sys.stdout.write(f"bug {bug!r} was NOT found in {len(seeded)} rounds\n")
            continue
        sys.stdout.write(f"bug {bug!r}: round {number}\n")
        tell(verdict)
        sound = pool.submit(play, replace(verdict.order, bug="")).result()
        if sound.wrong:
            sys.stdout.write(f"but that point is violated without {bug!r} too\n")
            tell(sound)
            continue
        found += 1
    put({"points": 0, "random_kills": 0, "violations": 0, "seeded_found": found})
    return 0 if found == len(BUGS) else 1


def shuffled(orders: list[Order], kind: str, bug: str) -> list[Order]:
    """Return the rounds of one kind in an order of no meaning, with the bug."""
    found = [replace(o, bug=bug) for o in orders if o.kind == kind]
    random.Random(0).shuffle(found)
    return found


def batches(pool: ProcessPoolExecutor, orders: list[Order]) -> Iterator[Verdict]:
    """Yield verdicts, a few rounds at a time, so that who has seen enough may leave."""
    for start in range(0, len(orders), 4):
        yield from pool.map(play, orders[start : start + 4])


def put(figures: dict[str, Any]) -> None:
    """Print the JSON object that is read by machines."""
    sys.stdout.write(json.dumps({"bench": "crash", "figures": figures}) + "\n")


if __name__ == "__main__":
    sys.exit(main())
