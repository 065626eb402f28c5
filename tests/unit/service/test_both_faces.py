"""Every example in YAML and in Python: one plan, and a YAML that stays what it is."""

from pathlib import Path

import pytest

from trainwright.core.artifact import Content, PinnedData
from trainwright.core.ids import Digest
from trainwright.plan.compile import compile_plan, data_requests
from trainwright.service.documents import read_document, read_plain
from trainwright.spec.document import Document
from trainwright.spec.load import load
from trainwright.spec.params import resolve
from trainwright.spec.reader import read
from trainwright.spec.write import write

EXAMPLES = Path(__file__).parents[3] / "examples"
PAIRS = sorted(path.parent for path in EXAMPLES.glob("*/pipeline.yaml"))


def digest(document: Document) -> Digest:
    nothing = Content(Digest("sha256:" + "0" * 64), 0, 0)
    data = tuple(PinnedData(name, asked, asked, nothing) for name, asked in data_requests(document).items())
    return compile_plan(document, resolve(document, {}), data).digest


@pytest.mark.parametrize("folder", PAIRS, ids=lambda path: path.name)
def test_both_faces_of_an_example_give_one_plan(folder: Path) -> None:
    yaml, python = (read_document(folder / name, name) for name in ("pipeline.yaml", "pipeline.py"))
    assert digest(python) == digest(yaml)


@pytest.mark.parametrize("folder", PAIRS, ids=lambda path: path.name)
@pytest.mark.parametrize("name", ["pipeline.yaml", "pipeline.py"])
def test_a_pipeline_written_as_yaml_is_the_same_pipeline(folder: Path, name: str) -> None:
    document, written = read_plain(folder / name, name)
    assert isinstance(written, dict)
    text = write(written)
    again = read(text, "again.yaml").value
    assert isinstance(again, dict)
    assert write(again) == text
    assert load(text, "again.yaml").spec == document.spec
