"""What git knows about a work tree: two read-only processes side by side, nested for each submodule."""

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import fsdecode
from pathlib import Path

from trainwright.core.errors import SpecError
from trainwright.service.capture.omissions import without_clutter

# Settings that could run a program, hide changes, or refuse a tree that somebody else owns are overruled.
_GIT = ("git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-C")
_STATUS = (
    *("status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames"),
    # The changes inside submodules are found by asking each of them.
    *("--untracked-files=all", "--ignore-submodules=dirty"),
)
_INDEX = ("ls-files", "-z", "--stage")
_SUBMODULE = "160000"


@dataclass(frozen=True, slots=True)
class Listing:
    """The files below a folder; paths are relative to it, with ``/``, in no order.

    Attributes:
        tracked: in git's index, some perhaps missing on disk; outside a repository every file.
        untracked: not in it and not ignored.
        modified: tracked ones that differ from the commit, removed ones too.
        commit: empty outside a repository or before the first commit.
        branch: empty when detached or outside a repository.
    """

    tracked: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    commit: str = ""
    branch: str = ""


def find_top(folder: Path) -> Path | None:
    """Return the top of the work tree around ``folder``, an absolute path; None outside any.

    It looks where git looks, without the cost of a process.
    """
    return next((place for place in (folder, *folder.parents) if _is_top(place)), None)


def read_repository(top: Path, environ: Mapping[str, str]) -> Listing | None:
    """Return what git knows about the work tree at ``top`` and the repositories inside it; None without a git program.

    Nothing is written, not even git's index. ``GIT_…`` variables of the caller have no effect.

    Raises:
        SpecError: TW2204 git cannot read it; TW2203 a folder in it is closed to us.
    """
    try:
        status, index = _ask(top, environ)
    except (FileNotFoundError, PermissionError):
        return None
    listing = parse_status(status)
    tracked, submodules = parse_index(index)
    # git names a repository that lies inside another one, and is no submodule, with a slash at its end.
    strangers = without_clutter(path.rstrip("/") for path in listing.untracked if path.endswith("/"))
    untracked = tuple(path for path in listing.untracked if not path.endswith("/"))
    modified = listing.modified
    for path in (*submodules, *strangers):
        inner = read_repository(top / path, environ) if _is_top(top / path) else None
        if inner is None:
            continue
        if path in submodules:
            tracked += _below(path, inner.tracked)
            modified += _below(path, inner.modified)
        else:
            untracked += _below(path, inner.tracked)
        untracked += _below(path, inner.untracked)
    return Listing(tracked, untracked, modified, listing.commit, listing.branch)


def parse_status(raw: bytes) -> Listing:
    """Return what ``git status --porcelain=v2 -z --branch`` says; ``tracked`` stays empty."""
    commit, branch = "", ""
    modified: list[str] = []
    untracked: list[str] = []
    for field in _fields(raw):
        kind, _, rest = field.partition(" ")
        match kind:
            case "#" if rest.startswith("branch.oid "):
                commit = rest.removeprefix("branch.oid ").replace("(initial)", "")
            case "#" if rest.startswith("branch.head "):
                branch = rest.removeprefix("branch.head ").replace("(detached)", "")
            case "1":
                modified.append(rest.split(" ", 7)[7])
            case "u":
                modified.append(rest.split(" ", 9)[9])
            case "?":
                untracked.append(rest)
            case _:
                pass
    return Listing((), tuple(untracked), tuple(modified), commit, branch)


def parse_index(raw: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files and the submodules that ``git ls-files -z --stage`` lists, each once."""
    files: dict[str, None] = {}
    submodules: dict[str, None] = {}
    for field in _fields(raw):
        mode, _, path = field.partition("\t")
        (submodules if mode.startswith(_SUBMODULE) else files)[path] = None
    return tuple(files), tuple(submodules)


def _ask(top: Path, environ: Mapping[str, str]) -> tuple[bytes, bytes]:
    clean = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    clean |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    with _start(top, _STATUS, clean) as status, _start(top, _INDEX, clean) as index:
        answers = [(*process.communicate(), process.returncode) for process in (status, index)]
    for _, complaint, code in answers:
        _refuse(top, fsdecode(complaint).strip(), code)
    return answers[0][0], answers[1][0]


def _start(top: Path, command: tuple[str, ...], environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - the arguments are our own
        (*_GIT, str(top), *command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
    )


def _refuse(top: Path, complaint: str, code: int) -> None:
    if code:
        said = (complaint.splitlines() or [f"exit code {code}"])[-1]
        remedy = f"repair it until `git -C {top} status` works, or move the pipeline out of it"
        raise SpecError("TW2204", f"git cannot read the repository {top}: {said}", remedy=remedy)
    closed = [line for line in complaint.splitlines() if "could not open directory" in line]
    if closed:
        # git goes on without that folder; the code that runs would not be the code that was captured.
        remedy = "give yourself the right to read it, or list it in .gitignore"
        raise SpecError("TW2203", closed[0].removeprefix("warning: "), where=str(top), remedy=remedy)


def _is_top(folder: Path) -> bool:
    mark = folder / ".git"
    return mark.is_file() or (mark / "HEAD").exists()


def _fields(raw: bytes) -> Iterator[str]:
    return (field for field in fsdecode(raw).split("\0") if field)


def _below(folder: str, paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{folder}/{path}" for path in paths)
