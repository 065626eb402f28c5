"""What the command sees: its environment and its arguments, with paths in the place of references."""

from __future__ import annotations

import os

from trainwright.runtime import plainjson, replicas
from trainwright.runtime.workspace import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_OWN = b"TW_"


class Renderer:
    """Turns templates into text: ``input:…``, ``output:…`` and ``checkpoint:path`` become paths."""

    def __init__(self, places: Workspace, checkpoints: str) -> None:
        self._places = places
        self._checkpoints = checkpoints
        self._latest: str | None = None

    def render(self, template: list[dict[str, str]]) -> bytes:
        """Return the text of a template.

        Raises:
            ValueError: a reference to something the job does not have, or text with NUL.
        """
        text = "".join(self._refer(part["ref"]) if part.get("ref") else part.get("text", "") for part in template)
        if "\0" in text:
            raise ValueError("a value holds the character NUL, which no command can receive")
        return text.encode("utf-8", "surrogateescape")

    def _refer(self, ref: str) -> str:
        kind, _, name = ref.partition(":")
        if ref == "checkpoint:path":
            return self._checkpoint()
        known = {"input": self._places.inputs, "output": self._places.outputs}.get(kind, {})
        if name not in known:
            raise ValueError(f"the job has no {ref}")
        return known[name]

    def _checkpoint(self) -> str:
        if self._latest is None:
            from trainwright.runtime.checkpoint import Checkpoints

            self._latest = Checkpoints(self._checkpoints).latest() or ""
        return self._latest


def argv(command: dict[str, Any], renderer: Renderer, path: bytes) -> list[bytes]:
    """Return the argument vector; a script runs in bash, where a failure inside a pipe counts.

    A function is called by ``runtime.call``, which is on ``PYTHONPATH``, in the ``python`` that a script would get.

    Args:
        command: JSON of ``core.job.Command``.
        renderer: for its templates.
        path: ``PATH`` of the command.

    Raises:
        ValueError: see :meth:`Renderer.render`.
        FileNotFoundError: no such program in ``path``.
    """
    script = command.get("shell")
    if script is not None:
        shell = [b"/bin/bash", b"-eo", b"pipefail", b"-c"]
        if not os.path.exists(shell[0]):
            shell = [b"/bin/sh", b"-e", b"-c"]
        return [*shell, script.encode("utf-8", "surrogateescape")]
    if command.get("call"):
        return [find(b"python", path), b"-m", b"trainwright.runtime.call"]
    words = [renderer.render(template) for template in command["argv"]]
    if not words:
        raise ValueError("the command is empty")
    return [find(words[0], path), *words[1:]]


def build(
    order: dict[str, Any], folder: str, given: Mapping[bytes, bytes], places: Workspace, renderer: Renderer
) -> dict[bytes, bytes]:
    """Return the whole environment of the command.

    Inherited, then ours as defaults, then its Python environment's, then the author's ``env:``, then what nobody may
    change: ``TW_*`` and the devices.

    Raises:
        ValueError: see :meth:`Renderer.render`.
    """
    job = order["job"]
    env = inherited(given, order.get("path", ()), job["resources"]["cpu_milli"])
    if places.environment:
        activate(env, places.environment)
    for name, template in job["env"].items():
        env[name.encode()] = renderer.render(template)
    add_library(env, order.get("library") or "")
    env.update(replicas.visible(replicas.devices(job)[0]))
    env.update(_facts(order, folder, places))
    for name, template in job["command"]["refs"].items():
        env[name.encode()] = renderer.render(template)
    return env


def inherited(given: Mapping[bytes, bytes], path: Iterable[str], cpu_milli: int) -> dict[bytes, bytes]:
    """Return what the command has of whoever asked for it, with our defaults.

    Args:
        given: environment of whoever asked.
        path: folders put before ``PATH``.
        cpu_milli: thousandths of a core that the command has.
    """
    env = {k: v for k, v in given.items() if not k.startswith(_OWN)}
    first = os.pathsep.join(path).encode("utf-8", "surrogateescape")
    rest = env.get(b"PATH", b"/usr/local/bin:/usr/bin:/bin")
    env[b"PATH"] = first + b":" + rest if first else rest
    env.update({b"PYTHONUNBUFFERED": b"1", b"PYTHONFAULTHANDLER": b"1", b"PYTHONDONTWRITEBYTECODE": b"1"})
    env.setdefault(b"OMP_NUM_THREADS", str(max(1, cpu_milli // 1000)).encode())
    return env


def activate(env: dict[bytes, bytes], path: str) -> None:
    """Let commands find this environment first, and nothing of any other."""
    for name in (b"PYTHONPATH", b"PYTHONHOME", b"CONDA_PREFIX"):
        env.pop(name, None)
    env[b"PATH"] = os.fsencode(path) + b"/bin:" + env.get(b"PATH", b"")
    env[b"VIRTUAL_ENV"] = os.fsencode(path)


def add_library(env: dict[bytes, bytes], library: str) -> None:
    """Put the folder with ``trainwright`` last on ``PYTHONPATH``; empty for none."""
    if library:
        known = env.get(b"PYTHONPATH")
        env[b"PYTHONPATH"] = known + b":" + os.fsencode(library) if known else os.fsencode(library)


def checkpoint_folder(order: dict[str, Any], folder: str) -> str:
    """Return where checkpoints live; the attempts of a step share it."""
    return str(order.get("checkpoints") or os.path.join(folder, "checkpoints"))


def _facts(order: dict[str, Any], folder: str, places: Workspace) -> dict[bytes, bytes]:
    job = order["job"]
    facts = {
        "TW_RUN_ID": job["run"],
        "TW_STEP": job["step"],
        "TW_ATTEMPT": str(job["number"]),
        "TW_PROJECT": job["project"],
        "TW_PIPELINE": job["pipeline"],
        "TW_ATTEMPT_DIR": folder,
        "TW_CHECKPOINT_DIR": checkpoint_folder(order, folder),
        "TW_INPUTS": plainjson.dumps(places.inputs),
        "TW_OUTPUTS": plainjson.dumps(places.outputs),
        **replicas.facts(replicas.devices(job), 0),
    }
    if places.snapshots:
        facts["TW_SNAPSHOTS"] = plainjson.dumps({name: dict(known) for name, known in places.snapshots.items()})
        for name, known in places.snapshots.items():
            facts[version_variable(name)] = known["version"]
    return {k.encode(): v.encode("utf-8", "surrogateescape") for k, v in facts.items()}


def version_variable(name: str) -> str:
    """Return the variable with the version of an input: ``data.raw-clicks`` has ``TW_DATA_RAW_CLICKS_VERSION``."""
    letters = (c.upper() if c.isascii() and c.isalnum() else "_" for c in name)
    return "TW_" + "".join(letters) + "_VERSION"


def find(program: bytes, path: bytes) -> bytes:
    """Return the path of a program.

    Raises:
        FileNotFoundError: no such program in ``path``.
    """
    if b"/" in program:
        return program
    for folder in path.split(b":"):
        found = os.path.join(folder or b".", program)
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    raise FileNotFoundError(2, "command not found", program.decode("utf-8", "backslashreplace"))
