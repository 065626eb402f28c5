"""A run in a locked environment is made again exactly: the lock is part of the record, and travels with it."""

import shutil
from pathlib import Path

import pytest
from shell import Shell

from wheelhouse import only_here, wheel

LOCKED = """
pipeline: locked
params: {seed: 1}
environment: {requirements: needs.txt}
steps:
  a:
    run: python -c "import alpha, trainwright as tw; tw.log(version=float(alpha.VERSION))"
"""


@pytest.mark.heavy
def test_with_a_lock_the_grade_is_exact_here_and_elsewhere(tmp_path: Path) -> None:
    house = tmp_path / "house"
    house.mkdir()
    wheel(house, "alpha", "1.0")
    only = only_here(house)
    with Shell(tmp_path / "p", **only) as sh, Shell(tmp_path / "elsewhere", **only) as other:
        sh.write("locked.yaml", LOCKED)
        sh.write("needs.txt", "alpha\n")
        sh.run("run", "locked.yaml", code=0)
        wheel(house, "alpha", "2.0")
        sh.write("needs.txt", "alpha>1\n")
        said = sh.run("reproduce", "1", code=0)
        assert said.err.splitlines()[1] == "grade: exact"
        assert "a.version" in said.out
        assert "✓ reproduced" in said.out
        assert sh.show("1")["run"]["fingerprint"] == sh.show("2")["run"]["fingerprint"]
        assert "(locked)" in sh.run("show", "1", "--fingerprint", code=0).out

        sh.run("reproduce", "1", "--into", "../carried", code=0)
        again = other.run("reproduce", str(tmp_path / "carried"), code=0)
        assert "grade: exact" in again.err.splitlines()
        assert "✓ reproduced" in again.out

        for path in (sh.folder / ".trainwright/content/blobs").rglob("*"):
            if path.is_file():
                path.unlink()
        shutil.rmtree(sh.folder / ".trainwright/content/verified", ignore_errors=True)
        gone = sh.run("reproduce", "1", code=4)
        assert "lost:  environment: the lock of needs.txt is gone from the store" in gone.err
        assert "lost:  code: its bytes" in gone.err
