"""What must be true after a round, whoever died in it. Every check adds a sentence when it is not."""

import json
import os
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from scenario import CALM, RIGHT, WRITERS, text

from trainwright.core.codec import from_json
from trainwright.core.ids import RunId
from trainwright.core.run import RunView
from trainwright.plugins.backends.local.ledger import Lease, is_living
from trainwright.runtime import content, tree
from trainwright.runtime.errors import ContentError
from trainwright.store import runs
from trainwright.store.database import Database, Rows

_SETTLES_S = 5.0
_FINAL = ("succeeded", "failed", "cancelled", "lost")


@dataclass(frozen=True, slots=True)
class Round:
    """What is to be checked.

    Attributes:
        may_lose: attempts that may be lost: as many as runners were killed.
    """

    folder: Path
    scenario: str
    may_lose: int = 0

    @property
    def store(self) -> str:
        return str(self.folder / "home" / "content")


def violations(done: Round) -> list[str]:
    """Return what is wrong; empty when all is right."""
    database = Database(done.folder / "home" / "state.db")
    found = [*still_running(done)]
    try:
        with database.reading() as rows:
            verdict = rows.one("PRAGMA quick_check")
            if verdict is None or verdict[0] != "ok":
                found.append(f"quick_check says {verdict and verdict[0]}")
            known = rows.all("SELECT id FROM run")
            if len(known) != 1:
                return [*found, f"{len(known)} runs instead of one"]
            view = runs.view(rows, RunId(known[0]["id"]))
            found += _in_the_records(rows, done)
        won = {str(a.step): str(a.id) for a in view.attempts if a.state == "succeeded"}
        found += [*_states(done, view), *_exit_codes(view), *_results(done, view), *_effects(done, view)]
        found += [*_outputs(done, view, won), *_store(done), *_leases(done)]
    finally:
        database.close()
    return found


def members(folder: Path) -> list[int]:
    """Return the pids of supervisors, runners and commands of a round."""
    return list(tree.marked(b"CRASH_FOLDER=" + os.fsencode(folder)))


def supervisors(folder: Path) -> list[int]:
    """Return the pids of the round's supervisors that live."""
    try:
        known = {int(line) for line in (folder / "supervisors").read_text().split()}
    except FileNotFoundError:
        return []
    return [pid for pid in members(folder) if pid in known]


def sweep(folder: Path) -> None:
    """End every process of a round."""
    for pid in members(folder):
        tree.send(pid, signal.SIGKILL)


def still_running(done: Round) -> Iterator[str]:
    """Tell what has not left soon after the run's end."""
    deadline = time.monotonic() + _SETTLES_S
    while True:
        left = set(members(done.folder)) - set(supervisors(done.folder))
        if not left:
            return
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    for pid in sorted(left):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        yield f"process {pid} still runs: {words}"


def _in_the_records(rows: Rows, done: Round) -> Iterator[str]:
    open_acts = rows.number("SELECT count(*) FROM outbox WHERE done_at IS NULL")
    if open_acts:
        yield f"{open_acts} instructions are still open"
    for row in rows.all("SELECT attempt_id, act, count(*) AS n FROM outbox GROUP BY attempt_id, act HAVING n > 1"):
        yield f"{row['act']} {row['attempt_id']} was ordered {row['n']} times"
    for row in rows.all("SELECT subject, state, count(*) AS n FROM event GROUP BY subject, state HAVING n > 1"):
        if row["state"] in _FINAL:
            yield f"{row['subject']} became {row['state']} {row['n']} times"
    models = 1 if done.scenario == "main" else 0
    for what, sql in (
        ("model versions", "SELECT count(*) FROM model_version"),
        ("alias moves", "SELECT count(*) FROM alias_move"),
        ("registrations in the audit", "SELECT count(*) FROM audit WHERE action = 'model.registered'"),
    ):
        if rows.number(sql) != models:
            yield f"{rows.number(sql)} {what} instead of {models}"


def _states(done: Round, view: RunView) -> Iterator[str]:
    is_now = {"run": str(view.run.state), **{str(s.name): str(s.state) for s in view.steps}}
    for name, right in RIGHT[done.scenario].items():
        if is_now.get(name) != right:
            yield f"{name} is {is_now.get(name)} instead of {right}"
    attempts: dict[str, list[str]] = defaultdict(list)
    for attempt in view.attempts:
        attempts[str(attempt.step)].append(str(attempt.state))
        if attempt.number != len(attempts[str(attempt.step)]):
            yield f"{attempt.id} is the attempt number {len(attempts[str(attempt.step)])} in the records"
    lost = sum(states.count("lost") for states in attempts.values())
    if lost > done.may_lose:
        yield f"{lost} attempts were lost, {done.may_lose} runners killed"
    for step, calm in CALM[done.scenario].items():
        states = [state for state in attempts[step] if state != "lost"]
        # the attempt that was to fail may have been lost in the middle of it
        if states != calm and not (lost and "failed" in calm and states == calm[1:]):
            yield f"the attempts at {step} are {attempts[step]} instead of {calm}"


def _exit_codes(view: RunView) -> Iterator[str]:
    for attempt in view.attempts:
        right = {"succeeded": 0, "failed": 3}.get(attempt.state)
        if attempt.state in {"succeeded", "failed"} and (attempt.exit_code, attempt.signal) != (right, None):
            yield f"{attempt.id} {attempt.state} with exit code {attempt.exit_code}, signal {attempt.signal}"


def _results(done: Round, view: RunView) -> Iterator[str]:
    for attempt in view.attempts:
        path = done.folder / "home" / "runs" / attempt.id / "result.json"
        try:
            result = json.loads(path.read_bytes())
        except (FileNotFoundError, ValueError) as error:
            yield f"{attempt.id} is {attempt.state}, its result: {error}"
            continue
        # who loses its runner while it is being stopped is cancelled
        causes = {"lost": {"lost"}, "cancelled": {"stopped", "lost"}}.get(attempt.state, {"exited"})
        if result["token"] != attempt.token or result["cause"] not in causes:
            yield f"{attempt.id} is {attempt.state}, its result says {result['cause']}: {result['message']}"


def _effects(done: Round, view: RunView) -> Iterator[str]:
    """Hold what steps did against what is known: each attempt once, those at one step one after the other."""
    try:
        lines = [line.split(" ") for line in (done.folder / "effects").read_text().splitlines()]
    except FileNotFoundError:
        lines = []
    states = {str(a.id): str(a.state) for a in view.attempts}
    count = Counter((kind, attempt) for kind, attempt in lines)
    for (kind, attempt), times in count.items():
        if attempt not in states:
            yield f"{attempt} has an effect and no record"
        if times > 1:
            yield f"{attempt} {kind}ed {times} times"
    for attempt, state in states.items():
        did = (count["start", attempt], count["end", attempt])
        if (state == "succeeded" and did != (1, 1)) or (state == "failed" and did != (1, 0)):
            yield f"{attempt} is {state} and started {did[0]} times, ended {did[1]} times"
    latest: dict[str, int] = {}
    for kind, attempt in lines:
        step, number = attempt.rsplit("/", 1)
        if int(number) < latest.get(step, 0):
            yield f"{attempt} {kind}ed after attempt {latest[step]} had begun"
        latest[step] = max(int(number), latest.get(step, 0))


def _outputs(done: Round, view: RunView, won: dict[str, str]) -> Iterator[str]:
    if {*WRITERS[done.scenario]} - {*won}:
        return  # told already: a step has not succeeded
    recorded = Counter(str(o.step) for o in view.outputs)
    for step in WRITERS[done.scenario]:
        if recorded[step] != 1:
            yield f"{step} has {recorded[step]} recorded outputs"
    for number, output in enumerate(view.outputs):
        step = str(output.step)
        if str(output.attempt) != won.get(step):
            yield f"the output of {step} is by {output.attempt}, the attempt that succeeded is {won.get(step)}"
            continue
        target = done.folder / f"exported{number}"
        try:
            content.export(done.store, output.content.digest, str(target))
        except ContentError as error:
            yield f"the output of {step} cannot be exported: {error.message}"
            continue
        files = [target / name for name in "abc"] if target.is_dir() else [target]
        for file in files:
            if file.read_text() != text(step, won):
                yield f"the output of {step} says {file.read_text()!r} instead of {text(step, won)!r}"


def _store(done: Round) -> Iterator[str]:
    """Hold every blob against its name, and look for every blob that a manifest names."""
    for blob in sorted(Path(done.store, "blobs").glob("*/*")):
        if sha256(blob.read_bytes()).hexdigest() != blob.name:
            yield f"the blob {blob.name[:12]} ({blob.stat().st_size} bytes) is not what its name says"
    for manifest in sorted(Path(done.store, "manifests").glob("*/*")):
        if manifest.name.endswith(".tmp"):
            continue  # a draft whose writer died; swept later
        try:
            whole = content.has(done.store, f"sha256:{manifest.name}")
        except ContentError as error:
            yield f"a manifest is broken: {error.message}"
            continue
        if not whole:
            yield f"the manifest {manifest.name[:12]} names blobs that are not there"


def _leases(done: Round) -> Iterator[str]:
    for path in sorted((done.folder / "machine").glob("*.json")):
        lease = from_json(Lease, json.loads(path.read_text()))
        if is_living(lease):
            yield f"the ledger still counts {lease.label}: {lease.folder}"
