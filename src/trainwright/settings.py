"""Everything that the environment may say, read once."""

import getpass
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainwright.core.errors import SpecError
from trainwright.core.quantity import memory_bytes
from trainwright.ports.exporter import Destination

STATE_FOLDER = ".trainwright"

COPY_LIMIT_BYTES = 10 << 30

WARM = "numpy,pandas,scipy,sklearn,pyarrow"
"""Packages that can be forked after their import."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One frozen tree.

    Attributes:
        home: state folder (TW_HOME). Default: the nearest ``.trainwright`` upwards, else at the top of the git
            repository, else in the working directory: a project's runs belong beside its code.
        project: records belong to it (TW_PROJECT); default ``default``, so that one person has nothing to name.
        actor: who acts (TW_ACTOR); default the login name.
        inventory: file with a pretended machine (TW_INVENTORY), for trying GPU jobs without one; default none.
        sockets: private folder for the supervisor's socket (TW_RUNTIME_DIR); default below XDG_RUNTIME_DIR or in /tmp,
            because the path of a socket is short (108 bytes) and a project's may be long.
        ledger: folder in which all projects and users of the machine note what they hold (TW_MACHINE_DIR); default
            in /tmp: it has to be one place for everybody, and to be gone after a restart.
        environments: folder in which environments of steps are built (TW_ENVS_DIR); default below TW_MACHINE_DIR when
            that is set, else in the user's cache, where uv's own is: files are shared with it by hard links. It is one
            user's: what others may write is not executed.
        warm: packages that may be imported ahead of the functions that ask for them (TW_WARM, with commas between;
            ``off`` for none); default those of tables and numbers, which can be forked.
        copy_limit: bytes that one ``tw dataset add`` or ``data:`` entry may copy unasked (TW_COPY_LIMIT, such as 50Gi;
            ``none`` for any number); default 10 GiB.
        strict: take no file for unchanged because it looks so (TW_STRICT); default no: ctime gives an edit away.
        exports: where events go (TW_OPENLINEAGE: ``file:PATH`` or ``http(s)://…``), with the token that goes along
            (TW_OPENLINEAGE_TOKEN, or OPENLINEAGE_API_KEY as other senders have it) and the namespace there
            (OPENLINEAGE_NAMESPACE); default none, and the project's name.
        debug: show tracebacks of our own mistakes (TW_DEBUG); default no: a user's mistake never needs one.
    """

    home: Path
    project: str
    actor: str
    inventory: Path | None
    sockets: Path
    ledger: Path
    environments: Path
    warm: frozenset[str]
    copy_limit: int | None
    strict: bool
    debug: bool
    exports: tuple[Destination, ...] = ()


def read_settings(environ: Mapping[str, str], here: Path) -> Settings:
    """Return the settings for a process that was started in ``here``."""
    inventory = environ.get("TW_INVENTORY")
    return Settings(
        home=Path(environ["TW_HOME"]).expanduser().absolute() if environ.get("TW_HOME") else find_home(here),
        project=environ.get("TW_PROJECT") or "default",
        actor=environ.get("TW_ACTOR") or _login(),
        inventory=Path(inventory).expanduser().absolute() if inventory else None,
        sockets=_sockets(environ),
        ledger=Path(environ.get("TW_MACHINE_DIR") or Path(tempfile.gettempdir()) / "trainwright-machine").absolute(),
        environments=_environments(environ),
        warm=_warm(environ.get("TW_WARM") or WARM),
        copy_limit=_copy_limit(environ.get("TW_COPY_LIMIT") or ""),
        strict=environ.get("TW_STRICT", "") not in {"", "0"},
        debug=environ.get("TW_DEBUG", "") not in {"", "0"},
        exports=(openlineage(environ, environ["TW_OPENLINEAGE"], here),) if environ.get("TW_OPENLINEAGE") else (),
    )


def openlineage(environ: Mapping[str, str], target: str, here: Path) -> Destination:
    """Return where OpenLineage events go when this is the target; a path is made absolute."""
    if target.startswith("file:"):
        target = f"file:{(here / Path(target.removeprefix('file://').removeprefix('file:')).expanduser()).absolute()}"
    secret = environ.get("TW_OPENLINEAGE_TOKEN") or environ.get("OPENLINEAGE_API_KEY") or ""
    namespace = environ.get("OPENLINEAGE_NAMESPACE") or environ.get("TW_PROJECT") or "default"
    return Destination("openlineage", target, secret, namespace)


def find_home(here: Path) -> Path:
    """Return the state folder that belongs to a working directory."""
    upwards = [here, *here.parents]
    for folder in upwards:
        if (folder / STATE_FOLDER).is_dir():
            return folder / STATE_FOLDER
    repository = next((folder for folder in upwards if (folder / ".git").exists()), here)
    return repository / STATE_FOLDER


def _copy_limit(text: str) -> int | None:
    if text == "none":
        return None
    if not text:
        return COPY_LIMIT_BYTES
    try:
        return memory_bytes(text)
    except ValueError as error:
        raise SpecError(
            "TW2131", f"TW_COPY_LIMIT is no size: {text!r}", remedy="write a size such as 50Gi, or none"
        ) from error


def _warm(text: str) -> frozenset[str]:
    return frozenset() if text == "off" else frozenset(name.strip() for name in text.split(",") if name.strip())


def _environments(environ: Mapping[str, str]) -> Path:
    if environ.get("TW_ENVS_DIR"):
        return Path(environ["TW_ENVS_DIR"]).expanduser().absolute()
    if environ.get("TW_MACHINE_DIR"):
        return Path(environ["TW_MACHINE_DIR"]).absolute() / f"envs-{os.getuid()}"
    cache = environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser().absolute() / "trainwright" / "envs"


def _sockets(environ: Mapping[str, str]) -> Path:
    if environ.get("TW_RUNTIME_DIR"):
        return Path(environ["TW_RUNTIME_DIR"]).absolute()
    if environ.get("XDG_RUNTIME_DIR"):
        return Path(environ["XDG_RUNTIME_DIR"]) / "trainwright"
    return Path(tempfile.gettempdir()) / f"trainwright-{os.getuid()}"


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
