"""Each ``.yaml`` of this folder gives the error of the ``.txt`` beside it, or the values of the ``.json``.

So does each folder: its ``pipeline.yaml`` uses the files beside it.

``TW_ACCEPT=1 pytest tests/golden/spec`` rewrites them; read the diff.
"""

import json
import os
from pathlib import Path

import pytest

from trainwright.core.artifact import Content, PinnedData
from trainwright.core.codec import to_json
from trainwright.core.errors import TrainwrightError
from trainwright.core.ids import Digest
from trainwright.plan.compile import compile_plan, data_requests
from trainwright.service.documents import read_document
from trainwright.spec.params import resolve

HERE = Path(__file__).parent
CASES = sorted(
    [path.stem for path in HERE.glob("*.yaml")] + [path.parent.name for path in HERE.glob("*/pipeline.yaml")]
)


def outcome(name: str) -> tuple[str, str]:
    """Return the suffix and the text that the case gives today."""
    folder = HERE / name
    path = folder / "pipeline.yaml" if folder.is_dir() else HERE / f"{name}.yaml"
    text = path.read_text(encoding="utf-8")
    overrides = dict(line.removeprefix("# -p ").split("=", 1) for line in text.splitlines() if line.startswith("# -p "))
    try:
        document = read_document(path, path.name)
        params = resolve(document, overrides)
        content = Content(Digest("sha256:" + "0" * 64), 1, 1)
        asked = data_requests(document).items()
        plan = compile_plan(document, params, tuple(PinnedData(n, a, a, content) for n, a in asked))
    except TrainwrightError as error:
        return "txt", f"{error}\n"
    steps = {
        s.name: {"needs": s.needs, "command": s.command, "env": s.env, "checks": [c.expression for c in s.checks]}
        for s in plan.steps
    }
    shown = {"params": plan.params, "warnings": document.warnings, "steps": steps}
    return "json", json.dumps(to_json(shown), indent=1, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("name", CASES)
def test_a_file_gives_the_text_beside_it(name: str) -> None:
    suffix, text = outcome(name)
    expected = HERE / f"{name}.{suffix}"
    if os.environ.get("TW_ACCEPT") == "1":
        expected.write_text(text, encoding="utf-8")
    assert expected.exists(), f"{name} gives a .{suffix}: {text}"
    assert text == expected.read_text(encoding="utf-8")


def test_every_golden_text_has_its_file() -> None:
    known = {path.stem for pattern in ("*.txt", "*.json") for path in HERE.glob(pattern)}
    assert known == set(CASES)
