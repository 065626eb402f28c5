"""``warm:`` as people type it: the same results, a refusal with its remedy, and a switch."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from shell import Shell, runtime_folder

CODE = "import numpy\n\n\ndef made() -> float:\n    return float(numpy.float64(0.5))\n"
PIPELINE = 'pipeline: p\nsteps:\n  made: {call: "steps:made", warm: [WHAT], cache: "off", out: {it: value}}\n'


@pytest.fixture
def tw(tmp_path: Path) -> Iterator[Shell]:
    with Shell(tmp_path / "project") as shell:
        shell.write("steps.py", CODE)
        yield shell


def test_a_warm_step_gives_what_it_gives_without(tw: Shell) -> None:
    tw.write("p.yaml", PIPELINE.replace("WHAT", "numpy"))
    known = set(Path(runtime_folder()).glob("warm-*.sock"))
    for _ in range(50):
        tw.run("run", "p.yaml", code=0, OMP_NUM_THREADS="1")
        if set(Path(runtime_folder()).glob("warm-*.sock")) - known or known:
            break
    tw.run("run", "p.yaml", code=0, OMP_NUM_THREADS="1")
    tw.run("run", "p.yaml", code=0, TW_WARM="off")
    digests = {run: tw.show(run)["outputs"][0]["content"]["digest"] for run in ("-1", "-2", "-3")}
    assert len(set(digests.values())) == 1
    assert "warm" in {finding["subject"] for finding in tw.run("doctor", "--json").json}


def test_a_package_that_is_not_allowed_is_refused_with_the_remedy(tw: Shell) -> None:
    tw.write("p.yaml", PIPELINE.replace("WHAT", "seaborn"))
    said = tw.run("run", "p.yaml", code=3)
    assert "TW3302" in said.err
    assert "p.yaml:3:" in said.err
    assert "TW_WARM=numpy,pandas,pyarrow,scipy,sklearn,seaborn" in said.err
    tw.run("run", "p.yaml", code=0, TW_WARM="off")
    tw.run("run", "p.yaml", code=0, TW_WARM="seaborn")  # not installed: the ordinary way
