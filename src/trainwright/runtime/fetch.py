"""Brings one foreign snapshot into a folder: ``python -c BEGIN FACTS FOLDER``, with the libraries of who asked for it.

Ends with 0, or prints what is wrong and its remedy, with a tab between, as its last line.
"""

from __future__ import annotations

import os
import sys

from trainwright.runtime import plainjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

BEGIN = "import sys; sys.path[:1] == [''] and sys.path.pop(0); from trainwright.runtime.fetch import main; main()"
"""A program for ``python -c``: nothing in the working directory may take a library's place."""

_LFS = b"version https://git-lfs.github.com/spec/"
_LFS_BYTES = 1024
_CHUNK = 1 << 20


class Refused(Exception):  # noqa: N818 - it is told, not raised further
    """The snapshot cannot be brought in; ``remedy`` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def main() -> None:
    """Do what the words of the command line say, and exit."""
    facts = plainjson.loads(os.fsencode(sys.argv[1]))
    try:
        _KINDS[facts["kind"]](facts, sys.argv[2])
    except Refused as error:
        _end(str(error), error.remedy)
    except Exception as error:  # noqa: BLE001 - whatever a library raises: its words are the reason
        words = " ".join(str(error).split()) or type(error).__name__
        _end(f"{facts['uri']} cannot be brought in: {type(error).__name__}: {words[:500]}", "")
    sys.exit(0)


def git(facts: Mapping[str, str], folder: str) -> None:
    """Lay out a commit, or a part of one.

    Raises:
        Refused: git is missing, the commit is gone, or the file is kept by git-lfs, which is not installed.
    """
    address, _, path = facts["uri"].partition("#")
    url = address[len("git+") :].rpartition("@")[0]
    store = folder + ".git"
    _git(facts, "init", "--quiet", "--bare", store)
    try:
        _git(facts, "-C", store, "fetch", "--quiet", "--depth=1", "--no-tags", url, facts["version"])
        _git(facts, "-C", store, "read-tree", facts["version"])
        listed = _git(facts, "-C", store, "ls-files", "-z", "--", f":(literal){path}" if path else ".")
        if not listed:
            raise _gone(facts, f"the commit has no {path}")
        plain = ("-c", "core.autocrlf=false", "-c", "core.bare=false")
        prefix = folder + ".work/"
        _git(facts, "-C", store, *plain, f"--work-tree={store}", "checkout-index", "-z", "--stdin",
             f"--prefix={prefix}", given=listed)  # fmt: skip
    finally:
        _remove(store)
    _take(prefix, path, facts["file"], folder)
    _refuse_pointers(folder)


def s3(facts: Mapping[str, str], folder: str) -> None:
    """Bring in one version of an object.

    Raises:
        Refused: s3fs is missing, or the version is gone.
    """
    import warnings

    warnings.simplefilter("ignore", UserWarning)  # that a library could be newer
    try:
        import fsspec

        fs = fsspec.filesystem("s3", version_aware=True, skip_instance_cache=True)
    except ImportError as error:
        remedy = "pip install 'trainwright[s3]' in the environment that tw runs in"
        raise Refused(f"{facts['uri']} needs s3fs, which is not installed", remedy) from error
    key = facts["uri"].partition("?")[0]
    try:
        target = open(os.path.join(folder, facts["file"]), "wb")  # noqa: SIM115 - closed below
        with fs.open(key, "rb", version_id=facts["version"]) as source, target:
            while True:
                chunk = source.read(_CHUNK)
                if not chunk:
                    return
                target.write(chunk)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise _gone(facts, "the bucket does not have this version any more") from error
    except PermissionError as error:
        raise Refused(f"{facts['uri']} may not be read: {error}", "check the AWS_* variables of the run") from error


def hf(facts: Mapping[str, str], folder: str) -> None:
    """Bring in one revision of a dataset from Hugging Face.

    Raises:
        Refused: huggingface_hub is missing, or the revision is gone.
    """
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
    except ImportError as error:
        remedy = "pip install huggingface_hub in the environment that tw runs in"
        raise Refused(f"{facts['uri']} needs huggingface_hub, which is not installed", remedy) from error
    name, _, rest = facts["uri"][len("hf://datasets/") :].partition("@")
    path = rest.partition("/")[2]
    wanted = [path, f"{path.rstrip('/')}/*"] if path else None
    draft = folder + ".work"
    try:
        snapshot_download(
            name, repo_type="dataset", revision=facts["version"], local_dir=draft, allow_patterns=wanted
        )  # fmt: skip
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise _gone(facts, "the Hub does not have this revision any more") from error
    _remove(os.path.join(draft, ".cache"))
    _take(draft, path, facts["file"], folder)


_KINDS = {"git": git, "s3": s3, "hf": hf}


def _take(draft: str, path: str, file: str, folder: str) -> None:
    """Move what was brought from beside the folder into it."""
    top = os.path.join(draft, path) if path else draft
    if file:
        os.rename(top, os.path.join(folder, file))
    else:
        for name in os.listdir(top):
            os.rename(os.path.join(top, name), os.path.join(folder, name))
    _remove(draft)


def _git(facts: Mapping[str, str], *words: str, given: bytes = b"") -> bytes:
    import subprocess

    env = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        env.pop(name, None)
    try:
        command = ("git", *words)
        done = subprocess.run(command, input=given, capture_output=True, check=False, env=env)  # noqa: S603 - no shell
    except FileNotFoundError as error:
        raise Refused(f"{facts['uri']} needs git, which is not installed", "install git where steps run") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().split("\n")
        raise _gone(facts, "git says " + lines[-1])
    return done.stdout


def _gone(facts: Mapping[str, str], detail: str) -> Refused:
    remedy = "restore it where it was kept, or pin a version that is there; a snapshot is not copied here"
    return Refused(f"the snapshot {facts['uri']} is gone or out of reach: {detail}", remedy)


def _refuse_pointers(folder: str) -> None:
    """Refuse files that only say where git-lfs keeps the bytes.

    Raises:
        Refused: there is one.
    """
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if not os.path.islink(path) and os.path.getsize(path) < _LFS_BYTES:
                with open(path, "rb") as file:
                    if file.read(len(_LFS)) == _LFS:
                        shown = os.path.relpath(path, folder)
                        raise Refused(f"{shown} is kept by git-lfs, which is not installed", "install git-lfs")


def _remove(folder: str) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _end(message: str, remedy: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"\n{message}\t{remedy}\n")
    sys.exit(1)
