"""What the Python face says of each kind of mistake; the texts are kept in tests/golden/dsl."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tracing import drawing_in
from trainwright.cli.pipeline import check_graph
from trainwright.core.errors import TrainwrightError
from trainwright.dsl.errors import PipelineError
from trainwright.spec.params import resolve
from trainwright.spec.traced import document_of

GOLDEN = Path(__file__).parents[2] / "golden" / "dsl"
ACCEPT = bool(os.environ.get("TW_ACCEPT"))
WRONG = sorted(path.stem for path in GOLDEN.glob("*.in"))


@pytest.fixture
def draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., dict[str, Any]]]:
    yield from drawing_in(tmp_path, monkeypatch)


def said(draw: Callable[..., dict[str, Any]], text: str) -> str:
    try:
        document = document_of(draw(text))
        check_graph(document, resolve(document, {}))
    except (PipelineError, TrainwrightError) as error:
        return f"{error}\n".replace(sys.executable, "PYTHON")
    return "nothing is wrong\n"


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_told_with_its_place_and_remedy(name: str, draw: Callable[..., dict[str, Any]]) -> None:
    text = said(draw, (GOLDEN / f"{name}.in").read_text(encoding="utf-8"))
    path = GOLDEN / f"{name}.txt"
    if ACCEPT:
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "if this is meant: TW_ACCEPT=1 pytest tests/unit/dsl"


def test_a_traceback_begins_with_the_authors_own_frame(
    draw: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PipelineError):
        draw("def compute():\n    return 1 / 0\n\n\ncompute()\n")
    frames = [line for line in capsys.readouterr().err.splitlines() if line.startswith("  File")]
    assert [frame.partition(", ")[2] for frame in frames] == ["line 5, in <module>", "line 2, in compute"]
