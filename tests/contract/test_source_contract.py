"""The promises of the DataSource port, on every source; those with libraries of their own in ``make test-all``."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import source_labs

from trainwright.ports.testing.source import PROMISES, SourceLab


@pytest.fixture(params=sorted(source_labs.LIGHT))
def lab(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SourceLab]:
    monkeypatch.syspath_prepend(str(tmp_path))  # where a package may be made
    found = source_labs.LIGHT[request.param](tmp_path)
    yield found
    found.close()
    sys.modules.pop("twlab", None)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_a_source_keeps_its_promises(lab: SourceLab, promise: Callable[[SourceLab], None]) -> None:
    promise(lab)


@pytest.mark.heavy
def test_sources_with_libraries_of_their_own_keep_their_promises() -> None:
    from seaweed import Seaweed, python

    host = Path(__file__).parent / "source_host.py"
    with Seaweed() as server:
        said = python(str(host), *sorted(source_labs.HEAVY), **server.environ)
    found = json.loads(said.splitlines()[-1])
    assert [f"{promise}\n{broken}" for promise, broken in found.items() if broken] == []
    assert len(found) == len(source_labs.HEAVY) * len(PROMISES) + 1
