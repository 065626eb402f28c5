"""Data sources are found by their entry points."""

from importlib import metadata

import pytest

from trainwright.core.errors import BackendError
from trainwright.plugins import installed


def test_every_scheme_leads_to_its_source() -> None:
    found = installed.InstalledSources()
    for scheme in ("file", "pkg", "s3", "gs", "https", "git+file", "git+https", "delta", "delta+s3", "iceberg", "hf"):
        assert scheme in found[scheme].schemes
    assert {"file", "memory", "git+ssh", "iceberg+s3"} <= set(found)
    with pytest.raises(KeyError):
        _ = found["web"]


def test_a_scheme_with_a_plugin_of_its_name_loads_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [metadata.EntryPoint(name, f"trainwright.plugins.sources.{name}:{kind}", "trainwright.sources")
              for name, kind in (("file", "FileSource"), ("gone", "Nothing"))]  # fmt: skip
    monkeypatch.setattr(metadata, "entry_points", lambda group: points)
    found = installed.InstalledSources()
    assert found["file"].schemes == ("file",)
    with pytest.raises(BackendError) as caught:
        _ = found["s3"]
    assert caught.value.problem.code == "TW6403"
    assert "gone" in caught.value.problem.message
