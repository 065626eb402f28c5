"""Checked documents are remembered exactly, and only while nothing has changed."""

import os
from pathlib import Path
from typing import Any

import pytest

from trainwright.core.codec import canonical_json
from trainwright.core.errors import SpecError
from trainwright.service import checked
from trainwright.spec import kept
from trainwright.spec.load import load

EVERYTHING = """\
apiVersion: trainwright/v1
pipeline: all
description: Words with ü.
params:
  rate: {type: float, default: 1, range: [1, 2.0], scale: log}
  on_off: no
  many: [1, 1.0, true, "1", null, {a: 1.0, b: [2]}]
  asked: {type: int}
data:
  raw: file:raw.csv
steps:
  train:
    run: ["python", "train.py", "${{ params.rate }}", "${{ data.raw }}"]
    out: {model: model, report: file}
    resources: {cpu: 500m, memory: 1Gi}
    retry: {max: 2, on: [oom], backoff: 1s..2s}
    timeout: 10m
    env: {A: 1}
  register:
    uses: register
    with: {model: train.model, name: m}
"""


def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("checked again")

    monkeypatch.setattr(checked, "_check", refuse)


def test_a_document_comes_back_as_it_was_with_its_places_and_warnings() -> None:
    document = load(EVERYTHING, "p.yaml")
    assert document.warnings
    again = kept.from_text(kept.to_text(document))
    assert again == document
    assert canonical_json(again) == canonical_json(document)
    assert again is not None
    assert again.where("steps.train.retry.on.0") == document.where("steps.train.retry.on.0")


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"file": "f", "places": {"a": 1}, "spec": {}, "warnings": []}']
)
def test_what_is_no_document_is_none(text: str) -> None:
    assert kept.from_text(text) is None


def test_a_file_that_has_not_changed_is_not_checked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "checked"
    first = checked.load(EVERYTHING, "p.yaml", folder)
    unchecked(monkeypatch)
    assert checked.load(EVERYTHING, "p.yaml", folder) == first
    for text, name in ((EVERYTHING + "\n", "p.yaml"), (EVERYTHING, "q.yaml")):
        with pytest.raises(AssertionError, match="checked again"):
            checked.load(text, name, folder)
    with pytest.raises(AssertionError, match="checked again"):
        checked.load(EVERYTHING, "p.yaml", None)


def test_other_rules_or_packages_mean_that_it_is_checked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked.load(EVERYTHING, "p.yaml", tmp_path)
    packages = tmp_path / "site-packages"
    packages.mkdir()
    monkeypatch.syspath_prepend(str(packages))
    checked.load(EVERYTHING, "p.yaml", tmp_path)
    os.utime(packages, (1, 1))
    unchecked(monkeypatch)
    with pytest.raises(AssertionError, match="checked again"):
        checked.load(EVERYTHING, "p.yaml", tmp_path)


def test_what_is_remembered_badly_or_cannot_be_remembered_is_passed_over(tmp_path: Path) -> None:
    first = checked.load(EVERYTHING, "p.yaml", tmp_path)
    (file,) = tmp_path.glob("*.json")
    for broken in (b"", b"{", b"\xff", b"[]"):
        file.write_bytes(broken)
        assert checked.load(EVERYTHING, "p.yaml", tmp_path) == first
    (tmp_path / "none").write_text("no folder")
    assert checked.load(EVERYTHING, "p.yaml", tmp_path / "none") == first


def test_a_file_that_is_refused_is_not_remembered_and_few_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpecError):
        checked.load("pipeline: p\n", "p.yaml", tmp_path)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(checked, "MOST", 2)
    for number in range(4):
        checked.load(f"pipeline: p{number}\nsteps: {{a: {{run: 'true'}}}}\n", "p.yaml", tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
