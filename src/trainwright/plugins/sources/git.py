"""Data in a git repository, pinned to a commit: ``git+https://host/repo@REF#path``, ``git+file:/repo@REF``."""

import os
import subprocess
import tempfile
from pathlib import Path

from trainwright.core.errors import BackendError, NotFoundError, SpecError, TransientBackendError
from trainwright.ports.source import DataSource, Snapshot, library_missing

_OUR_ENVIRONMENT = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY")
_NO_REF = ("couldn't find remote ref", "not our ref", "no such remote ref", "unadvertised object")
_NO_REPOSITORY = ("not found", "does not exist", "does not appear to be a git repository", "not a git repository")


class GitSource:
    """Resolves a reference to a commit; runners lay the commit out, nobody copies it here."""

    schemes: tuple[str, ...] = ("git+file", "git+https", "git+http", "git+ssh")

    def locate(self, uri: str, base: Path, *, reference: bool = False) -> Snapshot:  # noqa: ARG002 - always one
        """Return the commit behind ``uri``. See ``DataSource.locate``.

        Args:
            uri: ``git+file:relative``, ``git+file:///absolute``, ``git+https://…``; ``@REF`` is a branch, tag or commit
                (``HEAD`` without it), ``#path`` a part of it.
            base: where a relative repository starts.
            reference: of no effect.

        Raises:
            SpecError: TW4304 no repository or an impossible reference.
            NotFoundError: TW4301 git is missing; TW4306 no such repository or path; TW4307 no such reference.
            BackendError: TW6401 the host cannot be reached.
        """
        url, ref, path = _parts(uri, base)
        if url.startswith("file://"):
            commit = _here(url[len("file://") :], ref, uri)
            kind = _kind(Path(url[len("file://") :]), commit, path, uri)
        else:
            with tempfile.TemporaryDirectory(prefix="tw-git-") as draft:
                commit = _fetched(Path(draft), url, ref, uri)
                kind = _kind(Path(draft), commit, path, uri)
        pinned = f"git+{url}@{commit}" + (f"#{path}" if path else "")
        return Snapshot("git", pinned, commit, file=path.rpartition("/")[2] if kind == "blob" else "")


def _parts(uri: str, base: Path) -> tuple[str, str, str]:
    """Return the URL for git, the reference, and the path inside."""
    address, _, path = uri[len("git+") :].partition("#")
    scheme, _, rest = address.partition(":")
    host = ""
    if scheme != "file" or rest.startswith("//"):
        host, slash, rest = rest.removeprefix("//").partition("/")
        rest = slash + rest
    place, at, ref = rest.rpartition("@")
    place, ref = (place, ref) if at else (rest, "HEAD")
    names = path.strip("/").split("/") if path.strip("/") else []
    if not place.strip("/") or not ref or ref.startswith("-") or ".." in names or "\0" in uri:
        remedy = "write git+https://HOST/REPOSITORY@BRANCH#path, or git+file:/path/to/repository@BRANCH#path"
        raise SpecError("TW4304", f"{uri!r} names no repository and reference", where=uri, remedy=remedy)
    if scheme == "file":
        return f"file://{os.path.normpath(base / place)}", ref, "/".join(names)
    return f"{scheme}://{host}{place}", ref, "/".join(names)


def _here(repository: str, ref: str, uri: str) -> str:
    if not Path(repository).is_dir():
        remedy = "check the path; a bare repository or a working tree will do"
        raise NotFoundError("TW4306", f"there is no repository at {repository}", where=uri, remedy=remedy)
    done = _git(uri, "-C", repository, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    if done.returncode == 0:
        return done.stdout.decode().strip()
    if done.stderr.strip():
        raise _failure(uri, repository, done.stderr.decode("utf-8", "replace"))
    raise _no_ref(uri, ref)


def _fetched(store: Path, url: str, ref: str, uri: str) -> str:
    """Return the commit, having fetched it without its files."""
    _git(uri, "init", "--quiet", "--bare", str(store))
    words = ("fetch", "--quiet", "--depth=1", "--filter=blob:none", "--no-tags", "--", url, ref)
    done = _git(uri, "-C", str(store), *words)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace")
        if any(words in said.lower() for words in _NO_REF):
            raise _no_ref(uri, ref)
        raise _failure(uri, url.partition("://")[2].partition("/")[0], said)
    return _git(uri, "-C", str(store), "rev-parse", "FETCH_HEAD^{commit}").stdout.decode().strip()


def _kind(store: Path, commit: str, path: str, uri: str) -> str:
    """Return ``blob`` or ``tree``: what the path is in the commit."""
    if not path:
        return "tree"
    listed = _git(uri, "-C", str(store), "ls-tree", "--full-tree", "-z", commit, "--", path).stdout
    if not listed:
        remedy = "check the path: it starts at the top of the repository, and only what is committed counts"
        raise NotFoundError("TW4306", f"the commit {commit[:12]} has no {path}", where=uri, remedy=remedy)
    return listed.split(b" ", 2)[1].decode()


def _git(uri: str, *words: str) -> "subprocess.CompletedProcess[bytes]":
    env = {name: value for name, value in os.environ.items() if name not in _OUR_ENVIRONMENT}
    env |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    env.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
    try:
        command = ("git", *words)
        return subprocess.run(command, check=False, capture_output=True, stdin=subprocess.DEVNULL, env=env)  # noqa: S603 - no shell
    except FileNotFoundError as error:
        raise library_missing("git", uri, "git, from your system's packages") from error


def _no_ref(uri: str, ref: str) -> NotFoundError:
    remedy = "push it, or check the spelling; of a commit elsewhere write all 40 digits"
    return NotFoundError("TW4307", f"the repository has no {ref}", where=uri, remedy=remedy)


def _failure(uri: str, host: str, said: str) -> NotFoundError | BackendError:
    last = said.strip().split("\n")[-1].removeprefix("fatal: ")
    if any(words in said.lower() for words in _NO_REPOSITORY):
        return NotFoundError("TW4306", f"git finds no repository at {host}: {last}", where=uri, remedy="check the URL")
    remedy = "check the URL, the network, and that git may read it without asking (a credential helper, an ssh key)"
    return TransientBackendError("TW6401", f"git cannot read from {host}: {last}", where=uri, remedy=remedy)


_: DataSource = GitSource()
