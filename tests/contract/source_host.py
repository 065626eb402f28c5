"""Proves the sources whose libraries live in an environment of their own, there: ``python source_host.py KIND …``.

Prints one JSON object, promise → what is broken, empty for a promise that is kept.
"""

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

from source_labs import DEAD, HEAVY

from trainwright.core.errors import BackendError
from trainwright.plugins.sources.object import ObjectSource
from trainwright.ports.testing.source import PROMISES

found = {}
for kind in sys.argv[1:]:
    for promise in PROMISES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                lab = HEAVY[kind](Path(folder))
                promise(lab)
                lab.close()
                found[f"{kind}: {promise.__name__}"] = ""
            except Exception:  # noqa: BLE001 - whatever is wrong is reported
                found[f"{kind}: {promise.__name__}"] = traceback.format_exc()

os.environ["AWS_ENDPOINT_URL"] = f"http://{DEAD}"
try:
    ObjectSource().locate("s3://bucket/key", Path("/"))
except BackendError as error:
    found["s3: a dead host is named"] = "" if DEAD in error.problem.message else str(error)
print(json.dumps(found))
