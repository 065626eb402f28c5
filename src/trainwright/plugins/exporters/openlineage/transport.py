"""The two ways out: lines of a file, and POST requests. All input and output of the exporter is here."""

import fcntl
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from trainwright.core.errors import BackendError, TransientBackendError
from trainwright.ports.exporter import Delivered

TIMEOUT_S = 10.0
"""Of one request."""

_REFUSED = frozenset({400, 413, 415, 422})
"""What a collector answers to an event that it will never take; anything else may pass."""

_TAIL = 65536


class FileSink:
    """Appends events to a file, one JSON document a line; a line that a crash left unfinished is taken back."""

    def __init__(self, path: str) -> None:
        self._path = path

    def deliver(self, items: Sequence[Sequence[str]]) -> Delivered:
        """See ``Sink.deliver``: all of them are on the disk, or none counts."""
        text = "".join(f"{document}\n" for item in items for document in item).encode()
        try:
            Path(self._path).parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                size = _whole_lines(file)
                try:
                    while text:
                        text = text[os.write(file, text) :]
                    os.fsync(file)
                except OSError:
                    os.ftruncate(file, size)
                    raise
            finally:
                os.close(file)
        except OSError as error:
            message = f"{self._path} cannot be written: {error.strerror}"
            return Delivered(0, TransientBackendError("TW6701", message, remedy="make room, or name another file"))
        return Delivered(len(items))


def _whole_lines(file: int) -> int:
    """Cut off what follows the last end of a line; return the size then."""
    size = end = os.fstat(file).st_size
    while end:
        begin = max(0, end - _TAIL)
        last = os.pread(file, end - begin, begin).rfind(b"\n")
        if last >= 0:
            end = begin + last + 1
            break
        end = begin
    if end < size:
        os.ftruncate(file, end)
    return end


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected POST would become a GET without its body, and a token would follow it anywhere."""

    def redirect_request(self, *_: object) -> None:
        return None


class HttpSink:
    """POSTs one event a request; the token goes to this URL only."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token
        self._opener = urllib.request.build_opener(_NoRedirect)

    def deliver(self, items: Sequence[Sequence[str]]) -> Delivered:
        """See ``Sink.deliver``; one failure ends it."""
        for place, item in enumerate(items):
            for document in item:
                failure = self._post(document)
                if failure is not None:
                    return Delivered(place, failure)
        return Delivered(len(items))

    def _post(self, document: str) -> BackendError | None:
        headers = {"Content-Type": "application/json", "User-Agent": "trainwright"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self._url, document.encode(), headers, method="POST")  # noqa: S310 - http(s)
        try:
            with self._opener.open(request, timeout=TIMEOUT_S):
                return None
        except urllib.error.HTTPError as error:
            with error:
                said, remedy = f"{self._url} answered {error.code} {error.reason}", "look at its log, or at the token"
            if error.code in _REFUSED:
                return BackendError("TW6702", said, remedy=remedy)
            return TransientBackendError("TW6701", said, remedy=remedy)
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            return TransientBackendError("TW6701", f"{self._url} cannot be reached: {reason}", remedy="is it running?")
