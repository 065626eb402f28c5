"""Files of a model version, copied out of the content store; every byte is checked against its digest on the way."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trainwright.core.artifact import ModelVersion
from trainwright.core.errors import ConflictError, DeniedError
from trainwright.runtime.formats import RefusedValue
from trainwright.runtime.modelfiles import load_model_files
from trainwright.service.context import Context
from trainwright.service.models import find


def fetch(context: Context, address: str, target: Path) -> tuple[ModelVersion, Path]:
    """Copy a version to the new path ``target``, whole or not at all; return it and the path.

    Raises:
        NotFoundError: no such version, or its files are not stored any more.
        ConflictError: something is at ``target`` already, be it a link that leads nowhere.
        BackendError: its bytes were altered, or it cannot be written.
    """
    version, _ = find(context, address)
    if target.is_symlink() or target.exists():
        raise ConflictError("TW5201", f"{target} exists already", remedy="name a path that does not exist")
    target.parent.mkdir(parents=True, exist_ok=True)
    return version, context.content.export(version.content.digest, target)


def load(context: Context, address: str, *, allow_pickle: bool = False, trusted: Sequence[str] = ()) -> Any:  # noqa: ANN401 - whatever was stored
    """Return the model behind an address, loaded from a verified copy; nothing of it is run.

    Args:
        context: of the project.
        address: of a version.
        allow_pickle: run what a pickle says.
        trusted: names of types that skops may make beside those it trusts itself.

    Raises:
        NotFoundError: no such version, or its files are not stored any more.
        DeniedError: it cannot be loaded without running what is in it, or not at all.
        BackendError: its bytes were altered.
    """
    version, _ = find(context, address)
    with tempfile.TemporaryDirectory(prefix="tw-model-") as folder:
        path = context.content.export(version.content.digest, Path(folder) / "model")
        named = _with_its_name(context, version, path)
        try:
            return load_model_files(str(named), allow_pickle=allow_pickle, trusted=trusted, project=context.project)
        except RefusedValue as refused:
            raise DeniedError(
                "TW3206", f"{version.address} is not loaded: {refused}", remedy=refused.remedy
            ) from refused


def _with_its_name(context: Context, version: ModelVersion, path: Path) -> Path:
    """Give a single file the name again that it was stored under: its ending says how to load it."""
    if path.is_dir():
        return path
    named = path.with_name("file") / context.content.entries(version.content.digest)[0][0]
    named.parent.mkdir()
    return path.rename(named)
