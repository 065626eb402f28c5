"""Datasets on Hugging Face, pinned to a commit: ``hf://datasets/ORG/NAME@REVISION/path``."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from trainwright.core.errors import BackendError, NotFoundError, SpecError, TransientBackendError
from trainwright.ports.source import DataSource, Snapshot, library_missing, words_of

if TYPE_CHECKING:
    from huggingface_hub.hf_api import DatasetInfo

_URI = re.compile(r"hf://datasets/(?P<name>[\w.-]+/[\w.-]+)(?:@(?P<revision>[^/]+))?(?:/(?P<path>.*))?", re.DOTALL)
_REFUSED = (401, 403)


class HubSource:
    """Resolves a revision to its commit; runners bring it in with the Hub's own library."""

    schemes: tuple[str, ...] = ("hf",)

    def locate(self, uri: str, base: Path, *, reference: bool = False) -> Snapshot:  # noqa: ARG002 - always one
        """Return the commit behind ``uri``. See ``DataSource.locate``.

        Args:
            uri: the revision is a branch, tag or commit (``main`` without it), with ``%2F`` for ``/`` in it.
            base: of no effect.
            reference: of no effect.

        Raises:
            SpecError: TW4304 no dataset.
            NotFoundError: TW4301 huggingface_hub is missing; TW4306 no such dataset or path; TW4307 no such revision.
            BackendError: TW6401 the Hub cannot be reached, or refuses.
        """
        found = _URI.fullmatch(uri)
        path = (found["path"] or "").strip("/") if found else ""
        if found is None or ".." in path.split("/"):
            remedy = "write hf://datasets/ORG/NAME@REVISION, and /path behind it for a part"
            raise SpecError("TW4304", f"{uri!r} names no dataset", where=uri, remedy=remedy)
        info = _ask(uri, found["name"], unquote(found["revision"] or "main"))
        names = [one.rfilename for one in info.siblings or ()]
        is_file = path in names
        if path and not is_file and not any(name.startswith(path + "/") for name in names):
            remedy = f"it has {', '.join(sorted(names)[:5])}" if names else "it has no files"
            raise NotFoundError("TW4306", f"the dataset {found['name']} has no {path}", where=uri, remedy=remedy)
        pinned = f"hf://datasets/{found['name']}@{info.sha}" + (f"/{path}" if path else "")
        return Snapshot("hf", pinned, str(info.sha), file=path.rpartition("/")[2] if is_file else "")


def _ask(uri: str, name: str, revision: str) -> "DatasetInfo":
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError
    except ImportError as error:
        raise library_missing("huggingface_hub", uri, "huggingface_hub") from error
    host = os.environ.get("HF_ENDPOINT", "https://huggingface.co").partition("://")[2].rstrip("/")
    try:
        return HfApi().dataset_info(name, revision=revision)
    except RevisionNotFoundError as error:
        remedy = "check the branch, tag or commit; the default one is main"
        message = f"the dataset {name} has no revision {revision}"
        raise NotFoundError("TW4307", message, where=uri, remedy=remedy) from error
    except RepositoryNotFoundError as error:
        remedy = "check the spelling; a private one needs HF_TOKEN"
        raise NotFoundError("TW4306", f"{host} has no dataset {name}", where=uri, remedy=remedy) from error
    except HfHubHTTPError as error:
        code = getattr(error.response, "status_code", 0)
        message = f"{host} answers {code} for {name}"
        remedy = "set HF_TOKEN to a token that may read it" if code in _REFUSED else "try again later"
        raise BackendError("TW6401", message, where=uri, remedy=remedy) from error
    except Exception as error:
        message = f"{host} cannot be reached for {name}: {words_of(error)}"
        remedy = "check the network and HF_ENDPOINT"
        raise TransientBackendError("TW6401", message, where=uri, remedy=remedy) from error


_: DataSource = HubSource()
