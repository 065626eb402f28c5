"""Outside a pipeline that is being drawn, everything is plain Python."""

import subprocess
import sys

import pytest

import trainwright as tw


@tw.step(out={"table": "dataset"}, check=["rows >= 1"], cpu=4)
def double(x: int) -> int:
    """Return twice as much."""
    return 2 * x


@tw.step
def triple(x: int) -> int:
    return 3 * x


@tw.pipeline
def chain(x: int, y: int = tw.param(5, range=(0, 9))) -> int:
    return triple(double(x)) + y


def test_a_step_is_its_function() -> None:
    assert double(4) == 8
    assert (double.__name__, double.__doc__) == ("double", "Return twice as much.")
    assert double.options(name="other")(4) == 8


def test_a_pipeline_called_by_hand_runs_its_functions() -> None:
    assert chain(2) == 17
    assert chain(2, y=1) == 13


def test_a_server_is_asked_for_in_vain() -> None:
    with pytest.raises(tw.PipelineError, match="TW1113") as caught:
        chain.submit(queue="ads", x=3)
    assert "chain.run(x=…)" in str(caught.value)


def test_every_public_name_is_loaded_when_it_is_asked_for() -> None:
    code = "import sys, trainwright as tw; tw.step; print('subprocess' in sys.modules, 'inspect' in sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() in {"False False", ""}, done
