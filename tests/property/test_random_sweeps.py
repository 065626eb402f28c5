"""After any sequence of storing, keeping, letting go, ageing and collecting, everything kept is whole."""

import os
import tempfile
import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from trainwright.runtime import content, inspection, sweep
from trainwright.runtime.checkout import checkout

THINGS = [
    {"a": "1"},
    {"a": "1", "b": "2"},
    {"b": "2", "c/d": "3"},
    {"x": "1"},
    {"c/d": "3", "e": "", "f": "4" * 3000},
]
ACTS = st.lists(
    st.tuples(
        st.sampled_from(["put", "keep", "drop", "age", "check out", "sweep", "dry"]), st.integers(0, len(THINGS) - 1)
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(acts=ACTS)
def test_everything_kept_exports_and_verifies(acts: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = str(folder / "store")
        sources = [lay(folder / f"source{i}", files) for i, files in enumerate(THINGS)]
        stored: dict[int, str] = {}
        kept: set[int] = set()
        for act, one in [*acts, ("sweep", 0)]:
            if act == "put":
                stored[one] = content.put(store, str(sources[one])).digest
            elif act == "keep" and one in stored and content.has(store, stored[one]):
                kept.add(one)
            elif act == "drop":
                kept.discard(one)
            elif act == "age":
                for path in sweep.files(store, "manifests"):
                    os.utime(path, (0, 0))
            elif act == "check out" and one in kept:
                checkout(store, stored[one])
            elif act in {"sweep", "dry"}:
                sweep.sweep(store, {stored[i] for i in kept}, dry_run=act == "dry")
        assert inspection.inspect(store, time.time(), deep=True) == []
        for one in sorted(kept):
            out = Path(content.export(store, stored[one], str(folder / f"out{one}")))
            assert {p.relative_to(out).as_posix(): p.read_text() for p in out.rglob("*") if p.is_file()} == THINGS[one]


def lay(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder
