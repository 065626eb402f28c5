"""What git knows about a work tree: two read-only processes side by side, nested for each submodule."""

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import fsdecode
from pathlib import Path

from trainwright.core.errors import SpecError
from trainwright.core.fingerprint import Submodule
from trainwright.service.capture.omissions import without_clutter

# Settings that could run a program, hide changes, or refuse a tree that somebody else owns are overruled.
_GIT = ("git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-C")
_WITHOUT_LFS = ("-c", "filter.lfs.process=", "-c", "filter.lfs.clean=", "-c", "filter.lfs.required=false")
"""Compares what is on disk as it is. Files that git LFS had filled then look modified, so it is the second choice."""

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
        submodules: path → what is there, those of submodules too.
        shallow: whether the history of the repository is cut off.
    """

    tracked: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    commit: str = ""
    branch: str = ""
    submodules: Mapping[str, Submodule] = field(default_factory=dict)
    shallow: bool = False


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
    found: dict[str, Submodule] = {}
    for path in (*submodules, *strangers):
        inner = read_repository(top / path, environ) if _is_top(top / path) else None
        if inner is None:
            found |= {path: Submodule(submodules[path], absent=True)} if path in submodules else {}
            continue
        if path in submodules:
            tracked += _below(path, inner.tracked)
            modified += _below(path, inner.modified)
            found[path] = Submodule(inner.commit, dirty=bool(inner.modified or inner.untracked))
        else:
            untracked += _below(path, inner.tracked)
        found |= {f"{path}/{name}": submodule for name, submodule in inner.submodules.items()}
        untracked += _below(path, inner.untracked)
    return Listing(tracked, untracked, modified, listing.commit, listing.branch, found, _is_shallow(top))


def parse_status(raw: bytes) -> Listing:
    """Return what ``git status --porcelain=v2 -z --branch`` says; ``tracked`` stays empty."""
    commit, branch = "", ""
    modified: list[str] = []
    untracked: list[str] = []
    for entry in _fields(raw):
        kind, _, rest = entry.partition(" ")
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


def parse_index(raw: bytes) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the files and the submodules with their commits that ``git ls-files -z --stage`` lists, each once."""
    files: dict[str, None] = {}
    submodules: dict[str, str] = {}
    for entry in _fields(raw):
        facts, _, path = entry.partition("\t")
        if facts.startswith(_SUBMODULE):
            submodules[path] = facts.split(" ")[1]
        else:
            files[path] = None
    return tuple(files), submodules


def _ask(top: Path, environ: Mapping[str, str]) -> tuple[bytes, bytes]:
    clean = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    clean |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    answers = _answers(top, clean)
    if answers[0][2] and b"filter 'lfs' failed" in answers[0][1]:  # the repository needs git-lfs, and it is not here
        answers = _answers(top, clean, _WITHOUT_LFS)
    for _, complaint, code in answers:
        _refuse(top, fsdecode(complaint).strip(), code)
    return answers[0][0], answers[1][0]


def _answers(top: Path, environ: Mapping[str, str], settings: tuple[str, ...] = ()) -> list[tuple[bytes, bytes, int]]:
    """Return output, complaint and exit code of both questions."""
    with _start(top, (*settings, *_STATUS), environ) as status, _start(top, (*settings, *_INDEX), environ) as index:
        return [(*process.communicate(), process.returncode) for process in (status, index)]


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


def _is_shallow(top: Path) -> bool:
    """Tell whether only the last commits are there; a process of git for that would cost as much as the listing."""
    mark = top / ".git"
    try:
        if mark.is_file():  # of a submodule or a worktree; the latter shares what counts here with its main one
            mark = top / mark.read_text("utf-8", errors="surrogateescape").removeprefix("gitdir:").strip()
            common = mark / "commondir"
            mark = mark / common.read_text("utf-8").strip() if common.is_file() else mark
        return (mark / "shallow").is_file()
    except (OSError, ValueError):
        return False


def _fields(raw: bytes) -> Iterator[str]:
    return (entry for entry in fsdecode(raw).split("\0") if entry)


def _below(folder: str, paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{folder}/{path}" for path in paths)
