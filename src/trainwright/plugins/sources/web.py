"""One file behind ``http://`` or ``https://``; a page that lists others is not followed."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from trainwright.core.errors import BackendError, NotFoundError, SpecError, TransientBackendError
from trainwright.ports.source import DataSource, RemoteFile, RemoteFiles, no_reference

if TYPE_CHECKING:
    from http.client import HTTPResponse

_CHUNK_BYTES = 1 << 20
_PATIENCE_S = 60.0
_GONE = (404, 410)
_REFUSED = (401, 403)
_NO_HEAD = (405, 501)


class WebSource:
    """Asks for the length and the ETag, and has the content store fetch it when it is another one."""

    schemes: tuple[str, ...] = ("http", "https")

    def locate(self, uri: str, base: Path, *, reference: bool = False) -> RemoteFiles:  # noqa: ARG002 - of the port
        """Return the file behind ``uri``. See ``DataSource.locate``.

        Args:
            uri: its last part names the file.
            base: of no effect.
            reference: refused: the web keeps no versions.

        Raises:
            SpecError: TW2112 ``reference``; TW4304 the URI names no file.
            NotFoundError: TW4306 nothing is there.
            BackendError: TW6401 it cannot be reached, or refuses.
        """
        name = unquote(urlsplit(uri).path.rpartition("/")[2])
        if not name:
            remedy = "write the address of one file; for many use an object store, or a folder here"
            raise SpecError("TW4304", f"{uri!r} names no file", where=uri, remedy=remedy)
        if reference:
            raise no_reference(uri)
        file = _look(uri, name)
        return RemoteFiles(uri, uri, True, (file,), lambda _: _read(uri), lambda: (_look(uri, name),))  # noqa: FBT003


def _look(uri: str, name: str) -> RemoteFile:
    with _told(uri):
        try:
            answer = _ask(uri, "HEAD")
        except HTTPError as error:
            if error.code not in _NO_HEAD:
                raise
            answer = _ask(uri, "GET")
        with closing(answer):
            length = answer.headers.get("Content-Length", "")
            tag = answer.headers.get("ETag", "")
    return RemoteFile(name, uri, int(length) if length.isdecimal() else None, "" if tag.startswith("W/") else tag)


def _read(uri: str) -> Iterator[bytes]:
    with _told(uri), closing(_ask(uri, "GET")) as answer:
        while chunk := answer.read(_CHUNK_BYTES):
            yield chunk


def _ask(uri: str, method: str) -> "HTTPResponse":
    request = Request(uri, method=method, headers={"User-Agent": "trainwright", "Accept-Encoding": "identity"})  # noqa: S310 - schemes are http and https
    answer: HTTPResponse = urlopen(request, timeout=_PATIENCE_S)  # noqa: S310
    return answer


@contextmanager
def _told(uri: str) -> Iterator[None]:
    host = urlsplit(uri).netloc
    try:
        yield
    except HTTPError as error:
        error.close()
        if error.code in _GONE:
            raise NotFoundError("TW4306", f"nothing is at {uri}", where=uri, remedy="check the address") from error
        message = f"{host} answers {error.code} {error.reason} for {uri}"
        remedy = (
            "make it readable without a login, or fetch it yourself" if error.code in _REFUSED else "try again later"
        )
        raise BackendError("TW6401", message, where=uri, remedy=remedy) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        message = f"{host} cannot be reached for {uri}: {reason}"
        raise TransientBackendError("TW6401", message, where=uri, remedy="check the address and the network") from error


_: DataSource = WebSource()
