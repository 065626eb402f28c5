"""Values that steps hand to one another: JSON in the content store."""

import json

from trainwright.core.errors import BackendError
from trainwright.core.ids import Digest
from trainwright.core.scalar import Plain
from trainwright.ports.content import ContentStore

FILE = "value.json"
"""What holds the value in an output that is a folder."""


def read_value(content: ContentStore, digest: Digest) -> Plain:
    """Return what a stored value holds.

    Raises:
        NotFoundError: there is no such content.
        BackendError: it is no JSON, or damaged.
    """
    data = content.read(digest, FILE)
    try:
        value: Plain = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BackendError(
            "TW6104", f"it is not JSON: {error}", remedy="write it with json.dump, or return it from a function"
        ) from error
    return value
