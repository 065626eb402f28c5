"""The records of a run that is to be made again: from the project, or from a folder that the run was restored into."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from trainwright.core.artifact import Output
from trainwright.core.codec import digest_of, from_json, to_json
from trainwright.core.errors import ConflictError, NotFoundError
from trainwright.core.fingerprint import Fingerprint
from trainwright.core.ids import Digest
from trainwright.core.occasion import TriggerEvent
from trainwright.core.run import Attempt, Run, RunView, StepRun, attempts_of, outputs_of, steps_of
from trainwright.plan.plan import Plan
from trainwright.service.context import Context
from trainwright.store import runs

RECORD = "record.json"
CODE = "code"
DATA = "data"
LOCKS = "locks"


@dataclass(frozen=True, slots=True)
class Original:
    """The records of a run that is to be made again.

    Attributes:
        started_for: the events that it was started for.
        record: content with these records, when they came in a restored folder; empty when the project has them.
    """

    view: RunView
    plan: Plan
    fingerprint: Fingerprint
    started_for: tuple[TriggerEvent, ...] = ()
    record: str = ""


@dataclass(frozen=True, slots=True)
class _Record:
    """What ``record.json`` holds.

    Attributes:
        data: name → path of the file or folder in the restored folder.
        locks: name of a locked environment → path of its lock there.
        files: of the code, sorted: whatever else is there by now belongs to nobody.

    Beside these it has ``seal``, the digest of all the rest: it holds whatever later versions add to these types.
    """

    run: Run
    steps: tuple[StepRun, ...]
    attempts: tuple[Attempt, ...]
    outputs: tuple[Output, ...]
    plan: Plan
    fingerprint: Fingerprint
    data: Mapping[str, str]
    files: tuple[str, ...]
    started_for: tuple[TriggerEvent, ...] = ()
    locks: Mapping[str, str] = field(default_factory=dict)


def record_text(original: Original, data: Mapping[str, str], locks: Mapping[str, str], files: tuple[str, ...]) -> str:
    """Return the text of ``record.json``; see ``_Record`` for what is in it."""
    view = original.view
    record = _Record(
        run=view.run,
        steps=tuple(view.steps),
        attempts=tuple(view.attempts),
        outputs=tuple(view.outputs),
        plan=original.plan,
        fingerprint=original.fingerprint,
        data=data,
        files=files,
        started_for=original.started_for,
        locks=locks,
    )
    plain = to_json(record)
    return json.dumps({"seal": digest_of(plain), **plain}, ensure_ascii=False, indent=1) + "\n"


def take_in(context: Context, folder: Path) -> Original:
    """Return the records of a run that was restored into ``folder``, and store its code and data.

    Raises:
        NotFoundError: it is no such folder.
        ConflictError: code, data or records in it are not what they were.
        BackendError: they cannot be stored.
    """
    try:
        record, seal, found = _read((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        remedy = "name a run, or a folder that tw reproduce RUN --into FOLDER has written"
        raise NotFoundError("TW4108", f"{folder} holds no run that was restored", remedy=remedy) from error
    _insist(folder, "its record", found, seal)
    code = context.content.put_files(folder / CODE, record.files)
    _insist(folder, "its code", code.digest, record.fingerprint.code.tree)
    for name, path in record.locks.items():
        stored = context.content.put(folder / path)
        _insist(folder, f"its lock {name}", stored.digest, str(record.fingerprint.environment.locks[name].lock))
    for entry in record.plan.data:
        stored = context.content.put(folder / record.data[entry.name])
        _insist(folder, f"its data {entry.name}", stored.digest, entry.content.digest)
    with context.database.reading() as rows:
        mine = runs.run(rows, record.run.id)
    kept = "" if mine is not None and mine.project == context.project else context.content.put(folder / RECORD).digest
    return replace(_original_of(record), record=kept)


def _insist(folder: Path, what: str, found: str, recorded: str) -> None:
    if found != recorded:
        raise ConflictError(
            "TW5304",
            f"{what} in {folder} is not what it was when the run was restored",
            where=str(folder),
            why="with anything else it would be another run",
            remedy="restore it once more: tw reproduce RUN --into FOLDER",
            details={"recorded": recorded, "found": found},
        )


def read_record(context: Context, digest: str) -> Original:
    """Return records that the project keeps of a run which came in a restored folder.

    Raises:
        NotFoundError, BackendError: they are gone.
    """
    record = _read(context.content.read(Digest(digest), RECORD).decode())[0]
    return replace(_original_of(record), record=digest)


def _read(text: str) -> tuple[_Record, str, str]:
    """Return what the text of a record says, its seal, and the seal that it should have."""
    plain = json.loads(text)
    seal = str(plain.pop("seal"))
    record = from_json(_Record, plain)
    if any(".." in path.split("/") or path.startswith("/") for path in (*record.data.values(), *record.locks.values())):
        raise ValueError("data outside the folder")
    return record, seal, digest_of(plain)


def _original_of(record: _Record) -> Original:
    view = RunView(record.run, steps_of(record.steps), attempts_of(record.attempts), outputs=outputs_of(record.outputs))
    return Original(view, record.plan, record.fingerprint, record.started_for)
