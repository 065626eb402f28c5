"""A container image of an environment, made by a real podman over a base that is made of the running Python."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from shell import Shell

from wheelhouse import only_here, wheel

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(not shutil.which("podman") or os.getuid() != 0, reason="needs podman, as root"),
]
LEFT_OUT = re.compile(r"/(test|tests|__pycache__|idlelib|tkinter|ensurepip|lib2to3|site-packages|config-[^/]+)(/|$)")


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Podman with a storage of its own, in which ``localhost/base:1`` is."""
    folder = tmp_path_factory.mktemp("podman")
    runtime = "/usr/sbin/runc" if Path("/usr/sbin/runc").exists() else shutil.which("crun") or "runc"
    words = (
        f"podman --root {folder}/root --runroot {folder}/run --storage-driver vfs --cgroup-manager cgroupfs"
        f" --events-backend file --runtime {runtime}"
    )
    _base(folder / "base.tar")
    subprocess.run([*words.split(), "import", "-q", str(folder / "base.tar"), "localhost/base:1"], check=True)
    (folder / "base.tar").unlink()
    yield words
    subprocess.run([*words.split(), "rmi", "--all", "--force"], check=False, capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)


def _base(target: Path) -> None:
    """An image with this interpreter, its library, ``env``, and what they are linked with, at their own places."""
    python = Path(sys.executable).resolve()
    library = Path(os.__file__).parent
    programs = [python, Path("/usr/bin/env").resolve()]
    files = {*programs, *_linked([*programs, *library.glob("lib-dynload/*.so")])}
    names = {one.parent.resolve() / one.name for one in files}
    with tarfile.open(target, "w") as archive:
        for path in sorted({one.resolve() for one in files}):
            archive.add(path, str(path).lstrip("/"))
        for path in sorted(names):
            if path.is_symlink():
                _link(archive, str(path), str(path.resolve()))
        for name in ("/lib", "/lib64"):
            if Path(name).is_symlink():
                _link(archive, name, str(Path(name).resolve()))
        for name in {"/usr/bin/python3", "/usr/bin/python"} - {str(python)}:
            _link(archive, name, str(python))
        archive.add(library, str(library).lstrip("/"), filter=_needed)


def _needed(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if LEFT_OUT.search(f"/{entry.name}") else entry


def _link(archive: tarfile.TarFile, name: str, to: str) -> None:
    entry = tarfile.TarInfo(name.lstrip("/"))
    entry.type, entry.linkname = tarfile.SYMTYPE, to
    archive.addfile(entry)


def _linked(programs: Iterable[Path]) -> set[Path]:
    said = subprocess.run(["ldd", *map(str, programs)], check=False, capture_output=True, text=True).stdout
    return {Path(found) for found in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", said, re.MULTILINE)}


def test_an_image_holds_the_packages_of_the_lock_and_is_named_by_its_digest(tmp_path: Path, podman: str) -> None:
    house = tmp_path / "house"
    wheel(house, "alpha", "1.0", text="def main():\n    print('alpha by its script')\n")
    wheel(house, "beta", "1.0", needs="alpha")
    with Shell(tmp_path / "p", **only_here(house)) as sh:
        sh.write("r.txt", "beta\n")
        sh.write("p.yaml", "pipeline: p\nsteps:\n  a: {run: x, environment: {requirements: r.txt}}\n")
        asked = ("env", "build", "p.yaml", "--tag", "localhost/ours:1", "--engine", podman, "--base")
        flags = "--layers=false --network host --ulimit nofile=1024:1024 --ulimit nproc=1024:1024"
        good = (*asked, "localhost/base:1", "--engine-flags", flags, "--json")
        image = sh.run(*good, code=0).json
        assert re.fullmatch(r"localhost/ours@sha256:[0-9a-f]{64}", image["address"])
        again = sh.run(*good, code=0).json
        assert again == image  # the same lock over the same base
        assert says(podman, "python3", "-c", "import alpha, beta; print(alpha.VERSION, beta.VERSION)") == "1.0 1.0\n"
        assert says(podman, "alpha-tool") == "alpha by its script\n"
        sh.write("q.yaml", f"pipeline: q\nsteps:\n  a: {{run: x, environment: {{image: {image['address']}}}}}\n")
        assert "runs no containers" in sh.run("plan", "q.yaml", code=3).err
        broken = sh.run(*asked, "localhost/no-such-base:1", "--engine-flags", "--pull=never", code=1).err
        assert "error[TW6601]: podman cannot build the image" in broken
        assert "no-such-base" in broken


def says(podman: str, *command: str) -> str:
    flags = "--rm --network none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024"
    words = [*podman.split(), "run", *flags.split(), "localhost/ours:1", *command]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
