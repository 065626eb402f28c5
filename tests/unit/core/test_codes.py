"""The list of error codes is complete and holds nothing else."""

import re
from pathlib import Path

import trainwright
from trainwright.core.codes import CODES

SOURCES = Path(trainwright.__file__).parent


def test_every_code_in_the_sources_is_listed_and_every_listed_one_is_used() -> None:
    used = {
        code
        for path in SOURCES.rglob("*.py")
        if path != SOURCES / "core" / "codes.py"
        for code in re.findall(r"TW\d{4}", path.read_text(encoding="utf-8"))
    }
    assert used == set(CODES)
