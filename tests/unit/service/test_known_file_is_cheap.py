"""A file that was checked before is run without what checks files."""

import subprocess
import sys

SCRIPT = """
import sys
import trainwright.engine.engine, trainwright.service.documents, trainwright.service.submit
heavy = sorted({name.partition(".")[0] for name in sys.modules} & {"pydantic", "ruamel", "alembic", "sqlalchemy"})
assert not heavy, heavy
"""


def test_neither_yaml_nor_pydantic_is_loaded_before_a_file_has_to_be_checked() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
