"""What captured code lacks, and how complete the repository was: recorded, and said with a remedy."""

import os
import subprocess
from pathlib import Path

import pytest

from trainwright.core.errors import SpecError
from trainwright.core.fingerprint import CodeState, Submodule
from trainwright.plugins.stores.local import LocalContent
from trainwright.service.capture.code import capture_code
from trainwright.service.capture.pointers import warnings_of

ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
_IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "4d" * 32 + "\nsize 12345\n"


def git(folder: Path, *command: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    asked = subprocess.run(
        ("git", *_IDENTITY, "-C", str(folder), *command), check=True, capture_output=True, text=True, env=clean
    )
    return asked.stdout.strip()


def repository(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for name, text in (files or {"train": "print(1)\n"}).items():
        (folder / f"{name}.py").write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def capture(folder: Path) -> tuple[CodeState, dict[str, str]]:
    content = LocalContent(folder.parent / "content")
    state = capture_code(folder, content, ENVIRON)
    texts = {path: content.blob(sha256).decode() for path, _, sha256 in content.entries(state.tree)}
    return state, texts


def test_submodules_are_recorded_with_commit_and_dirt_and_their_files_are_in_the_tree(tmp_path: Path) -> None:
    innermost, inner = repository(tmp_path / "innermost"), repository(tmp_path / "inner")
    git(inner, "submodule", "add", "-q", str(innermost), "deep")
    git(inner, "commit", "-q", "-m", "submodule")
    top = repository(tmp_path / "r")
    git(top, "submodule", "add", "-q", str(inner), "libs/inner")
    git(top, "submodule", "update", "-q", "--init", "--recursive")
    git(top, "commit", "-q", "-m", "submodule")
    commits = {"libs/inner": git(inner, "rev-parse", "HEAD"), "libs/inner/deep": git(innermost, "rev-parse", "HEAD")}
    clean = capture(top)[0]
    assert clean.submodules == {path: Submodule(commit) for path, commit in commits.items()}

    (top / "libs/inner/deep/train.py").write_text("print(2)\n")
    (top / "libs/inner/new.py").write_text("print(3)\n")
    state, texts = capture(top)
    assert all(found.dirty for found in state.submodules.values())
    assert texts["libs/inner/deep/train.py"] == "print(2)\n"
    assert texts["libs/inner/new.py"] == "print(3)\n"
    assert state.tree != clean.tree
    assert not warnings_of(state)


def test_a_submodule_that_is_not_checked_out_is_said(tmp_path: Path) -> None:
    inner, top = repository(tmp_path / "inner"), repository(tmp_path / "r")
    git(top, "submodule", "add", "-q", str(inner), "inner")
    git(top, "commit", "-q", "-m", "submodule")
    git(tmp_path, "clone", "-q", f"file://{top}", "clone")
    state = capture(tmp_path / "clone")[0]
    assert state.submodules == {"inner": Submodule(git(inner, "rev-parse", "HEAD"), absent=True)}
    assert "git submodule update --init" in warnings_of(state)[0]


def test_a_pointer_of_lfs_is_said_and_the_bytes_count_where_they_are(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    (top / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    (top / "weights.bin").write_text(POINTER)
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "pointer")
    for name, command in {"clean": "git-lfs clean -- %f", "smudge": "git-lfs smudge -- %f", "required": "true"}.items():
        git(top, "config", f"filter.lfs.{name}", command)  # as git lfs install writes it; the program is not there
    bare, _ = capture(top)
    assert bare.pointers == ("weights.bin",)
    assert warnings_of(bare) == [
        "weights.bin is only a pointer of git LFS, and so the run has it; bring the bytes: git lfs pull"
    ]
    (top / "weights.bin").write_text("the real bytes")
    filled, texts = capture(top)
    assert filled.pointers == ()
    assert texts["weights.bin"] == "the real bytes"
    assert filled.tree != bare.tree
    (top / ".gitattributes").unlink()
    (top / "weights.bin").write_text(POINTER)
    assert capture(top)[0].pointers == (), "nobody said that it is kept elsewhere"


def test_a_shallow_clone_says_so_and_keeps_its_commit(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    (top / "train.py").write_text("print(2)\n")
    git(top, "commit", "-q", "-a", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{top}", "shallow")
    git(tmp_path / "shallow", "worktree", "add", "-q", "--detach", str(tmp_path / "beside"))
    commit = git(top, "rev-parse", "HEAD")
    found = {name: capture(tmp_path / name)[0] for name in ("r", "shallow", "beside")}
    assert {name: state.shallow for name, state in found.items()} == {"r": False, "shallow": True, "beside": True}
    assert {state.commit for state in found.values()} == {commit}
    assert len({state.tree for state in found.values()}) == 1


def test_links_that_lead_nowhere_are_recorded(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    (top / "missing").symlink_to("not there")
    state, texts = capture(top)
    assert state.dangling == ("missing",)
    assert "missing" not in texts
    assert "leads nowhere" in warnings_of(state)[0]


def test_a_git_file_that_leads_nowhere_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / "train.py").write_text("print(1)\n")
    for text in ("gitdir: /nowhere\n", "", "gitdir: \xff"):
        (folder / ".git").write_text(text)
        with pytest.raises(SpecError) as caught:
            capture(folder)
        assert caught.value.problem.code == "TW2204"
        assert "move the pipeline out of it" in caught.value.problem.remedy
