"""Capture of code, on real repositories."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from trainwright.core.artifact import Content
from trainwright.core.errors import SpecError
from trainwright.core.fingerprint import CodeState
from trainwright.core.ids import Digest
from trainwright.ports.content import USUAL, Intake
from trainwright.service.capture.code import SizeLimit, capture_code

ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
_IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")


class HashingContent:
    """A stand-in for the content store: it keeps what it was given last, by name."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def put_files(self, root: Path, paths: tuple[str, ...], how: Intake | None = None) -> Content:
        assert list(paths) == sorted(set(paths))
        self.files = {path: (root / path).read_bytes() for path in paths}
        digest = hashlib.sha256(repr(self.files).encode()).hexdigest()
        return Content(Digest(f"sha256:{digest}"), len(paths), sum(map(len, self.files.values())))

    def put(self, path: Path, how: Intake = USUAL) -> Content:
        raise NotImplementedError

    def origin(self, digest: Digest) -> Path | None:
        raise NotImplementedError

    def has(self, digest: Digest) -> bool:
        raise NotImplementedError

    def entries(self, digest: Digest) -> tuple[tuple[str, int, str], ...]:
        raise NotImplementedError

    def read(self, digest: Digest, name: str) -> bytes:
        raise NotImplementedError

    def verify(self, digest: Digest) -> bool:
        raise NotImplementedError

    def blob(self, sha256: str) -> bytes:
        raise NotImplementedError

    def export(self, digest: Digest, target: Path) -> Path:
        raise NotImplementedError


def git(folder: Path, *command: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    asked = subprocess.run(
        ("git", *_IDENTITY, "-C", str(folder), *command), check=True, capture_output=True, text=True, env=clean
    )
    return asked.stdout.strip()


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        put(folder, name.replace("__", "/") + ".py", text)


def put(folder: Path, name: str, text: str = "x\n") -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def repository(folder: Path) -> Path:
    """Make a repository with ``train.py`` and ``lib/net.py`` in its first commit."""
    folder.mkdir(exist_ok=True)
    write(folder, train="import net\n", lib__net="LAYERS = 2\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def capture(folder: Path, **environ: str) -> tuple[CodeState, set[str]]:
    content = HashingContent()
    state = capture_code(folder, content, ENVIRON | environ)
    return state, set(content.files)


def refusal(folder: Path, limit: SizeLimit | None = None) -> SpecError:
    with pytest.raises(SpecError) as caught:
        capture_code(folder, HashingContent(), ENVIRON, limit=limit or SizeLimit())
    assert caught.value.problem.remedy
    return caught.value


def test_a_clean_tree_is_its_commit(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    state, files = capture(top / "lib")
    assert files == {"train.py", "lib/net.py"}
    assert (state.commit, state.branch, state.folder) == (git(top, "rev-parse", "HEAD"), "main", "lib")
    assert not state.dirty
    assert state.modified == state.untracked == ()
    assert capture(top)[0].folder == "."


def test_five_situations_give_five_states(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    states = [capture(top)[0]]
    write(top, lib__net="LAYERS = 3\n")
    states.append(capture(top)[0])
    assert states[-1].dirty
    assert states[-1].modified == ("lib/net.py",)
    git(top, "checkout", "-q", ".")
    write(top, helper="imported\n")
    states.append(capture(top)[0])
    assert (states[-1].dirty, states[-1].untracked) == (False, ("helper.py",))

    outside = tmp_path / "plain"
    write(outside, train="import net\n", other="elsewhere\n")
    states.append(capture(outside)[0])
    assert (states[-1].commit, states[-1].branch, states[-1].dirty, states[-1].untracked) == ("", "", False, ())

    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{top}", "shallow")
    write(tmp_path / "shallow", train="import net, sys\n")
    states.append(capture(tmp_path / "shallow")[0])
    assert states[-1].commit == states[0].commit
    assert len({state.tree for state in states}) == len({repr(state) for state in states}) == 5


def test_equal_code_has_equal_trees_wherever_it_is(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{top}", "shallow")
    plain = tmp_path / "plain"
    write(plain, train="import net\n", lib__net="LAYERS = 2\n")
    assert len({capture(place)[0].tree for place in (top, tmp_path / "shallow", plain)}) == 1


def test_a_change_in_a_submodule_changes_the_tree(tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner")
    top = repository(tmp_path / "r")
    git(top, "submodule", "add", "-q", str(inner), "libs/inner")
    git(top, "commit", "-q", "-m", "submodule")
    before, files = capture(top)
    assert files == {".gitmodules", "train.py", "lib/net.py", "libs/inner/train.py", "libs/inner/lib/net.py"}
    assert not before.dirty

    write(top / "libs/inner", train="changed\n", extra="new\n")
    after, _ = capture(top)
    assert after.tree != before.tree
    assert after.modified == ("libs/inner/train.py",)
    assert after.untracked == ("libs/inner/extra.py",)

    git(top / "libs/inner", "commit", "-q", "-a", "-m", "moved on")
    assert capture(top)[0].modified == ("libs/inner",)
    assert capture(top / "libs/inner")[0].folder == "."


def test_a_clone_without_its_submodules_is_captured_without_them(tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner")
    top = repository(tmp_path / "r")
    git(top, "submodule", "add", "-q", str(inner), "inner")
    git(top, "commit", "-q", "-m", "submodule")
    git(tmp_path, "clone", "-q", f"file://{top}", "clone")
    assert capture(tmp_path / "clone")[1] == {".gitmodules", "train.py", "lib/net.py"}


def test_a_repository_inside_that_is_no_submodule_belongs_to_the_code(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    repository(top / "cloned")
    state, files = capture(top)
    assert {"cloned/train.py", "cloned/lib/net.py"} < files
    assert state.untracked == ("cloned/lib/net.py", "cloned/train.py")


def test_the_index_of_the_user_is_not_touched(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    os.utime(top / "train.py", (1, 1))  # so that git would like to refresh its index
    write(top, new="staged\n")
    git(top, "add", "new.py")
    before = (top / ".git/index").read_bytes(), sorted(p.name for p in (top / ".git").iterdir())
    assert capture(top)[0].modified == ("new.py",)
    assert ((top / ".git/index").read_bytes(), sorted(p.name for p in (top / ".git").iterdir())) == before


def test_git_variables_of_the_caller_have_no_effect(tmp_path: Path) -> None:
    top, other = repository(tmp_path / "r"), repository(tmp_path / "other")
    write(other, train="another\n")
    hostile = {"GIT_DIR": f"{other}/.git", "GIT_WORK_TREE": str(other), "GIT_INDEX_FILE": "/nonexistent"}
    assert capture(top, **hostile) == capture(top)


def test_removed_files_are_modified_and_not_in_the_tree(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    (top / "lib/net.py").unlink()
    state, files = capture(top)
    assert files == {"train.py"}
    assert (state.dirty, state.modified) == (True, ("lib/net.py",))


def test_a_conflict_is_captured_as_it_is_on_disk(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    git(top, "checkout", "-q", "-b", "side")
    write(top, train="side\n")
    git(top, "commit", "-q", "-a", "-m", "side")
    git(top, "checkout", "-q", "main")
    write(top, train="main\n")
    git(top, "commit", "-q", "-a", "-m", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git(top, "merge", "side")
    state, files = capture(top)
    assert state.modified == ("train.py",)
    assert files == {"train.py", "lib/net.py"}


def test_a_repository_before_its_first_commit_has_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path, train="1\n")
    state, files = capture(tmp_path)
    assert (state.commit, state.branch, state.untracked) == ("", "main", ("train.py",))
    git(tmp_path, "add", "-A")
    state, files = capture(tmp_path)
    assert (files, state.modified, state.untracked) == ({"train.py"}, ("train.py",), ())


def test_a_detached_head_has_no_branch_and_a_worktree_is_a_repository(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    git(top, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"))
    state, files = capture(tmp_path / "tree")
    assert (state.branch, state.commit) == ("", git(top, "rev-parse", "HEAD"))
    assert files == {"train.py", "lib/net.py"}


def test_names_with_spaces_newlines_quotes_and_umlauts_travel(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    names = {"two words.py", "new\nline.py", 'quo"te.py', "größe/日本.py", " lead.py", "tab\t.py"}
    for name in names:
        put(top, name)
    assert names < capture(top)[1]
    git(top, "add", "-A")
    state, files = capture(top)
    assert names < files
    assert set(state.modified) == names


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    for folder in (tmp_path, repository(tmp_path / "r")):
        (folder / os.fsdecode(b"caf\xe9.py")).write_text("x")
        error = refusal(folder)
        assert error.problem.code == "TW2205"
        error.problem.message.encode()


@pytest.mark.parametrize("inside", [True, False])
def test_secrets_caches_and_our_state_are_left_out(tmp_path: Path, inside: bool) -> None:
    top = repository(tmp_path / "r") if inside else tmp_path / "r"
    write(top, train="import net\n", lib__net="LAYERS = 2\n")
    before = capture(top)
    for name in (".env", "conf/.env.local", "key.pem", "id_rsa", "ID_RSA.pub", "tls.key", ".netrc", ".aws/config"):
        put(top, name, "canary")
    for name in ("credentials-prod.json", ".trainwright/db", "sub/.trainwright/x", "__pycache__/a.py", "a.pyc"):
        put(top, name, "canary")
    for name in ("myenv/pyvenv.cfg", "myenv/lib/a.py", ".venv/a.py", "node_modules/a.js", ".mypy_cache/a.json"):
        put(top, name, "canary")
    assert capture(top) == before


def test_a_tracked_file_is_the_authors_choice_except_our_state(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    put(top, ".env", "PUBLIC=1")
    put(top, ".trainwright/db", "state")
    git(top, "add", "-f", "-A")
    git(top, "commit", "-q", "-m", "all")
    put(top, ".trainwright/db", "changed")
    state, files = capture(top)
    assert files == {".env", "train.py", "lib/net.py"}
    assert not state.dirty


def test_gitignore_counts_in_a_repository_and_twignore_everywhere(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    put(top, ".gitignore", "*.log\n")
    put(top, "a.log")
    put(top, "notes/todo.md")
    assert capture(top)[1] == {"train.py", "lib/net.py", ".gitignore", "notes/todo.md"}
    put(top, ".twignore", "*.md\n/train.py\n")
    put(top, "lib/.twignore", "net.py\n")
    left = {".gitignore", ".twignore", "lib/.twignore"}
    assert capture(top)[1] == left
    plain = tmp_path / "plain"
    top.rename(plain)
    (plain / ".git").rename(tmp_path / "gone")
    assert capture(plain)[1] == left | {"a.log"}


def test_a_folder_the_repository_ignores_stands_for_itself(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    put(top, ".gitignore", "scratch/\n")
    put(top, "scratch/try/train.py")
    state, files = capture(top / "scratch/try")
    assert (files, state.folder, state.commit) == ({"train.py"}, ".", "")


def test_a_machine_without_git_sees_a_plain_folder(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    state, files = capture(top / "lib", PATH=str(tmp_path))
    assert (files, state.folder, state.commit) == ({"net.py"}, ".", "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_repository_of_somebody_else_is_read(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    os.chown(top, 12345, 12345)
    os.chown(top / ".git", 12345, 12345)
    with pytest.raises(subprocess.CalledProcessError):
        git(top, "status")
    assert capture(top)[0].branch == "main"


def test_a_broken_repository_is_said_and_an_empty_mark_is_none(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    (top / ".git/index").write_bytes(b"broken")
    error = refusal(top)
    assert error.problem.code == "TW2204"
    assert "index" in error.problem.message
    (tmp_path / "p/.git").mkdir(parents=True)
    write(tmp_path / "p", train="1\n")
    assert capture(tmp_path / "p")[1] == {"train.py"}


def test_a_hook_of_the_repository_is_not_run(tmp_path: Path) -> None:
    top = repository(tmp_path / "r")
    git(top, "config", "core.fsmonitor", f"touch {tmp_path}/ran; false")
    capture(top)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("inside", [True, False])
def test_too_much_is_refused_with_the_largest_three(tmp_path: Path, inside: bool) -> None:
    top = repository(tmp_path / "r") if inside else tmp_path / "r"
    write(top, train="1\n")
    for name, megabytes in {"a.bin": 90, "data/b.bin": 120, "c.bin": 1}.items():
        put(top, name)
        os.truncate(top / name, megabytes * 10**6)
    error = refusal(top)
    assert error.problem.code == "TW2201"
    assert "211.0 MB, more than 200.0 MB" in error.problem.message
    assert "data/b.bin (120.0 MB), a.bin (90.0 MB), c.bin (1.0 MB)" in error.problem.message
    assert ".gitignore" in error.problem.remedy
    assert ".twignore" in error.problem.remedy
    assert "data:" in error.problem.remedy
    put(top, ".twignore", "*.bin\n")
    assert "train.py" in capture(top)[1]


@pytest.mark.parametrize("inside", [True, False])
def test_too_many_files_are_refused_with_the_fullest_folders(tmp_path: Path, inside: bool) -> None:
    top = repository(tmp_path / "r") if inside else tmp_path / "r"
    for number in range(12):
        put(top, f"many/{number}.txt")
    error = refusal(top, SizeLimit(files=10))
    assert error.problem.code == "TW2201"
    assert "more than 10 files; fullest folders: many/ (1" in error.problem.message


@pytest.mark.parametrize("inside", [True, False])
def test_links_stand_for_code_and_never_lead_elsewhere(tmp_path: Path, inside: bool) -> None:
    top = repository(tmp_path / "r") if inside else tmp_path / "r"
    write(top, train="1\n", lib__net="2\n", lib__sub__deep="3\n")
    (top / "lib/start.py").symlink_to("../train.py")
    (top / "alias").symlink_to("lib")
    (top / "nowhere").symlink_to("missing.py")
    real = {"train.py", "lib/net.py", "lib/sub/deep.py", "lib/start.py"}
    aliased = {"alias/net.py", "alias/sub/deep.py", "alias/start.py"}
    assert capture(top)[1] == real | aliased

    (tmp_path / "outside.csv").write_text("canary")
    put(top, ".env", "canary")
    put(top, ".trainwright/db", "canary")
    targets = (tmp_path / "outside.csv", "/etc", ".env", ".trainwright", "..", ".")
    for target in (*targets, ".git/HEAD") if inside else targets:
        (top / "link").symlink_to(target)
        error = refusal(top)
        assert error.problem.code == "TW2202"
        assert "link" in error.problem.message
        (top / "link").unlink()
    put(top, ".twignore", "/link\n")
    (top / "link").symlink_to("/etc")
    assert capture(top)[1] == real | aliased | {".twignore"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
@pytest.mark.parametrize("inside", [True, False])
def test_a_folder_that_is_closed_is_said_and_not_passed_over(tmp_path: Path, inside: bool) -> None:
    top = repository(tmp_path / "r") if inside else tmp_path / "r"
    put(top, "closed/a.py")
    (top / "closed").chmod(0)
    try:
        assert refusal(top).problem.code == "TW2203"
    finally:
        (top / "closed").chmod(0o700)


def test_a_line_of_twignore_that_is_no_pattern_is_named(tmp_path: Path) -> None:
    put(tmp_path, ".twignore", "*.md\nx[z-a]\n")
    error = refusal(tmp_path)
    assert (error.problem.code, error.problem.where) == ("TW2206", f"{tmp_path}/.twignore:2:1")
