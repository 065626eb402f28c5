"""The exporter: events as ``render`` makes them, to a file or over HTTP."""

import json
from functools import cached_property
from importlib.metadata import version
from urllib.parse import urlsplit

from trainwright.core.errors import SpecError
from trainwright.plugins.exporters.openlineage.render import events_of
from trainwright.plugins.exporters.openlineage.transport import FileSink, HttpSink
from trainwright.ports.exporter import Change, Destination, Exporter, Sink

ENDPOINT = "/api/v1/lineage"
"""Where collectors listen unless the URL says more."""


class OpenLineageExporter:
    """See ``ports.exporter.Exporter``."""

    @cached_property
    def _producer(self) -> str:
        return f"urn:trainwright:{version('trainwright')}"

    def render(self, change: Change, namespace: str) -> tuple[str, ...]:
        """See ``Exporter.render``."""
        events = events_of(change, namespace, self._producer)
        return tuple(json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in events)

    def open(self, destination: Destination) -> Sink:
        """See ``Exporter.open``."""
        target = destination.target
        parts = urlsplit(target)
        if parts.scheme == "file" and parts.path.strip("/") and not parts.netloc:
            return FileSink(parts.path)
        if parts.scheme in {"http", "https"} and parts.hostname and not parts.username and not parts.password:
            url = target.rstrip("/") + ENDPOINT if parts.path in {"", "/"} and not parts.query else target
            return HttpSink(url, destination.secret)
        raise SpecError(
            "TW2701",
            f"{parts.scheme or target}: is no target for OpenLineage events",
            where="TW_OPENLINEAGE",
            why="it is neither file:PATH nor http(s)://HOST without a user in it",
            remedy="write file:PATH or https://HOST, and a token into TW_OPENLINEAGE_TOKEN",
        )


_: Exporter = OpenLineageExporter()
