"""Draws pipelines from texts, in this process, and forgets their modules."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from trainwright.dsl.trace import traced


def drawing_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., dict[str, Any]]]:
    """Return what ``tw`` would get from a file ``pipeline.py`` with this text, without a child."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)

    def traced_text(text: str, name: str = "", **others: str) -> dict[str, Any]:
        for module, source in others.items():
            Path(f"{module}.py").write_text(source, encoding="utf-8")
        Path("pipeline.py").write_text(text, encoding="utf-8")
        return traced(f"pipeline.py:{name}" if name else "pipeline.py")

    yield traced_text
    for module in set(sys.modules) - before:
        file = getattr(sys.modules[module], "__file__", None) or ""
        if file.startswith(str(tmp_path)):
            del sys.modules[module]
