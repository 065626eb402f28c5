"""Releases by telling a server: one CloudEvents 1.0 message, signed with HMAC-SHA256, repeated until it is taken."""

import hashlib
import hmac
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from datetime import UTC
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from trainwright.core.codec import canonical_json
from trainwright.core.errors import BackendError, SpecError
from trainwright.core.scalar import Plain
from trainwright.ports.release import Export, ReleaseOrder, ReleasePlugin

SIGNATURE = "X-Trainwright-Signature-256"
"""Header with ``sha256=`` and the HMAC of the body."""

TYPE = "model.released"
DELAYS_S = (0.5, 2.0, 8.0)
"""Between the attempts; there is one more attempt than delays."""

TIMEOUT_S = 30
_KEYS = {"url", "secret_env"}
_AGAIN = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}


class WebhookRelease:
    """Posts the event to ``url``; the secret is in the environment variable that ``secret_env`` names."""

    type = "webhook"

    def __init__(self, sleep: Callable[[float], None] = time.sleep, environ: Mapping[str, str] | None = None) -> None:
        self._sleep = sleep
        self._environ = environ

    def check(self, settings: Mapping[str, Plain], base: Path) -> Mapping[str, Plain]:  # noqa: ARG002 - the port's
        """See ``ReleasePlugin.check``: ``url`` and ``secret_env`` are all there is."""
        unknown = sorted(settings.keys() - _KEYS)
        if unknown:
            raise SpecError("TW2903", f"with: of a webhook has no {unknown[0]}", remedy="it has url: and secret_env:")
        url, variable = settings.get("url"), settings.get("secret_env")
        if not isinstance(url, str) or not _is_http(url):
            raise SpecError(
                "TW2903", "url: of a webhook is no address", remedy="write url: https://serving.example.com/models"
            )
        if not isinstance(variable, str) or not variable.isidentifier():
            raise SpecError(
                "TW2903",
                "a webhook needs secret_env:",
                why="the server has to be able to tell our messages from others",
                remedy="name the environment variable that holds the secret, as in secret_env: SERVING_SECRET",
            )
        return {"url": url, "secret_env": variable}

    def release(self, order: ReleaseOrder, export: Export) -> str:  # noqa: ARG002 - nothing is copied
        """See ``ReleasePlugin.release``: the server knows a repeated message by its id."""
        url, variable = str(order.settings["url"]), str(order.settings["secret_env"])
        environ = os.environ if self._environ is None else self._environ
        secret = environ.get(variable, "")
        if not secret:
            raise _failed(order, f"the environment variable {variable} is not set", f"set it: export {variable}=…")
        body = event(order)
        request = urllib.request.Request(  # noqa: S310 - only http and https pass the check
            url,
            data=body,
            method="POST",
            headers={
                "Content-Type": "application/cloudevents+json; charset=utf-8",
                "User-Agent": "trainwright",
                SIGNATURE: sign(body, secret),
            },
        )
        self._post(order, url, request)
        return url

    def _post(self, order: ReleaseOrder, url: str, request: urllib.request.Request) -> None:
        for delay_s in (*DELAYS_S, None):
            trouble, again = _posted(request)
            if not trouble:
                return
            if not again or delay_s is None:
                raise _failed(order, f"{url} did not take it: {trouble}", "mend the server, then repeat the command")
            self._sleep(delay_s)


_: ReleasePlugin = WebhookRelease()


def event(order: ReleaseOrder) -> bytes:
    """Return the message: byte for byte the same whenever the order is repeated."""
    data = {
        **order.facts,
        "model": order.model,
        "version": order.version,
        "address": f"models/{order.model}/{order.version}",
        "alias": order.alias,
        "digest": order.digest,
        "target": order.target,
        "rolls_back": order.rolls_back,
        "asked_by": order.asked_by,
    }
    message = {
        "specversion": "1.0",
        "id": order.id,
        "source": f"/trainwright/{order.project}",
        "type": TYPE,
        "subject": f"models/{order.model}/{order.version}",
        "time": order.asked_at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "data": data,
    }
    return canonical_json(message).encode()


def sign(body: bytes, secret: str) -> str:
    """Return the value of the header ``SIGNATURE``."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nobody: the signed message is for the address that was set up."""

    def redirect_request(self, *_: Any, **__: Any) -> None:  # noqa: ANN401 - as inherited
        return None


def _posted(request: urllib.request.Request) -> tuple[str, bool]:
    """Send once; return what went wrong (empty when it was taken) and whether sending again may help."""
    opener = urllib.request.build_opener(_NoRedirect())
    try:
        with opener.open(request, timeout=TIMEOUT_S) as answer:
            answer.read(1)
    except urllib.error.HTTPError as error:
        with error:
            server = error.code >= HTTPStatus.INTERNAL_SERVER_ERROR
            return f"HTTP {error.code} {error.reason}", server or error.code in _AGAIN
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", error)), isinstance(error, OSError)
    return "", False


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and url.isprintable() and " " not in url
    except ValueError:
        return False


def _failed(order: ReleaseOrder, message: str, remedy: str) -> BackendError:
    return BackendError("TW6901", message, where=f"release {order.id}", remedy=remedy)
