"""Writes what a script tells into the attempt's ``events.jsonl``: one ``write`` a line, safe from many processes."""

from __future__ import annotations

import os
import time

from trainwright.runtime import atomic, events, marks, plainjson, replicas
from trainwright.runtime.errors import ParamConflict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Journal:
    """The events of one attempt, as one process sees them."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.stop_files = tuple(os.path.join(folder, name) for name in (marks.STOP, marks.PREEMPT))
        self._counts = replicas.counts(os.environ)
        self._path = os.path.join(folder, events.FILE)
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._names: dict[str, str] = {}
        self._declared: dict[str, Any] | None = None
        self._noted: dict[str, Any] = {}
        self._read = 0

    def metrics(self, step: int | None, values: dict[str, float]) -> None:
        """Append one point of some metrics.

        Raises:
            OSError: the disk is full, for one.
        """
        names = self._names
        parts = []
        for name, value in values.items():
            quoted = names.get(name)
            if quoted is None:
                quoted = names[name] = plainjson.dumps(name)
            # only NaN and infinities have a difference with themselves that is not zero
            text = repr(value) if value - value == 0 else f'"{plainjson.number(value)}"'
            parts.append(f"{quoted}:{text}")
        where = "null" if step is None else step
        self._append(f'{{"t":{time.time()!r},"k":"metric","s":{where},"v":{{{",".join(parts)}}}}}\n'.encode())

    def progress(self, done: float, total: float) -> None:
        """Append how far it is."""
        self._append(atomic.encode({"t": time.time(), "k": "progress", "d": done, "n": total}))

    def params(self, facts: dict[str, Any]) -> None:
        """Append facts that are new; of those that differ from what is known none is stored.

        Raises:
            ParamConflict: for the first of these, when the others are stored.
        """
        declared = self._declarations()
        self._catch_up()
        new: dict[str, Any] = {}
        conflict: ParamConflict | None = None
        for key, value in facts.items():
            known = declared if key in declared else self._noted
            if key in known and not is_same(known[key], value):
                conflict = conflict or ParamConflict(key, known[key], value, declared=known is declared)
            elif key not in self._noted:
                new[key] = value
        if new:
            self._append(atomic.encode({"t": time.time(), "k": "params", "v": new}))
        if conflict is not None:
            raise conflict

    def _append(self, line: bytes) -> None:
        if self._counts:
            atomic.write_all(self._fd, line)

    def _declarations(self) -> dict[str, Any]:
        if self._declared is None:
            try:
                with open(os.path.join(self.folder, "job.json"), "rb") as file:
                    self._declared = plainjson.loads(file.read())["job"]["params"]
            except (OSError, ValueError, KeyError):
                self._declared = {}
        return self._declared or {}

    def _catch_up(self) -> None:
        """Take in what other processes of the attempt have noted since."""
        if not self._counts:  # ranks may well differ in what they note
            return
        with open(self._path, "rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                if b'"k":"params"' in line:
                    self._note(line)

    def _note(self, line: bytes) -> None:
        try:
            event = plainjson.loads(line)
        except ValueError:
            return
        if event.get("k") == "params":
            self._noted.update(event["v"])


def is_same(known: object, value: object) -> bool:
    """Tell whether two facts are equal: numbers by value, a text also with the value it was rendered from."""
    if known == value:
        return True
    if isinstance(known, float) and isinstance(value, float):
        return known != known and value != value  # noqa: PLR0124 - NaN is NaN
    if isinstance(value, str) and isinstance(known, (bool, int, float)):
        return value == (plainjson.dumps(known) if isinstance(known, bool) else repr(known))
    return False
